/* SPDX-License-Identifier: MIT */
/* Reductions of views on the accelerators of argv[1]: against plain loops in
 * long double and in integers, and the same bits as on the host alone, whatever
 * the bands. argv[2]: how many random views. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/half.h>
#include <headrace/headrace.h>

#include "calls/reduction.h"
#include "runtime/runtime.h"
#include "support/alone.h"

enum { CASES = 20, MAX_COUNT = 40000, KINDS = HR_REDUCE_ARGMAX };

/* Two views of one shape, in both contexts, and their elements by rows. */
typedef struct problem {
    hr_type type;
    hr_extent outer, extent;
    int64_t margin[HR_MAX_RANK];
    int64_t count;
    double a[MAX_COUNT], b[MAX_COUNT];
    void *memory[2];
    hr_array *arrays[2], *host_arrays[2];
    hr_view views[2], host_views[2];
} problem;

/* ---- elements */

static double put_element(hr_type type, void *memory, int64_t at, double x)
{
    switch (type) {
    case HR_F32:
        return ((float *)memory)[at] = (float)x;
    case HR_F16:
        ((uint16_t *)memory)[at] = hr_f32_to_f16((float)x);
        return hr_f16_to_f32(((uint16_t *)memory)[at]);
    case HR_BF16:
        ((uint16_t *)memory)[at] = hr_f32_to_bf16((float)x);
        return hr_bf16_to_f32(((uint16_t *)memory)[at]);
    case HR_I8:
        return ((int8_t *)memory)[at] = (int8_t)(100 * x);
    case HR_I32:
        return ((int32_t *)memory)[at] = (int32_t)(2e9 * x);
    default:
        return ((double *)memory)[at] = x;
    }
}

/* Set element k, by rows, of view i. */
static void set_element(problem *p, int i, int64_t k, double x)
{
    int64_t at = 0, rest = k, point[HR_MAX_RANK];
    for (uint32_t d = p->extent.rank; d-- > 0;) {
        point[d] = rest % p->extent.size[d];
        rest /= p->extent.size[d];
    }
    for (uint32_t d = 0; d < p->extent.rank; d++) {
        at = at * p->outer.size[d] + p->margin[d] + point[d];
    }
    (i == 0 ? p->a : p->b)[k] = put_element(p->type, p->memory[i], at, x);
}

static hr_status wrap_view(problem *p, hr_context *context, int i,
                           hr_array **array, hr_view *view)
{
    HRI_TRY((hr_array_wrap)(context, p->memory[i], hr_type_size(p->type),
                            p->outer, 0, array));
    return hr_view_section(hr_view_of(*array), p->margin, p->extent, view);
}

/* Make the views of p->type and p->extent with values from -1 to 1, times
 * scale. What lies around the views is a NaN, or as good as one. */
static void make_views(bed *b, problem *p, double scale, bool gaps)
{
    p->count = hr_extent_count(p->extent);
    p->outer = p->extent;
    for (uint32_t d = 0; d < p->extent.rank; d++) {
        p->margin[d] = gaps ? any(b, 0, 2) : 0;
        p->outer.size[d] += p->margin[d] + (gaps ? any(b, 0, 2) : 0);
    }
    for (int i = 0; i < 2; i++) {
        const size_t bytes =
            (size_t)hr_extent_count(p->outer) * hr_type_size(p->type);
        p->memory[i] = malloc(bytes);
        memset(p->memory[i], 0x7f, bytes);
        if (p->type != HR_I8 && p->type != HR_I32) {
            memset(p->memory[i], 0xff, bytes);
        }
        for (int64_t k = 0; k < p->count; k++) {
            set_element(p, i, k, scale * random_unit(&b->random));
        }
        CHECK(wrap_view(p, b->context, i, &p->arrays[i], &p->views[i]) ==
              HR_OK);
        CHECK(wrap_view(p, b->host, i, &p->host_arrays[i], &p->host_views[i]) ==
              HR_OK);
    }
}

static void free_views(problem *p)
{
    for (int i = 0; i < 2; i++) {
        hr_array_destroy(p->arrays[i]);
        hr_array_destroy(p->host_arrays[i]);
        free(p->memory[i]);
    }
}

/* ---- what is right */

static bool takes_two(hr_reduction kind)
{
    return kind == HR_REDUCE_DOT || kind == HR_REDUCE_DISTANCE ||
           kind == HR_REDUCE_MAX_ABS_DIFF;
}

static long double term_of(hr_reduction kind, long double a, long double b)
{
    switch (kind) {
    case HR_REDUCE_DOT:
        return a * b;
    case HR_REDUCE_DISTANCE:
        return (a - b) * (a - b);
    case HR_REDUCE_NORM:
        return a * a;
    case HR_REDUCE_SUM_ABS:
    case HR_REDUCE_MAX_ABS:
        return fabsl(a);
    case HR_REDUCE_MAX_ABS_DIFF:
        return fabsl((long double)(double)(a - b));
    default:
        return a;
    }
}

static bool is_integer(hr_type type)
{
    return type == HR_I8 || type == HR_I32;
}

/* Sums and products of integers. */
static bool is_exact(const problem *p, hr_reduction kind, int64_t value)
{
    uint64_t want = kind == HR_REDUCE_PRODUCT ? 1 : 0;
    for (int64_t i = 0; i < p->count; i++) {
        const uint64_t a = (uint64_t)(int64_t)p->a[i];
        const uint64_t b = (uint64_t)(int64_t)p->b[i];
        want = kind == HR_REDUCE_PRODUCT ? want * a
               : kind == HR_REDUCE_DOT   ? want + a * b
               : kind == HR_REDUCE_DISTANCE
                   ? want + (a - b) * (a - b)
                   : want + (uint64_t)(int64_t)term_of(kind, p->a[i], 0);
    }
    return (uint64_t)value == want;
}

/* Whether rows are short and have gaps between them. */
static bool is_narrow(const problem *p)
{
    bool gaps = false;
    for (uint32_t d = 1; d < p->extent.rank; d++) {
        gaps = gaps || p->outer.size[d] != p->extent.size[d];
    }
    return gaps && p->extent.size[p->extent.rank - 1] < 256;
}

/* The bound of headrace/reduce.h, which counts the additions that a term takes
 * part in and three roundings of its own [Higham2002, 4.2]. 2: ours. */
static bool is_near(const problem *p, hr_reduction kind, double value)
{
    const double u = DBL_EPSILON / 2;
    const double n = (is_narrow(p) ? 4200 : 83) + log2((double)p->count) + 2;
    long double sum = 0, size = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const long double t = term_of(kind, p->a[i], p->b[i]);
        sum += t;
        size += fabsl(t);
    }
    if (kind == HR_REDUCE_NORM) {
        return fabsl(value - sqrtl(sum)) <= (n / 2 + 2) * u * sqrtl(sum);
    }
    return fabsl(value - sum) <= n * u / (1 - n * u) * size;
}

static bool is_product(const problem *p, double value)
{
    const double n = (double)p->count * DBL_EPSILON;
    long double want = 1;
    for (int64_t i = 0; i < p->count; i++) {
        want *= p->a[i];
    }
    return fabsl(value - want) <= n * fabsl(want) + (long double)0x1p-1021;
}

/* The first of the elements that NumPy's argmin and argmax mean. */
static int64_t first_extreme(const problem *p, hr_reduction kind)
{
    const bool least = kind == HR_REDUCE_MIN || kind == HR_REDUCE_ARGMIN;
    int64_t best = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const double x = (double)term_of(kind, p->a[i], p->b[i]);
        const double y = (double)term_of(kind, p->a[best], p->b[best]);
        if (!isnan(y) && (isnan(x) || (least ? x < y : x > y))) {
            best = i;
        }
    }
    return best;
}

static bool is_extreme(const problem *p, hr_reduction kind,
                       const hr_reduced *got)
{
    const int64_t best = first_extreme(p, kind);
    const double want = (double)term_of(kind, p->a[best], p->b[best]);
    const bool arg = kind == HR_REDUCE_ARGMIN || kind == HR_REDUCE_ARGMAX;
    return (got->value == want || (isnan(got->value) && isnan(want))) &&
           got->index == (arg ? best : -1) &&
           got->integer == (is_integer(p->type) ? (int64_t)want : 0);
}

static bool is_right(const problem *p, hr_reduction kind, const hr_reduced *got)
{
    switch (kind) {
    case HR_REDUCE_SUM:
    case HR_REDUCE_DOT:
    case HR_REDUCE_DISTANCE:
    case HR_REDUCE_SUM_ABS:
        return got->index == -1 &&
               (is_integer(p->type)
                    ? is_exact(p, kind, got->integer) &&
                          got->value == (double)got->integer
                    : got->integer == 0 && is_near(p, kind, got->value));
    case HR_REDUCE_PRODUCT:
        return is_integer(p->type) ? is_exact(p, kind, got->integer)
                                   : is_product(p, got->value);
    case HR_REDUCE_NORM:
        return is_near(p, kind, got->value);
    default:
        return is_extreme(p, kind, got);
    }
}

static bool is_same_result(const hr_reduced *x, const hr_reduced *y)
{
    return (memcmp(&x->value, &y->value, sizeof x->value) == 0 ||
            (isnan(x->value) && isnan(y->value))) &&
           x->integer == y->integer && x->index == y->index;
}

/* ---- cases */

/* Reduce in bands of random weights, as the library chooses, and on the host
 * alone. */
static void reduce_each_way(bed *b, const problem *p, hr_reduction kind)
{
    const uint64_t seed = b->random.state;
    const hr_view *second = takes_two(kind) ? &p->views[1] : NULL;
    const hr_view *host = takes_two(kind) ? &p->host_views[1] : NULL;
    double weights[MAX_BANDS];
    const hr_split_options options = random_weights(b, weights);
    hr_reduced banded = {0}, chosen = {0}, alone = {0};
    CHECK(hr_reduce(b->context, kind, p->type, p->views[0], second, &options,
                    &banded) == HR_OK);
    CHECK(hr_reduce(b->context, kind, p->type, p->views[0], second, NULL,
                    &chosen) == HR_OK);
    CHECK(hr_reduce(b->host, kind, p->type, p->host_views[0], host, NULL,
                    &alone) == HR_OK);
    if (!CHECK(is_right(p, kind, &banded)) ||
        !CHECK(is_same_result(&banded, &alone)) ||
        !CHECK(is_same_result(&chosen, &alone))) {
        fprintf(stderr,
                "  seed of bands %llu: kind %d of %s, %lld x %lld x %lld of "
                "rank %u in %lld x %lld "
                "x %lld: %.17g %lld at %lld, chosen %.17g, alone %.17g\n",
                (unsigned long long)seed, (int)kind, hr_type_name(p->type),
                (long long)p->extent.size[0], (long long)p->extent.size[1],
                (long long)p->extent.size[2], p->extent.rank,
                (long long)p->outer.size[0], (long long)p->outer.size[1],
                (long long)p->outer.size[2], banded.value,
                (long long)banded.integer, (long long)banded.index,
                chosen.value, alone.value);
    }
}

static void reduce_all(bed *b, const problem *p)
{
    for (int kind = HR_REDUCE_SUM; kind <= KINDS; kind++) {
        reduce_each_way(b, p, (hr_reduction)kind);
    }
}

static const hr_type types[] = {HR_F32, HR_F64, HR_F16, HR_BF16, HR_I8, HR_I32};

static hr_extent random_extent(bed *b)
{
    static const hr_extent extents[] = {
        {1, {1}},        {1, {4096}},       {1, {4097}},
        {1, {39989}},    {2, {3, 9973}},    {2, {131, 257}},
        {2, {1, 8192}},  {3, {2, 3, 4099}}, {3, {5, 23, 300}},
        {2, {9001, 3}},  {3, {17, 41, 40}}, {1, {65}},
        {2, {12289, 1}}, {3, {40, 1, 701}}};
    const int64_t row = sizeof extents / sizeof extents[0];
    const int64_t pick = any(b, 0, 2 * row);
    return pick < row
               ? extents[pick]
               : (hr_extent){(uint32_t)any(b, 1, 3),
                             {any(b, 1, 60), any(b, 1, 20), any(b, 1, 33)}};
}

/* Products of many units that are neither 0 nor infinite. */
static void products_of_many_units(bed *b)
{
    static const hr_type numbers[] = {HR_F64, HR_I32};
    static problem p;
    TEST_CASE("products of many units");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        p = (problem){.type = numbers[i], .extent = hr_extent1(39989)};
        make_views(b, &p, 1, false);
        for (int64_t k = 0; k < p.count; k++) {
            const double x = 1 + random_unit(&b->random) / 64;
            if (p.type == HR_F64) {
                set_element(&p, 0, k, any(b, 0, 1) == 0 ? x : 1 / x);
            } else {
                const int32_t odd = (int32_t)(2 * any(b, -1000, 1000) + 1);
                ((int32_t *)p.memory[0])[k] = odd;
                p.a[k] = odd;
            }
        }
        CHECK(hr_invalidate(p.views[0]) == HR_OK);
        CHECK(hr_invalidate(p.host_views[0]) == HR_OK);
        reduce_each_way(b, &p, HR_REDUCE_PRODUCT);
        free_views(&p);
    }
}

static void random_case(bed *b)
{
    static problem p;
    p = (problem){.type = types[any(b, 0, 5)], .extent = random_extent(b)};
    make_views(b, &p, 1, any(b, 0, 2) > 0);
    if (any(b, 0, 2) == 0) { /* ties */
        for (int64_t k = 0; k < p.count; k++) {
            set_element(&p, 0, k, (double)any(b, -2, 2) / 2);
        }
        for (int i = 0; i < 2; i++) {
            CHECK(hr_invalidate(p.views[i]) == HR_OK);
            CHECK(hr_invalidate(p.host_views[i]) == HR_OK);
        }
    }
    reduce_all(b, &p);
    free_views(&p);
}

/* NaNs and infinities of each fraction. */
static void specials_are_found(bed *b)
{
    TEST_CASE("what is no number");
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static const hr_reduction kinds[] = {
        HR_REDUCE_MIN,    HR_REDUCE_MAX,    HR_REDUCE_MAX_ABS_DIFF,
        HR_REDUCE_ARGMIN, HR_REDUCE_ARGMAX, HR_REDUCE_MAX_ABS};
    static problem p;
    for (int i = 0; i < 4; i++) {
        p = (problem){.type = types[i], .extent = hr_extent2(37, 281)};
        make_views(b, &p, 1, true);
        for (int k = 0; k < i + 3; k++) {
            set_element(&p, 0, any(b, 0, p.count - 1), values[k % 3]);
        }
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            reduce_each_way(b, &p, kinds[k]);
        }
        hr_reduced sum = {0}, norm = {0};
        CHECK(hr_reduce(b->context, HR_REDUCE_SUM, p.type, p.views[0], NULL,
                        NULL, &sum) == HR_OK);
        CHECK(hr_reduce(b->context, HR_REDUCE_NORM, p.type, p.views[0], NULL,
                        NULL, &norm) == HR_OK);
        CHECK(isnan(sum.value) && isnan(norm.value));
        free_views(&p);
    }
}

static double norm_of(const bed *b, double *x, int64_t n)
{
    hr_reduced r = {0};
    hr_array *array = NULL;
    CHECK(hr_array_wrap(b->context, x, sizeof *x, hr_extent1(n), 0, &array) ==
          HR_OK);
    CHECK(hr_reduce(b->context, HR_REDUCE_NORM, HR_F64, hr_view_of(array), NULL,
                    NULL, &r) == HR_OK);
    hr_array_destroy(array);
    return r.value;
}

/* Norms whose squares overflow or underflow. */
static void norms_do_not_overflow(const bed *b)
{
    TEST_CASE("norms of large and small numbers");
    double large[] = {3e300, 0, -4e300}, small[] = {3e-310, 4e-310},
           least[] = {0x1p-1074}, none[] = {0, -0.0},
           infinite[] = {1, -INFINITY}, most[] = {DBL_MAX, DBL_MAX};
    CHECK(fabs(norm_of(b, large, 3) / 5e300 - 1) < 4 * DBL_EPSILON);
    CHECK(fabs(norm_of(b, small, 2) - 5e-310) <= 0x1p-1073);
    CHECK(norm_of(b, least, 1) == 0x1p-1074);
    CHECK(norm_of(b, none, 2) == 0);
    CHECK(norm_of(b, infinite, 2) == INFINITY);
    CHECK(norm_of(b, most, 2) == INFINITY && norm_of(b, most, 1) == DBL_MAX);
}

/* Complex numbers have norms and distances. */
static void complex_numbers(const bed *b)
{
    TEST_CASE("complex numbers");
    static float z[2][300];
    long double squares = 0, apart = 0;
    hr_array *arrays[2] = {NULL};
    hr_view views[2];
    hr_reduced norm = {0}, distance = {0};
    for (int i = 0; i < 300; i++) {
        z[0][i] = (float)(i % 17) - 5;
        z[1][i] = (float)(i % 13);
        squares += (long double)z[0][i] * z[0][i];
        apart += (long double)(z[0][i] - z[1][i]) * (z[0][i] - z[1][i]);
    }
    for (int i = 0; i < 2; i++) {
        CHECK((hr_array_wrap)(b->context, z[i], 8, hr_extent2(10, 15), 0,
                              &arrays[i]) == HR_OK);
        views[i] = hr_view_of(arrays[i]);
    }
    CHECK(hr_reduce(b->context, HR_REDUCE_NORM, HR_C32, views[0], NULL, NULL,
                    &norm) == HR_OK);
    CHECK(hr_reduce(b->context, HR_REDUCE_DISTANCE, HR_C32, views[0], &views[1],
                    NULL, &distance) == HR_OK);
    CHECK(norm.value == (double)sqrt((double)squares));
    CHECK(distance.value == (double)apart);
    CHECK_FAILS(hr_reduce(b->context, HR_REDUCE_SUM, HR_C32, views[0], NULL,
                          NULL, &norm),
                HR_ERROR_UNSUPPORTED, "of c32 only NORM and DISTANCE");
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

static void report_without_result(bed *b)
{
    TEST_CASE("a report without a result");
    static problem p;
    hr_split_report told = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_reduced result = {.value = 77};
    p = (problem){.type = HR_F64, .extent = hr_extent1(MAX_COUNT)};
    make_views(b, &p, 1, false);
    options.dry_run = true;
    options.report = &told;
    CHECK(hr_reduce(b->context, HR_REDUCE_NORM, HR_F64, p.views[0], NULL,
                    &options, &result) == HR_OK);
    CHECK(result.value == 77);
    CHECK(told.share_count == hr_accelerator_count(b->context));
    CHECK(told.used >= 1 && told.seconds > 0);
    free_views(&p);
}

static void refused_arguments(bed *b)
{
    TEST_CASE("refusals");
    static problem p;
    const hr_extent tile = hr_extent2(1, 64);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_reduced result = {.value = 77};
    p = (problem){.type = HR_F32, .extent = hr_extent2(7, 9)};
    make_views(b, &p, 1, false);
    hr_view small = p.views[1], flat = p.views[1], none = p.views[0];
    const int64_t origin[] = {0, 0};
    CHECK(hr_view_section(p.views[1], origin, hr_extent2(7, 8), &small) ==
          HR_OK);
    CHECK(hr_view_reshape(p.views[1], hr_extent1(63), &flat) == HR_OK);
    none.array = NULL;
    options.tile = &tile;
    const struct {
        hr_context *context;
        hr_reduction kind;
        hr_type type;
        hr_view a;
        const hr_view *b;
        const hr_split_options *options;
        hr_reduced *result;
        hr_status status;
        const char *word;
    } rows[] = {
        {NULL, HR_REDUCE_SUM, HR_F32, p.views[0], NULL, NULL, &result,
         HR_ERROR_INVALID, "the context is NULL"},
        {b->context, HR_REDUCE_SUM, HR_F32, p.views[0], NULL, NULL, NULL,
         HR_ERROR_INVALID, "the result is NULL"},
        {b->context, (hr_reduction)99, HR_F32, p.views[0], NULL, NULL, &result,
         HR_ERROR_INVALID, "unknown reduction 99"},
        {b->context, HR_REDUCE_SUM, (hr_type)99, p.views[0], NULL, NULL,
         &result, HR_ERROR_UNSUPPORTED, "unknown type 99"},
        {b->context, HR_REDUCE_SUM, HR_F64, p.views[0], NULL, NULL, &result,
         HR_ERROR_INVALID, "view a has elements of 4 bytes, but f64 has 8"},
        {b->context, HR_REDUCE_SUM, HR_F32, none, NULL, NULL, &result,
         HR_ERROR_INVALID, "view a belongs to no array"},
        {b->context, HR_REDUCE_DOT, HR_F32, p.views[0], &p.host_views[1], NULL,
         &result, HR_ERROR_INVALID, "view b belongs to another context"},
        {b->context, HR_REDUCE_DOT, HR_F32, p.views[0], NULL, NULL, &result,
         HR_ERROR_INVALID, "b is NULL, but this reduction reads two"},
        {b->context, HR_REDUCE_SUM, HR_F32, p.views[0], &p.views[1], NULL,
         &result, HR_ERROR_INVALID, "b is given, but this reduction reads one"},
        {b->context, HR_REDUCE_DOT, HR_F32, p.views[0], &small, NULL, &result,
         HR_ERROR_INVALID, "a has size 9 in dimension 1, but view b has 8"},
        {b->context, HR_REDUCE_DOT, HR_F32, p.views[0], &flat, NULL, &result,
         HR_ERROR_INVALID, "a has rank 2, but view b has 1"},
        {b->context, HR_REDUCE_SUM, HR_F32, p.views[0], NULL, &options, &result,
         HR_ERROR_INVALID, "options have a tile"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_FAILS(hr_reduce(rows[i].context, rows[i].kind, rows[i].type,
                              rows[i].a, rows[i].b, rows[i].options,
                              rows[i].result),
                    rows[i].status, rows[i].word);
        CHECK(result.value == 77);
    }
    free_views(&p);
}

static double join_two(hr_reduction reduction, double a, double b)
{
    switch (reduction) {
    case HR_REDUCE_MIN:
        return b < a || isnan(b) ? b : a;
    case HR_REDUCE_MAX:
        return b > a || isnan(b) ? b : a;
    case HR_REDUCE_PRODUCT:
        return a * b;
    default:
        return a + b;
    }
}

static double join_halves(hr_reduction reduction, const double *x,
                          int64_t count)
{
    const int64_t half = count / 2;
    return count == 1
               ? x[0]
               : join_two(reduction, join_halves(reduction, x, half),
                          join_halves(reduction, x + half, count - half));
}

/* Numbers are joined in halves, whatever their count, and a NaN stays. */
static void units_are_joined_in_halves(void)
{
    enum { UNITS = 300 };
    static const hr_reduction all[] = {HR_REDUCE_SUM, HR_REDUCE_PRODUCT,
                                       HR_REDUCE_MIN, HR_REDUCE_MAX};
    double x[UNITS];
    TEST_CASE("the numbers of units are joined in halves");
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        for (int i = 0; i < UNITS; i++) {
            x[i] = 1.0 + (double)(i * 7919 % 1013) * 1e-3;
        }
        for (int64_t count = 1; count <= UNITS; count++) {
            CHECK(hri_reduction_join(all[k], x, count) ==
                  join_halves(all[k], x, count));
        }
        x[5] = NAN;
        CHECK(isnan(hri_reduction_join(all[k], x, UNITS)));
    }
}

/* Each accelerator holds the elements of its own band alone. */
static void bands_hold_their_own(void)
{
    enum { N = 200001, UNIT = 4096 };
    static const double weights[] = {1, 1, 1};
    static int data[N];
    hr_split_options split = HR_SPLIT_OPTIONS_INIT;
    hr_array *array = NULL;
    hr_reduced got = {0};
    TEST_CASE("memory of bands");
    for (int i = 0; i < N; i++) {
        data[i] = i;
    }
    hr_context *context = test_context("3xhost", 16 << 20);
    CHECK(hr_array_wrap(context, data, sizeof(int), hr_extent1(N), 0, &array) ==
          HR_OK);
    split.weights = weights;
    CHECK(hr_reduce(context, HR_REDUCE_SUM, HR_I32, hr_view_of(array), NULL,
                    &split, &got) == HR_OK);
    CHECK(got.integer == (int64_t)N * (N - 1) / 2);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const uint64_t peak = context->accelerators[i].memory_peak;
        CHECK(peak >= N / 4 * sizeof(int) &&
              peak <= (N / 3 + 2 * UNIT) * sizeof(int));
    }
    hr_array_destroy(array);
    hr_context_destroy(context);
}

static void other_cases(bed *b)
{
    TEST(products_of_many_units(b));
    TEST(specials_are_found(b));
    TEST(norms_do_not_overflow(b));
    TEST(complex_numbers(b));
    TEST(report_without_result(b));
    TEST(refused_arguments(b));
    if (hr_accelerator_count(b->context) == 3) { /* once is enough */
        TEST(bands_hold_their_own());
        TEST(units_are_joined_in_halves());
    }
}

int main(int argc, char **argv)
{
    return alone_main(argc, argv, CASES, random_case, other_cases);
}
