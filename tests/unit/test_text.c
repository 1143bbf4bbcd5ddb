/* SPDX-License-Identifier: MIT */
/* Kernels out of text that is known at run time only, on the accelerators of
 * argv[1]; and texts that are refused, each with its sentence. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/without_compiler.h"
#include "test.h"

typedef struct point {
    float x;
    int n;
} point;

enum { N = 100 };

typedef struct bed {
    hr_context *context;
    hr_queue *queue;
    hr_array *x, *y;
    bool compiles; /* no fake library, which has the build's code */
    float data[2][N];
} bed;

static const char axpy_text[] =
    "#include \"headrace/dialect.h\"\n"
    "typedef struct point { float x; int n; } point;\n"
    "/* HR_KERNEL1(axpy, in a comment */ // HR_KERNEL2(axpy,\n"
    "HR_KERNEL4(axpy, (IN, float, 1, x), (INOUT,\n"
    "        float, 1, y), (VALUE, float, 0, a) /* , */,\n"
    "    ( VALUE , point ,0, p ) )\n"
    "{\n"
    "    HR_EACH1(i)\n"
    "    {\n"
    "        HR_AT1(y, i) += a * HR_AT1(x, i) + p.x * (float)p.n;\n"
    "    }\n"
    "}\n";

static const hr_kernel *make_kernel(const bed *b, const char *text,
                                    const char *name)
{
    const hr_kernel *kernel = NULL;
    CHECK(hr_kernel_create(b->context, text, name, "user.c", &kernel) == HR_OK);
    return kernel;
}

static hr_status launch_axpy(const bed *b, const hr_kernel *kernel,
                             const void *p, size_t p_bytes)
{
    static const float a = 2.0f;
    const hr_argument arguments[] = {
        hr_in(hr_view_of(b->x)), hr_inout(hr_view_of(b->y)),
        hr_value(&a, sizeof a), hr_value(p, p_bytes)};
    return hr_launch(b->queue, kernel, hr_extent1(N), NULL, arguments, 4);
}

static void text_runs(bed *b)
{
    TEST_CASE("a kernel out of text");
    const point p = {0.5f, 6};
    const double more[3] = {0};
    for (int i = 0; i < N; i++) {
        b->data[0][i] = (float)i;
        b->data[1][i] = (float)(1000 - i);
    }
    CHECK(hr_invalidate(hr_view_of(b->x)) == HR_OK);
    CHECK(hr_invalidate(hr_view_of(b->y)) == HR_OK);
    const hr_kernel *axpy = make_kernel(b, axpy_text, "axpy");
    CHECK(launch_axpy(b, axpy, &p, sizeof p) == HR_OK);
    CHECK(launch_axpy(b, axpy, &p, sizeof p) == HR_OK);
    CHECK_FAILS(launch_axpy(b, axpy, more, sizeof more), HR_ERROR_INVALID,
                "p is a point of 8 bytes, but 24 were given");
    CHECK(hr_synchronize(hr_view_of(b->y)) == HR_OK);
    int ok = 1;
    for (int i = 0; i < N; i++) {
        ok = ok &&
             b->data[1][i] == (float)(1000 - i) + 2 * (2.0f * (float)i + 3);
    }
    CHECK(ok);
}

/* A compiler alone knows how large a struct of the text's is. */
static void sizes_are_checked(const bed *b)
{
    TEST_CASE("arguments of other sizes than the text's types");
    const double wide[3] = {0};
    const point p = {0.5f, 6};
    const hr_kernel *axpy = make_kernel(b, axpy_text, "axpy");
    if (!b->compiles) {
        return;
    }
    CHECK_FAILS(launch_axpy(b, axpy, wide, sizeof wide), HR_ERROR_BUILD,
                "p was given 24 bytes, but its type has another size");
    CHECK(launch_axpy(b, axpy, &p, sizeof p) ==
          HR_OK); /* it can still be right */
    CHECK(hr_queue_finish(b->queue) == HR_OK);
}

/* ---- where the kernel is found */

static void kernel_is_found(const bed *b)
{
    static const char *const before[] = {
        "/* a *//* HR_KERNEL1(k, (IN, int, 1, y)) */",
        "/**/// HR_KERNEL1(k, (IN, int, 1, y))\n",
        "// to be continued \\\nHR_KERNEL1(k, (IN, int, 1, y))\n",
        "HR_CONSTANT char s[] = \"a\"\"b\";",
        "HR_CONSTANT char s[] = \"\\\"\";",
        "HR_CONSTANT char c = '\"';",
        "HR_CONSTANT char c = '\\'', d = '\"';",
        "#if 0\n#error don't\n#endif\n",
    };
    TEST_CASE("kernels behind comments, strings and characters");
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "%sHR_KERNEL1(k, (IN, float, 1, x)) {}",
                 before[i]);
        const hr_kernel *k = make_kernel(b, text, "k");
        CHECK(k != NULL && strcmp(k->parameters(k)->name, "x") == 0);
    }
}

/* ---- what is refused when the kernel is made */

static void ill_formed(const bed *b)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"", "user.c: there is no kernel k"},
        {"HR_KERNEL1(kk, (IN, float, 1, x)) {}", "there is no kernel k"},
        {"// HR_KERNEL1(k, (IN, float, 1, x))", "there is no kernel k"},
        {"\"HR_KERNEL1(k, (IN, float, 1, x))\"", "there is no kernel k"},
        {"MY_HR_KERNEL1(k, (IN, float, 1, x))", "there is no kernel k"},
        {"HR_KERNEL33(k, (IN, float, 1, x))", "HR_KERNEL32 exist, not 33"},
        {"HR_KERNEL0(k)", "HR_KERNEL32 exist, not 0"},
        {"HR_KERNEL2(k, (IN, float, 1, x))", "HR_KERNEL2 has 1 parameter"},
        {"HR_KERNEL1(k, (IN, float, 1, x), (IN, int, 1, y))",
         "HR_KERNEL1 has more than 1 parameter; the number in its name"},
        {"\n\nHR_KERNEL1(k,\n (INN, float, 1, x))",
         "user.c:4: k: the parameter x is INN, not IN, OUT"},
        {"HR_KERNEL1(k, (IN, float, 4, x))", "x has rank 4, but views have 1"},
        {"HR_KERNEL1(k, (IN, float, 0, x))", "x has rank 0, but views have 1"},
        {"HR_KERNEL1(k, (OUT, float, one, x))", "x has rank one, but views"},
        {"HR_KERNEL1(k, (VALUE, float, 1, x))",
         "x has rank 1, but values and tiles have 0"},
        {"HR_KERNEL1(k, (IN, float, 1))", "(IN, float, ... is not"},
        {"HR_KERNEL1(k, (IN, float, 1, x, y))", "(IN, float, ... is not"},
        {"HR_KERNEL1(k, IN, float, 1, x)", "a parameter is (KIND, type"},
        {"HR_KERNEL1(k, (IN, float, 1, 2x))", "has the name \"2x\""},
        {"HR_KERNEL1(k, (IN, , 1, x))", "of type \"\" has the name \"x\""},
        {"HR_KERNEL2(k, (IN, int, 1, x), (IN, int, 1, x))",
         "two parameters have the name x"},
        {"HR_KERNEL1(k, (IN, float, 1, x)", "parameters has no end"},
        {"HR_KERNEL1(k, (IN, float, 1, x", "(IN, float, ... is not"},
        {"HR_KERNEL1(k", "the list of parameters has no end"},
        {"HR_KERNEL1(k)", "HR_KERNEL1 has 0 parameters"},
    };
    TEST_CASE("texts without a kernel");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const hr_kernel *kernel = NULL;
        CHECK_FAILS(
            hr_kernel_create(b->context, bad[i].text, "k", "user.c", &kernel),
            HR_ERROR_BUILD, bad[i].sentence);
        CHECK(kernel == NULL && strchr(hr_last_error(), '\n') == NULL);
    }
    const hr_kernel *kernel = NULL;
    CHECK_FAILS(hr_kernel_create(NULL, "", "k", "f", &kernel), HR_ERROR_INVALID,
                "the context is NULL");
    CHECK_FAILS(hr_kernel_create(b->context, NULL, "k", "f", &kernel),
                HR_ERROR_INVALID, "the text is NULL");
    CHECK_FAILS(hr_kernel_create(b->context, "", NULL, "f", &kernel),
                HR_ERROR_INVALID, "the name is NULL");
    CHECK_FAILS(hr_kernel_create(b->context, "", "k", "f", NULL),
                HR_ERROR_INVALID, "the result is NULL");
    CHECK_FAILS(hr_kernel_create(b->context, "", "a b", NULL, &kernel),
                HR_ERROR_INVALID, "\"a b\" cannot be the name of a kernel");
    CHECK_FAILS(hr_kernel_create(b->context, "", "k", "a\n.c", &kernel),
                HR_ERROR_INVALID, "k: the file name has a quote");
    CHECK_FAILS(hr_kernel_create(b->context, "", "k", NULL, &kernel),
                HR_ERROR_BUILD, "text: there is no kernel k");
}

/* ---- what the accelerator's compiler refuses */

static void does_not_compile(const bed *b)
{
    static const struct {
        const char *body, *line;
    } bad[] = {
        {"{\n HR_EACH1(i) {\n HR_AT1(y, i) = nothing;\n }\n}", "4"},
        {"{\n HR_EACH1(i) {\n HR_AT1(x, i) = 1.0f;\n }\n}", "4"}, /* IN */
        {"{\n HR_EACH1(i) {\n HR_AT1(z, i) = 1.0f;\n }\n}", "4"},
        {"{\n HR_EACH1(i) {\n HR_AT1(y, i) = f(1.0f)\n }\n}", "4"},
        {"{\n matrix m;\n}", "3"},
        {"{\n#error no such luck\n}", "3"},
        {"{\n HR_EACH1(i) {\n HR_AT1(y, i) = \"text\" * 2;\n }\n}", "4"},
        {"{\n HR_EACH1(i) {\n HR_P(sum) = 0;\n }\n}", "4"},
    };
    TEST_CASE("texts that a compiler refuses");
    if (!b->compiles) {
        return;
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[300], place[2][32];
        snprintf(text, sizeof text,
                 "HR_KERNEL2(k, (IN, float, 1, x), (OUT, float, 1, y))\n%s\n",
                 bad[i].body);
        snprintf(place[0], sizeof place[0], "user.c:%s", bad[i].line);
        snprintf(place[1], sizeof place[1], "user.c(%s)", bad[i].line);
        const hr_argument arguments[] = {hr_in(hr_view_of(b->x)),
                                         hr_out(hr_view_of(b->y))};
        CHECK_FAILS(hr_launch(b->queue, make_kernel(b, text, "k"),
                              hr_extent1(N), NULL, arguments, 2),
                    HR_ERROR_BUILD, ": k of user.c did not compile (");
        CHECK(strstr(hr_last_error(), place[0]) != NULL ||
              strstr(hr_last_error(), place[1]) != NULL);
        CHECK(strchr(hr_last_error(), '\n') == NULL);
        printf("%s\n", hr_last_error());
    }
    CHECK(hr_queue_finish(b->queue) == HR_OK); /* nothing of that has hurt it */
}

/* The list of parameters is read before the preprocessor runs. */
static void is_left_out(const bed *b)
{
    static const char text[] = "#if 0\n"
                               "HR_KERNEL1(k, (OUT, float, 1, y)) {}\n"
                               "#endif\n"
                               "HR_KERNEL1(other, (OUT, float, 1, y)) {}\n";
    TEST_CASE("a kernel that the preprocessor leaves out");
    if (!b->compiles) {
        return;
    }
    const hr_argument argument = hr_out(hr_view_of(b->y));
    CHECK_FAILS(hr_launch(b->queue, make_kernel(b, text, "k"), hr_extent1(N),
                          NULL, &argument, 1),
                HR_ERROR_BUILD,
                "the kernel k is not in what was compiled of user.c");
}

/* Compilers would take the function of another type. */
static void no_atomics(const bed *b)
{
    static const char *const bad[][2] = {
        {"char", "HR_ATOMIC_ADD(t[0], 1)"},
        {"unsigned char", "HR_ATOMIC_EXCHANGE(t[0], 1)"},
        {"short", "HR_ATOMIC_MAX(t[0], (short)1)"},
        {"hr_f16", "HR_ATOMIC_COMPARE_EXCHANGE(t[0], 0, 1)"},
        {"hr_c32", "HR_ATOMIC_EXCHANGE(t[0], t[1])"},
        {"float", "HR_ATOMIC_AND(t[0], 1)"},
    };
    TEST_CASE("atomics of types that have none");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0] && b->compiles; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "#include <headrace/dialect.h>\n"
                 "HR_KERNEL1(k, (OUT, float, 1, y))\n{\n"
                 "HR_TILE_STATIC(%s, t, [2]);\n"
                 "HR_EACH1(i) { %s; HR_AT1(y, i) = 0.0f; }\n}\n",
                 bad[i][0], bad[i][1]);
        const hr_argument argument = hr_out(hr_view_of(b->y));
        CHECK_FAILS(hr_launch(b->queue, make_kernel(b, text, "k"),
                              hr_extent1(N), NULL, &argument, 1),
                    HR_ERROR_BUILD, "user.c");
    }
}

/* The dialect may be included in each way that C has. */
static void dialect_is_included(const bed *b)
{
    static const char *const ways[] = {
        "#include <headrace/dialect.h>\n", "#include<headrace/dialect.h>\n",
        " #\tinclude  \"headrace/dialect.h\" // so\n",
        "%:include <headrace/dialect.h>\n",
        "#include /* a\n b */ \\\n <headrace/dialect.h>\n"};
    const point p = {0};
    TEST_CASE("ways to include the dialect");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char text[2000];
        const hr_kernel *kernel = NULL;
        snprintf(text, sizeof text, "%s%s", ways[i], axpy_text);
        CHECK(hr_kernel_create(b->context, text, "axpy", NULL, &kernel) ==
              HR_OK);
        CHECK(launch_axpy(b, kernel, &p, sizeof p) == HR_OK);
    }
}

/* long long is one type in a line, but not across the end of a directive. */
static void long_long_is_one_type(const bed *b)
{
    static const char text[] =
        "#include <headrace/dialect.h>\n"
        "#define WIDE unsigned long\n\n"
        "unsigned long typedef whole;\n"
        "#define WIDER unsigned long \\\n long\n"
        "HR_KERNEL1(k, (OUT, float, 1, y))\n"
        "{\n"
        "    HR_EACH1(i)\n"
        "    {\n"
        "        whole c = (whole)3 * 4294967296; WIDE a = 1;\n"
        "        WIDER d = (unsigned long\n"
        "        long)sizeof(WIDER) + 1ULL;\n"
        "        HR_AT1(y, i) = (float)(a + c / 4294967296 + d);\n"
        "    }\n"
        "}\n";
    TEST_CASE("long at the end of a line");
    if (b->compiles) {
        const hr_argument argument = hr_out(hr_view_of(b->y));
        CHECK(hr_launch(b->queue, make_kernel(b, text, "k"), hr_extent1(N),
                        NULL, &argument, 1) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(b->y)) == HR_OK);
        CHECK(b->data[1][0] == 13.0f && b->data[1][N - 1] == 13.0f);
    }
}

/* A kernel belongs to a context. */
static void kernel_of_another_context(const bed *b)
{
    TEST_CASE("a kernel of another context");
    const point p = {0};
    const hr_kernel *kernel = NULL;
    hr_context *other = test_context("host", 0);
    CHECK(hr_kernel_create(other, axpy_text, "axpy", NULL, &kernel) == HR_OK);
    CHECK_FAILS(launch_axpy(b, kernel, &p, sizeof p), HR_ERROR_INVALID,
                "created in another context");
    hr_context_destroy(other);
}

/* ---- grids and the checker */

/* Cells move along the diagonal, through both boundaries. */
static void in_grids(const bed *b, hr_boundary boundary, const char *name)
{
    enum { ROWS = 12, COLS = 9, CELLS = ROWS * COLS, STEPS = 5 };
    static const char text[] =
        "#include <headrace/dialect.h>\n"
        "HR_KERNEL2(move, (IN, int, 2, from), (OUT, int, 2, to))\n"
        "{\n    HR_EACH2(i, j)\n    {\n"
        "        HR_AT2(to, i, j) = HR_AT2(from, i - 1, j - 1);\n"
        "    }\n}\n";
    const hr_field field = hr_field_of(sizeof(int), 1, boundary, NULL);
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    hr_grid *grid = NULL;
    int cells[CELLS], ok = 1;
    TEST_CASE(name);
    const hr_phase phases[] = {
        hr_phase_of(make_kernel(b, text, "move"), arguments, 2),
        hr_phase_swap(0, 1)};
    for (int i = 0; i < CELLS; i++) {
        cells[i] = i;
    }
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, 2, NULL,
                         &grid) == HR_OK);
    CHECK(hr_grid_scatter(grid, 0, cells) == HR_OK);
    CHECK(hr_grid_step(grid, phases, 2, STEPS) == HR_OK);
    CHECK(hr_grid_gather(grid, 0, cells) == HR_OK);
    for (int i = 0; i < CELLS; i++) {
        int row = i / COLS - STEPS, col = i % COLS - STEPS;
        if (boundary == HR_BOUNDARY_PERIODIC) {
            row = (row + ROWS) % ROWS;
            col = (col + COLS) % COLS;
        } else {
            row = row > 0 ? row : 0;
            col = col > 0 ? col : 0;
        }
        ok = ok && cells[i] == row * COLS + col;
    }
    CHECK(ok);
    hr_grid_destroy(grid);
}

/* With HEADRACE_CHECK=1. */
static void is_checked(const bed *b)
{
    static const char text[] = "HR_KERNEL1(beyond, (INOUT, float, 1, y))\n"
                               "{\n    HR_EACH1(i)\n    {\n"
                               "        HR_AT1(y, i + 1) = 0.0f;\n"
                               "    }\n}\n";
    TEST_CASE("a text that writes beyond its view");
    const hr_kernel *kernel = make_kernel(b, text, "beyond");
    const hr_argument argument = hr_inout(hr_view_of(b->y));
    CHECK_FAILS(
        hr_launch(b->queue, kernel, hr_extent1(N), NULL, &argument, 1),
        HR_ERROR_INVALID,
        "user.c:5: beyond: item (99) writes y[100], outside its extent 100");
}

static void test_one(bed *b, uint32_t index)
{
    const hr_extent extent = hr_extent1(N);
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_accelerator_describe(b->context, index, &info) == HR_OK);
    b->compiles =
        strncmp(info.path, "cuda", 4) != 0 || getenv("HEADRACE_CUDA") == NULL;
    CHECK(hr_queue_create(b->context, index, &b->queue) == HR_OK);
    CHECK(hr_array_wrap(b->context, b->data[0], 4, extent, 0, &b->x) == HR_OK);
    CHECK(hr_array_wrap(b->context, b->data[1], 4, extent, 0, &b->y) == HR_OK);
    text_runs(b);
    sizes_are_checked(b);
    kernel_is_found(b);
    ill_formed(b);
    does_not_compile(b);
    is_left_out(b);
    no_atomics(b);
    dialect_is_included(b);
    long_long_is_one_type(b);
    kernel_of_another_context(b);
    if (getenv("HEADRACE_CUDA") == NULL) { /* grids are on all accelerators */
        in_grids(b, HR_BOUNDARY_PERIODIC, "a grid that is a torus");
        in_grids(b, HR_BOUNDARY_CLAMP, "a grid whose ends are repeated");
    }
    if (index == 0 && getenv("HEADRACE_CHECK") != NULL) { /* told once */
        is_checked(b);
    }
    hr_array_destroy(b->x);
    hr_array_destroy(b->y);
    hr_queue_destroy(b->queue);
}

int main(int count, char **arguments)
{
    static bed b;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = count > 1 ? arguments[1] : "opencl";
    if (has_no_compiler(options.accelerators)) {
        return test_skip(hr_last_error());
    }
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    for (uint32_t i = 0; i < hr_accelerator_count(b.context); i++) {
        TEST(test_one(&b, i));
    }
    hr_context_destroy(b.context);
    return test_end();
}
