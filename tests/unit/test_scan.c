/* SPDX-License-Identifier: MIT */
/* Scans of views on the accelerators of argv[1]: against plain loops, and the
 * same bits as on the host alone, whatever the bands. argv[2]: how many random
 * views. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/alone.h"

enum { CASES = 30, LARGE = 1100003 };

enum { UNTOUCHED = 0x5a }; /* each byte before the call */

/* Where values come from. */
typedef enum values { RANDOM, ZEROS, SPECIAL, TINY, SORTED, HUGE_RUNS } values;

typedef struct problem {
    hr_type type;
    size_t out_bytes;
    hr_reduction operation;
    hr_scan_kind kind;
    values values;
    bool in_place;
    hr_extent outer, extent;
    int64_t margin[HR_MAX_RANK];
} problem;

static const hr_reduction operations[] = {HR_REDUCE_SUM, HR_REDUCE_PRODUCT,
                                          HR_REDUCE_MIN, HR_REDUCE_MAX};

static bool is_integer(const problem *p)
{
    return p->type == HR_I8 || p->type == HR_I32;
}

/* ---- elements */

static double draw_element(bed *b, const problem *p, int64_t k)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 1, 0.5};
    const double x = random_unit(&b->random);
    const double near_one = any(b, 0, 1) == 0 ? 1 + x / 64 : 1 / (1 + x / 64);
    /* so that products stay in range */
    const double usual = p->operation == HR_REDUCE_PRODUCT ? near_one : x;
    switch (p->values) {
    case ZEROS:
        return -0.0;
    case SPECIAL: /* rare, so that some rows begin with numbers */
        return any(b, 0, 900) > 0 ? usual : special[any(b, 0, 5)];
    case TINY:
        return x * 0x1p-130;
    case SORTED:
        return (double)k * 0x1p-20;
    case HUGE_RUNS: /* products from 2^-1000 to 2^1000, of neighbours more */
        return ldexp(near_one, (k + 40) / 80 % 2 == 0 ? 25 : -25);
    default:
        return usual;
    }
}

static void put_element(const problem *p, void *memory, int64_t at, double x)
{
    if (p->type == HR_F32) {
        ((float *)memory)[at] = (float)x;
    } else if (p->type == HR_F64) {
        ((double *)memory)[at] = x;
    } else if (p->type == HR_I8) {
        ((int8_t *)memory)[at] = (int8_t)(isfinite(x) ? 100 * x : 3);
    } else {
        ((int32_t *)memory)[at] = (int32_t)(isfinite(x) ? 2e9 * x : 3);
    }
}

static long double element_of(const problem *p, size_t bytes,
                              const void *memory, int64_t at)
{
    if (is_integer(p)) {
        return bytes == 1   ? ((const int8_t *)memory)[at]
               : bytes == 4 ? (long double)((const int32_t *)memory)[at]
                            : (long double)((const int64_t *)memory)[at];
    }
    return bytes == 4 ? (long double)((const float *)memory)[at]
                      : (long double)((const double *)memory)[at];
}

/* ---- what is right */

static int64_t wrap_integer(uint64_t x, size_t bytes)
{
    return bytes == 1 ? (int8_t)x : bytes == 4 ? (int32_t)x : (int64_t)x;
}

static int64_t integer_start(const problem *p)
{
    const bool narrow = p->type == HR_I8;
    return p->operation == HR_REDUCE_SUM       ? 0
           : p->operation == HR_REDUCE_PRODUCT ? 1
           : p->operation == HR_REDUCE_MIN     ? (narrow ? INT8_MAX : INT32_MAX)
                                           : (narrow ? INT8_MIN : INT32_MIN);
}

static uint64_t join_integers(const problem *p, uint64_t x, int64_t y)
{
    const int64_t z = (int64_t)x;
    return p->operation == HR_REDUCE_SUM       ? x + (uint64_t)y
           : p->operation == HR_REDUCE_PRODUCT ? x * (uint64_t)y
           : p->operation == HR_REDUCE_MIN     ? (uint64_t)(y < z ? y : z)
                                               : (uint64_t)(y > z ? y : z);
}

static bool integers_right(const problem *p, const void *a, const void *b,
                           int64_t first, int64_t count)
{
    const size_t bytes = hr_type_size(p->type);
    uint64_t x = (uint64_t)integer_start(p);
    bool right = true;
    for (int64_t i = first; i < first + count && right; i++) {
        const uint64_t y =
            join_integers(p, x, (int64_t)element_of(p, bytes, a, i));
        const uint64_t want = p->kind == HR_SCAN_INCLUSIVE ? y : x;
        right = (int64_t)element_of(p, p->out_bytes, b, i) ==
                wrap_integer(want, p->out_bytes);
        x = y;
    }
    return right;
}

static long double fraction_start(const problem *p)
{
    return p->operation == HR_REDUCE_SUM       ? 0
           : p->operation == HR_REDUCE_PRODUCT ? 1
           : p->operation == HR_REDUCE_MIN     ? (long double)INFINITY
                                               : -(long double)INFINITY;
}

static long double join_fractions(const problem *p, long double x,
                                  long double y)
{
    switch (p->operation) {
    case HR_REDUCE_SUM:
        return x + y;
    case HR_REDUCE_PRODUCT:
        return x * y;
    case HR_REDUCE_MIN:
        return y < x || isnan(y) ? y : x;
    default:
        return y > x || isnan(y) ? y : x;
    }
}

/* The bound of headrace/scan.h for n elements whose sizes add up to `size`, and
 * the rounding to the type. A product has a rounding for each factor. */
static bool is_near(const problem *p, long double got, long double want,
                    int64_t n, long double size)
{
    const long double u = DBL_EPSILON / 2;
    const bool exact =
        p->operation == HR_REDUCE_MIN || p->operation == HR_REDUCE_MAX;
    const long double terms = p->operation == HR_REDUCE_SUM
                                  ? 200 + (long double)n / 1024
                                  : 200 + (long double)n;
    const long double scale =
        p->operation == HR_REDUCE_SUM ? size : fabsl(want);
    const bool single = p->out_bytes == 4;
    const long double rounding =
        single ? fabsl(want) * FLT_EPSILON / 2 + (long double)0x1p-149
               : fabsl(want) * u;
    if (isnan(want) || isinf(want) || exact) {
        return got == want || (isnan(got) && isnan(want));
    }
    if (fabsl(want) > (single ? (long double)FLT_MAX : (long double)DBL_MAX)) {
        return isinf(got) && (got > 0) == (want > 0);
    }
    return fabsl(got - want) <= terms * u * scale * (1 + terms * u) +
                                    rounding * 2 + (long double)0x1p-1074;
}

static bool fractions_right(const problem *p, const void *a, const void *b,
                            int64_t first, int64_t count)
{
    const size_t bytes = hr_type_size(p->type);
    long double x = fraction_start(p), size = 0;
    bool right = true;
    for (int64_t i = first; i < first + count && right; i++) {
        const long double element = element_of(p, bytes, a, i),
                          y = join_fractions(p, x, element);
        const long double want = p->kind == HR_SCAN_INCLUSIVE ? y : x;
        size += p->kind == HR_SCAN_INCLUSIVE ? fabsl(element) : 0;
        right = is_near(p, element_of(p, p->out_bytes, b, i), want,
                        i - first + 1, size);
        size += p->kind == HR_SCAN_EXCLUSIVE ? fabsl(element) : 0;
        x = y;
    }
    return right;
}

/* ---- a case: memory that one context scans */

typedef struct memory {
    void *a, *b; /* b: a itself in place */
    size_t a_bytes, b_bytes;
} memory;

static void copy_memory(const problem *p, const memory *from, memory *to)
{
    *to = *from;
    to->a = malloc(from->a_bytes);
    to->b = p->in_place ? to->a : malloc(from->b_bytes);
    memcpy(to->a, from->a, from->a_bytes);
    memset(to->b, UNTOUCHED, p->in_place ? 0 : from->b_bytes);
}

static void free_memory(const problem *p, memory *m)
{
    if (!p->in_place) {
        free(m->b);
    }
    free(m->a);
}

/* Scan in a context and bring the results to m->b. */
static bool scan_memory(hr_context *context, const problem *p, memory *m,
                        const hr_split_options *options)
{
    hr_array *arrays[2] = {NULL};
    hr_view views[2];
    bool good = CHECK((hr_array_wrap)(context, m->a, hr_type_size(p->type),
                                      p->outer, 0, &arrays[0]) == HR_OK) &&
                CHECK((p->in_place ||
                       (hr_array_wrap)(context, m->b, p->out_bytes, p->outer, 0,
                                       &arrays[1]) == HR_OK));
    hr_array *out = p->in_place ? arrays[0] : arrays[1];
    good = good &&
           CHECK(hr_view_section(hr_view_of(arrays[0]), p->margin, p->extent,
                                 &views[0]) == HR_OK) &&
           CHECK(hr_view_section(hr_view_of(out), p->margin, p->extent,
                                 &views[1]) == HR_OK) &&
           CHECK(hr_scan(context, p->operation, p->kind, p->type, views[0],
                         views[1], options) == HR_OK) &&
           CHECK(hr_synchronize(views[1]) == HR_OK);
    if (!good) {
        fprintf(stderr, "  %s\n", hr_last_error());
    }
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    return good;
}

/* Each row of the view against loops. `before`: memory before the scan. */
static bool rows_right(const problem *p, const void *before, const void *after)
{
    const uint32_t rank = p->extent.rank;
    const int64_t n = p->extent.size[rank - 1];
    bool right = true;
    for (int64_t r = 0; r < hr_extent_count(p->extent) / n && right; r++) {
        int64_t at = 0, rest = r, point[HR_MAX_RANK] = {0};
        for (uint32_t d = rank - 1; d-- > 0;) {
            point[d] = rest % p->extent.size[d];
            rest /= p->extent.size[d];
        }
        for (uint32_t d = 0; d < rank; d++) {
            at = at * p->outer.size[d] + p->margin[d] + point[d];
        }
        right = is_integer(p) ? integers_right(p, before, after, at, n)
                              : fractions_right(p, before, after, at, n);
    }
    return right;
}

/* NaNs may differ in their bits. */
static bool same_bits(const problem *p, const memory *x, const memory *y)
{
    bool same = true;
    for (int64_t i = 0; i < hr_extent_count(p->outer) && same; i++) {
        const char *s = (const char *)x->b + (size_t)i * p->out_bytes;
        const char *t = (const char *)y->b + (size_t)i * p->out_bytes;
        same = memcmp(s, t, p->out_bytes) == 0 ||
               (!is_integer(p) && isnan(element_of(p, p->out_bytes, x->b, i)) &&
                isnan(element_of(p, p->out_bytes, y->b, i)));
    }
    return same;
}

/* Whether what lies around the result is as before. */
static bool is_around_untouched(const problem *p, const memory *given,
                                const memory *m)
{
    bool same = true;
    for (int64_t i = 0; i < hr_extent_count(p->outer) && same; i++) {
        const char *now = (const char *)m->b + (size_t)i * p->out_bytes;
        const char *old = (const char *)given->a + (size_t)i * p->out_bytes;
        int64_t rest = i;
        bool inside = true;
        for (uint32_t d = p->outer.rank; d-- > 0;) {
            const int64_t at = rest % p->outer.size[d] - p->margin[d];
            inside = inside && at >= 0 && at < p->extent.size[d];
            rest /= p->outer.size[d];
        }
        for (size_t k = 0; k < p->out_bytes && !inside; k++) {
            same = same && now[k] == (p->in_place ? old[k] : UNTOUCHED);
        }
    }
    return same;
}

static void scan_problem(bed *b, problem *p)
{
    double weights[MAX_BANDS];
    memory given = {0}, banded, chosen, alone;
    const int64_t count = hr_extent_count(p->outer);
    given.a_bytes = (size_t)count * hr_type_size(p->type);
    given.b_bytes = (size_t)count * p->out_bytes;
    given.a = malloc(given.a_bytes);
    for (int64_t k = 0; k < count; k++) {
        put_element(p, given.a, k, draw_element(b, p, k));
    }
    copy_memory(p, &given, &banded);
    copy_memory(p, &given, &chosen);
    copy_memory(p, &given, &alone);
    const hr_split_options options = random_weights(b, weights);
    if (!scan_memory(b->context, p, &banded, &options) ||
        !scan_memory(b->context, p, &chosen, NULL) ||
        !scan_memory(b->host, p, &alone, NULL) ||
        !CHECK(rows_right(p, given.a, banded.b)) ||
        !CHECK(is_around_untouched(p, &given, &banded)) ||
        !CHECK(same_bits(p, &banded, &alone)) ||
        !CHECK(same_bits(p, &chosen, &alone))) {
        fprintf(stderr,
                "  operation %d, kind %d, %s to %zu bytes, values %d, in place "
                "%d, %lld x %lld x %lld of rank %u\n",
                (int)p->operation, (int)p->kind, hr_type_name(p->type),
                p->out_bytes, (int)p->values, p->in_place,
                (long long)p->extent.size[0], (long long)p->extent.size[1],
                (long long)p->extent.size[2], p->extent.rank);
    }
    free(given.a);
    free_memory(p, &banded);
    free_memory(p, &chosen);
    free_memory(p, &alone);
}

/* ---- cases */

static hr_extent random_extent(bed *b)
{
    static const hr_extent extents[] = {
        {1, {1}},          {1, {1024}},    {1, {1025}},       {1, {4096}},
        {1, {4097}},       {1, {39989}},   {1, {3 * 4096}},   {2, {3, 9973}},
        {2, {131, 257}},   {2, {9001, 3}}, {3, {2, 3, 4099}}, {3, {5, 23, 300}},
        {3, {40, 1, 701}}, {2, {1, 4097}}, {2, {300, 1}},     {2, {70, 17}},
        {3, {3, 130, 5}},  {2, {9, 1024}}};
    const int64_t row = sizeof extents / sizeof extents[0];
    const int64_t pick = any(b, 0, row + 3);
    return pick < row
               ? extents[pick]
               : (hr_extent){(uint32_t)any(b, 1, 3),
                             {any(b, 1, 60), any(b, 1, 20), any(b, 1, 33)}};
}

static void random_case(bed *b)
{
    static const hr_type types[] = {HR_F32, HR_F64, HR_I8, HR_I32};
    static const size_t wide[] = {8, 8, 4, 8};
    const int64_t type = any(b, 0, 3);
    problem p = {.type = types[type],
                 .operation = operations[any(b, 0, 3)],
                 .kind =
                     any(b, 0, 1) == 0 ? HR_SCAN_INCLUSIVE : HR_SCAN_EXCLUSIVE,
                 .values = (values)any(b, 0, 5),
                 .extent = random_extent(b)};
    if (p.operation != HR_REDUCE_PRODUCT && p.values == HUGE_RUNS) {
        p.values = RANDOM;
    }
    p.out_bytes = any(b, 0, 2) == 0 ? wide[type] : hr_type_size(p.type);
    p.in_place = p.out_bytes == hr_type_size(p.type) && any(b, 0, 1) == 0;
    p.outer = p.extent;
    for (uint32_t d = 0; d < p.extent.rank && any(b, 0, 1) == 0; d++) {
        p.margin[d] = any(b, 0, 2);
        p.outer.size[d] += p.margin[d] + any(b, 0, 2);
    }
    scan_problem(b, &p);
}

static void many_elements(bed *b)
{
    TEST_CASE("a million elements");
    problem p = {.type = HR_F64,
                 .out_bytes = 8,
                 .operation = HR_REDUCE_SUM,
                 .kind = HR_SCAN_INCLUSIVE,
                 .outer = hr_extent1(LARGE),
                 .extent = hr_extent1(LARGE)};
    scan_problem(b, &p);
    p.type = HR_I32;
    p.out_bytes = 4;
    p.in_place = true;
    p.kind = HR_SCAN_EXCLUSIVE;
    scan_problem(b, &p);
}

/* Of short rows a tile takes several: each has the bits of the row alone. */
static void short_rows(bed *b)
{
    enum { ROW_COUNT = 70, LONGEST = 1025 };
    static const int64_t lengths[] = {1,  2,   15,  16,   17,
                                      33, 100, 513, 1024, LONGEST};
    static float x[ROW_COUNT][LONGEST], y[ROW_COUNT][LONGEST], alone[LONGEST];
    hr_array *in = NULL, *out = NULL;
    TEST_CASE("short rows");
    for (int i = 0; i < ROW_COUNT * LONGEST; i++) {
        x[i / LONGEST][i % LONGEST] = (float)random_unit(&b->random) - 0.5F;
    }
    CHECK(hr_array_wrap(b->context, x, 4, hr_extent2(ROW_COUNT, LONGEST), 0,
                        &in) == HR_OK);
    CHECK(hr_array_wrap(b->context, y, 4, hr_extent2(ROW_COUNT, LONGEST), 0,
                        &out) == HR_OK);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const int64_t n = lengths[i], origin[] = {0, 0};
        hr_array *row = NULL, *result = NULL;
        hr_view from, to;
        bool same = true;
        CHECK(hr_view_section(hr_view_of(in), origin, hr_extent2(ROW_COUNT, n),
                              &from) == HR_OK);
        CHECK(hr_view_section(hr_view_of(out), origin, hr_extent2(ROW_COUNT, n),
                              &to) == HR_OK);
        CHECK(hr_scan(b->context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_F32,
                      from, to, NULL) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(out)) == HR_OK);
        for (int r = 0; r < ROW_COUNT; r += 23) {
            CHECK(hr_array_wrap(b->host, x[r], 4, hr_extent1(n), 0, &row) ==
                  HR_OK);
            CHECK(hr_array_wrap(b->host, alone, 4, hr_extent1(n), 0, &result) ==
                  HR_OK);
            CHECK(hr_scan(b->host, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_F32,
                          hr_view_of(row), hr_view_of(result), NULL) == HR_OK);
            CHECK(hr_synchronize(hr_view_of(result)) == HR_OK);
            same = same && memcmp(y[r], alone, (size_t)n * 4) == 0;
            hr_array_destroy(row);
            hr_array_destroy(result);
        }
        CHECK(same);
    }
    hr_array_destroy(in);
    hr_array_destroy(out);
}

/* Zeros keep their sign, as np.cumsum has it. */
static void zeros_keep_signs(bed *b)
{
    TEST_CASE("negative zeros");
    float x[3] = {-0.0F, -0.0F, 0.0F}, y[3];
    hr_array *in = NULL, *out = NULL;
    CHECK(hr_array_wrap(b->context, x, 4, hr_extent1(3), 0, &in) == HR_OK);
    CHECK(hr_array_wrap(b->context, y, 4, hr_extent1(3), 0, &out) == HR_OK);
    for (int kind = HR_SCAN_INCLUSIVE; kind <= HR_SCAN_EXCLUSIVE; kind++) {
        const bool negative = kind == HR_SCAN_INCLUSIVE;
        CHECK(hr_scan(b->context, HR_REDUCE_SUM, (hr_scan_kind)kind, HR_F32,
                      hr_view_of(in), hr_view_of(out), NULL) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(out)) == HR_OK);
        CHECK(y[0] == 0 && !signbit(y[0]) == !negative);
        CHECK(y[1] == 0 && !signbit(y[1]) == !negative);
        CHECK(y[2] == 0 && !signbit(y[2]));
    }
    hr_array_destroy(in);
    hr_array_destroy(out);
}

/* Rows along the last of four dimensions, and gaps that are refused. */
static void high_rank(bed *b)
{
    enum { ROW_COUNT = 24, COUNT = 50 };
    static const int64_t size[] = {2, 3, 4, COUNT}, inner[] = {2, 2, 3, COUNT};
    static const int64_t origin[] = {0, 0, 0, 0};
    static int in[ROW_COUNT][COUNT], out[ROW_COUNT][COUNT];
    const hr_extent extent = hr_extent_of(4, size);
    hr_array *from = NULL, *to = NULL;
    hr_view gaps;
    bool right = true;
    TEST_CASE("four dimensions");
    for (int i = 0; i < ROW_COUNT * COUNT; i++) {
        in[i / COUNT][i % COUNT] = i * 7 % 100;
    }
    CHECK(hr_array_wrap(b->context, in[0], sizeof(int), extent, 0, &from) ==
          HR_OK);
    CHECK(hr_array_wrap(b->context, out[0], sizeof(int), extent, 0, &to) ==
          HR_OK);
    CHECK(hr_scan(b->context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                  hr_view_of(from), hr_view_of(to), NULL) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    for (int row = 0; row < ROW_COUNT; row++) {
        for (int i = 0, sum = 0; i < COUNT; i++) {
            sum += in[row][i];
            right = right && out[row][i] == sum;
        }
    }
    CHECK(right);
    CHECK(hr_view_section(hr_view_of(from), origin, hr_extent_of(4, inner),
                          &gaps) == HR_OK);
    CHECK_FAILS(hr_scan(b->context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                        gaps, gaps, NULL),
                HR_ERROR_INVALID,
                "scan: view a has rank 4, and gaps between its first "
                "dimensions");
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static void refused_arguments(bed *b)
{
    TEST_CASE("what is refused");
    static float x[60], y[60];
    static long numbers[60];
    const hr_reduction sum = HR_REDUCE_SUM;
    const hr_scan_kind in = HR_SCAN_INCLUSIVE;
    hr_context *c = b->context;
    hr_array *one = NULL, *two = NULL, *other = NULL;
    hr_view head, tail, wide, none = {0};
    CHECK(hr_array_wrap(c, x, 4, hr_extent1(60), 0, &one) == HR_OK);
    CHECK(hr_array_wrap(c, y, 4, hr_extent2(6, 10), 0, &two) == HR_OK);
    const hr_view a = hr_view_of(one), m = hr_view_of(two);
    const int64_t from = 1, start = 0;
    CHECK(hr_view_section(a, &start, hr_extent1(30), &head) == HR_OK);
    CHECK(hr_view_section(a, &from, hr_extent1(30), &tail) == HR_OK);
    CHECK_FAILS(hr_scan(NULL, sum, in, HR_F32, a, a, NULL), HR_ERROR_INVALID,
                "scan: the context is NULL");
    CHECK_FAILS(hr_scan(c, HR_REDUCE_DOT, in, HR_F32, a, a, NULL),
                HR_ERROR_INVALID,
                "operation 4 is not SUM, PRODUCT, MIN or MAX");
    CHECK_FAILS(hr_scan(c, sum, (hr_scan_kind)3, HR_F32, a, a, NULL),
                HR_ERROR_INVALID, "scan: unknown kind 3");
    CHECK_FAILS(hr_scan(c, sum, in, (hr_type)99, a, a, NULL),
                HR_ERROR_UNSUPPORTED, "scan: unknown type 99");
    CHECK_FAILS(hr_scan(c, sum, in, HR_F16, a, a, NULL), HR_ERROR_UNSUPPORTED,
                "only f32, f64, i8 and i32 are offered, not f16");
    CHECK_FAILS(hr_scan(c, sum, in, HR_F32, none, a, NULL), HR_ERROR_INVALID,
                "view a belongs to no array");
    CHECK_FAILS(hr_scan(b->host, sum, in, HR_F32, a, a, NULL), HR_ERROR_INVALID,
                "view a belongs to another context");
    CHECK_FAILS(hr_scan(c, sum, in, HR_F64, a, a, NULL), HR_ERROR_INVALID,
                "view a has elements of 4 bytes, but f64 has 8");
    CHECK_FAILS(hr_scan(c, sum, in, HR_F32, a, m, NULL), HR_ERROR_INVALID,
                "view a has rank 1, but view b has 2");
    CHECK_FAILS(hr_scan(c, sum, in, HR_F32, head, a, NULL), HR_ERROR_INVALID,
                "view a has size 30 in dimension 0, but view b has 60");
    CHECK_FAILS(hr_scan(c, sum, in, HR_F32, head, tail, NULL), HR_ERROR_INVALID,
                "scan: view b overlaps view a");
    CHECK(hr_view_reinterpret(a, 2, &wide) == HR_OK);
    CHECK_FAILS(hr_scan(c, sum, in, HR_F32, a, wide, NULL), HR_ERROR_INVALID,
                "view b has elements of 2 bytes; scans of f32 write 4 or 8");
    CHECK(hr_array_wrap_typed(c, numbers, "long", 8, hr_extent1(60), 0,
                              &other) == HR_OK);
    CHECK_FAILS(hr_scan(c, sum, in, HR_F32, a, hr_view_of(other), NULL),
                HR_ERROR_INVALID,
                "scan: view b has elements of long, not of double");
    hr_array_destroy(other);
    CHECK(x[0] == 0 && y[0] == 0);
    hr_array_destroy(one);
    hr_array_destroy(two);
}

/* A dry run says what would be done, and does nothing. */
static void dry_run_does_nothing(bed *b)
{
    TEST_CASE("dry run");
    static int x[20000];
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *array = NULL;
    x[0] = x[1] = 1;
    CHECK(hr_array_wrap(b->context, x, 4, hr_extent1(20000), 0, &array) ==
          HR_OK);
    options.dry_run = true;
    options.report = &report;
    CHECK(hr_scan(b->context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                  hr_view_of(array), hr_view_of(array), &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(report.used >= 1 && report.seconds > 0 && x[1] == 1);
    hr_array_destroy(array);
}

static void other_cases(bed *b)
{
    TEST(many_elements(b));
    TEST(short_rows(b));
    TEST(zeros_keep_signs(b));
    TEST(high_rank(b));
    TEST(refused_arguments(b));
    TEST(dry_run_does_nothing(b));
}

int main(int argc, char **argv)
{
    return alone_main(argc, argv, CASES, random_case, other_cases);
}
