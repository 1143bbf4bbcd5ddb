/* SPDX-License-Identifier: MIT */
/* Fills with one value on the accelerators of argv[1]: every element of the
 * view has its bits, and nothing else has changed. */
#include "base/size.h"
#include "support/bed.h"

enum { BYTES = 1 << 18, BEFORE = 0x5A, TYPES = 8 };

static unsigned char data[BYTES];

/* A value of each type, some of them NaNs with bits of their own. */
static const unsigned char values[TYPES + 1][16] = {
    [HR_F32] = {1, 2, 0xC0, 0x7F},
    [HR_F64] = {3, 0, 0, 0, 0, 0, 0xF4, 0xFF},
    [HR_C32] = {1, 2, 3, 4, 5, 6, 7, 8},
    [HR_C64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    [HR_F16] = {0x11, 0x7E},
    [HR_BF16] = {0x12, 0x13},
    [HR_I8] = {0x81},
    [HR_I32] = {0xFF, 0xFE, 0xFD, 0xFC}};

/* Fill over all accelerators, in uneven bands or as the library chooses, and
 * bring the view home. */
static void fill_view(const bed *b, hr_view view, hr_type type, bool weighted)
{
    static const double weights[8] = {1, 2, 1, 3, 1, 2, 1, 3};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weighted ? weights : NULL;
    CHECK(hr_fill(b->context, view, type, values[type], &options) == HR_OK);
    CHECK(hr_synchronize(view) == HR_OK);
}

/* Whether all elements of the extent have the value, from where `at` points
 * on. The others are not touched, so each is told by the place in memory. */
static bool is_filled(hr_type type, hr_extent whole, const int64_t *origin,
                      hr_extent inside)
{
    const size_t bytes = hr_type_size(type);
    const int64_t count = hr_extent_count(whole);
    unsigned char before[16];
    bool right = true;
    memset(before, BEFORE, sizeof before);
    for (int64_t e = 0; e < count; e++) {
        int64_t rest = e;
        bool is_inside = true;
        for (uint32_t d = whole.rank; d-- > 0;) {
            const int64_t x = rest % whole.size[d] - origin[d];
            is_inside = is_inside && x >= 0 && x < inside.size[d];
            rest /= whole.size[d];
        }
        right = right && memcmp(data + (size_t)e * bytes,
                                is_inside ? values[type] : before, bytes) == 0;
    }
    return right && data[(size_t)count * bytes] == BEFORE;
}

static void check_section(const bed *b, hr_type type, hr_extent whole,
                          const int64_t *origin, hr_extent inside)
{
    hr_view section;
    memset(data, BEFORE, sizeof data);
    hr_array *array = bed_wrap(b, data, hr_type_size(type), whole);
    CHECK(hr_view_section(hr_view_of(array), origin, inside, &section) ==
          HR_OK);
    for (int weighted = 0; weighted < 2; weighted++) {
        fill_view(b, section, type, weighted != 0);
        CHECK(is_filled(type, whole, origin, inside));
    }
    hr_array_destroy(array);
}

static void fill_types_and_ranks(bed *b)
{
    static const int64_t origin[HR_MAX_RANK] = {0};
    static const hr_extent extents[] = {{1, {1}},
                                        {1, {2}},
                                        {1, {4097}},
                                        {2, {1, 1}},
                                        {2, {1000, 3}},
                                        {2, {3, 1000}},
                                        {3, {1, 1, 7}},
                                        {3, {5, 11, 9}},
                                        {4, {3, 2, 5, 7}},
                                        {5, {2, 1, 3, 2, 17}},
                                        {6, {2, 3, 2, 3, 2, 3}}};
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        TEST_CASE(hr_type_name(type));
        for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
            check_section(b, type, extents[i], origin, extents[i]);
        }
    }
}

static void fill_sections(bed *b)
{
    static const int64_t origin[HR_MAX_RANK] = {2, 5, 6};
    static const int64_t deep[HR_MAX_RANK] = {0, 0, 1, 2, 3};
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        TEST_CASE(hr_type_name(type));
        check_section(b, type, hr_extent1(3000), origin, hr_extent1(2500));
        check_section(b, type, hr_extent2(31, 17), origin, hr_extent2(20, 11));
        check_section(b, type, hr_extent3(9, 13, 21), origin,
                      hr_extent3(6, 7, 10));
        check_section(b, type, (hr_extent){5, {2, 2, 3, 5, 7}}, deep,
                      (hr_extent){5, {2, 2, 1, 3, 4}});
    }
}

static void refuse_bad_input(bed *b)
{
    const hr_extent tile = hr_extent1(64), four = {4, {2, 2, 2, 2}};
    const int64_t origin[HR_MAX_RANK] = {0};
    hr_split_options tiled = HR_SPLIT_OPTIONS_INIT, small = tiled;
    hr_array *array = NULL, *deep = NULL;
    static int ints[256];
    const int one = 1;
    tiled.tile = &tile;
    small.size = 1;
    TEST_CASE("bad input");
    CHECK((hr_array_wrap_typed)(b->context, ints, "int", 4, hr_extent1(8), 0,
                                &array) == HR_OK);
    deep = bed_wrap(b, ints, 4, (hr_extent){4, {4, 4, 4, 4}});
    const hr_view view = hr_view_of(array), none = {0};
    hr_view empty = view, gaps;
    empty.extent.size[0] = 0;
    CHECK(hr_view_section(hr_view_of(deep), origin, four, &gaps) == HR_OK);
    const struct {
        hr_context *context;
        hr_view view;
        int type;
        const void *value;
        const hr_split_options *options;
        hr_status status;
        const char *word;
    } bad[] = {
        {NULL, view, HR_I32, &one, NULL, HR_ERROR_INVALID,
         "the context is NULL"},
        {b->context, view, HR_I32, NULL, NULL, HR_ERROR_INVALID,
         "the value is NULL"},
        {b->context, none, HR_I32, &one, NULL, HR_ERROR_INVALID, "no array"},
        {b->context, empty, HR_I32, &one, NULL, HR_ERROR_INVALID,
         "no elements"},
        {b->context, gaps, HR_I32, &one, NULL, HR_ERROR_INVALID,
         "the view has rank 4, and gaps"},
        {b->context, view, 0, &one, NULL, HR_ERROR_UNSUPPORTED,
         "unknown type 0"},
        {b->context, view, 99, &one, NULL, HR_ERROR_UNSUPPORTED,
         "unknown type 99"},
        {b->context, view, HR_F64, &one, NULL, HR_ERROR_INVALID,
         "elements of 4 bytes, but f64 has 8"},
        {b->context, view, HR_I8, &one, NULL, HR_ERROR_INVALID,
         "elements of 4 bytes, but i8 has 1"},
        {b->context, view, HR_F32, &one, NULL, HR_ERROR_INVALID,
         "fill: the view has elements of int, not of f32"},
        {b->context, view, HR_I32, &one, &tiled, HR_ERROR_INVALID, "tile"},
        {b->context, view, HR_I32, &one, &small, HR_ERROR_INVALID, "size"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(hr_fill(bad[i].context, bad[i].view, (hr_type)bad[i].type,
                            bad[i].value, bad[i].options),
                    bad[i].status, bad[i].word);
    }
    CHECK(ints[0] == 0 && ints[7] == 0);
    hr_array_destroy(array);
    hr_array_destroy(deep);
}

static void run_dry(bed *b)
{
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(5000));
    options.dry_run = true;
    options.report = &report;
    TEST_CASE("dry run");
    memset(data, BEFORE, sizeof data);
    CHECK(hr_fill(b->context, hr_view_of(array), HR_F32, values[HR_F32],
                  &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(report.used >= 1 && report.share_count == b->count);
    CHECK(data[0] == BEFORE && data[19999] == BEFORE);
    hr_array_destroy(array);
}

static void run_all(bed *b)
{
    TEST(fill_types_and_ranks(b));
    TEST(fill_sections(b));
    TEST(refuse_bad_input(b));
    TEST(run_dry(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "host", run_all);
}
