/* SPDX-License-Identifier: MIT */
/* hr_reduce_with over the accelerators of argv[1]: every element is joined
 * once, for all shapes of views, and the bits are the same however it is
 * split. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/without_compiler.h"
#include "test.h"

enum { MAX_ACCELERATORS = 8, MAX = 300000 };

static hr_split_options share_of(int way)
{
    static const double weights[2][MAX_ACCELERATORS] = {
        {2, 1, 3, 1, 1, 1, 1, 1}, {1, 5, 1, 2, 1, 1, 1, 1}};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights[way];
    return options;
}

static int numbers[MAX];

/* The sum of all elements is known, and the bits of all tell whether each was
 * there once. */
static void check_view(hr_context *context, hr_view view, int64_t sum,
                       unsigned bits, const char *what)
{
    for (int way = 0; way < 3; way++) {
        const hr_split_options some = share_of(way % 2);
        const hr_split_options *options = way < 2 ? &some : NULL;
        int got[3] = {77, 77, 77};
        CHECK(hr_reduce_with(context, "a + b", HR_I32, view, options,
                             &got[0]) == HR_OK);
        CHECK(hr_reduce_with(context, "a ^ b", HR_I32, view, options,
                             &got[1]) == HR_OK);
        CHECK(hr_reduce_with(context, "a > b ? a : b // the larger", HR_I32,
                             view, options, &got[2]) == HR_OK);
        if (!CHECK(got[0] == (int)sum && (unsigned)got[1] == bits &&
                   got[2] == 1 << 20)) {
            fprintf(stderr, "  %s: %d, not %d; %x, not %x; %d\n", what, got[0],
                    (int)sum, (unsigned)got[1], bits, got[2]);
        }
    }
}

/* Elements of the whole array before and behind the view, which are not to be
 * joined, are large. */
static void check_shape(hr_context *context, hr_extent whole, hr_extent part)
{
    const int64_t origin[HR_MAX_RANK] = {0};
    hr_array *array = NULL;
    hr_view view;
    int64_t sum = 0, left[HR_MAX_RANK] = {0};
    unsigned bits = 0;
    const int64_t count = hr_extent_count(whole);
    for (int64_t k = 0; k < count; k++) {
        int64_t rest = k;
        bool inside = true;
        for (uint32_t d = whole.rank; d-- > 0;) {
            left[d] = rest % whole.size[d];
            rest /= whole.size[d];
            inside = inside && left[d] < part.size[d];
        }
        numbers[k] = inside ? (int)(k % 1009) : 1 << 24;
        if (k == 0) {
            numbers[k] = 1 << 20;
        }
        sum += inside ? numbers[k] : 0;
        bits ^= inside ? (unsigned)numbers[k] : 0;
    }
    char what[100];
    snprintf(what, sizeof what, "%lld x %lld x %lld", (long long)part.size[0],
             (long long)part.size[1], (long long)part.size[2]);
    CHECK(hr_array_wrap(context, numbers, sizeof(int), whole, 0, &array) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(array), origin, part, &view) == HR_OK);
    check_view(context, view, sum, bits, what);
    hr_array_destroy(array);
}

static void shapes_are_joined(hr_context *context)
{
    static const int64_t lines[] = {1,    2,    63,   64,    65,     100, 4095,
                                    4096, 4097, 4160, 12345, 100000, MAX};
    static const int64_t shapes[][2][3] = {
        {{7, 300, 0}, {7, 300, 0}},     {{7, 300, 0}, {6, 299, 0}},
        {{900, 3, 0}, {900, 3, 0}},     {{900, 5, 0}, {880, 3, 0}},
        {{3, 9000, 0}, {3, 8999, 0}},   {{50, 65, 0}, {50, 65, 0}},
        {{5, 6, 300}, {5, 6, 300}},     {{5, 6, 300}, {4, 5, 280}},
        {{20, 30, 40}, {20, 30, 40}},   {{20, 30, 40}, {19, 29, 37}},
        {{2, 1, 70000}, {2, 1, 69999}}, {{1, 1, 1}, {1, 1, 1}}};
    TEST_CASE("shapes");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        check_shape(context, hr_extent1(lines[i]), hr_extent1(lines[i]));
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *w = shapes[i][0], *p = shapes[i][1];
        const bool plane = w[2] == 0;
        check_shape(
            context,
            plane ? hr_extent2(w[0], w[1]) : hr_extent3(w[0], w[1], w[2]),
            plane ? hr_extent2(p[0], p[1]) : hr_extent3(p[0], p[1], p[2]));
    }
}

/* ---- types */

static hr_view wrap_line(hr_context *context, const void *data, size_t bytes,
                         int64_t count, hr_array **array)
{
    CHECK((hr_array_wrap_typed)(context, (void *)(uintptr_t)data, NULL, bytes,
                                hr_extent1(count), 0, array) == HR_OK);
    return hr_view_of(*array);
}

static void types_are_joined(hr_context *context)
{
    enum { COUNT = 9000 };
    static float f[COUNT], c[2 * COUNT], least, product[2];
    static double d[COUNT], most;
    static signed char s[COUNT], all;
    const hr_split_options options = share_of(0);
    hr_array *array = NULL;
    TEST_CASE("types");
    for (int i = 0; i < COUNT; i++) {
        f[i] = (float)((i * 37) % COUNT - 100) + 0.5F;
        d[i] = -f[i];
        s[i] = (signed char)(i % 2 == 0 ? 0x7d : 0x77);
        c[2 * i] = 0; /* i ^ COUNT */
        c[2 * i + 1] = 1;
    }
    c[1] = -1;
    const hr_view floats = wrap_line(context, f, 4, COUNT, &array);
    CHECK(hr_reduce_with(context, "fabs(a) < fabs(b) ? a : b", HR_F32, floats,
                         &options, &least) == HR_OK);
    CHECK(fabsf(least) == 0.5F);
    hr_array_destroy(array);
    const hr_view chars = wrap_line(context, s, 1, COUNT, &array);
    CHECK(hr_reduce_with(context, "a & b", HR_I8, chars, &options, &all) ==
          HR_OK);
    CHECK(all == 0x75);
    hr_array_destroy(array);
    const hr_view pairs = wrap_line(context, c, 8, COUNT, &array);
    CHECK(hr_reduce_with(context, "hr_c32_mul(a, b)", HR_C32, pairs, &options,
                         product) == HR_OK);
    CHECK(product[0] == -1 && product[1] == 0); /* - i ^ 9000 */
    hr_array_destroy(array);
    const hr_view doubles = wrap_line(context, d, 8, COUNT, &array);
    CHECK(hr_reduce_with(context, "fmax(a, b)", HR_F64, doubles, &options,
                         &most) == HR_OK);
    CHECK(most == 99.5);
    hr_array_destroy(array);
}

/* ---- bits */

static float sum_with(const char *accelerators, bool reproducible, int way)
{
    enum { COUNT = 50000 };
    static float x[COUNT];
    const hr_split_options some = share_of(way);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_array *array = NULL;
    float sum = 0;
    for (int i = 0; i < COUNT; i++) {
        x[i] = 1.0F / (float)(1 + (i * 7919) % COUNT);
    }
    options.accelerators = accelerators;
    options.reproducible = reproducible;
    CHECK(hr_context_create(&options, &context) == HR_OK);
    CHECK(hr_reduce_with(context, "a + b + a * b * 0.01f", HR_F32,
                         wrap_line(context, x, 4, COUNT, &array), &some,
                         &sum) == HR_OK);
    hr_array_destroy(array);
    hr_context_destroy(context);
    return sum;
}

static void bits_do_not_depend(const char *accelerators)
{
    TEST_CASE("the bits do not depend on the split");
    const float once = sum_with(accelerators, true, 0);
    CHECK(once != 0 && once == sum_with(accelerators, true, 1));
    if (!has_no_compiler("host")) {
        CHECK(once == sum_with("host", true, 0));
        CHECK(once == sum_with("5xhost", true, 1));
    }
}

/* ---- what is refused */

static void refused_arguments(hr_context *context)
{
    static float x[300];
    float y[3] = {7, 7, 7};
    hr_array *array = NULL, *half = NULL, *typed = NULL;
    TEST_CASE("what is refused");
    const hr_view view = wrap_line(context, x, 4, 300, &array);
    const hr_view bits = wrap_line(context, x, 2, 300, &half);
    CHECK((hr_array_wrap_typed)(context, x, "float", 4, hr_extent1(300), 0,
                                &typed) == HR_OK);
    CHECK_FAILS(hr_reduce_with(NULL, "a", HR_F32, view, NULL, y),
                HR_ERROR_INVALID, "reduce: the context is NULL");
    CHECK_FAILS(hr_reduce_with(context, NULL, HR_F32, view, NULL, y),
                HR_ERROR_INVALID, "reduce: the expression is NULL");
    CHECK_FAILS(hr_reduce_with(context, "a", HR_F32, view, NULL, NULL),
                HR_ERROR_INVALID, "reduce: the result is NULL");
    CHECK_FAILS(hr_reduce_with(context, "a", HR_F32, (hr_view){0}, NULL, y),
                HR_ERROR_INVALID, "reduce: the view belongs to no array");
    CHECK_FAILS(hr_reduce_with(context, "a", HR_F64, view, NULL, y),
                HR_ERROR_INVALID,
                "reduce: the view has elements of 4 bytes, but f64 has 8");
    CHECK_FAILS(
        hr_reduce_with(context, "a", HR_I32, hr_view_of(typed), NULL, y),
        HR_ERROR_INVALID, "the view has elements of float, not of i32");
    CHECK_FAILS(hr_reduce_with(context, "a", HR_F16, bits, NULL, y),
                HR_ERROR_UNSUPPORTED, "which no function of two elements gets");
    CHECK_FAILS(hr_reduce_with(context, "a", (hr_type)99, bits, NULL, y),
                HR_ERROR_UNSUPPORTED, "reduce: unknown type 99");
    CHECK_FAILS(hr_reduce_with(context, "\na + c", HR_F32, view, NULL, y),
                HR_ERROR_BUILD, "reduction");
    CHECK(strstr(hr_last_error(), "reduction:2") != NULL ||
          strstr(hr_last_error(), "reduction(2)") != NULL);
    CHECK_FAILS(hr_reduce_with(context, "", HR_F32, view, NULL, y),
                HR_ERROR_BUILD, "reduction");
    hr_split_options dry = HR_SPLIT_OPTIONS_INIT;
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    dry.dry_run = true;
    dry.report = &report;
    CHECK(hr_reduce_with(context, "a + b", HR_F32, view, &dry, y) == HR_OK);
    CHECK(y[0] == 7 && y[1] == 7);
    hr_array_destroy(array);
    hr_array_destroy(half);
    hr_array_destroy(typed);
}

int main(int count, char **arguments)
{
    const char *accelerators = count > 1 ? arguments[1] : "host";
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    if (has_no_compiler(accelerators)) {
        return test_skip(hr_last_error());
    }
    if (!test_open(&options, &context)) {
        return test_end();
    }
    TEST(shapes_are_joined(context));
    TEST(types_are_joined(context));
    TEST(refused_arguments(context));
    hr_context_destroy(context);
    TEST(bits_do_not_depend(accelerators));
    return test_end();
}
