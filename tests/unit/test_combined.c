/* SPDX-License-Identifier: MIT */
/* Views that bands combine (hr_combined) on the accelerators of argv[1]:
 * results are those of plain loops, whatever the bands and the memory. */
#include <stdlib.h>

#include "base/size.h"
#include "runtime/runtime.h"
#include "support/bed.h"

extern const hr_kernel combined_i32, combined_u32, combined_i64, combined_u64,
    combined_f32, combined_f64, combined_count, combined_rows, combined_beyond,
    combined_others;

enum { LAUNCHES = TEST_TSAN ? 40 : 150 };

enum { VIEWS = 3, MAX_ACCELERATORS = 8, ROOM = 1 << 28, TYPES = 6 };

/* ---- numbers of each type: all are small integers */

static const struct {
    const hr_kernel *kernel;
    const char *name;
    size_t bytes;
} types[TYPES] = {
    {&combined_i32, "int", 4},   {&combined_u32, "unsigned", 4},
    {&combined_i64, "long", 8},  {&combined_u64, "unsigned long", 8},
    {&combined_f32, "float", 4}, {&combined_f64, "double", 8}};

static void put_number(int type, void *at, int64_t value)
{
    const float single = (float)value;
    const double wide = (double)value;
    const int32_t narrow = (int32_t)value;
    const void *from = type == 4   ? (const void *)&single
                       : type == 5 ? (const void *)&wide
                       : type < 2  ? (const void *)&narrow
                                   : (const void *)&value;
    memcpy(at, from, types[type].bytes);
}

/* ---- a problem: x, and three combined views with a margin around them */

typedef struct problem {
    bed *b;
    int type;
    int64_t rows, cols; /* of x */
    int *x;
    hr_array *x_array;
    int64_t outer[2], margin[2], inner[2];
    int64_t *want[VIEWS]; /* with the margin */
    unsigned char *own[VIEWS];
    hr_array *arrays[VIEWS];
    hr_view views[VIEWS];
} problem;

static int64_t outer_count(const problem *p)
{
    return p->outer[0] * p->outer[1];
}

static uint64_t copy_bytes(const problem *p)
{
    return (uint64_t)(p->inner[0] * p->inner[1]) * types[p->type].bytes;
}

static void fill_view(const problem *p, int v)
{
    const size_t bytes = types[p->type].bytes;
    hr_mapping m;
    CHECK(hr_map(hr_view_of(p->arrays[v]), HR_OUT, &m) == HR_OK);
    for (int64_t e = 0; e < outer_count(p); e++) {
        put_number(p->type, (char *)m.data + (size_t)e * bytes, p->want[v][e]);
    }
    CHECK(hr_unmap(&m) == HR_OK);
}

static void make_view(problem *p, int v)
{
    random_source *random = &p->b->random;
    const size_t bytes = types[p->type].bytes;
    const size_t count = (size_t)outer_count(p);
    const hr_extent outer = hr_extent2(p->outer[0], p->outer[1]);
    p->want[v] = malloc(count * sizeof(int64_t));
    p->own[v] = NULL;
    if (random_between(random, 0, 1) == 0) {
        CHECK(hr_array_create_anywhere(p->b->context, bytes, outer,
                                       &p->arrays[v]) == HR_OK);
    } else {
        p->own[v] = malloc(count * bytes);
        p->arrays[v] = bed_wrap(p->b, p->own[v], bytes, outer);
    }
    for (size_t e = 0; e < count; e++) {
        p->want[v][e] = random_between(random, 0, 500);
    }
    fill_view(p, v);
    CHECK(hr_view_section(hr_view_of(p->arrays[v]), p->margin,
                          hr_extent2(p->inner[0], p->inner[1]),
                          &p->views[v]) == HR_OK);
}

static void make_problem(bed *b, problem *p)
{
    random_source *random = &b->random;
    *p = (problem){.b = b};
    p->type = (int)random_between(random, 0, bed_has_double(b) ? 5 : 4);
    p->rows = random_between(random, 1, 90);
    p->cols = random_between(random, 1, 20);
    p->x = malloc((size_t)(p->rows * p->cols) * sizeof(int));
    for (int64_t e = 0; e < p->rows * p->cols; e++) {
        p->x[e] = (int)random_between(random, 0, 1 << 20);
    }
    p->x_array = bed_wrap(b, p->x, sizeof(int), hr_extent2(p->rows, p->cols));
    for (int d = 0; d < 2; d++) {
        p->margin[d] = random_between(random, 0, 2);
        p->inner[d] = random_between(random, 1, 9);
        p->outer[d] = p->margin[d] + p->inner[d] + random_between(random, 0, 2);
    }
    for (int v = 0; v < VIEWS; v++) {
        make_view(p, v);
    }
}

static void destroy_problem(problem *p)
{
    hr_array_destroy(p->x_array);
    free(p->x);
    for (int v = 0; v < VIEWS; v++) {
        hr_array_destroy(p->arrays[v]);
        free(p->own[v]);
        free(p->want[v]);
    }
}

static void all_wanted(const problem *p)
{
    for (int64_t e = 0; e < p->rows * p->cols; e++) {
        const int x = p->x[e];
        const int64_t row = (x & 0xffff) % p->inner[0] + p->margin[0];
        const int64_t col = e % p->cols % p->inner[1] + p->margin[1];
        const int64_t at = row * p->outer[1] + col;
        p->want[0][at] += x % 7;
        p->want[1][at] = hri_min(p->want[1][at], x % 1000);
        p->want[2][at] = hri_max(p->want[2][at], x % 1000);
    }
}

static bool is_right(const problem *p, int v)
{
    const size_t bytes = types[p->type].bytes;
    bool right = true;
    hr_mapping m;
    CHECK(hr_map(hr_view_of(p->arrays[v]), HR_IN, &m) == HR_OK);
    for (int64_t e = 0; e < outer_count(p); e++) {
        unsigned char want[8];
        put_number(p->type, want, p->want[v][e]);
        right = right &&
                memcmp((char *)m.data + (size_t)e * bytes, want, bytes) == 0;
    }
    CHECK(hr_unmap(&m) == HR_OK);
    return right;
}

static bool all_right(const problem *p)
{
    return is_right(p, 0) && is_right(p, 1) && is_right(p, 2);
}

static hr_status launch_problem(const problem *p,
                                const hr_split_options *options)
{
    const hr_argument arguments[] = {
        hr_in(hr_view_of(p->x_array)),
        hr_combined(hr_inout(p->views[0]), HR_COMBINE_SUM),
        hr_combined(hr_inout(p->views[1]), HR_COMBINE_MIN),
        hr_combined(hr_inout(p->views[2]), HR_COMBINE_MAX)};
    return hr_launch_split(p->b->context, types[p->type].kernel,
                           hr_extent2(p->rows, p->cols), arguments, 4, options);
}

/* The bytes of a combined view on an accelerator: parts of rows begin and end
 * between 16 bytes. */
static uint64_t view_bytes(const problem *p)
{
    const int64_t bytes = (int64_t)types[p->type].bytes, grain = 16;
    const int64_t whole = p->outer[1] * bytes;
    int64_t first = p->margin[1] * bytes;
    first -= first % grain;
    const int64_t end = hri_min(
        hri_round_up((p->margin[1] + p->inner[1]) * bytes, grain), whole);
    return (uint64_t)(p->inner[0] * (end - first == whole
                                         ? whole
                                         : hri_round_up(end - first, grain)));
}

static uint64_t slots_of(const problem *p, int64_t rows)
{
    return 2 * (uint64_t)(rows * p->cols) * sizeof(int);
}

/* The bytes that the first band needs for chunks of so many rows. Others need
 * no more. */
static uint64_t need_of(const problem *p, int64_t rows)
{
    const uint64_t slots = slots_of(p, rows), copy = copy_bytes(p);
    return VIEWS * view_bytes(p) + (slots > copy ? slots : copy);
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

/* Launch, and compare everything. How many bands there were. */
static uint32_t check_launch(problem *p, hr_split_options options)
{
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    const hr_traffic before = hr_context_traffic(p->b->context);
    options.report = &report;
    CHECK(launch_problem(p, &options) == HR_OK);
    all_wanted(p);
    for (int v = 0; v < VIEWS; v++) {
        CHECK(hr_synchronize(p->views[v]) == HR_OK);
    }
    const hr_traffic moved = traffic_since(p->b, &before);
    if (p->own[0] != NULL && p->own[1] != NULL && p->own[2] != NULL &&
        !CHECK(is_same(&moved, &report.traffic))) {
        printf("moved %llu %llu %llu, not %llu %llu %llu\n",
               (unsigned long long)moved.up, (unsigned long long)moved.down,
               (unsigned long long)moved.peer,
               (unsigned long long)report.traffic.up,
               (unsigned long long)report.traffic.down,
               (unsigned long long)report.traffic.peer);
    }
    CHECK(report.seconds > 0);
    CHECK(bed_kept_to_limits(p->b));
    CHECK(all_right(p));
    return report.used;
}

/* Any types, extents, margins, weights and tiles. Half of them stream x in
 * chunks of few tiles, with the least memory for that. */
static void launch_at_random(bed *b)
{
    int several = 0;
    TEST_CASE("random launches");
    for (int i = 0; i < LAUNCHES && test_state.failures == 0; i++) {
        problem p;
        double weights[MAX_ACCELERATORS];
        hr_extent tile;
        hr_split_options options;
        make_problem(b, &p);
        bed_random_options(b, 2, weights, &tile, &options);
        const int64_t grain = options.tile != NULL ? tile.size[0] : 1;
        const bool limited = random_between(&b->random, 0, 1) == 0;
        bed_give_room(
            b, limited ? need_of(&p, grain * random_between(&b->random, 1, 4))
                       : ROOM);
        several += check_launch(&p, options) > 1;
        bed_give_room(b, ROOM);
        destroy_problem(&p);
        if (test_state.failures > 0) {
            printf("launch %d of %s\n", i, types[p.type].name);
        }
    }
    test_note("%d of %d had several bands\n", several, LAUNCHES);
    CHECK(b->count == 1 || several > LAUNCHES / 4);
}

/* ---- limits */

static bool has_own_memory(const bed *b)
{
    bool all = true;
    for (uint32_t i = 0; i < b->count; i++) {
        all = all && !b->context->accelerators[i].in_place;
    }
    return all;
}

/* With the bytes that the message names it works. With one less it does not,
 * and nothing has changed. The accelerator holds nothing before, but `needed`
 * has what it needs beside memory of arrays, too. */
static void check_least_limit(bed *b, uint32_t index, uint64_t wanted,
                              problem *p)
{
    static const char words[] = "needs ";
    const double halves[MAX_ACCELERATORS] = {1, 1};
    hri_accelerator *a = &b->context->accelerators[index];
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = halves;
    bed_give_room(b, ROOM);
    a->memory_limit -= ROOM - 1;
    CHECK_FAILS(launch_problem(p, &options), HR_ERROR_OUT_OF_MEMORY,
                "for copies of combined views");
    const char *found = strstr(hr_last_error(), words);
    const uint64_t needed =
        found != NULL ? strtoull(found + sizeof words - 1, NULL, 10) : 0;
    CHECK(needed == a->memory_limit - 1 + wanted);
    a->memory_limit = needed - 1;
    CHECK_FAILS(launch_problem(p, &options), HR_ERROR_OUT_OF_MEMORY, words);
    CHECK(all_right(p));
    a->memory_limit = needed;
    CHECK(check_launch(p, options) == 2);
    bed_give_room(b, ROOM);
}

static void find_least_limits(bed *b)
{
    TEST_CASE("the least limit");
    if (b->count < 2 || !has_own_memory(b)) {
        return;
    }
    for (uint32_t i = 0; i < 2; i++) { /* the view itself, and a copy */
        problem p;
        do {
            make_problem(b, &p);
            if (p.rows < 20) {
                destroy_problem(&p);
            }
        } while (p.rows < 20);
        check_least_limit(b, i,
                          i == 0 ? need_of(&p, 1)
                                 : VIEWS * copy_bytes(&p) + slots_of(&p, 1),
                          &p);
        destroy_problem(&p);
    }
}

/* One without memory for a copy takes no part where others can have its
 * rows. */
static void leave_small_out(bed *b)
{
    enum { N = 10000, BINS = 500 };
    static int x[N], bins[BINS];
    hr_band bands[MAX_ACCELERATORS];
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    int sum = 0;
    TEST_CASE("memory for a copy");
    if (b->count < 3 || !has_own_memory(b)) {
        return;
    }
    report.shares = bands;
    report.share_capacity = MAX_ACCELERATORS;
    options.report = &report;
    hr_array *arrays[] = {bed_wrap(b, x, sizeof *x, hr_extent1(N)),
                          bed_wrap(b, bins, sizeof *bins, hr_extent1(BINS))};
    memset(bins, 0, sizeof bins);
    for (int i = 0; i < N; i++) {
        x[i] = i;
    }
    bed_give_room(b, N * sizeof *x * 2 / 3 + 2 * sizeof bins);
    b->context->accelerators[1].memory_limit -=
        N * sizeof *x * 2 / 3 + sizeof bins + 1;
    CHECK(hr_launch_split(
              b->context, &combined_count, hr_extent1(N),
              HR_ARGUMENTS(
                  hr_in(hr_view_of(arrays[0])),
                  hr_combined(hr_inout(hr_view_of(arrays[1])), HR_COMBINE_SUM)),
              &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(report.used == 2 && report.share_count == b->count);
    for (uint32_t i = 0; i < report.share_count; i++) {
        CHECK(bands[i].accelerator != 1 || bands[i].count == 0);
    }
    for (int i = 0; i < BINS; i++) {
        sum += bins[i] == N / BINS;
    }
    CHECK(sum == BINS);
    CHECK(bed_kept_to_limits(b));
    bed_give_room(b, ROOM);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

/* ---- memory of the caller's, and views of a higher rank */

static const double equal[MAX_ACCELERATORS] = {1, 1, 1, 1, 1, 1, 1, 1};

static void run_combined(bed *b)
{
    enum { N = 5003, BINS = 10 };
    static int x[N];
    int bins[BINS] = {1, 2, 3}, want[BINS] = {1, 2, 3};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    TEST_CASE("hr_run");
    options.weights = equal;
    for (int i = 0; i < N; i++) {
        x[i] = i * 7 % 1000;
        want[x[i] % BINS]++;
    }
    CHECK(hr_run(b->context, &combined_count, hr_extent1(N),
                 HR_ARGUMENTS(hr_in(x, N), hr_combined(hr_inout(bins, BINS),
                                                       HR_COMBINE_SUM)),
                 &options) == HR_OK);
    CHECK(memcmp(bins, want, sizeof bins) == 0);
}

static void combine_rank_six(bed *b)
{
    enum { ROWS = 40, COLS = 6, BINS = 24 };
    static int x[ROWS * COLS], views[VIEWS][BINS], want[VIEWS][BINS];
    const hr_extent deep = {6, {1, 2, 2, 1, 2, 3}}; /* as 8 x 3 */
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *arrays[VIEWS + 1];
    TEST_CASE("rank 6");
    options.weights = equal;
    memset(views, 0, sizeof views);
    memset(want, 0, sizeof want);
    for (int at = 0; at < BINS; at++) {
        views[1][at] = want[1][at] = 2000;
    }
    for (int e = 0; e < ROWS * COLS; e++) {
        x[e] = e * 37 % 3000;
        const int at = x[e] % 8 * 3 + e % COLS % 3;
        want[0][at] += x[e] % 7;
        want[1][at] = (int)hri_min(want[1][at], x[e] % 1000);
        want[2][at] = (int)hri_max(want[2][at], x[e] % 1000);
    }
    arrays[VIEWS] = bed_wrap(b, x, sizeof *x, hr_extent2(ROWS, COLS));
    for (int v = 0; v < VIEWS; v++) {
        arrays[v] = bed_wrap(b, views[v], sizeof(int), deep);
    }
    CHECK(hr_launch_split(
              b->context, &combined_i32, hr_extent2(ROWS, COLS),
              HR_ARGUMENTS(
                  hr_in(hr_view_of(arrays[VIEWS])),
                  hr_combined(hr_inout(hr_view_of(arrays[0])), HR_COMBINE_SUM),
                  hr_combined(hr_inout(hr_view_of(arrays[1])), HR_COMBINE_MIN),
                  hr_combined(hr_inout(hr_view_of(arrays[2])), HR_COMBINE_MAX)),
              &options) == HR_OK);
    for (int v = 0; v < VIEWS; v++) {
        CHECK(hr_synchronize(hr_view_of(arrays[v])) == HR_OK);
        CHECK(memcmp(views[v], want[v], sizeof want[v]) == 0);
        hr_array_destroy(arrays[v]);
    }
    hr_array_destroy(arrays[VIEWS]);
}

/* Fractions are folded in the order of the bands. Here each band is a row. */
static void fold_in_order(bed *b)
{
    enum { COLS = 100 };
    static float x[MAX_ACCELERATORS][COLS];
    float sum[COLS], want[COLS];
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    TEST_CASE("the order of bands");
    options.weights = equal;
    for (int j = 0; j < COLS; j++) {
        sum[j] = want[j] = 1;
        for (uint32_t i = 0; i < b->count; i++) {
            x[i][j] = 1e-3F * (float)(j + 1) / (float)(3 * i + 7) +
                      (i == 1 ? 1e4F : 0);
            want[j] += x[i][j];
        }
    }
    CHECK(hr_run(b->context, &combined_rows, hr_extent2(b->count, COLS),
                 HR_ARGUMENTS(hr_in(&x[0][0], b->count, COLS),
                              hr_combined(hr_inout(sum, COLS), HR_COMBINE_SUM)),
                 &options) == HR_OK);
    CHECK(memcmp(sum, want, sizeof sum) == 0);
}

/* hr_launch and one accelerator need no copies. */
static void launch_on_one(bed *b)
{
    enum { N = 1000, BINS = 7 };
    static int x[N];
    int bins[BINS] = {0}, want[BINS] = {0};
    TEST_CASE("hr_launch");
    for (int i = 0; i < N; i++) {
        x[i] = i * i % 501;
        want[x[i] % BINS]++;
    }
    hr_array *arrays[] = {bed_wrap(b, x, sizeof *x, hr_extent1(N)),
                          bed_wrap(b, bins, sizeof *bins, hr_extent1(BINS))};
    CHECK(hr_launch(b->queues[b->count - 1], &combined_count, hr_extent1(N),
                    NULL,
                    HR_ARGUMENTS(hr_in(hr_view_of(arrays[0])),
                                 hr_combined(hr_inout(hr_view_of(arrays[1])),
                                             HR_COMBINE_SUM))) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(memcmp(bins, want, sizeof bins) == 0);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

/* ---- rules */

static void check_refused(const bed *b, const hr_kernel *kernel,
                          const hr_argument *arguments, size_t count,
                          const char *words)
{
    CHECK_FAILS(hr_launch_split(b->context, kernel, hr_extent1(8), arguments,
                                count, NULL),
                HR_ERROR_INVALID, words);
}

static void refuse_bad_input(bed *b)
{
    static int data[64];
    static short small[8];
    const int64_t half[] = {32};
    hr_view views[2], list;
    TEST_CASE("bad input");
    hr_array *x = bed_wrap(b, data, 4, hr_extent1(8));
    hr_array *y = bed_wrap(b, data, 4, hr_extent1(64));
    hr_array *z = bed_wrap(b, small, 2, hr_extent1(8));
    hr_array *w = bed_wrap(b, data, 4, hr_extent2(2, 8));
    CHECK(hr_view_section(hr_view_of(y), half, hr_extent1(8), &views[1]) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(y), &(int64_t){0}, hr_extent1(8),
                          &views[0]) == HR_OK);
    list = hr_view_of(w);
    const hr_argument in = hr_in(hr_view_of(x)), bins = hr_inout(views[0]);
    const hr_argument whole = hr_whole(bins), near = hr_near(bins, 1, 0);
    check_refused(b, &combined_count,
                  HR_ARGUMENTS(in, hr_combined(bins, (hr_combine)4)),
                  "bins is combined in the unknown way 4");
    check_refused(b, &combined_count,
                  HR_ARGUMENTS(in, hr_combined(bins, (hr_combine)-1)),
                  "unknown way -1");
    check_refused(b, &combined_count,
                  HR_ARGUMENTS(hr_combined(in, HR_COMBINE_SUM), bins),
                  "x is IN; only INOUT views can be combined");
    check_refused(b, &combined_count,
                  HR_ARGUMENTS(in, hr_combined(whole, HR_COMBINE_SUM)),
                  "neither hr_whole nor hr_near");
    check_refused(b, &combined_count,
                  HR_ARGUMENTS(in, hr_combined(near, HR_COMBINE_SUM)),
                  "neither hr_whole nor hr_near");
    check_refused(
        b, &combined_count,
        HR_ARGUMENTS(hr_in(views[1]), hr_combined(bins, HR_COMBINE_SUM)),
        "bins is combined, but x is a view of its array");
    check_refused(b, &combined_others,
                  HR_ARGUMENTS(in,
                               hr_combined(hr_out(views[0]), HR_COMBINE_MAX),
                               hr_inout(hr_view_of(z)), hr_inout(list)),
                  "out is OUT");
    check_refused(
        b, &combined_others,
        HR_ARGUMENTS(in, hr_out(views[0]),
                     hr_combined(hr_inout(hr_view_of(z)), HR_COMBINE_MAX),
                     hr_inout(list)),
        "small has elements of short");
    check_refused(b, &combined_others,
                  HR_ARGUMENTS(in, hr_out(views[0]), hr_inout(hr_view_of(z)),
                               hr_combined(hr_inout(list), HR_COMBINE_MIN)),
                  "list is a list of views");
    hr_array_destroy(x);
    hr_array_destroy(y);
    hr_array_destroy(z);
    hr_array_destroy(w);
}

/* The sum of fractions depends on the bands. */
static void refuse_fractions(const char *set)
{
    static float x[8], sum[4];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    bed b = {.count = 0};
    const char *text = "#include <headrace/dialect.h>\n"
                       "HR_KERNEL2(rows, (IN, float, 2, x),"
                       " (INOUT, float, 1, sum))\n"
                       "{ HR_EACH2(i, j) { HR_ATOMIC_MAX(HR_AT1(sum, j),"
                       " HR_AT2(x, i, j)); } }\n";
    const hr_kernel *kernel = NULL;
    options.accelerators = set;
    options.reproducible = true;
    TEST_CASE("reproducible");
    if (hr_context_create(&options, &b.context) != HR_OK) {
        return;
    }
    CHECK(hr_kernel_create(b.context, text, "rows", NULL, &kernel) == HR_OK);
    CHECK_FAILS(
        hr_run(b.context, kernel, hr_extent2(2, 4),
               HR_ARGUMENTS(hr_in(x, 2, 4),
                            hr_combined(hr_inout(sum, 4), HR_COMBINE_SUM)),
               NULL),
        HR_ERROR_UNSUPPORTED, "sum has sums of fractions");
    hr_context_destroy(b.context);
}

/* The checker sees what a band writes beyond the view, or its copy. */
static void find_beyond(bed *b)
{
    static int x[64], bins[8];
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    TEST_CASE("HEADRACE_CHECK=1");
    if (b->context->checker == NULL) {
        return;
    }
    for (int i = 0; i < 64; i++) {
        x[i] = 1;
    }
    options.weights = equal;
    CHECK_FAILS(hr_run(b->context, &combined_beyond, hr_extent1(64),
                       HR_ARGUMENTS(hr_in(x, 64), hr_combined(hr_inout(bins, 8),
                                                              HR_COMBINE_SUM)),
                       &options),
                HR_ERROR_INVALID, "bins[8], outside its extent 8");
}

static const char *set = "host";

static void run_all(bed *b)
{
    TEST(launch_at_random(b));
    TEST(find_least_limits(b));
    TEST(leave_small_out(b));
    TEST(run_combined(b));
    TEST(combine_rank_six(b));
    TEST(fold_in_order(b));
    TEST(launch_on_one(b));
    TEST(refuse_bad_input(b));
    TEST(refuse_fractions(set));
    TEST(find_beyond(b));
}

int main(int count, char **arguments)
{
    set = count > 1 ? arguments[1] : set;
    return bed_main(set, run_all);
}
