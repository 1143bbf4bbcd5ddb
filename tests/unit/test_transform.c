/* SPDX-License-Identifier: MIT */
/* hr_transform over the accelerators of argv[1]: a statement for each element,
 * to the bit, and what is refused. */
#define _GNU_SOURCE /* setenv */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "kernels/kernels.h"
#include "support/without_compiler.h"
#include "test.h"

enum { MAX_ACCELERATORS = 8, N = 1000, ROWS = 23, COLS = 37, SLICES = 5 };

typedef struct bed {
    hr_context *context;
    uint32_t count;
    bool in_place; /* an accelerator works on the caller's memory */
} bed;

/* Every accelerator gets rows. */
static hr_split_options share_rows(void)
{
    static const double weights[MAX_ACCELERATORS] = {2, 1, 3, 1, 1, 1, 1, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    return options;
}

/* ---- results */

static void one_line(const bed *b)
{
    const hr_split_options all = share_rows();
    const hr_split_options *const ways[] = {&all, NULL};
    float x[N], y[N];
    TEST_CASE("one line over host memory");
    for (int w = 0; w < 2; w++) {
        int ok = 1;
        for (int i = 0; i < N; i++) {
            x[i] = (float)i;
            y[i] = (float)(N - i);
        }
        CHECK(hr_transform(
                  b->context, "y = a * x + y", "a, x, y",
                  HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)),
                  ways[w]) == HR_OK);
        for (int i = 0; i < N; i++) {
            ok = ok && y[i] == 2.0F * (float)i + (float)(N - i) &&
                 x[i] == (float)i;
        }
        CHECK(ok);
    }
}

/* Each accelerator reads the rows of its band alone. */
static void moves_bands(const bed *b)
{
    const hr_split_options all = share_rows();
    float x[N], y[N];
    TEST_CASE("memory that is read goes in bands");
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
    }
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_transform(b->context, "y = 3 * x;", "x,y",
                       HR_ARGUMENTS(hr_in(x, N), hr_out(y, N)), &all) == HR_OK);
    const hr_traffic after = hr_context_traffic(b->context);
    CHECK(y[0] == 0.0F && y[N - 1] == 3.0F * (N - 1));
    if (!b->in_place && getenv("HEADRACE_CHECK") == NULL) {
        CHECK(after.up - before.up == sizeof x);
        CHECK(after.down - before.down == sizeof y);
    }
}

static void of_rank_2(const bed *b)
{
    const hr_split_options all = share_rows();
    static const char statement[] = "// the distance\n"
                                    "float d = x - y;\n"
                                    "if (d < 0) { d = -d; }\n"
                                    "z = d // of both";
    static float x[ROWS][COLS], y[ROWS][COLS], z[ROWS][COLS];
    int ok = 1;
    TEST_CASE("several statements, over rows and columns");
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i / COLS][i % COLS] = (float)(i % 7);
        y[i / COLS][i % COLS] = (float)(i % 5);
    }
    CHECK(hr_transform(b->context, statement, " x ,y,\tz ",
                       HR_ARGUMENTS(hr_in(x[0], ROWS, COLS),
                                    hr_in(y[0], ROWS, COLS),
                                    hr_out(z[0], ROWS, COLS)),
                       &all) == HR_OK);
    for (int i = 0; i < ROWS * COLS; i++) {
        ok = ok && z[i / COLS][i % COLS] == (float)abs(i % 7 - i % 5);
    }
    CHECK(ok);
}

static void of_rank_5(const bed *b)
{
    static const int64_t size[] = {2, 3, 2, 5, 7};
    const hr_split_options all = share_rows();
    static float x[420], y[420];
    int ok = 1;
    TEST_CASE("five dimensions");
    for (int i = 0; i < 420; i++) {
        x[i] = (float)i;
    }
    const hr_extent extent = hr_extent_of(5, size);
    CHECK(hr_transform(
              b->context, "y = x + 1", "x, y",
              HR_ARGUMENTS(hr_in_data(x, "float", sizeof x[0], extent, 0),
                           hr_out_data(y, "float", sizeof y[0], extent, 0)),
              &all) == HR_OK);
    for (int i = 0; i < 420; i++) {
        ok = ok && y[i] == (float)(i + 1);
    }
    CHECK(ok);
}

/* Views stay where they are. One has gaps between its rows. */
static void of_views(const bed *b)
{
    const hr_split_options all = share_rows();
    static int data[SLICES][ROWS][COLS];
    static signed char more[SLICES][ROWS][COLS];
    const hr_extent whole = hr_extent3(SLICES, ROWS, COLS);
    const hr_extent part = hr_extent3(SLICES - 1, ROWS - 2, COLS - 3);
    const int64_t origin[] = {1, 2, 3}, start[] = {0, 0, 0};
    hr_array *wide = NULL, *narrow = NULL;
    hr_view to, from;
    int ok = 1;
    TEST_CASE("sections of arrays, of several types");
    for (int i = 0; i < SLICES * ROWS * COLS; i++) {
        (&data[0][0][0])[i] = i;
        (&more[0][0][0])[i] = (signed char)(i % 100);
    }
    CHECK(hr_array_wrap(b->context, &data[0][0][0], sizeof(int), whole, 0,
                        &wide) == HR_OK);
    CHECK(hr_array_wrap(b->context, &more[0][0][0], 1, whole, 0, &narrow) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(wide), origin, part, &to) == HR_OK);
    CHECK(hr_view_section(hr_view_of(narrow), start, part, &from) == HR_OK);
    for (int times = 0; times < 2; times++) {
        CHECK(hr_transform(b->context, "large += small * factor",
                           "large, small, factor",
                           HR_ARGUMENTS(hr_inout(to), hr_in(from), hr_value(3)),
                           &all) == HR_OK);
    }
    CHECK(hr_synchronize(hr_view_of(wide)) == HR_OK);
    for (int k = 0; k < SLICES * ROWS * COLS; k++) {
        const int s = k / COLS / ROWS, r = k / COLS % ROWS, c = k % COLS;
        const bool inside = s >= 1 && r >= 2 && c >= 3;
        ok = ok &&
             data[s][r][c] == k + (inside ? 6 * more[s - 1][r - 2][c - 3] : 0);
    }
    CHECK(ok);
    hr_array_destroy(wide);
    hr_array_destroy(narrow);
}

static void of_complex(const bed *b)
{
    const hr_split_options all = share_rows();
    static float z[2 * N];
    const float factor[2] = {0.0F, 1.0F};
    const hr_argument arguments[] = {
        hr_inout_data(z, "hr_c32", 8, hr_extent1(N), 0),
        hr_value_typed(factor, "hr_c32", sizeof factor)};
    int ok = 1;
    TEST_CASE("complex numbers");
    for (int i = 0; i < 2 * N; i++) {
        z[i] = (float)i;
    }
    CHECK(hr_transform(b->context, "z = hr_c32_mul(z, i)", "z, i", arguments, 2,
                       &all) == HR_OK);
    for (int i = 0; i < N; i++) {
        ok = ok && z[2 * i] == -(float)(2 * i + 1) &&
             z[2 * i + 1] == (float)(2 * i);
    }
    CHECK(ok);
}

/* A context makes the kernel once. */
static void is_kept(const bed *b)
{
    float y[2] = {0};
    int64_t z[2] = {0};
    TEST_CASE("a statement's kernel is made once");
    CHECK(hr_transform(b->context, "y += 1", "y", HR_ARGUMENTS(hr_inout(y, 2)),
                       NULL) == HR_OK);
    const void *before = b->context->texts;
    CHECK(hr_transform(b->context, "y += 1", "y", HR_ARGUMENTS(hr_inout(y, 2)),
                       NULL) == HR_OK);
    CHECK(b->context->texts == before && y[1] == 2.0F);
    CHECK(hr_transform(b->context, "y += 1", "y", HR_ARGUMENTS(hr_inout(z, 2)),
                       NULL) == HR_OK);
    CHECK(b->context->texts != before && z[1] == 1); /* another type */
}

/* ---- what is refused */

static hr_status transform_two(const bed *b, const char *statement,
                               const char *names, hr_argument first,
                               hr_argument second)
{
    const hr_argument arguments[] = {first, second};
    return hr_transform(b->context, statement, names, arguments, 2, NULL);
}

static void refused_arguments(const bed *b)
{
    float x[N] = {0}, y[N] = {0};
    const hr_argument in = hr_in(x, N), out = hr_out(y, N);
    const struct {
        const char *names;
        hr_argument first, second;
        const char *sentence;
    } bad[] = {
        {"x", in, out, "transform: the list has 1 name, for 2 arguments"},
        {"", in, out, "transform: the list has 0 names, for 2 arguments"},
        {"x, y, z", in, out,
         "transform: the list has 3 names, for 2 arguments"},
        {"x,, y", in, out, "transform: \"\" in the list of names"},
        {"x, 2y", in, out, "transform: \"2y\" in the list of names"},
        {"x, hr_y", in, out, "transform: \"hr_y\" in the list of names"},
        {"x y", in, out, "transform: \"x y\" in the list of names"},
        {"x, x", in, out, "transform: two arguments have the name x"},
        {"x, y", in, hr_out(y, N - 1),
         "transform: x has size 1000 in dimension 0, but y has 999"},
        {"x, y", in, hr_out(y, N / 10, 10),
         "transform: x has rank 1, but y has 2"},
        {"x, y", in, in, "transform: no argument is OUT or INOUT"},
        {"x, y", hr_value(1), hr_value(2), "no argument is OUT or INOUT"},
        {"x, y", out, hr_tile_bytes(8),
         "transform: y is neither a view nor a value"},
        {"x, y", hr_value_typed(x, "struct point", 8), out,
         "transform: the type of x is not known"},
        {"x, y", in, hr_out_data(y, NULL, 4, hr_extent1(N), 0),
         "transform: the type of y is not known"},
        {"x, y", in, hr_out_data(y, "float", 4, (hr_extent){0}, 0),
         "transform: y has rank 0, not 1 to 6"},
        {"x, y", hr_in((float *)NULL, N), out,
         "transform: x: array: data is NULL"},
        {"x, y", in, hr_out(x, N),
         "transform: the host memory of y overlaps x"},
    };
    TEST_CASE("arguments that do not fit");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const hr_status status = transform_two(b, "y = x", bad[i].names,
                                               bad[i].first, bad[i].second);
        if (!CHECK(status == HR_ERROR_INVALID) ||
            !CHECK(strstr(hr_last_error(), bad[i].sentence) != NULL)) {
            fprintf(stderr, "  row %zu: %s\n", i, hr_last_error());
        }
    }
    CHECK_FAILS(transform_two(b, NULL, "x, y", in, out), HR_ERROR_INVALID,
                "the statement is NULL");
    CHECK_FAILS(transform_two(b, "y = x", NULL, in, out), HR_ERROR_INVALID,
                "the list of names is NULL");
    CHECK_FAILS(hr_transform(b->context, "y = x", "x, y", NULL, 2, NULL),
                HR_ERROR_INVALID, "the list of arguments is NULL");
    char names[200] = "a0";
    for (int i = 1; i < 40; i++) {
        snprintf(names + strlen(names), 8, ",a%d", i);
    }
    CHECK_FAILS(transform_two(b, "y = x", names, in, out), HR_ERROR_INVALID,
                "the list has more than 32 names, for 2 arguments");
}

static void refused_statements(const bed *b)
{
    static const struct {
        const char *statement, *line;
    } bad[] = {
        {"y = z", "1"},        {"y = x +", "2"}, {"\n\ny = nothing(x)", "3"},
        {"x = y", "1"},        {"a = 1", "1"},   {"y = x; }", "2"},
        {"int y = 0; {", NULL}};
    float x[N] = {0}, y[N] = {0};
    TEST_CASE("statements that do not compile");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char place[3][40];
        CHECK_FAILS(hr_transform(b->context, bad[i].statement, "a, x, y",
                                 HR_ARGUMENTS(hr_value(1.0F), hr_in(x, N),
                                              hr_inout(y, N)),
                                 NULL),
                    HR_ERROR_BUILD, "transform");
        snprintf(place[0], sizeof place[0], "transform:%s", bad[i].line);
        snprintf(place[1], sizeof place[1], "transform(%s)", bad[i].line);
        if (bad[i].line != NULL &&
            !CHECK(strstr(hr_last_error(), place[0]) != NULL ||
                   strstr(hr_last_error(), place[1]) != NULL)) {
            fprintf(stderr, "  row %zu\n", i);
        }
    }
    CHECK_FAILS(hr_transform(b->context, "\nreturn", "x",
                             HR_ARGUMENTS(hr_inout(x, N)), NULL),
                HR_ERROR_BUILD,
                "transform:2: transform: return must not leave the block");
}

/* ---- other contexts */

static void by_default(const char *accelerators)
{
    float y[3] = {1, 2, 3};
    TEST_CASE("without a context");
    CHECK(setenv("HEADRACE_ACCELERATORS", accelerators, 1) == 0);
    CHECK(hr_transform(NULL, "y = -y", "y", HR_ARGUMENTS(hr_inout(y, 3)),
                       NULL) == HR_OK);
    CHECK(y[0] == -1.0F && y[2] == -3.0F);
}

static hr_context *open_context(const char *accelerators, bool reproducible)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    options.reproducible = reproducible;
    CHECK(hr_context_create(&options, &context) == HR_OK);
    return context;
}

/* Nothing is fused: the rounded product is subtracted from itself. */
static void nothing_is_fused(const char *accelerators)
{
    const hr_split_options all = share_rows();
    float x[N], y[N];
    int ok = 1;
    TEST_CASE("a reproducible context");
    hr_context *context = open_context(accelerators, true);
    for (int i = 0; i < N; i++) {
        x[i] = 1.0F + (float)i / 4096.0F;
    }
    CHECK(hr_transform(context, "float p = x * x; y = x * x - p", "x, y",
                       HR_ARGUMENTS(hr_in(x, N), hr_out(y, N)), &all) == HR_OK);
    for (int i = 0; i < N; i++) {
        ok = ok && y[i] == 0.0F;
    }
    CHECK(ok);
    hr_context_destroy(context);
}

static void without_compiler(void)
{
    float y[3] = {1, 2, 3};
    TEST_CASE("a host without a compiler");
    CHECK(setenv("HEADRACE_CC", "off", 1) == 0);
    hr_context *context = open_context("host", false);
    CHECK_FAILS(hr_transform(context, "y = -y", "y",
                             HR_ARGUMENTS(hr_inout(y, 3)), NULL),
                HR_ERROR_UNSUPPORTED,
                "host: the kernel transform is known as text alone, and "
                "HEADRACE_CC is off");
    CHECK(y[0] == 1.0F);
    hr_context_destroy(context);
    CHECK(unsetenv("HEADRACE_CC") == 0);
}

static void run_cases(bed *b)
{
    b->count = hr_accelerator_count(b->context);
    for (uint32_t i = 0; i < b->count; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_accelerator_describe(b->context, i, &info) == HR_OK);
        b->in_place = b->in_place || info.in_place;
    }
    TEST(one_line(b));
    TEST(moves_bands(b));
    TEST(of_rank_2(b));
    TEST(of_rank_5(b));
    TEST(of_views(b));
    TEST(of_complex(b));
    TEST(is_kept(b));
    TEST(refused_arguments(b));
    TEST(refused_statements(b));
}

int main(int count, char **arguments)
{
    bed b = {0};
    const char *accelerators = count > 1 ? arguments[1] : "host";
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    if (has_no_compiler(accelerators)) {
        return test_skip(hr_last_error());
    }
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    run_cases(&b);
    hr_context_destroy(b.context);
    TEST(nothing_is_fused(accelerators));
    TEST(by_default(accelerators));
    TEST(without_compiler());
    return test_end();
}
