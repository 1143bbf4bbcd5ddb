/* SPDX-License-Identifier: MIT */
/* Sorts of views on the accelerators of argv[1]: the same bits as a plain
 * stable sort, whatever the bands. argv[2]: how many random views. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/half.h>
#include <headrace/headrace.h>

#include "support/alone.h"

enum { CASES = 32, LARGE = 600011 };

typedef enum kind { RANDOM, EQUAL, FEW, SPECIAL, SORTED, REVERSED, KINDS } kind;

/* What the values of a sort by key are; NONE: a sort of keys alone. */
typedef enum carried { NONE, FOUR_BYTES, EIGHT_BYTES } carried;

typedef struct problem {
    hr_type type;
    hr_sort_order order;
    kind kind;
    carried carried;
    bool in_place; /* always with values */
    hr_extent outer, extent;
    int64_t margin[HR_MAX_RANK];
} problem;

/* ---- elements */

static double draw_element(bed *b, const problem *p, int64_t k)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1};
    switch (p->kind) {
    case EQUAL:
        return 0.25;
    case FEW:
        return (double)any(b, -3, 3) / 8;
    case SPECIAL:
        return any(b, 0, 2) > 0 ? random_unit(&b->random)
                                : special[any(b, 0, 5)];
    case SORTED:
        return (double)k * 0x1p-21 - 0.5;
    case REVERSED:
        return 0.5 - (double)k * 0x1p-21;
    default:
        return random_unit(&b->random);
    }
}

static void put_element(const problem *p, void *memory, int64_t at, double x)
{
    if (p->type == HR_F32) {
        ((float *)memory)[at] = (float)x;
    } else if (p->type == HR_F64) {
        ((double *)memory)[at] = x;
    } else if (p->type == HR_F16) {
        ((uint16_t *)memory)[at] = hr_f32_to_f16((float)x);
    } else if (p->type == HR_BF16) {
        ((uint16_t *)memory)[at] = hr_f32_to_bf16((float)x);
    } else if (p->type == HR_I8) {
        ((int8_t *)memory)[at] = (int8_t)(isfinite(x) ? 127 * x : -128);
    } else {
        ((int32_t *)memory)[at] =
            (int32_t)(isfinite(x) ? 2147483647 * x : INT32_MIN);
    }
}

static double element_of(const problem *p, const void *memory, int64_t at)
{
    switch (p->type) {
    case HR_F32:
        return (double)((const float *)memory)[at];
    case HR_F64:
        return ((const double *)memory)[at];
    case HR_F16:
        return (double)hr_f16_to_f32(((const uint16_t *)memory)[at]);
    case HR_BF16:
        return (double)hr_bf16_to_f32(((const uint16_t *)memory)[at]);
    case HR_I8:
        return ((const int8_t *)memory)[at];
    default:
        return ((const int32_t *)memory)[at];
    }
}

/* ---- what is right: a merge sort of the places of elements */

static bool is_less(double x, double y)
{
    return x < y || (isnan(y) && !isnan(x));
}

/* Whether the element at y must come before the one at x, which is before. */
static bool must_swap(const problem *p, const void *keys, int64_t x, int64_t y)
{
    const double a = element_of(p, keys, x), b = element_of(p, keys, y);
    return p->order == HR_SORT_ASCENDING ? is_less(b, a) : is_less(a, b);
}

static void merge_sort(const problem *p, const void *keys, int64_t *x,
                       int64_t *spare, int64_t n)
{
    const int64_t half = n / 2;
    if (n < 2) {
        return;
    }
    merge_sort(p, keys, x, spare, half);
    merge_sort(p, keys, x + half, spare, n - half);
    memcpy(spare, x, (size_t)n * sizeof *x);
    for (int64_t i = 0, j = half, k = 0; k < n; k++) {
        const bool right =
            i == half || (j < n && must_swap(p, keys, spare[i], spare[j]));
        x[k] = right ? spare[j++] : spare[i++];
    }
}

/* ---- a case: memory that one context sorts */

typedef struct memory {
    char *a, *b, *values; /* b: a itself in place */
} memory;

static size_t value_bytes(const problem *p)
{
    return p->carried == EIGHT_BYTES ? 8 : 4;
}

static char *copy_of(const char *from, size_t bytes)
{
    char *to = malloc(bytes);
    memcpy(to, from, bytes);
    return to;
}

static memory copy_memory(const problem *p, const memory *from)
{
    const size_t count = (size_t)hr_extent_count(p->outer);
    const size_t bytes = count * hr_type_size(p->type);
    memory to = {.a = copy_of(from->a, bytes),
                 .values = copy_of(from->values, count * value_bytes(p))};
    to.b = p->in_place ? to.a : copy_of(from->a, bytes);
    return to;
}

static void free_memory(const problem *p, memory *m)
{
    if (!p->in_place) {
        free(m->b);
    }
    free(m->a);
    free(m->values);
}

/* The place of element i of row r in memory. */
static int64_t place_of(const problem *p, int64_t r, int64_t i)
{
    const uint32_t rank = p->extent.rank;
    int64_t at = 0, rest = r, point[HR_MAX_RANK] = {0};
    for (uint32_t d = rank - 1; d-- > 0;) {
        point[d] = rest % p->extent.size[d];
        rest /= p->extent.size[d];
    }
    point[rank - 1] = i;
    for (uint32_t d = 0; d < rank; d++) {
        at = at * p->outer.size[d] + p->margin[d] + point[d];
    }
    return at;
}

/* Sort m->a into m->b. */
static void sort_plain(const problem *p, const memory *given, memory *m)
{
    const int64_t n = p->extent.size[p->extent.rank - 1];
    const size_t bytes = hr_type_size(p->type), wide = value_bytes(p);
    int64_t *x = malloc((size_t)n * sizeof *x);
    int64_t *spare = malloc((size_t)n * sizeof *x);
    for (int64_t r = 0; r < hr_extent_count(p->extent) / n; r++) {
        for (int64_t i = 0; i < n; i++) {
            x[i] = place_of(p, r, i);
        }
        merge_sort(p, given->a, x, spare, n);
        for (int64_t i = 0; i < n; i++) {
            const size_t to = (size_t)place_of(p, r, i), from = (size_t)x[i];
            memcpy(m->b + to * bytes, given->a + from * bytes, bytes);
            if (p->carried != NONE) {
                memcpy(m->values + to * wide, given->values + from * wide,
                       wide);
            }
        }
    }
    free(x);
    free(spare);
}

static hr_status call_sort(hr_context *context, const problem *p,
                           const hr_view *views,
                           const hr_split_options *options)
{
    return p->carried == NONE
               ? hr_sort(context, p->order, p->type, views[0],
                         p->in_place ? views[0] : views[1], options)
               : hr_sort_by_key(context, p->order, p->type, views[0],
                                p->carried == FOUR_BYTES ? HR_I32 : HR_F64,
                                views[2], options);
}

/* Sort in a context and bring the results to memory. */
static bool sort_memory(hr_context *context, const problem *p, memory *m,
                        const hr_split_options *options)
{
    const size_t bytes = hr_type_size(p->type);
    const size_t each[] = {bytes, bytes, value_bytes(p)};
    char *const data[] = {m->a, m->b, m->values};
    hr_array *arrays[3] = {NULL};
    hr_view views[3];
    bool good = true;
    for (int i = 0; i < 3 && good; i++) {
        good = CHECK((hr_array_wrap)(context, data[i], each[i], p->outer, 0,
                                     &arrays[i]) == HR_OK) &&
               CHECK(hr_view_section(hr_view_of(arrays[i]), p->margin,
                                     p->extent, &views[i]) == HR_OK);
    }
    good = good && CHECK(call_sort(context, p, views, options) == HR_OK);
    for (int i = 0; i < 3 && good; i++) {
        good = CHECK(hr_synchronize(views[i]) == HR_OK);
    }
    if (!good) {
        fprintf(stderr, "  %s\n", hr_last_error());
    }
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    return good;
}

/* All bytes, those around the view too. */
static bool same_bytes(const problem *p, const memory *x, const memory *y)
{
    const size_t count = (size_t)hr_extent_count(p->outer);
    return memcmp(x->a, y->a, count * hr_type_size(p->type)) == 0 &&
           memcmp(x->b, y->b, count * hr_type_size(p->type)) == 0 &&
           memcmp(x->values, y->values, count * value_bytes(p)) == 0;
}

static void print_problem(const problem *p)
{
    fprintf(stderr,
            "  order %d, %s, kind %d, carried %d, in place %d, %lld x %lld x "
            "%lld of rank %u\n",
            (int)p->order, hr_type_name(p->type), (int)p->kind, (int)p->carried,
            p->in_place, (long long)p->extent.size[0],
            (long long)p->extent.size[1], (long long)p->extent.size[2],
            p->extent.rank);
}

static void sort_problem(bed *b, const problem *p)
{
    double weights[MAX_BANDS];
    const int64_t count = hr_extent_count(p->outer);
    memory given = {.a = malloc((size_t)count * hr_type_size(p->type)),
                    .values = malloc((size_t)count * value_bytes(p))};
    for (int64_t k = 0; k < count; k++) {
        put_element(p, given.a, k, draw_element(b, p, k));
    }
    random_fill_bytes(&b->random, given.values, (size_t)count * value_bytes(p));
    memory banded = copy_memory(p, &given), chosen = copy_memory(p, &given);
    memory alone = copy_memory(p, &given), right = copy_memory(p, &given);
    sort_plain(p, &given, &right);
    const hr_split_options options = random_weights(b, weights);
    if (!sort_memory(b->context, p, &banded, &options) ||
        !sort_memory(b->context, p, &chosen, NULL) ||
        !sort_memory(b->host, p, &alone, NULL) ||
        !CHECK(same_bytes(p, &alone, &right)) ||
        !CHECK(same_bytes(p, &banded, &right)) ||
        !CHECK(same_bytes(p, &chosen, &right))) {
        print_problem(p);
    }
    free(given.a);
    free(given.values);
    free_memory(p, &banded);
    free_memory(p, &chosen);
    free_memory(p, &alone);
    free_memory(p, &right);
}

/* ---- cases */

static hr_extent random_extent(bed *b)
{
    static const hr_extent extents[] = {
        {1, {1}},          {1, {2}},          {1, {40}},
        {1, {41}},         {1, {2048}},       {1, {2049}},
        {1, {4096}},       {1, {4097}},       {1, {8193}},
        {1, {39989}},      {1, {3 * 4096}},   {2, {3, 9973}},
        {2, {131, 257}},   {2, {9001, 3}},    {3, {2, 3, 4099}},
        {3, {5, 23, 300}}, {3, {40, 1, 701}}, {2, {1, 4097}},
        {2, {5, 17000}},   {2, {2, 4096}},    {2, {40, 100}},
        {2, {37, 2048}},   {2, {33, 1}},      {3, {3, 9, 2500}}};
    const int64_t row = sizeof extents / sizeof extents[0];
    const int64_t pick = any(b, 0, row + 3);
    return pick < row
               ? extents[pick]
               : (hr_extent){(uint32_t)any(b, 1, 3),
                             {any(b, 1, 60), any(b, 1, 20), any(b, 1, 33)}};
}

/* Rows of rank 3 may have gaps between them, but slices none. */
static void random_margins(bed *b, problem *p)
{
    for (uint32_t d = 0; d < p->extent.rank; d++) {
        if (d != p->extent.rank - 2 || p->extent.rank < 3) {
            p->margin[d] = any(b, 0, 2);
            p->outer.size[d] += p->margin[d] + any(b, 0, 2);
        }
    }
}

static void random_case(bed *b)
{
    static const hr_type types[] = {HR_F32,  HR_F64, HR_F16,
                                    HR_BF16, HR_I8,  HR_I32};
    problem p = {.type = types[any(b, 0, 5)],
                 .order =
                     any(b, 0, 1) == 0 ? HR_SORT_ASCENDING : HR_SORT_DESCENDING,
                 .kind = (kind)any(b, 0, KINDS - 1),
                 .carried = (carried)any(b, 0, 2),
                 .extent = random_extent(b)};
    p.in_place = p.carried != NONE || any(b, 0, 1) == 0;
    p.outer = p.extent;
    if (any(b, 0, 1) == 0) {
        random_margins(b, &p);
    }
    sort_problem(b, &p);
}

static void many_elements(bed *b)
{
    TEST_CASE("many elements");
    problem p = {.type = HR_F64,
                 .order = HR_SORT_ASCENDING,
                 .outer = hr_extent1(LARGE),
                 .extent = hr_extent1(LARGE)};
    sort_problem(b, &p);
    p.type = HR_I32;
    p.order = HR_SORT_DESCENDING;
    p.carried = FOUR_BYTES;
    p.in_place = true;
    p.kind = FEW;
    sort_problem(b, &p);
}

/* NaNs of any sign and bits are alike, and so are zeros. */
static void zeros_and_nans_are_equal(bed *b)
{
    static const uint32_t given[] = {0xffc00001U, 0x80000000U, 0x7f800000U,
                                     0x00000000U, 0x7fc12345U, 0x80000000U,
                                     0xbf800000U, 0xff800000U};
    static const uint32_t ascending[] = {0xff800000U, 0xbf800000U, 0x80000000U,
                                         0x00000000U, 0x80000000U, 0x7f800000U,
                                         0xffc00001U, 0x7fc12345U};
    static const uint32_t descending[] = {0xffc00001U, 0x7fc12345U, 0x7f800000U,
                                          0x80000000U, 0x00000000U, 0x80000000U,
                                          0xbf800000U, 0xff800000U};
    const uint32_t *right[] = {ascending, descending};
    uint32_t x[8];
    hr_array *array = NULL;
    TEST_CASE("zeros and NaNs");
    CHECK(hr_array_wrap_typed(b->context, x, "float", 4, hr_extent1(8), 0,
                              &array) == HR_OK);
    for (int i = 0; i < 2; i++) {
        memcpy(x, given, sizeof x);
        CHECK(hr_invalidate(hr_view_of(array)) == HR_OK);
        CHECK(hr_sort(b->context, (hr_sort_order)(HR_SORT_ASCENDING + i),
                      HR_F32, hr_view_of(array), hr_view_of(array),
                      NULL) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
        CHECK(memcmp(x, right[i], sizeof x) == 0);
    }
    hr_array_destroy(array);
}

/* Rows along the last of four dimensions, and gaps that are refused. */
static void high_rank(bed *b)
{
    static const int64_t size[] = {2, 3, 4, 50}, inner[] = {2, 2, 3, 50};
    static const int64_t origin[] = {0, 0, 0, 0};
    hr_array *array = NULL;
    hr_view gaps;
    TEST_CASE("four dimensions");
    const hr_extent extent = hr_extent_of(4, size);
    problem p = {.type = HR_I32,
                 .order = HR_SORT_ASCENDING,
                 .in_place = true,
                 .outer = extent,
                 .extent = extent};
    sort_problem(b, &p);
    static int x[1200];
    CHECK(hr_array_wrap(b->context, x, 4, extent, 0, &array) == HR_OK);
    CHECK(hr_view_section(hr_view_of(array), origin, hr_extent_of(4, inner),
                          &gaps) == HR_OK);
    CHECK_FAILS(
        hr_sort(b->context, HR_SORT_ASCENDING, HR_I32, gaps, gaps, NULL),
        HR_ERROR_INVALID,
        "sort: view a has rank 4, and gaps between its first "
        "dimensions");
    hr_array_destroy(array);
}

static void refused_arguments(bed *b)
{
    enum { COUNT = 10000 };
    static float x[COUNT], y[COUNT];
    static double z[COUNT];
    const hr_sort_order up = HR_SORT_ASCENDING;
    const int64_t from = 1, start = 0;
    hr_context *c = b->context;
    hr_array *one = NULL, *two = NULL, *three = NULL;
    hr_view head, tail, none = {0};
    TEST_CASE("what is refused");
    CHECK(hr_array_wrap(c, x, 4, hr_extent1(COUNT), 0, &one) == HR_OK);
    CHECK(hr_array_wrap(c, y, 4, hr_extent2(10, 1000), 0, &two) == HR_OK);
    CHECK(hr_array_wrap(c, z, 8, hr_extent1(COUNT), 0, &three) == HR_OK);
    const hr_view a = hr_view_of(one), m = hr_view_of(two);
    const hr_view d = hr_view_of(three);
    x[0] = 1;
    CHECK_FAILS(hr_sort(NULL, up, HR_F32, a, a, NULL), HR_ERROR_INVALID,
                "sort: the context is NULL");
    CHECK_FAILS(hr_sort(c, (hr_sort_order)3, HR_F32, a, a, NULL),
                HR_ERROR_INVALID, "sort: unknown order 3");
    CHECK_FAILS(hr_sort(c, up, (hr_type)99, a, a, NULL), HR_ERROR_UNSUPPORTED,
                "sort: unknown type 99");
    CHECK_FAILS(hr_sort(c, up, HR_C32, a, a, NULL), HR_ERROR_UNSUPPORTED,
                "only f32, f64, f16, bf16, i8 and i32 are offered, not c32");
    CHECK_FAILS(hr_sort(c, up, HR_F32, none, a, NULL), HR_ERROR_INVALID,
                "view a belongs to no array");
    CHECK_FAILS(hr_sort(b->host, up, HR_F32, a, a, NULL), HR_ERROR_INVALID,
                "view a belongs to another context");
    CHECK_FAILS(hr_sort(c, up, HR_F64, a, a, NULL), HR_ERROR_INVALID,
                "view a has elements of 4 bytes, but f64 has 8");
    CHECK_FAILS(hr_sort(c, up, HR_F32, a, d, NULL), HR_ERROR_INVALID,
                "view b has elements of 8 bytes, but f32 has 4");
    CHECK_FAILS(hr_sort(c, up, HR_I32, a, a, NULL), HR_ERROR_INVALID,
                "sort: view a has elements of float, not of i32");
    CHECK_FAILS(hr_sort_by_key(c, up, HR_F32, a, HR_I32, a, NULL),
                HR_ERROR_INVALID,
                "sort: view values has elements of float, not of i32");
    CHECK_FAILS(hr_sort(c, up, HR_F32, a, m, NULL), HR_ERROR_INVALID,
                "view a has rank 1, but view b has 2");
    for (int64_t count = 60; count < COUNT; count += COUNT - 62) {
        CHECK(hr_view_section(a, &start, hr_extent1(count), &head) == HR_OK);
        CHECK(hr_view_section(a, &from, hr_extent1(count), &tail) == HR_OK);
        CHECK_FAILS(hr_sort(c, up, HR_F32, head, tail, NULL), HR_ERROR_INVALID,
                    "sort: view b overlaps view a");
        CHECK_FAILS(hr_sort_by_key(c, up, HR_F32, head, HR_F32, tail, NULL),
                    HR_ERROR_INVALID, "sort: view values overlaps view keys");
    }
    CHECK_FAILS(hr_sort(c, up, HR_F32, head, a, NULL), HR_ERROR_INVALID,
                "view a has size 9998 in dimension 0, but view b has 10000");
    CHECK_FAILS(hr_sort_by_key(NULL, up, HR_F32, a, HR_F64, d, NULL),
                HR_ERROR_INVALID, "sort: the context is NULL");
    CHECK_FAILS(hr_sort_by_key(c, up, HR_F32, a, HR_F64, none, NULL),
                HR_ERROR_INVALID, "view values belongs to no array");
    CHECK_FAILS(hr_sort_by_key(c, up, HR_F32, a, HR_I8, d, NULL),
                HR_ERROR_UNSUPPORTED,
                "values of i8 have 1 byte; only those of 4 and 8");
    CHECK_FAILS(hr_sort_by_key(c, up, HR_F32, a, (hr_type)99, d, NULL),
                HR_ERROR_UNSUPPORTED, "unknown type 99 of values");
    CHECK_FAILS(hr_sort_by_key(c, up, HR_F32, a, HR_F32, d, NULL),
                HR_ERROR_INVALID,
                "view values has elements of 8 bytes, but f32 has 4");
    CHECK(x[0] == 1 && y[0] == 0);
    hr_array_destroy(one);
    hr_array_destroy(two);
    hr_array_destroy(three);
}

/* A dry run says what would be done, and does nothing. */
static void dry_run_does_nothing(bed *b)
{
    TEST_CASE("dry run");
    static int x[20000];
    hr_band bands[MAX_BANDS];
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *array = NULL;
    x[0] = 1;
    report.shares = bands;
    report.share_capacity = MAX_BANDS;
    CHECK(hr_array_wrap(b->context, x, 4, hr_extent1(20000), 0, &array) ==
          HR_OK);
    options.dry_run = true;
    options.report = &report;
    CHECK(hr_sort(b->context, HR_SORT_ASCENDING, HR_I32, hr_view_of(array),
                  hr_view_of(array), &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(report.used >= 1 && report.seconds > 0 && x[0] == 1);
    options.dry_run = false;
    CHECK(hr_sort(b->context, HR_SORT_ASCENDING, HR_I32, hr_view_of(array),
                  hr_view_of(array), &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    int64_t units = 0;
    for (uint32_t i = 0; i < report.share_count; i++) {
        units += bands[i].count;
    }
    CHECK(units == 5 && x[0] == 0 && x[19999] == 1);
    hr_array_destroy(array);
}

static void other_cases(bed *b)
{
    TEST(many_elements(b));
    TEST(zeros_and_nans_are_equal(b));
    TEST(high_rank(b));
    TEST(refused_arguments(b));
    TEST(dry_run_does_nothing(b));
}

int main(int argc, char **argv)
{
    return alone_main(argc, argv, CASES, random_case, other_cases);
}
