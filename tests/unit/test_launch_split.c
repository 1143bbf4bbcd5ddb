/* SPDX-License-Identifier: MIT */
/* One kernel over the accelerators of argv[1]: whatever the bands, results are
 * those of plain loops, and only what bands lack is moved. */
#include <stdlib.h>
#include <string.h>

#include "support/bed.h"

extern const hr_kernel split1, split2, split3, split_tiled;

/* A thread sanitizer makes arithmetic slow, and looks at what does not depend
 * on the case. */
enum { LAUNCHES = TEST_TSAN ? 40 : 150 };

enum { ARRAYS = 3, MAX_ACCELERATORS = 8, STEPS = 4 };

typedef struct reach {
    int before, after;
} reach;

/* Nothing is moved. */
static bool is_in_place(const bed *b)
{
    return b->context->accelerators[0].in_place;
}

/* An array with a margin around its view, and what it should hold. */
typedef struct side {
    hr_array *array;
    hr_view view;
    int64_t outer[HR_MAX_RANK], margin[HR_MAX_RANK];
    int *own, *want; /* memory to wrap; NULL: none */
    size_t bytes;
} side;

/* A random domain, the arrays around it, and the table. */
typedef struct problem {
    bed *b;
    hr_extent domain;
    side sides[ARRAYS];
    int table[32];
    int64_t table_size;
    hr_array *table_array;
    bool wrapped; /* all of them */
} problem;

/* ---- arrays */

static size_t index_of(const side *s, uint32_t rank, const int64_t *point)
{
    int64_t index = 0;
    for (uint32_t d = 0; d < rank; d++) {
        index = index * s->outer[d] + s->margin[d] + point[d];
    }
    return (size_t)index;
}

static hr_status make_array(problem *p, side *s, hr_extent outer)
{
    hr_context *c = p->b->context;
    const int64_t kind = p->wrapped ? 0 : random_between(&p->b->random, 0, 2);
    hr_queue *queue = NULL;
    if (kind == 0) {
        s->own = malloc(s->bytes);
        return hr_array_wrap(c, s->own, sizeof(int), outer, 0, &s->array);
    }
    if (kind == 1) {
        return hr_array_create_anywhere(c, sizeof(int), outer, &s->array);
    }
    const uint32_t home =
        (uint32_t)random_between(&p->b->random, 0, p->b->count - 1);
    hr_status status = hr_queue_create(c, home, &queue);
    if (status == HR_OK) {
        status = hr_array_create(queue, sizeof(int), outer, &s->array);
    }
    hr_queue_destroy(queue);
    return status;
}

static void fill_array(problem *p, side *s)
{
    hr_mapping m;
    for (size_t i = 0; i < s->bytes / sizeof(int); i++) {
        s->want[i] = (int)random_between(&p->b->random, -9, 9);
    }
    CHECK(hr_map(hr_view_of(s->array), HR_OUT, &m) == HR_OK);
    memcpy(m.data, s->want, s->bytes);
    CHECK(hr_unmap(&m) == HR_OK);
}

static void make_side(problem *p, side *s)
{
    hr_extent outer = p->domain;
    s->bytes = sizeof(int);
    for (uint32_t d = 0; d < outer.rank; d++) {
        s->margin[d] = random_between(&p->b->random, 0, 2);
        outer.size[d] += s->margin[d] + random_between(&p->b->random, 0, 2);
        s->outer[d] = outer.size[d];
        s->bytes *= (size_t)outer.size[d];
    }
    s->want = malloc(s->bytes);
    CHECK(make_array(p, s, outer) == HR_OK);
    CHECK(hr_view_section(hr_view_of(s->array), s->margin, p->domain,
                          &s->view) == HR_OK);
    fill_array(p, s);
}

static problem make_problem(bed *b, bool wrapped)
{
    problem p = {.b = b, .wrapped = wrapped};
    p.domain.rank = (uint32_t)random_between(&b->random, 1, 3);
    for (uint32_t d = 0; d < p.domain.rank; d++) {
        p.domain.size[d] = random_between(&b->random, 1, d == 0 ? 40 : 9);
    }
    for (int i = 0; i < ARRAYS; i++) {
        make_side(&p, &p.sides[i]);
    }
    p.table_size = random_between(&b->random, 1, 32);
    for (int i = 0; i < 32; i++) {
        p.table[i] = i * i;
    }
    return p;
}

/* The table is the program's own: made when the problem has its place. */
static void wrap_table(problem *p)
{
    CHECK(hr_array_wrap(p->b->context, p->table, sizeof(int),
                        hr_extent1(p->table_size), 0,
                        &p->table_array) == HR_OK);
}

static void destroy_problem(problem *p)
{
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(p->sides[i].array);
        free(p->sides[i].own);
        free(p->sides[i].want);
    }
    hr_array_destroy(p->table_array);
}

/* ---- what plain loops make of it */

static int low(int x)
{
    return x & 0xffff;
}

static void point_wanted(const problem *p, const reach *r, side *const role[3],
                         const int64_t *point)
{
    const uint32_t rank = p->domain.rank;
    int64_t other[HR_MAX_RANK];
    int sum = 0;
    memcpy(other, point, sizeof other);
    for (int64_t j = point[0] - r->before; j <= point[0] + r->after; j++) {
        const bool inside = j >= 0 && j < p->domain.size[0];
        other[0] = j;
        sum += inside ? (int)(j - point[0] + 7) *
                            low(role[0]->want[index_of(role[0], rank, other)])
                      : 1;
    }
    int *changed = &role[1]->want[index_of(role[1], rank, point)];
    *changed = low(3 * low(*changed) + sum);
    role[2]->want[index_of(role[2], rank, point)] =
        low(sum + p->table[point[0] % p->table_size]);
}

static void all_wanted(const problem *p, const reach *r, side *const role[3])
{
    int64_t size[HR_MAX_RANK] = {1, 1, 1}, i[HR_MAX_RANK] = {0};
    for (uint32_t d = 0; d < p->domain.rank; d++) {
        size[d] = p->domain.size[d];
    }
    for (i[0] = 0; i[0] < size[0]; i[0]++) {
        for (i[1] = 0; i[1] < size[1]; i[1]++) {
            for (i[2] = 0; i[2] < size[2]; i[2]++) {
                point_wanted(p, r, role, i);
            }
        }
    }
}

static int is_right(const side *s)
{
    hr_mapping m;
    CHECK(hr_map(hr_view_of(s->array), HR_IN, &m) == HR_OK);
    const int right = memcmp(m.data, s->want, s->bytes) == 0;
    CHECK(hr_unmap(&m) == HR_OK);
    return right;
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

static void launch_roles(problem *p, const reach *r, side *const role[3],
                         const hr_split_options *options)
{
    static const hr_kernel *const kernels[] = {&split1, &split2, &split3};
    const hr_argument arguments[] = {
        hr_near(hr_in(role[0]->view), r->before, r->after),
        hr_whole(hr_in(hr_view_of(p->table_array))), hr_inout(role[1]->view),
        hr_out(role[2]->view), hr_value(r, sizeof *r)};
    CHECK(hr_launch_split(p->b->context, kernels[p->domain.rank - 1], p->domain,
                          arguments, 5, options) == HR_OK);
    all_wanted(p, r, role);
}

/* Launches one after the other, on arrays that change their parts; nobody
 * waits before the end. */
static void random_launches(bed *b, int count)
{
    TEST_CASE("random launches");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        problem p = make_problem(b, false);
        wrap_table(&p);
        for (int step = 0; step < STEPS; step++) {
            const int first = (int)random_between(&b->random, 0, 2);
            side *const role[] = {&p.sides[first], &p.sides[(first + 1) % 3],
                                  &p.sides[(first + 2) % 3]};
            const reach r = {(int)random_between(&b->random, 0, 3),
                             (int)random_between(&b->random, 0, 50)};
            choice c;
            choose_options(b, p.domain.rank, &c);
            launch_roles(&p, &r, role, &c.options);
        }
        for (int s = 0; s < ARRAYS; s++) {
            CHECK(is_right(&p.sides[s]));
        }
        if (test_state.failures > 0) {
            printf("problem %d\n", i);
        }
        destroy_problem(&p);
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
        problem p = make_problem(b, true);
        wrap_table(&p);
        const reach r = {(int)random_between(&b->random, 0, 3),
                         (int)random_between(&b->random, 0, 9)};
        side *const role[] = {&p.sides[0], &p.sides[1], &p.sides[2]};
        hr_band bands[MAX_ACCELERATORS];
        hr_split_report report = HR_SPLIT_REPORT_INIT;
        choice c;
        choose_options(b, p.domain.rank, &c);
        report.shares = bands;
        report.share_capacity = MAX_ACCELERATORS;
        c.options.report = &report;
        c.options.threads = false;
        const hr_traffic before = hr_context_traffic(b->context);
        const uint64_t row =
            (uint64_t)(hr_extent_count(p.domain) / p.domain.size[0]) *
            sizeof(int);
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
        const uint64_t table = (uint64_t)p.table_size * sizeof(int);
        const uint64_t up = t.up - before.up, peer = t.peer - before.peer;
        CHECK(up + peer == (is_in_place(b) ? 0
                                           : row * ((uint64_t)each + rows) +
                                                 table * report.used));
        CHECK(peer == 0 || up == row * ((uint64_t)once + rows) + table);
        CHECK(t.down == before.down);
        for (int s = 1; s < ARRAYS; s++) {
            CHECK(hr_synchronize(p.sides[s].view) == HR_OK);
        }
        t = hr_context_traffic(b->context);
        CHECK(t.down - before.down == (is_in_place(b) ? 0 : 2 * row * rows));
        const hr_traffic *told = &report.traffic; /* before it was done */
        CHECK(told->up + told->peer == up + peer);
        CHECK(told->down == t.down - before.down);
        CHECK(is_in_place(b) || report.seconds > 0);
        CHECK(is_right(role[1]) && is_right(role[2]));
        destroy_problem(&p);
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
    problem p = make_problem(b, true);
    wrap_table(&p);
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
    static const hr_kernel *const kernels[] = {&split1, &split2, &split3};
    const hr_argument arguments[] = {
        hr_near(hr_in(p.sides[0].view), 1, 1),
        hr_whole(hr_in(hr_view_of(p.table_array))), hr_inout(p.sides[1].view),
        hr_out(p.sides[2].view), hr_value(&r, sizeof r)};
    CHECK(hr_launch_split(b->context, kernels[p.domain.rank - 1], p.domain,
                          arguments, 5, &options) == HR_OK);
    CHECK(report.share_count == b->count && report.used == 1);
    CHECK(bands[0].count == p.domain.size[0] && bands[1].count == 0);
    const hr_traffic after = hr_context_traffic(b->context);
    CHECK(memcmp(&before, &after, sizeof after) == 0);
    for (int i = 0; i < ARRAYS; i++) {
        CHECK(is_right(&p.sides[i]));
    }
    destroy_problem(&p);
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
