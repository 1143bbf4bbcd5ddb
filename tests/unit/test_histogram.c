/* SPDX-License-Identifier: MIT */
/* Histograms on the accelerators of argv[1]: counts are those of a search among
 * the edges. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/size.h"
#include "runtime/runtime.h"
#include "support/bed.h"

enum { N = 150000, MAX_BINS = 100000, BEFORE = 0x5A };

static const hr_type types[] = {HR_F32, HR_F64, HR_I8, HR_I32};

static union {
    float f32[N];
    double f64[N];
    int8_t i8[N];
    int32_t i32[N];
} data;

static double edges[MAX_BINS + 1];
static int64_t counts[MAX_BINS + 2], want[MAX_BINS + 2];

/* ---- elements */

static double element_of(hr_type type, int64_t i)
{
    return type == HR_F32   ? (double)data.f32[i]
           : type == HR_F64 ? data.f64[i]
           : type == HR_I8  ? data.i8[i]
                            : data.i32[i];
}

static void set_element(hr_type type, int64_t i, double x)
{
    if (type == HR_F32) {
        data.f32[i] = (float)x;
    } else if (type == HR_F64) {
        data.f64[i] = x;
    } else if (type == HR_I8) {
        data.i8[i] = (int8_t)fmax(INT8_MIN, fmin(INT8_MAX, x));
    } else {
        data.i32[i] = (int32_t)fmax(INT32_MIN, fmin(INT32_MAX, x));
    }
}

/* ---- what is right */

typedef struct range {
    double low, high;
} range;

static void make_edges(hr_type type, range r, int bins)
{
    const volatile double step = (r.high - r.low) / bins;
    for (int b = 0; b <= bins; b++) {
        const volatile double product = b * step;
        edges[b] = b == bins ? r.high : fmin(r.low + product, r.high);
        if (type == HR_F32) {
            edges[b] = (double)(float)edges[b];
        }
    }
}

/* Count an element in the last bin that begins at it or before it. */
static void count_wanted(double x, int bins)
{
    int low = 0, high = bins; /* edges[low] <= x, and x is before edges[high],
                                 unless that is the last one */
    if (!(x >= edges[0] && x <= edges[bins])) {
        return;
    }
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        *(edges[middle] <= x ? &low : &high) = middle;
    }
    want[1 + low]++;
}

/* The bytes of each accelerator beside those that it holds. */
enum { ROOM = 1 << 28 };
static uint64_t room = ROOM;

/* Count a view over all accelerators, in uneven bands or as the library
 * chooses. The elements beside the counts stay as they are. */
static void check_counts(const bed *b, hr_type type, hr_view view, range r,
                         int bins)
{
    static const double weights[8] = {1, 2, 1, 3, 1, 2, 1, 3};
    const size_t bytes = (size_t)(bins + 2) * sizeof *counts;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *array = bed_wrap(b, counts, sizeof *counts, hr_extent1(bins + 2));
    hr_view inner;
    CHECK(hr_view_section(hr_view_of(array), &(int64_t){1}, hr_extent1(bins),
                          &inner) == HR_OK);
    memset(&want[0], BEFORE, sizeof *want);
    memset(&want[bins + 1], BEFORE, sizeof *want);
    for (int weighted = 0; weighted < 2; weighted++) {
        memset(counts, BEFORE, bytes);
        CHECK(hr_invalidate(hr_view_of(array)) == HR_OK);
        options.weights = weighted != 0 ? weights : NULL;
        bed_give_room(b, room);
        CHECK(hr_histogram(b->context, type, view, r.low, r.high, inner,
                           &options) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
        CHECK(memcmp(counts, want, bytes) == 0);
        CHECK(bed_kept_to_limits(b));
    }
    hr_array_destroy(array);
}

/* All elements, as views of an extent. */
static void check_all(const bed *b, hr_type type, hr_extent extent, range r,
                      int bins)
{
    hr_array *array = bed_wrap(b, &data, hr_type_size(type), extent);
    make_edges(type, r, bins);
    memset(want, 0, sizeof want);
    for (int64_t i = 0; i < hr_extent_count(extent); i++) {
        count_wanted(element_of(type, i), bins);
    }
    check_counts(b, type, hr_view_of(array), r, bins);
    hr_array_destroy(array);
}

/* ---- elements of many kinds */

/* Elements in the range and somewhat beyond it, on its edges and beside them,
 * and others. */
static void draw_elements(bed *b, hr_type type, range r, int bins)
{
    const double width = r.high - r.low;
    for (int i = 0; i < N; i++) {
        const double u =
            (double)random_between(&b->random, 0, 1 << 30) * 0x1p-30;
        const int64_t kind = random_between(&b->random, 0, 7);
        const double edge = edges[random_between(&b->random, 0, bins)];
        const double near =
            type == HR_F32
                ? (double)nextafterf((float)edge, kind == 1 ? -1e38F : 1e38F)
                : nextafter(edge, kind == 1 ? -1e300 : 1e300);
        set_element(type, i,
                    kind == 0   ? edge
                    : kind <= 2 ? near
                                : r.low - 0.1 * width + 1.2 * u * width);
    }
    if (type == HR_F32 || type == HR_F64) {
        set_element(type, 5, (double)NAN);
        set_element(type, 77, (double)INFINITY);
        set_element(type, 1234, -(double)INFINITY);
        set_element(type, N - 1, (double)NAN);
        set_element(type, 4321, 0.0);
        set_element(type, 4322, -0.0);
    }
}

static void all_types_and_bins(bed *b)
{
    static const int bins[] = {1, 2, 7, 100, 256, 4096, 4097, MAX_BINS};
    static const range ranges[][3] = {
        {{0, 1}, {-3.25, 2.7}, {-3e38, 3.1e38}},
        {{0, 1}, {-0.1, 0.7}, {-8e307, 9e307}},
        {{-128, 127}, {-0.5, 99.5}, {-3.3, 47.1}},
        {{INT32_MIN, INT32_MAX}, {-0.5, 4095.5}, {-1e6, 1e7}}};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (types[t] == HR_F64 && !bed_has_double(b)) {
            continue;
        }
        TEST_CASE(hr_type_name(types[t]));
        for (size_t k = 0; k < sizeof bins / sizeof bins[0]; k++) {
            for (int r = 0; r < 3; r++) {
                make_edges(types[t], ranges[t][r], bins[k]);
                draw_elements(b, types[t], ranges[t][r], bins[k]);
                if (!CHECK(test_state.failures == 0)) {
                    printf("%d bins, range %d\n", bins[k], r);
                    return;
                }
                check_all(b, types[t], hr_extent1(N), ranges[t][r], bins[k]);
            }
        }
    }
}

/* Ranges so narrow that edges are equal, and elements that are all equal. */
static void edges_that_are_equal(bed *b)
{
    const range narrow = {1, 1 + 0x1p-20}, tiny = {0, 0x1p-140};
    TEST_CASE("narrow ranges");
    make_edges(HR_F32, narrow, 1000);
    draw_elements(b, HR_F32, narrow, 1000);
    check_all(b, HR_F32, hr_extent1(N), narrow, 1000);
    TEST_CASE("all equal");
    for (int i = 0; i < N; i++) {
        data.f32[i] = 0.25F;
    }
    check_all(b, HR_F32, hr_extent1(N), (range){0, 1}, 4);
    check_all(b, HR_F32, hr_extent1(N), (range){0, 0.25}, 3);
    check_all(b, HR_F32, hr_extent1(N), (range){0.25, 1}, 5000);
    check_all(b, HR_F32, hr_extent1(N), (range){2, 3}, 10);
    check_all(b, HR_F32, hr_extent1(1), (range){0, 1}, 10);
    TEST_CASE("tiny ranges");
    memset(&data, 0, sizeof data);
    check_all(b, HR_F32, hr_extent1(N), tiny, 16);
}

static void all_ranks(bed *b)
{
    static const hr_extent extents[] = {
        {1, {4097}},         {2, {1, 70000}},          {2, {300, 300}},
        {2, {20000, 7}},     {3, {3, 200, 200}},       {3, {40, 50, 6}},
        {4, {3, 4, 50, 60}}, {6, {2, 3, 2, 3, 20, 30}}};
    const range r = {-1, 1};
    make_edges(HR_F32, r, 37);
    draw_elements(b, HR_F32, r, 37);
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        TEST_CASE("ranks");
        check_all(b, HR_F32, extents[i], r, 37);
    }
}

static void check_section(const bed *b, hr_extent whole, const int64_t *origin,
                          hr_extent inside)
{
    const range r = {-1, 1};
    const int bins = 37;
    hr_array *array = bed_wrap(b, &data, sizeof(float), whole);
    hr_view section;
    CHECK(hr_view_section(hr_view_of(array), origin, inside, &section) ==
          HR_OK);
    memset(want, 0, sizeof want);
    for (int64_t e = 0; e < hr_extent_count(whole); e++) {
        bool is_inside = true;
        int64_t rest = e;
        for (uint32_t d = whole.rank; d-- > 0;) {
            const int64_t x = rest % whole.size[d] - origin[d];
            is_inside = is_inside && x >= 0 && x < inside.size[d];
            rest /= whole.size[d];
        }
        if (is_inside) {
            count_wanted((double)data.f32[e], bins);
        }
    }
    check_counts(b, HR_F32, section, r, bins);
    hr_array_destroy(array);
}

static void sections_leave_their_gaps(bed *b)
{
    const range r = {-1, 1};
    const int64_t origin[HR_MAX_RANK] = {2, 5, 6};
    TEST_CASE("sections");
    make_edges(HR_F32, r, 37);
    draw_elements(b, HR_F32, r, 37);
    check_section(b, hr_extent1(N), origin, hr_extent1(N - 3));
    check_section(b, hr_extent2(300, 500), origin, hr_extent2(290, 490));
    check_section(b, hr_extent2(3, 50000), origin, hr_extent2(1, 49990));
    check_section(b, hr_extent2(15000, 10), origin, hr_extent2(14000, 3));
    check_section(b, hr_extent3(30, 50, 100), origin, hr_extent3(20, 40, 90));
    check_section(b, hr_extent3(5, 30, 1000), origin, hr_extent3(3, 1, 900));
}

/* ---- memory, and other options */

/* x streams; its rows are units. */
static void larger_than_memory(bed *b)
{
    const range r = {0, 1};
    TEST_CASE("limits");
    make_edges(HR_F32, r, 50);
    draw_elements(b, HR_F32, r, 50);
    room = 2 * 16384 * sizeof(float) + 2000;
    check_all(b, HR_F32, hr_extent1(N), r, 50);
    room = ROOM;
    bed_give_room(b, room);
}

static void dry_runs_write_nothing(bed *b)
{
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.dry_run = true;
    options.report = &report;
    TEST_CASE("dry run");
    memset(counts, BEFORE, 80);
    memset(want, BEFORE, 80);
    hr_array *x = bed_wrap(b, &data, sizeof(float), hr_extent1(N));
    hr_array *array = bed_wrap(b, counts, sizeof *counts, hr_extent1(10));
    CHECK(hr_histogram(b->context, HR_F32, hr_view_of(x), 0, 1,
                       hr_view_of(array), &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(report.used >= 1 && report.share_count == b->count);
    CHECK(memcmp(counts, want, 80) == 0);
    hr_array_destroy(x);
    hr_array_destroy(array);
}

/* ---- rules */

static void bad_input_is_refused(bed *b)
{
    const hr_extent tile = hr_extent1(64);
    hr_split_options tiled = HR_SPLIT_OPTIONS_INIT, small = tiled;
    hr_array *x = NULL, *typed = NULL;
    tiled.tile = &tile;
    small.size = 1;
    TEST_CASE("bad input");
    memset(counts, BEFORE, 128);
    memset(want, BEFORE, 128);
    CHECK((hr_array_wrap_typed)(b->context, &data, "float", 4, hr_extent1(64),
                                0, &x) == HR_OK);
    CHECK((hr_array_wrap_typed)(b->context, counts, "double", 8, hr_extent1(8),
                                0, &typed) == HR_OK);
    hr_array *bins = bed_wrap(b, counts, 8, hr_extent1(8));
    hr_array *flat = bed_wrap(b, counts, 8, hr_extent2(2, 4));
    hr_array *narrow = bed_wrap(b, counts, 4, hr_extent1(8));
    const hr_view a = hr_view_of(x), c = hr_view_of(bins), none = {0};
    const struct {
        hr_context *context;
        int type;
        hr_view a;
        double low, high;
        hr_view counts;
        const hr_split_options *options;
        hr_status status;
        const char *words;
    } bad[] = {
        {NULL, HR_F32, a, 0, 1, c, NULL, HR_ERROR_INVALID,
         "the context is NULL"},
        {b->context, HR_F32, none, 0, 1, c, NULL, HR_ERROR_INVALID,
         "view a belongs to no array"},
        {b->context, HR_F32, a, 0, 1, none, NULL, HR_ERROR_INVALID,
         "counts belongs to no array"},
        {b->context, 99, a, 0, 1, c, NULL, HR_ERROR_UNSUPPORTED,
         "unknown type 99"},
        {b->context, HR_F16, a, 0, 1, c, NULL, HR_ERROR_UNSUPPORTED,
         "only f32, f64, i8 and i32 are offered, not f16"},
        {b->context, HR_F64, a, 0, 1, c, NULL, HR_ERROR_INVALID,
         "elements of 4 bytes, but f64 has 8"},
        {b->context, HR_I32, a, 0, 1, c, NULL, HR_ERROR_INVALID,
         "view a has elements of float, not of i32"},
        {b->context, HR_F32, a, 0, 1, hr_view_of(flat), NULL, HR_ERROR_INVALID,
         "counts has rank 2 and 8 elements"},
        {b->context, HR_F32, a, 0, 1, hr_view_of(narrow), NULL,
         HR_ERROR_INVALID, "4 bytes, not integers of 8 bytes"},
        {b->context, HR_F32, a, 0, 1, hr_view_of(typed), NULL, HR_ERROR_INVALID,
         "elements of double, 8 bytes, not integers"},
        {b->context, HR_F32, a, 1, 1, c, NULL, HR_ERROR_INVALID,
         "the range is 1 to 1"},
        {b->context, HR_F32, a, 2, 1, c, NULL, HR_ERROR_INVALID,
         "the range is 2 to 1"},
        {b->context, HR_F32, a, 0, (double)NAN, c, NULL, HR_ERROR_INVALID,
         "the range is 0 to"},
        {b->context, HR_F32, a, -1e308, 1e308, c, NULL, HR_ERROR_INVALID,
         "at a finite distance"},
        {b->context, HR_F32, a, 0, 1, c, &tiled, HR_ERROR_INVALID, "tile"},
        {b->context, HR_F32, a, 0, 1, c, &small, HR_ERROR_INVALID, "size"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(hr_histogram(bad[i].context, (hr_type)bad[i].type, bad[i].a,
                                 bad[i].low, bad[i].high, bad[i].counts,
                                 bad[i].options),
                    bad[i].status, bad[i].words);
    }
    CHECK(memcmp(counts, want, 128) == 0);
    hr_array_destroy(x);
    hr_array_destroy(typed);
    hr_array_destroy(bins);
    hr_array_destroy(flat);
    hr_array_destroy(narrow);
}

static void all_cases(bed *b)
{
    TEST(all_types_and_bins(b));
    TEST(edges_that_are_equal(b));
    TEST(all_ranks(b));
    TEST(sections_leave_their_gaps(b));
    TEST(larger_than_memory(b));
    TEST(dry_runs_write_nothing(b));
    TEST(bad_input_is_refused(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "host", all_cases);
}
