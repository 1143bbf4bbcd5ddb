/* SPDX-License-Identifier: MIT */
/* Launches that are larger than the memory of the accelerators of argv[1]:
 * results are those of plain loops, every byte moves once, and no more memory
 * is used than the limit allows. */
#include <math.h>

#include "base/size.h"
#include "runtime/runtime.h"
#include "support/split_problem.h"

extern const hr_kernel run1;

enum { LAUNCHES = TEST_TSAN ? 40 : 150 };

enum { MAX_ACCELERATORS = 8, ROOM = 1 << 28 };

/* ---- memory limits */

/* bed_kept_to_limits, also for those that work in host memory. */
static bool kept_to_limits(const bed *b)
{
    bool kept = true;
    for (uint32_t i = 0; i < b->count; i++) {
        const hri_accelerator *a = &b->context->accelerators[i];
        kept = kept && a->memory_peak <= a->memory_limit;
    }
    return kept;
}

/* ---- problems */

typedef struct problem {
    split_problem of;
    split_side *role[SPLIT_SIDES];
    reach r;
} problem;

static void make_problem(bed *b, problem *p)
{
    static const split_memory memories[] = {SPLIT_ANYWHERE, SPLIT_PINNED,
                                            SPLIT_WRAPPED, SPLIT_WRAPPED};
    split_problem_init(&p->of, b, 90, memories, 4);
    for (int i = 0; i < SPLIT_SIDES; i++) {
        p->role[i] = &p->of.sides[i];
    }
    p->r = (reach){(int)random_between(&b->random, 0, 4),
                   (int)random_between(&b->random, 0, 3)};
}

static bool all_are_right(const problem *p)
{
    bool right = true;
    for (int i = 0; i < SPLIT_SIDES; i++) {
        right = split_side_is_right(p->role[i]) && right;
    }
    return right;
}

/* ---- launches */

/* The bytes that chunks of `rows` rows need: two slots of what is read or
 * written, three of what is both, and the table. */
static uint64_t need_of(const problem *p, int64_t rows)
{
    const int64_t near =
        hri_min(rows + p->r.before + p->r.after, p->of.domain.size[0]);
    return (uint64_t)(2 * near + 5 * rows) * p->of.row_bytes +
           p->of.table_bytes;
}

static hr_status launch_problem(const problem *p,
                                const hr_split_options *options)
{
    return split_problem_launch(&p->of, &p->r, p->role, options);
}

/* What must move: what bands read, what they write, and the table for each.
 * What others hold already may come from them. */
static hr_traffic traffic_of(const problem *p, const hr_split_report *report)
{
    hr_traffic t = {0};
    for (uint32_t i = 0; i < report->share_count; i++) {
        const hr_band *band = &report->shares[i];
        const int64_t first = hri_max(band->first - p->r.before, 0);
        const int64_t end = hri_min(band->first + band->count + p->r.after,
                                    p->of.domain.size[0]);
        if (band->count > 0) {
            t.up += (uint64_t)(end - first + band->count) * p->of.row_bytes +
                    p->of.table_bytes;
            t.down += (uint64_t)(2 * band->count) * p->of.row_bytes;
        }
    }
    return t;
}

static bool is_same(const hr_traffic *a, const hr_traffic *b)
{
    return a->up == b->up && a->down == b->down && a->peer == b->peer;
}

static hr_traffic traffic_since(const bed *b, const hr_traffic *before)
{
    const hr_traffic now = hr_context_traffic(b->context);
    return (hr_traffic){now.up - before->up, now.down - before->down,
                        now.peer - before->peer};
}

/* Launch, and compare everything. Whether all of it streamed. */
static bool check_launch(problem *p, hr_split_options *options)
{
    hr_band bands[MAX_ACCELERATORS];
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    const hr_traffic before = hr_context_traffic(p->of.b->context);
    report.shares = bands;
    report.share_capacity = MAX_ACCELERATORS;
    options->report = &report;
    CHECK(launch_problem(p, options) == HR_OK);
    split_problem_want(&p->of, &p->r, p->role);
    const hr_traffic must = traffic_of(p, &report);
    const hr_traffic launched = traffic_since(p->of.b, &before);
    CHECK(hr_synchronize(p->role[1]->view) == HR_OK);
    CHECK(hr_synchronize(p->role[2]->view) == HR_OK);
    const hr_traffic moved = traffic_since(p->of.b, &before);
    CHECK(launched.up == moved.up && launched.peer == moved.peer);
    CHECK(moved.up + moved.peer == must.up);
    CHECK(moved.down == must.down);
    const bool streamed = launched.down == must.down;
    CHECK(!streamed || is_same(&report.traffic, &must));
    CHECK(report.seconds > 0);
    CHECK(kept_to_limits(p->of.b));
    CHECK(all_are_right(p));
    return streamed;
}

/* Any ranks, extents, kinds of memory, halos, weights and tiles, with room for
 * chunks of few tiles. */
static void random_launches(bed *b)
{
    int streamed = 0;
    TEST_CASE("random launches");
    for (int i = 0; i < LAUNCHES && test_state.failures == 0; i++) {
        problem p;
        double weights[MAX_ACCELERATORS];
        hr_extent tile;
        hr_split_options options;
        make_problem(b, &p);
        bed_random_options(b, p.of.domain.rank, weights, &tile, &options);
        const int64_t grain = options.tile != NULL ? tile.size[0] : 1;
        bed_give_room(b, need_of(&p, grain * random_between(&b->random, 1, 4)));
        streamed += check_launch(&p, &options);
        bed_give_room(b, ROOM);
        split_problem_finish(&p.of);
        if (test_state.failures > 0) {
            printf("launch %d\n", i);
        }
    }
    test_note("%d of %d streamed\n", streamed, LAUNCHES);
    CHECK(streamed > LAUNCHES / 3);
}

/* ---- limits */

/* With the bytes that the message names it works, and with one less it does
 * not. */
static void least_limit(bed *b)
{
    static const char words[] = "a part at a time it needs ";
    const double one[MAX_ACCELERATORS] = {1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hri_accelerator *a = &b->context->accelerators[0];
    problem p;
    TEST_CASE("the least limit");
    do {
        make_problem(b, &p);
        if (p.of.domain.size[0] < 20) {
            split_problem_finish(&p.of);
        }
    } while (p.of.table_array == NULL || p.of.domain.size[0] < 20);
    options.weights = one;
    bed_give_room(b, 1);
    const hr_traffic before = hr_context_traffic(b->context);
    const uint64_t held = hri_accelerator_held(a);
    CHECK_FAILS(launch_problem(&p, &options), HR_ERROR_OUT_OF_MEMORY, words);
    const char *found = strstr(hr_last_error(), words);
    const uint64_t needed =
        found != NULL ? strtoull(found + sizeof words - 1, NULL, 10) : 0;
    CHECK(needed == a->memory_limit - 1 + need_of(&p, 1));
    a->memory_limit = needed - 1;
    CHECK_FAILS(launch_problem(&p, &options), HR_ERROR_OUT_OF_MEMORY, words);
    const hr_traffic moved = traffic_since(b, &before);
    CHECK(is_same(&moved, &(hr_traffic){0}));
    CHECK(hri_accelerator_held(a) == held);
    CHECK(all_are_right(&p));
    a->memory_limit = needed;
    CHECK(check_launch(&p, &options));
    bed_give_room(b, ROOM);
    split_problem_finish(&p.of);
}

/* ---- views whose rows are not rows of their arrays */

enum { CELLS = 24 * 30 };

static void views_of_another_shape(bed *b)
{
    enum { ROWS = 24, COLS = 30 };
    static int from[CELLS], to[CELLS];
    const hr_extent tile = hr_extent2(4, 4);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_view views[2];
    int wrong = 0;
    TEST_CASE("views of arrays of another shape");
    for (int i = 0; i < CELLS; i++) {
        from[i] = i % 11;
    }
    hr_array *arrays[] = {
        bed_wrap(b, from, sizeof(int), hr_extent1(CELLS)),
        bed_wrap(b, to, sizeof(int), hr_extent3(2, 3, CELLS / 6))};
    for (int i = 0; i < 2; i++) {
        CHECK(hr_view_reshape(hr_view_of(arrays[i]), hr_extent2(ROWS, COLS),
                              &views[i]) == HR_OK);
    }
    options.tile = &tile;
    bed_give_room(b, 2 * 2 * 4 * COLS * sizeof(int));
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_launch_split(b->context, &split_tiled, hr_extent2(ROWS, COLS),
                          HR_ARGUMENTS(hr_in(views[0]), hr_out(views[1])),
                          &options) == HR_OK);
    const hr_traffic moved = traffic_since(b, &before);
    CHECK(is_same(&moved, &(hr_traffic){sizeof from, sizeof to, 0}));
    CHECK(hr_synchronize(views[1]) == HR_OK);
    CHECK(kept_to_limits(b));
    for (int i = 0; i < CELLS; i++) {
        const int row = i / COLS % 4, top = i - row * COLS;
        int sum = row;
        for (int k = 0; k < 4; k++) {
            sum += from[top + k * COLS];
        }
        wrong += to[i] != sum;
    }
    CHECK(wrong == 0);
    bed_give_room(b, ROOM);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

/* ---- values that lie on accelerators alone */

static void from_accelerators(bed *b)
{
    enum { N = 1000 };
    static float x[N];
    const double weights[MAX_ACCELERATORS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const double last_first[MAX_ACCELERATORS] = {1, 3, 5, 7, 9, 9, 9, 9};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *y = NULL, *array = bed_wrap(b, x, sizeof *x, hr_extent1(N));
    hr_mapping m;
    int wrong = 0;
    TEST_CASE("values that lie on accelerators");
    CHECK(hr_array_create_anywhere(b->context, sizeof(float), hr_extent1(N),
                                   &y) == HR_OK);
    CHECK(hr_map(hr_view_of(y), HR_OUT, &m) == HR_OK);
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        ((float *)m.data)[i] = 1;
    }
    CHECK(hr_unmap(&m) == HR_OK);
    const hr_argument arguments[] = {hr_value(&(float){2}, sizeof(float)),
                                     hr_in(hr_view_of(array)),
                                     hr_inout(hr_view_of(y))};
    bed_give_room(b, ROOM);
    options.weights = weights;
    CHECK(hr_launch_split(b->context, &run1, hr_extent1(N), arguments, 3,
                          &options) == HR_OK);
    bed_give_room(b, 500);
    options.weights = last_first;
    CHECK(hr_launch_split(b->context, &run1, hr_extent1(N), arguments, 3,
                          &options) == HR_OK);
    CHECK(kept_to_limits(b));
    CHECK(hr_map(hr_view_of(y), HR_IN, &m) == HR_OK);
    for (int i = 0; i < N; i++) {
        wrong += ((float *)m.data)[i] != 1 + 4 * x[i];
    }
    CHECK(wrong == 0);
    CHECK(hr_unmap(&m) == HR_OK);
    bed_give_room(b, ROOM);
    hr_array_destroy(array);
    hr_array_destroy(y);
}

/* ---- calls that are split launches */

static void run_streams(bed *b)
{
    enum { N = 5003 };
    static float x[N], y[N];
    int wrong = 0;
    TEST_CASE("hr_run");
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 100);
        y[i] = (float)(i % 7);
    }
    bed_give_room(b, 5 * 97 * sizeof(float));
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_run(b->context, &run1, hr_extent1(N),
                 HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)),
                 NULL) == HR_OK);
    const hr_traffic moved = traffic_since(b, &before);
    CHECK(is_same(&moved, &(hr_traffic){2 * sizeof x, sizeof y, 0}));
    CHECK(kept_to_limits(b));
    for (int i = 0; i < N; i++) {
        wrong += y[i] != (float)(i % 7) + 2 * x[i];
    }
    CHECK(wrong == 0);
    bed_give_room(b, ROOM);
}

/* A chunk of such a kernel is tiles of 256 items. */
static void items_stream(bed *b)
{
    enum { N = 5003, TILE = 256 };
    static int from[N], to[N];
    int count = 0, wrong = 0;
    TEST_CASE("items that see to themselves");
    for (int i = 0; i < N; i++) {
        from[i] = i;
    }
    bed_give_room(b, (2 * 2 * TILE + 2) * sizeof(int));
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_run(b->context, &split_items1, hr_extent1(N),
                 HR_ARGUMENTS(hr_near(hr_in(from, N), 0, 0), hr_out(to, N),
                              hr_combined(hr_inout(&count, 1), HR_COMBINE_SUM)),
                 NULL) == HR_OK);
    const hr_traffic moved = traffic_since(b, &before);
    CHECK(moved.up + moved.peer >= sizeof from && moved.down >= sizeof to);
    CHECK(kept_to_limits(b));
    for (int i = 0; i < N; i++) {
        wrong += to[i] != i + 1;
    }
    CHECK(wrong == 0 && count == N);
    bed_give_room(b, ROOM);
}

/* Units of a reduction are 4096 elements. */
static void reductions_stream(bed *b)
{
    enum { N = 300007 };
    static int x[N];
    hr_array *array = bed_wrap(b, x, sizeof *x, hr_extent1(N));
    hr_reduced sum = {0}, greatest = {0};
    int64_t want = 0;
    TEST_CASE("reductions");
    for (int i = 0; i < N; i++) {
        x[i] = i % 1000 - 300;
        want += x[i];
    }
    x[N - 5] = 1 << 20;
    want += (1 << 20) - ((N - 5) % 1000 - 300);
    bed_give_room(b, 3 * 2 * 4096 * sizeof(int));
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_reduce(b->context, HR_REDUCE_SUM, HR_I32, hr_view_of(array), NULL,
                    NULL, &sum) == HR_OK);
    const hr_traffic moved = traffic_since(b, &before);
    CHECK(moved.up + moved.peer - sizeof x <= b->count * sizeof(int));
    CHECK(moved.down == (N + 4095) / 4096 * sizeof(double));
    CHECK(sum.integer == want);
    CHECK(hr_reduce(b->context, HR_REDUCE_ARGMAX, HR_I32, hr_view_of(array),
                    NULL, NULL, &greatest) == HR_OK);
    CHECK(greatest.index == N - 5);
    CHECK(kept_to_limits(b));
    bed_give_room(b, ROOM);
    hr_array_destroy(array);
}

static void random_fills(bed *b)
{
    enum { N = 100001 };
    static unsigned free_fill[N], streamed[N];
    unsigned *const data[] = {free_fill, streamed};
    const hr_random numbers = {HR_RANDOM_BITS, 7, 5, 3};
    TEST_CASE("random fills");
    for (int i = 0; i < 2; i++) {
        hr_array *array = bed_wrap(b, data[i], sizeof(unsigned), hr_extent1(N));
        bed_give_room(b, i == 0 ? ROOM : 2 * 2 * 4096 * sizeof(unsigned));
        const hr_traffic before = hr_context_traffic(b->context);
        CHECK(hr_random_fill(b->context, hr_view_of(array), HR_I32, numbers,
                             NULL) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
        const hr_traffic moved = traffic_since(b, &before);
        CHECK(is_same(&moved, &(hr_traffic){0, sizeof free_fill, 0}));
        CHECK(kept_to_limits(b));
        bed_give_room(b, ROOM);
        hr_array_destroy(array);
    }
    CHECK(memcmp(free_fill, streamed, sizeof streamed) == 0);
}

static void all_cases(bed *b)
{
    TEST(random_launches(b));
    TEST(least_limit(b));
    TEST(views_of_another_shape(b));
    TEST(from_accelerators(b));
    TEST(run_streams(b));
    TEST(items_stream(b));
    TEST(reductions_stream(b));
    TEST(random_fills(b));
}

int main(int argc, char **argv)
{
    return bed_main(argc > 1 ? argv[1] : "2xhost", all_cases);
}
