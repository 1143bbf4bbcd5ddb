/* SPDX-License-Identifier: MIT */
/* One kernel over the accelerators of argv[1]: whatever the bands, results are
 * those of plain loops, and only what bands lack is moved. */
#include <stdlib.h>
#include <string.h>

#include "support/split_problem.h"

/* A thread sanitizer makes arithmetic slow, and looks at what does not depend
 * on the case. */
enum { LAUNCHES = TEST_TSAN ? 40 : 150 };

enum { MAX_ACCELERATORS = 8, STEPS = 4 };

/* Nothing is moved. */
static bool is_in_place(const bed *b)
{
    return b->context->accelerators[0].in_place;
}

/* wrapped: all arrays are over memory of the caller. */
static void make_problem(bed *b, bool wrapped, split_problem *p)
{
    static const split_memory memories[] = {SPLIT_WRAPPED, SPLIT_ANYWHERE,
                                            SPLIT_HOME};
    split_problem_init(p, b, 40, memories, wrapped ? 1 : 3);
}

/* ---- launches */

typedef struct choice {
    uint32_t list[MAX_ACCELERATORS];
    double weights[MAX_ACCELERATORS];
    hr_extent tile;
    hr_split_options options;
} choice;

/* Some of the accelerators in some order, with weights of which some are 0. */
static void choose_options(bed *b, uint32_t rank, choice *c)
{
    *c = (choice){.tile = {rank, {3, 2, 2}}, .options = HR_SPLIT_OPTIONS_INIT};
    uint32_t n = b->count;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t j = random_between(&b->random, 0, i);
        c->list[i] = c->list[j];
        c->list[j] = i;
        c->weights[i] = (double)random_between(&b->random, 0, 5);
    }
    if (random_between(&b->random, 0, 1) == 0) {
        n = (uint32_t)random_between(&b->random, 1, n);
    }
    c->weights[random_between(&b->random, 0, n - 1)] = 2;
    c->options.accelerators = c->list;
    c->options.accelerator_count = n;
    c->options.weights = c->weights;
    c->options.threads = random_between(&b->random, 0, 3) == 0;
    if (random_between(&b->random, 0, 3) == 0) {
        c->options.weights = NULL; /* the library's choice */
    }
    if (random_between(&b->random, 0, 2) == 0) {
        c->options.tile = &c->tile;
    }
}

static void launch_roles(split_problem *p, const reach *r,
                         split_side *const role[SPLIT_SIDES],
                         const hr_split_options *options)
{
    CHECK(split_problem_launch(p, r, role, options) == HR_OK);
    split_problem_want(p, r, role);
}

/* Launches one after the other, on arrays that change their parts; nobody
 * waits before the end. */
static void random_launches(bed *b, int count)
{
    TEST_CASE("random launches");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        split_problem p;
        make_problem(b, false, &p);
        for (int step = 0; step < STEPS; step++) {
            const int first = (int)random_between(&b->random, 0, 2);
            split_side *const role[] = {&p.sides[first],
                                        &p.sides[(first + 1) % 3],
                                        &p.sides[(first + 2) % 3]};
            const reach r = {(int)random_between(&b->random, 0, 3),
                             (int)random_between(&b->random, 0, 50)};
            choice c;
            choose_options(b, p.domain.rank, &c);
            launch_roles(&p, &r, role, &c.options);
        }
        for (int s = 0; s < SPLIT_SIDES; s++) {
            CHECK(split_side_is_right(&p.sides[s]));
        }
        if (test_state.failures > 0) {
            printf("problem %d\n", i);
        }
        split_problem_finish(&p);
    }
}

/* ---- bytes */

/* Rows that at least one of the bands reads, and those that all of them do. */
static void count_rows(const hr_split_report *r, int64_t size, int64_t *once,
                       int64_t *each)
{
    int64_t end = 0;
    *once = *each = 0;
    for (uint32_t i = 0; i < r->share_count; i++) {
        const hr_band *b = &r->shares[i];
        const int64_t to = b->read_first + b->read_count;
        const int64_t from = b->read_first > end ? b->read_first : end;
        *once += b->count > 0 && to > from ? to - from : 0;
        *each += b->read_count;
        end = to > end ? to : end;
    }
    CHECK(*once <= size);
}

/* Rows that a band lacks come from the host, or from another accelerator that
 * has them by now; those that were written go home once. */
static void exact_bytes(bed *b, int count)
{
    TEST_CASE("bytes are those of bands and halos");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        split_problem p;
        make_problem(b, true, &p);
        const reach r = {(int)random_between(&b->random, 0, 3),
                         (int)random_between(&b->random, 0, 9)};
        split_side *const role[] = {&p.sides[0], &p.sides[1], &p.sides[2]};
        hr_band bands[MAX_ACCELERATORS];
        hr_split_report report = HR_SPLIT_REPORT_INIT;
        choice c;
        choose_options(b, p.domain.rank, &c);
        report.shares = bands;
        report.share_capacity = MAX_ACCELERATORS;
        c.options.report = &report;
        c.options.threads = false;
        const hr_traffic before = hr_context_traffic(b->context);
        const uint64_t row = p.row_bytes;
        const uint64_t rows = (uint64_t)p.domain.size[0];
        launch_roles(&p, &r, role, &c.options);
        for (uint32_t k = 0; k < report.share_count; k++) { /* the table is */
            hr_band *n = &bands[k];                         /* whole */
            const int64_t end = n->first + n->count, size = (int64_t)rows;
            n->read_first = n->first > r.before ? n->first - r.before : 0;
            n->read_count =
                (size - end > r.after ? end + r.after : size) - n->read_first;
            n->read_count = n->count > 0 ? n->read_count : 0;
        }
        int64_t once, each;
        count_rows(&report, (int64_t)rows, &once, &each);
        hr_traffic t = hr_context_traffic(b->context);
        const uint64_t table = p.table_bytes;
        const uint64_t up = t.up - before.up, peer = t.peer - before.peer;
        CHECK(up + peer == (is_in_place(b) ? 0
                                           : row * ((uint64_t)each + rows) +
                                                 table * report.used));
        CHECK(peer == 0 || up == row * ((uint64_t)once + rows) + table);
        CHECK(t.down == before.down);
        for (int s = 1; s < SPLIT_SIDES; s++) {
            CHECK(hr_synchronize(p.sides[s].view) == HR_OK);
        }
        t = hr_context_traffic(b->context);
        CHECK(t.down - before.down == (is_in_place(b) ? 0 : 2 * row * rows));
        const hr_traffic *told = &report.traffic; /* before it was done */
        CHECK(told->up + told->peer == up + peer);
        CHECK(told->down == t.down - before.down);
        CHECK(is_in_place(b) || report.seconds > 0);
        CHECK(split_side_is_right(role[1]) && split_side_is_right(role[2]));
        split_problem_finish(&p);
    }
}

/* ---- tiles */

static void bands_cut_between_tiles(bed *b, int64_t rows, int64_t cols)
{
    TEST_CASE("bands are cut between tiles");
    enum { EDGE = 4 };
    const size_t count = (size_t)(rows * cols);
    const hr_extent domain = hr_extent2(rows, cols), tile = {2, {EDGE, EDGE}};
    int *from = malloc(count * sizeof *from), *to = calloc(count, sizeof *to);
    hr_array *arrays[2] = {NULL};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    double weights[MAX_ACCELERATORS];
    for (uint32_t i = 0; i < MAX_ACCELERATORS; i++) {
        weights[i] = 1 + i % 2;
    }
    for (size_t i = 0; i < count; i++) {
        from[i] = (int)i;
    }
    CHECK(hr_array_wrap(b->context, from, sizeof(int), domain, 0, &arrays[0]) ==
          HR_OK);
    CHECK(hr_array_wrap(b->context, to, sizeof(int), domain, 0, &arrays[1]) ==
          HR_OK);
    const hr_argument arguments[] = {hr_in(hr_view_of(arrays[0])),
                                     hr_out(hr_view_of(arrays[1]))};
    options.tile = &tile;
    options.weights = weights;
    CHECK(hr_launch_split(b->context, &split_tiled, domain, arguments, 2,
                          &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    int right = 1;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            int sum = (int)(i % EDGE);
            for (int64_t k = i - i % EDGE; k < rows && k < i - i % EDGE + EDGE;
                 k++) {
                sum += from[k * cols + j];
            }
            right = right && to[i * cols + j] == sum;
        }
    }
    CHECK(right);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    free(from);
    free(to);
}

/* ---- what is told */

static void dry_run(bed *b)
{
    TEST_CASE("a dry run tells the bands and does nothing");
    split_problem p;
    make_problem(b, true, &p);
    const reach r = {1, 1};
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_band bands[2] = {{0}};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    const double weights[MAX_ACCELERATORS] = {1};
    report.shares = bands;
    report.share_capacity = 1;
    options.report = &report;
    options.weights = weights;
    options.dry_run = true;
    const hr_traffic before = hr_context_traffic(b->context);
    split_side *const role[] = {&p.sides[0], &p.sides[1], &p.sides[2]};
    CHECK(split_problem_launch(&p, &r, role, &options) == HR_OK);
    CHECK(report.share_count == b->count && report.used == 1);
    CHECK(bands[0].count == p.domain.size[0] && bands[1].count == 0);
    const hr_traffic after = hr_context_traffic(b->context);
    CHECK(memcmp(&before, &after, sizeof after) == 0);
    for (int i = 0; i < SPLIT_SIDES; i++) {
        CHECK(split_side_is_right(&p.sides[i]));
    }
    split_problem_finish(&p);
}

/* Whether the bytes moved are known: all accelerators are of one kind. */
static bool is_plain(const bed *b)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    bool plain = true;
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_accelerator_describe(b->context, i, &info) == HR_OK);
        plain = plain && strncmp(info.path, "host", 4) == 0;
    }
    return plain;
}

static void all_cases(bed *b)
{
    b->random.state = 7;
    TEST(random_launches(b, LAUNCHES));
    if (is_plain(b)) {
        TEST(exact_bytes(b, LAUNCHES));
    }
    TEST(bands_cut_between_tiles(b, 1, 1));
    TEST(bands_cut_between_tiles(b, 37, 13));
    TEST(bands_cut_between_tiles(b, 6, 40));
    TEST(dry_run(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "3xhost", all_cases);
}
