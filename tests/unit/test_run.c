/* SPDX-License-Identifier: MIT */
/* hr_run over the accelerators of argv[1]: host memory in, results home, to the
 * bit, and nothing else changed. */
#define _GNU_SOURCE /* setenv */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/random.h"
#include "support/split.h"
#include "test.h"

extern const hr_kernel run1, run2, run3, run_reverse, run_product, run_small,
    run_large;

enum { MAX_ACCELERATORS = 8 };

typedef struct bed {
    hr_context *context;
    uint32_t count;
    bool in_place; /* nothing is moved */
    bool plain;    /* all accelerators are the host */
    random_source random;
} bed;

typedef struct pair {
    int first;
    float second;
} pair;

static const double weights[MAX_ACCELERATORS] = {2, 1, 3, 1, 1, 1, 1, 1};

/* Every accelerator gets rows. */
static hr_split_options share_rows(void)
{
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    return options;
}

/* ---- ranks and strides */

enum { MAX_FLOATS = 40 * 12 * 12 };

typedef struct block {
    float x[MAX_FLOATS], y[MAX_FLOATS], want[MAX_FLOATS];
} block;

static void random_block(bed *b, hr_extent e, int64_t gap, float alpha,
                         block *m)
{
    const int64_t cols = e.size[e.rank - 1];
    const int64_t rows = hr_extent_count(e) / cols;
    for (int i = 0; i < MAX_FLOATS; i++) {
        m->x[i] = (float)random_between(&b->random, -9, 9);
        m->y[i] = m->want[i] = (float)random_between(&b->random, -9, 9);
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        const int64_t at = i / cols * (cols + gap) + i % cols;
        m->want[at] += alpha * m->x[at];
    }
}

static void ranks_and_gaps(bed *b)
{
    static const hr_kernel *const kernels[] = {&run1, &run2, &run3};
    static block m;
    TEST_CASE("ranks 1 to 3, with gaps between rows that stay");
    for (int i = 0; i < 60 && test_state.failures == 0; i++) {
        const hr_split_options some = share_rows();
        hr_extent e = {.rank = 1 + (uint32_t)i % 3};
        for (uint32_t d = 0; d < e.rank; d++) {
            e.size[d] = random_between(&b->random, 1, d == 0 ? 40 : 9);
        }
        const int64_t gap = e.rank > 1 ? random_between(&b->random, 0, 3) : 0;
        const float alpha = (float)random_between(&b->random, 1, 5);
        const size_t row =
            gap > 0 ? (size_t)(e.size[e.rank - 1] + gap) * sizeof(float) : 0;
        random_block(b, e, gap, alpha, &m);
        CHECK(hr_run(b->context, kernels[e.rank - 1], e,
                     HR_ARGUMENTS(
                         hr_value(alpha),
                         hr_in_data(m.x, "float", sizeof(float), e, row),
                         hr_inout_data(m.y, "float", sizeof(float), e, row)),
                     i % 2 == 0 ? &some : NULL) == HR_OK);
        CHECK(memcmp(m.y, m.want, sizeof m.y) == 0);
    }
}

static void macros_take_pointers(bed *b)
{
    TEST_CASE("macros for pointers and views");
    float x[24], y[3][24];
    hr_array *array = NULL;
    for (int i = 0; i < 24; i++) {
        x[i] = (float)i;
        y[0][i] = y[1][i] = y[2][i] = 1;
    }
    CHECK(hr_run(b->context, &run1, hr_extent1(24),
                 HR_ARGUMENTS(hr_value(2.0F), hr_in(x, 24), hr_inout(y[0], 24)),
                 NULL) == HR_OK);
    CHECK(hr_run(b->context, &run2, hr_extent2(4, 6),
                 HR_ARGUMENTS(hr_value(2.0F), hr_in(x, 4, 6),
                              hr_inout(y[1], 4, 6)),
                 NULL) == HR_OK);
    CHECK(hr_array_wrap(b->context, x, sizeof *x, hr_extent3(2, 3, 4), 0,
                        &array) == HR_OK);
    CHECK(hr_run(b->context, &run3, hr_extent3(2, 3, 4),
                 HR_ARGUMENTS(hr_value(2.0F), hr_in(hr_view_of(array)),
                              hr_inout(y[2], 2, 3, 4)),
                 NULL) == HR_OK);
    for (int i = 0; i < 24; i++) {
        CHECK(y[0][i] == 1 + 2 * x[i] && y[1][i] == y[0][i] &&
              y[2][i] == y[0][i]);
    }
    hr_array_destroy(array);
}

static void views_come_home(bed *b)
{
    TEST_CASE("views that are written come home");
    float x[10], y[10] = {0};
    hr_array *array = NULL;
    for (int i = 0; i < 10; i++) {
        x[i] = (float)i;
    }
    CHECK(hr_array_wrap(b->context, y, sizeof *y, hr_extent1(10), 0, &array) ==
          HR_OK);
    const hr_split_options all = share_rows();
    for (int step = 1; step <= 2; step++) {
        CHECK(hr_run(b->context, &run1, hr_extent1(10),
                     HR_ARGUMENTS(hr_value(1.0F), hr_in(x, 10),
                                  hr_inout(hr_view_of(array))),
                     &all) == HR_OK);
        for (int i = 0; i < 10; i++) {
            CHECK(y[i] == (float)(step * i));
        }
    }
    hr_array_destroy(array);
}

/* ---- rows that are read */

static void other_rows(bed *b)
{
    enum { N = 23 };
    const hr_split_options all = share_rows();
    int from[N], to[N] = {0}, a[N][5], p[5][N], c[N][N];
    TEST_CASE("points may read any row of what is read");
    for (int i = 0; i < N; i++) {
        from[i] = i * i;
        for (int k = 0; k < 5; k++) {
            a[i][k] = i - k;
            p[k][i] = i * k + 1;
        }
    }
    CHECK(hr_run(b->context, &run_reverse, hr_extent1(N),
                 HR_ARGUMENTS(hr_in(from, N), hr_out(to, N)), &all) == HR_OK);
    CHECK(hr_run(b->context, &run_product, hr_extent2(N, N),
                 HR_ARGUMENTS(hr_in(a[0], N, 5), hr_in(p[0], 5, N),
                              hr_out(c[0], N, N)),
                 &all) == HR_OK);
    for (int i = 0; i < N; i++) {
        CHECK(to[i] == from[N - 1 - i]);
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int k = 0; k < 5; k++) {
                sum += a[i][k] * p[k][j];
            }
            CHECK(c[i][j] == sum);
        }
    }
}

static void near_rows(bed *b)
{
    enum { N = 37, TABLE = 5 };
    const hr_split_options all = share_rows();
    const reach r = {2, 1};
    int around[N], table[TABLE], sum[N], last[N], want[N];
    TEST_CASE("rows near by, and all of a table");
    for (int i = 0; i < N; i++) {
        around[i] = i * 7 % 19;
        sum[i] = want[i] = i;
        last[i] = -1;
        table[i % TABLE] = i;
    }
    for (int whole = 0; whole < 2; whole++) {
        const hr_argument rows = hr_in(around, N);
        CHECK(hr_run(b->context, &split1, hr_extent1(N),
                     HR_ARGUMENTS(whole ? hr_whole(rows)
                                        : hr_near(rows, r.before, r.after),
                                  hr_in(table, TABLE), hr_inout(sum, N),
                                  hr_out(last, N), hr_value(r)),
                     &all) == HR_OK);
        for (int i = 0; i < N; i++) {
            int s = 0;
            for (int j = i - r.before; j <= i + r.after; j++) {
                s += j >= 0 && j < N ? (j - i + 7) * around[j] : 1;
            }
            want[i] = split_low(3 * want[i] + s);
            CHECK(sum[i] == want[i] &&
                  last[i] == split_low(s + table[i % TABLE]));
        }
    }
}

/* ---- items that see to themselves */

static void run_items(bed *b, hr_extent e, const hr_split_options *options)
{
    enum { BEHIND = 8, MAX = 3000 };
    static int from[MAX], to[MAX + BEHIND];
    const int n = (int)hr_extent_count(e);
    int count = 0, wrong = 0;
    for (int i = 0; i < MAX + BEHIND; i++) {
        from[i % MAX] = i % MAX;
        to[i] = -1;
    }
    CHECK(hr_run(b->context, e.rank == 1 ? &split_items1 : &split_items2, e,
                 HR_ARGUMENTS(hr_in_data(from, "int", sizeof(int), e, 0),
                              hr_out_data(to, "int", sizeof(int), e, 0),
                              hr_combined(hr_inout(&count, 1), HR_COMBINE_SUM)),
                 options) == HR_OK);
    for (int i = 0; i < MAX + BEHIND; i++) {
        wrong += to[i] != (i < n ? i + 1 : -1);
    }
    CHECK(wrong == 0 && count == n);
}

static void items_work_once(bed *b)
{
    static const int counts[] = {1, 2, 255, 256, 257, 511, 700, 2999};
    const hr_split_options some = share_rows();
    TEST_CASE("each item works once, whatever the bands");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        run_items(b, hr_extent1(counts[i]), &some);
        run_items(b, hr_extent1(counts[i]), NULL);
    }
    for (int rows = 1; rows < 12; rows++) {
        run_items(b, hr_extent2(rows, random_between(&b->random, 1, 270)),
                  &some);
    }
}

static void bytes_are_moved_once(bed *b)
{
    enum { N = 24 };
    const hr_split_options all = share_rows();
    float x[N] = {0}, y[N] = {0};
    int from[N] = {0}, to[N];
    const uint64_t once = b->in_place ? 0 : N * 4;
    TEST_CASE("own rows go to their accelerator alone");
    hr_traffic t = hr_context_traffic(b->context), u;
    CHECK(hr_run(b->context, &run1, hr_extent1(N),
                 HR_ARGUMENTS(hr_value(1.0F), hr_in(x, N), hr_inout(y, N)),
                 &all) == HR_OK);
    u = hr_context_traffic(b->context);
    CHECK(u.up - t.up == 2 * once && u.down - t.down == once);
    CHECK(u.peer == t.peer);
    TEST_CASE("what points may read anywhere goes to all");
    CHECK(hr_run(b->context, &run_reverse, hr_extent1(N),
                 HR_ARGUMENTS(hr_in(from, N), hr_out(to, N)), &all) == HR_OK);
    t = hr_context_traffic(b->context);
    CHECK(t.up + t.peer - u.up - u.peer == b->count * once);
    CHECK(t.down - u.down == once);
    TEST_CASE("but the program may know better");
    CHECK(hr_run(b->context, &run_product, hr_extent2(N, 1),
                 HR_ARGUMENTS(hr_near(hr_in(from, N, 1), 0, 0),
                              hr_in(from, 1, 1), hr_out(to, N, 1)),
                 &all) == HR_OK);
    u = hr_context_traffic(b->context);
    CHECK(u.up + u.peer - t.up - t.peer ==
          (b->in_place ? 0 : once + b->count * 4));
}

/* ---- values */

static void values_of_all_types(bed *b)
{
    double all[7];
    const pair e = {-5, 0.5F};
    TEST_CASE("values of all types");
    CHECK(hr_run(b->context, &run_small, hr_extent1(7),
                 HR_ARGUMENTS(
                     hr_value((char)100), hr_value((signed char)-100),
                     hr_value((unsigned char)200), hr_value((short)-30000),
                     hr_value((unsigned short)60000), hr_value(-2000000000),
                     hr_value(4000000000U), hr_out(all, 7)),
                 NULL) == HR_OK);
    CHECK(all[0] == 100 && all[1] == -100 && all[2] == 200 &&
          all[3] == -30000 && all[4] == 60000 && all[5] == -2000000000.0 &&
          all[6] == 4000000000.0);
    CHECK(hr_run(b->context, &run_large, hr_extent1(6),
                 HR_ARGUMENTS(hr_value(-9000000000L), hr_value(9000000000UL),
                              hr_value(1.5F), hr_value(0.1), hr_value(e),
                              hr_out(all, 6)),
                 NULL) == HR_OK);
    CHECK(all[0] == -9e9 && all[1] == 9e9 && all[2] == 1.5 && all[3] == 0.1 &&
          all[4] == -5 && all[5] == 0.5);
    CHECK(hr_run(b->context, &run_large, hr_extent1(6),
                 HR_ARGUMENTS(hr_value(-3LL), hr_value(3ULL), hr_value(1.5F),
                              hr_value(0.1), hr_value(&e, sizeof e),
                              hr_out(all, 6)),
                 NULL) == HR_OK);
    CHECK(all[0] == -3 && all[1] == 3 && all[4] == -5 && all[5] == 0.5);
}

/* ---- refusals */

typedef struct sample {
    hr_argument alpha, x, y;
    hr_extent domain;
} sample;

static void refuse_sample(const bed *b, const sample *s, hr_status status,
                          const char *words)
{
    const hr_argument arguments[] = {s->alpha, s->x, s->y};
    CHECK_FAILS(hr_run(b->context, &run1, s->domain, arguments, 3, NULL),
                status, words);
}

static void refuse_types(const bed *b, const sample *good, float *x, float *y)
{
    static const int whole_numbers[8];
    static const double doubles[8];
    sample s = *good;
    s.alpha = hr_value(2);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: alpha is a float, but the value's type is int");
    s.alpha = hr_value(2.0);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: alpha is a float of 4 bytes, but 8 were given");
    s.alpha = hr_in(x, 8);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: alpha is a value, but a view was given");
    s.alpha = (hr_value)(NULL, 4);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "alpha is a float, but its pointer is");
    s = *good;
    s.x = hr_in(whole_numbers, 8);
    refuse_sample(
        b, &s, HR_ERROR_INVALID,
        "run1: x has elements of float, but those of the view are int");
    s.x = hr_in(doubles, 8);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "x has elements of float, 4 bytes, but the view has 8");
    s.x = hr_in_data(x, "float", 4, hr_extent2(2, 3), 16);
    refuse_sample(
        b, &s, HR_ERROR_INVALID,
        "x has rank 1, but the view has 2, and gaps between its first");
    s.x = hr_inout(y, 8);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: the host memory of y overlaps x");
    s = *good;
    s.y = hr_out(y, 8);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "y is declared INOUT, but given as OUT");
}

static void refuse_sizes(const bed *b, const sample *good, float *x, float *y)
{
    sample s = *good;
    s.x = hr_in((float *)NULL, 8);
    refuse_sample(b, &s, HR_ERROR_INVALID, "run1: x: array: data is NULL");
    s.x = hr_in(x, 0);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: x: array: dimension 0 has size 0, not 1 or more");
    s.x = hr_in_data(x, "float", 0, hr_extent1(8), 0);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: x: array: elements of 0 bytes");
    s.x = hr_in_data(x, "float", 4, hr_extent1(8), 31);
    refuse_sample(b, &s, HR_ERROR_INVALID,
                  "run1: x: array: a row is 32 bytes, but rows are 31 apart");
    s.x = hr_in(x, 7);
    refuse_sample(
        b, &s, HR_ERROR_COMPUTE_DOMAIN,
        "run1: the domain has size 8 in dimension 0, but x, indexed with "
        "it, has 7 in dimension 0");
    s = *good;
    s.x = hr_near(s.x, 0, -1);
    refuse_sample(b, &s, HR_ERROR_INVALID, "0 rows before and -1 after");
    s = *good;
    s.y = hr_inout(y, 9);
    refuse_sample(
        b, &s, HR_ERROR_INVALID,
        "y has 9 rows, but the domain has 8; if points write any row, say "
        "hr_combined");
    s.y = hr_whole(s.y);
    refuse_sample(b, &s, HR_ERROR_INVALID, "y is written, so each accelerator");
    s.y = hr_whole(hr_inout(y, 8));
    refuse_sample(b, &s, HR_ERROR_INVALID, "y is written, so each accelerator");
    s = *good;
    s.domain = hr_extent1(0);
    refuse_sample(b, &s, HR_ERROR_COMPUTE_DOMAIN, "size 0 in dimension 0");
}

static void refused_calls(bed *b)
{
    float x[8], y[9] = {0}; /* one more, which a refused call names */
    hr_queue *queue = NULL;
    TEST_CASE("refusals");
    for (int i = 0; i < 8; i++) {
        x[i] = y[i] = (float)i;
    }
    const hr_traffic before = hr_context_traffic(b->context);
    const sample s = {.alpha = hr_value(1.0F),
                      .x = hr_in(x, 8),
                      .y = hr_inout(y, 8),
                      .domain = hr_extent1(8)};
    const hr_argument arguments[] = {s.alpha, s.x, s.y};
    hr_split_options options = {.size = 4};
    refuse_types(b, &s, x, y);
    refuse_sizes(b, &s, x, y);
    CHECK_FAILS(hr_run(b->context, NULL, s.domain, arguments, 3, NULL),
                HR_ERROR_INVALID, "run: the kernel is NULL");
    CHECK_FAILS(hr_run(b->context, &run1, s.domain, NULL, 3, NULL),
                HR_ERROR_INVALID, "run: the list of arguments is NULL");
    CHECK_FAILS(hr_run(b->context, &run1, s.domain, arguments, 2, NULL),
                HR_ERROR_INVALID, "3 parameters, but 2 arguments were given");
    CHECK_FAILS(hr_run(b->context, &run1, s.domain, arguments, 3, &options),
                HR_ERROR_INVALID, "split options: size is 4");
    CHECK_FAILS(
        hr_launch_split(b->context, &run1, s.domain, arguments, 3, NULL),
        HR_ERROR_INVALID, "run1: x is host memory, which hr_run alone takes");
    CHECK(hr_queue_default(b->context, 0, &queue) == HR_OK);
    CHECK_FAILS(hr_launch(queue, &run1, s.domain, NULL, arguments, 3),
                HR_ERROR_INVALID, "run1: x is host memory");
    const hr_traffic after = hr_context_traffic(b->context);
    CHECK(memcmp(&before, &after, sizeof after) == 0);
    CHECK(memcmp(x, y, sizeof x) == 0);
}

/* Rows of x and y in one block of memory, from where on and how far apart. */
/* An array of C is taken for its first row. */
static void rows_as_elements(bed *b)
{
    static float x[3][4], y[3][4];
    const hr_extent e = hr_extent2(3, 4);
    TEST_CASE("rows as elements");
    CHECK_FAILS(
        hr_run(b->context, &run2, e,
               HR_ARGUMENTS(hr_value(1.0F), hr_in(x, 3, 4), hr_inout(y, 3, 4)),
               NULL),
        HR_ERROR_INVALID,
        "run2: x is a pointer to rows of 16 bytes, not to a float of "
        "4; give &x[0][0]");
    CHECK(hr_run(b->context, &run2, e,
                 HR_ARGUMENTS(hr_value(1.0F), hr_in(&x[0][0], 3, 4),
                              hr_inout(&y[0][0], 3, 4)),
                 NULL) == HR_OK);
}

static void overlaps_are_found(bed *b)
{
    enum { EDGE = 8 };
    static const struct {
        int x, rows, cols, apart, y, y_apart;
        bool meet;
    } rows[] = {
        {0, 4, 4, 8, 4, 8, false},  /* beside each other */
        {4, 4, 4, 8, 0, 8, false},  /* the other way round */
        {0, 4, 4, 8, 3, 8, true},   /* one column in common */
        {3, 4, 4, 8, 0, 8, true},   /**/
        {0, 4, 4, 4, 16, 4, false}, /* behind each other */
        {0, 4, 4, 4, 15, 4, true},  /* one element in common */
        {16, 4, 4, 4, 1, 4, true},  /**/
        {0, 4, 4, 8, 0, 8, true},   /* the same */
        {0, 4, 4, 8, 28, 8, false}, /* behind the last row */
        {0, 4, 4, 8, 27, 8, true},  /**/
        {28, 4, 4, 8, 0, 8, false}, /* behind the last row */
        {0, 4, 4, 8, 20, 4, true},  /* in a gap, and then not */
        {32, 4, 4, 4, 0, 8, false}, /**/
        {0, 4, 2, 8, 2, 5, true},   /* other distances: 2 7 12 17, at 17 */
        {0, 4, 2, 8, 2, 10, false}, /* 2 12 22 32 */
        {2, 4, 2, 10, 0, 8, false}, /**/
        {2, 4, 2, 5, 0, 8, true},   /**/
        {0, 1, 4, 4, 4, 8, false},  /* a single row */
        {0, 1, 4, 9, 3, 9, true},   /**/
    };
    TEST_CASE("host memory that overlaps");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float m[EDGE * EDGE] = {0};
        const hr_extent e = hr_extent2(rows[i].rows, rows[i].cols);
        const hr_status status =
            hr_run(b->context, &run2, e,
                   HR_ARGUMENTS(hr_value(1.0F),
                                hr_in_data(m + rows[i].x, "float", 4, e,
                                           (size_t)rows[i].apart * 4),
                                hr_inout_data(m + rows[i].y, "float", 4, e,
                                              (size_t)rows[i].y_apart * 4)),
                   NULL);
        if (!test_check((status != HR_OK) == rows[i].meet, "row", __FILE__,
                        __LINE__)) {
            fprintf(stderr, "row %zu: %s\n", i, hr_last_error());
        }
        CHECK(status == HR_OK ||
              strstr(hr_last_error(), "run2: the host memory of y overlaps x"));
    }
}

static void overlapping_arrays(bed *b)
{
    float m[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int from[8] = {0}, to[8];
    hr_array *array = NULL;
    TEST_CASE("host memory of an array");
    CHECK(hr_array_wrap(b->context, m, 4, hr_extent1(8), 0, &array) == HR_OK);
    CHECK_FAILS(hr_run(b->context, &run1, hr_extent1(4),
                       HR_ARGUMENTS(hr_value(1.0F), hr_in(hr_view_of(array)),
                                    hr_inout(m + 4, 4)),
                       NULL),
                HR_ERROR_INVALID, "run1: the host memory of y overlaps x");
    CHECK(m[4] == 5);
    hr_array_destroy(array);
    TEST_CASE("what is read may overlap");
    CHECK(hr_run(b->context, &run_product, hr_extent2(8, 1),
                 HR_ARGUMENTS(hr_in(from, 8, 1), hr_in(from, 1, 1),
                              hr_out(to, 8, 1)),
                 NULL) == HR_OK);
}

/* ---- options */

static void dry_run_tells_bands(bed *b)
{
    float x[8] = {1}, y[8] = {2};
    hr_band bands[MAX_ACCELERATORS];
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = share_rows();
    TEST_CASE("a dry run tells the bands and does nothing");
    report.shares = bands;
    report.share_capacity = MAX_ACCELERATORS;
    options.report = &report;
    options.dry_run = true;
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_run(b->context, &run1, hr_extent1(8),
                 HR_ARGUMENTS(hr_value(1.0F), hr_in(x, 8), hr_inout(y, 8)),
                 &options) == HR_OK);
    const hr_traffic after = hr_context_traffic(b->context);
    CHECK(memcmp(&before, &after, sizeof after) == 0);
    CHECK(y[0] == 2 && report.share_count == b->count && bands[0].count > 0);
}

static void one_of_them(bed *b)
{
    const uint32_t last[] = {b->count - 1};
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    TEST_CASE("the accelerators of the options");
    options.accelerators = last;
    options.accelerator_count = 1;
    CHECK(hr_run(b->context, &run1, hr_extent1(8),
                 HR_ARGUMENTS(hr_value(1.0F), hr_in(x, 8), hr_inout(y, 8)),
                 &options) == HR_OK);
    CHECK(memcmp(x, y, sizeof x) == 0);
}

/* The fake CUDA runs the kernel of that name. */
static void text_runs(bed *b)
{
    static const char text[] =
        "#include <headrace/dialect.h>\n"
        "HR_KERNEL2(run_reverse, (IN, int, 1, from), (OUT, int, 1, to))\n"
        "{\n    HR_EACH1(i)\n    {\n"
        "        HR_AT1(to, i) = HR_AT1(from, HR_EXTENT(from, 0) - 1 - i);\n"
        "    }\n}\n";
    const hr_kernel *kernel = NULL;
    const hr_split_options all = share_rows();
    int from[9], to[9];
    TEST_CASE("a kernel of text");
    for (int i = 0; i < 9; i++) {
        from[i] = i;
    }
    CHECK(hr_kernel_create(b->context, text, "run_reverse", NULL, &kernel) ==
          HR_OK);
    const hr_status status =
        hr_run(b->context, kernel, hr_extent1(9),
               HR_ARGUMENTS(hr_in(from, 9), hr_out(to, 9)), &all);
    CHECK(status == HR_OK);
    for (int i = 0; i < 9; i++) {
        CHECK(to[i] == 8 - i);
    }
}

/* ---- the default context and queues, and threads */

static void default_context(bed *b)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    hr_context *context = NULL, *again = NULL;
    TEST_CASE("the default context");
    CHECK_FAILS(hr_context_default(NULL), HR_ERROR_INVALID,
                "default context: the result is NULL");
    for (int i = 0; i < 2; i++) {
        CHECK(hr_run(NULL, &run1, hr_extent1(8),
                     HR_ARGUMENTS(hr_value(1.0F), hr_in(x, 8), hr_inout(y, 8)),
                     NULL) == HR_OK);
        CHECK(hr_context_default(&context) == HR_OK);
        hr_context_destroy(context);
    }
    CHECK(hr_context_default(&again) == HR_OK && again == context);
    CHECK(hr_accelerator_count(context) == b->count);
    CHECK(y[7] == 16);
}

static void default_queues(bed *b)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    hr_array *arrays[2] = {NULL};
    hr_queue *queue = NULL, *again = NULL;
    hr_event *event = NULL;
    TEST_CASE("default queues");
    CHECK(hr_array_wrap(b->context, x, 4, hr_extent1(8), 0, &arrays[0]) ==
          HR_OK);
    CHECK(hr_array_wrap(b->context, y, 4, hr_extent1(8), 0, &arrays[1]) ==
          HR_OK);
    const hr_argument arguments[] = {hr_value(1.0F),
                                     hr_in(hr_view_of(arrays[0])),
                                     hr_inout(hr_view_of(arrays[1]))};
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_queue_default(b->context, i, &queue) == HR_OK);
        CHECK(hr_queue_accelerator(queue) == i);
        CHECK(hr_prefetch(hr_view_of(arrays[0]), queue) == HR_OK);
        CHECK(hr_launch(queue, &run1, hr_extent1(8), NULL, arguments, 3) ==
              HR_OK);
        hr_queue_destroy(queue);
        CHECK(hr_queue_default(b->context, i, &again) == HR_OK);
        CHECK(again == queue);
        CHECK(hr_launch_split(b->context, &run1, hr_extent1(8), arguments, 3,
                              NULL) == HR_OK);
        CHECK(hr_queue_record(queue, &event) == HR_OK);
        CHECK(hr_queue_wait(queue, event) == HR_OK);
        CHECK(hr_queue_flush(queue) == HR_OK);
        CHECK(hr_queue_finish(queue) == HR_OK);
        hr_event_destroy(event);
    }
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(y[0] == 2 * (float)b->count && y[7] == 16 * (float)b->count);
    CHECK_FAILS(hr_queue_default(b->context, b->count, &again),
                HR_ERROR_INVALID, "is not below");
    CHECK_FAILS(hr_queue_default(NULL, 0, &again), HR_ERROR_INVALID,
                "the context is NULL");
    CHECK_FAILS(hr_queue_default(b->context, 0, NULL), HR_ERROR_INVALID,
                "queue is NULL");
    CHECK(again == queue);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

typedef struct user {
    pthread_t thread;
    hr_context *context;
    const float *x;
    int wrong;
} user;

static void *run_often(void *argument)
{
    enum { N = 50, ROUNDS = 15 };
    user *u = argument;
    const hr_split_options all = share_rows();
    for (int round = 1; round <= ROUNDS; round++) {
        float y[N] = {0};
        const hr_status status =
            hr_run(round % 5 == 0 ? NULL : u->context, &run1, hr_extent1(N),
                   HR_ARGUMENTS(hr_value((float)round), hr_in(u->x, N),
                                hr_inout(y, N)),
                   round % 2 == 0 ? &all : NULL);
        u->wrong += status != HR_OK;
        for (int i = 0; i < N; i++) {
            u->wrong += y[i] != (float)(round * i);
        }
    }
    return NULL;
}

static void threads_at_once(bed *b)
{
    enum { THREADS = 4, N = 50 };
    user users[THREADS];
    float x[N];
    TEST_CASE("several threads at once");
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
    }
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){.context = b->context, .x = x};
        CHECK(pthread_create(&users[i].thread, NULL, run_often, &users[i]) ==
              0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        CHECK(users[i].wrong == 0);
    }
}

static void describe_bed(bed *b)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    b->count = hr_accelerator_count(b->context);
    CHECK(b->count <= MAX_ACCELERATORS);
    b->plain = true;
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_accelerator_describe(b->context, i, &info) == HR_OK);
        b->plain = b->plain && strncmp(info.path, "host", 4) == 0;
        b->in_place = b->in_place || info.in_place;
    }
}

int main(int count, char **arguments)
{
    const char *list = count > 1 ? arguments[1] : "3xhost";
    bed b = {.random = {7}};
    setenv("HEADRACE_ACCELERATORS", list, 1);
    if (test_open(NULL, &b.context)) {
        describe_bed(&b);
        TEST(threads_at_once(&b)); /* first: they make the default context */
        TEST(default_context(&b));
        TEST(default_queues(&b));
        TEST(ranks_and_gaps(&b));
        TEST(macros_take_pointers(&b));
        TEST(views_come_home(&b));
        TEST(other_rows(&b));
        TEST(near_rows(&b));
        TEST(items_work_once(&b));
        if (b.plain) {
            TEST(bytes_are_moved_once(&b));
        }
        TEST(values_of_all_types(&b));
        TEST(refused_calls(&b));
        TEST(rows_as_elements(&b));
        TEST(overlaps_are_found(&b));
        TEST(overlapping_arrays(&b));
        TEST(dry_run_tells_bands(&b));
        TEST(one_of_them(&b));
        TEST(text_runs(&b));
        hr_context_destroy(b.context);
    }
    return test_end();
}
