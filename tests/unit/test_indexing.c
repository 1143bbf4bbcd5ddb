/* SPDX-License-Identifier: MIT */
/* What is found of the views that a kernel indexes with its items' indices: all
 * that surely runs, and nothing that may not run. */
#include <headrace/kernel.h>

#include "kernels/kernels.h"
#include "test.h"

static const hr_parameter *parameters_of(const hr_kernel *kernel)
{
    static const hr_parameter parameters[] = {
        {.name = "a", .kind = HR_PARAMETER_VIEW, .access = HR_IN, .rank = 1},
        {.name = "m", .kind = HR_PARAMETER_VIEW, .access = HR_OUT, .rank = 2},
        {.name = "v", .kind = HR_PARAMETER_VIEW, .access = HR_OUT, .rank = 3},
        {.name = "n", .kind = HR_PARAMETER_VALUE}};
    (void)kernel;
    return parameters;
}

static hr_status find_in(const char *text, hri_indexings *found)
{
    const hr_kernel kernel = {.name = "k",
                              .file = "user.c",
                              .text = text,
                              .parameters = parameters_of,
                              .parameter_count = 4};
    return hri_indexings_find(&kernel, found);
}

/* What is found in a text, as "a0:i0 ..." for dimension 0 of a indexed with
 * index 0, with a * behind it for whole tiles. */
static const char *found_in(const char *text)
{
    static char told[1024];
    hri_indexings found;
    char *end = told;
    CHECK(find_in(text, &found) == HR_OK);
    *end = '\0';
    for (uint32_t i = 0; i < found.count; i++) {
        const hri_indexing *x = &found.list[i];
        end += sprintf(end, "%s%s%u:i%u%s", i > 0 ? " " : "",
                       parameters_of(NULL)[x->parameter].name, x->dimension,
                       x->index, x->whole_tiles ? "*" : "");
    }
    return told;
}

#define HEAD                                                                   \
    "HR_KERNEL4(k, (IN, float, 1, a), (OUT, float, 2, m),\n"                   \
    "           (OUT, float, 3, v), (VALUE, int, 0, n))\n"
#define KERNEL(body)  HEAD "{\n" body "\n}\n"
#define IN_EACH(body) KERNEL("HR_EACH1(i) { " body " }")

static void sure_views_are_found(void)
{
    static const struct {
        const char *text, *found;
    } rows[] = {
        {IN_EACH("HR_AT1(a, i) = 1;"), "a0:i0"},
        {KERNEL("HR_EACH1(i) HR_AT1(a, i) = 1;"), "a0:i0"},
        {IN_EACH("HR_AT1 ( a , ( i ) ) += n * 2;"), "a0:i0"},
        {KERNEL("HR_EACH2(i, j) { HR_AT2(m, i, j) = HR_AT1(a, j); }"),
         "m0:i0 m1:i1 a0:i1"},
        {KERNEL("HR_EACH2(row, col) { HR_AT2(m, col, row) = 1; }"),
         "m0:i1 m1:i0"},
        {KERNEL("HR_EACH3(x, y, z) { HR_AT3(v, x, y, z) = HR_AT2(m, z, 0); }"),
         "v0:i0 v1:i1 v2:i2 m0:i2"},
        {KERNEL("HR_EACH3(x, y, z) { HR_AT3(v, 0, y + 1, z) = 1; }"), "v2:i2"},
        {KERNEL("HR_ITEMS1(i) { HR_AT1(a, i) = 1; }"), "a0:i0*"},
        {KERNEL("HR_TILE_STATIC(float, t, [9]);\nHR_ITEMS1(i) { t[0] = 1; }\n"
                "HR_BARRIER;\nHR_EACH1(i) { HR_AT1(a, i) = t[0]; }"),
         "a0:i0"},
        {IN_EACH("{ { float x = sqrt(HR_AT1(a, i)); } }"), "a0:i0"},
        {IN_EACH("if (HR_AT1(a, i) > n) { i; }"), "a0:i0"},
        {IN_EACH("HR_AT1(a, i) = 1; if (i > n) { continue; }"), "a0:i0"},
        {IN_EACH("for (int q = 0; q < n; q++) { } HR_AT1(a, i) = i <= 3;"),
         "a0:i0"},
        {IN_EACH("HR_ATOMIC_ADD(HR_AT1(a, i), 1);"), "a0:i0"},
        {IN_EACH("f(HR_FAST_EXP(HR_AT1(a, i)), i & 3, n & i, i == 2);"),
         "a0:i0"},
        {"#define N 16\n#define SQUARE(x) ((x) * (x))\n" IN_EACH(
             "HR_AT1(a, i) = SQUARE(i) + N;"),
         "a0:i0"},
        {"#if A\n" IN_EACH("HR_AT1(a, i) = 1;") "#endif\n", "a0:i0"},
        {"#define HR_VARIANTS 0\n#define HR_REPRODUCIBLE 1\n" IN_EACH(
             "HR_AT1(a, i) = 1;"),
         "a0:i0"},
        {IN_EACH("\n#pragma unroll\nHR_AT1(a, i) = 1;"), "a0:i0"},
        {"HR_KERNEL1(other, (IN, float, 1, a)) { return; }\n" IN_EACH(
             "HR_AT1(a, i) = 1;"),
         "a0:i0"},
        {IN_EACH("// if (n)\nHR_AT1(a, i) = 1; /* continue; */"), "a0:i0"},
    };
    TEST_CASE("views that each item indexes");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!test_check(strcmp(found_in(rows[i].text), rows[i].found) == 0,
                        rows[i].text, __FILE__, __LINE__)) {
            fprintf(stderr, "found: %s\n", found_in(rows[i].text));
        }
    }
}

static const char *const unsure[] = {
    /* guarded */
    IN_EACH("if (HR_INSIDE1(a, i)) { HR_AT1(a, i) = 1; }"),
    IN_EACH("if (i < n) HR_AT1(a, i) = 1;"),
    IN_EACH("if (i < n) { } else HR_AT1(a, i) = 1;"),
    IN_EACH("if (i < n) { } else if (HR_AT1(a, i) > 0) { }"),
    IN_EACH("float x = i < n ? HR_AT1(a, i) : 0;"),
    IN_EACH("int x = i < n && HR_AT1(a, i) > 0;"),
    IN_EACH("if (i >= n || HR_AT1(a, i) > 0) { }"),
    IN_EACH("switch (i) { case 0: HR_AT1(a, i) = 1; }"),
    IN_EACH("if (i >= n) { continue; } HR_AT1(a, i) = 1;"),
    IN_EACH("if (i >= n) continue; HR_AT1(a, i) = 1;"),
    IN_EACH("if (i >= n) goto end; HR_AT1(a, i) = 1; end: ;"),
    IN_EACH("for (; i < n;) { HR_AT1(a, i) = 1; }"),
    IN_EACH("while (n) HR_AT1(a, i) = 1;"),
    IN_EACH("do { HR_AT1(a, i) = 1; } while (0);"),
    KERNEL("if (n) { HR_EACH1(i) { HR_AT1(a, i) = 1; } }"),
    KERNEL("for (;;) HR_EACH1(i) { HR_AT1(a, i) = 1; }"),
    KERNEL("if (n) { return; } HR_EACH1(i) { HR_AT1(a, i) = 1; }"),
    /* other indices */
    IN_EACH("HR_AT1(a, i + 1) = 1;"),
    IN_EACH("HR_AT1(a, i / 2) = 1;"),
    IN_EACH("HR_AT1(a, j) = 1;"),
    IN_EACH("i = i < n ? i : 0; HR_AT1(a, i) = 1;"),
    IN_EACH("i /= 2; HR_AT1(a, i) = 1;"),
    IN_EACH("i >>= 1; HR_AT1(a, i) = 1;"),
    IN_EACH("(i)--; HR_AT1(a, i) = 1;"),
    IN_EACH("--i; HR_AT1(a, i) = 1;"),
    IN_EACH("if (n) ((i)) = 0; HR_AT1(a, i) = 1;"),
    IN_EACH("clip(&i); HR_AT1(a, i) = 1;"),
    IN_EACH("hr_index *p = (&i); *p = 0; HR_AT1(a, i) = 1;"),
    IN_EACH("{ hr_index i = 0; HR_AT1(a, i) = 1; }"),
    IN_EACH("int q, i; HR_AT1(a, i = 0) = 1;"),
    /* no access */
    IN_EACH("HR_MEMORY float *p = &HR_AT1(a, i);"),
    IN_EACH("HR_MEMORY float *p = &(HR_AT1(a, i));"),
    IN_EACH("int x = sizeof HR_AT1(a, i);"),
    IN_EACH("int x = (int)sizeof(HR_AT1(a, i));"),
    IN_EACH("HR_MEMORY float *a = b; HR_AT1(a, i) = 1;"),
    /* not this kernel's views */
    IN_EACH("HR_AT1(b, i) = 1;"),
    IN_EACH("HR_AT1(n, i) = 1;"),
    "HR_KERNEL1(other, (IN, float, 1, a)) { HR_EACH1(i) { HR_AT1(a, i); } "
    "}\n",
    /* macros */
    "#define WHERE(x) if (x)\n" IN_EACH("WHERE(i < n) HR_AT1(a, i) = 1;"),
    "#define WHERE(x) if (x)\n" IN_EACH("WHERE(i < n) { HR_AT1(a, i)++; }"),
    "#define GUARD if (i < n)\n" IN_EACH("GUARD HR_AT1(a, i) = 1;"),
    "#define END(x) do { if (x) goto e; } while (0)\n" IN_EACH(
        "END(i); HR_AT1(a, i) = 1; e: ;"),
    "#define NEXT continue\n" IN_EACH("if (i > n) NEXT; HR_AT1(a, i) = 1;"),
    "#define A NEXT\n#define NEXT continue\n" IN_EACH(
        "if (i > n) A; HR_AT1(a, i) = 1;"),
    "#define NOT(x) 0\n" IN_EACH("float x = NOT(HR_AT1(a, i));"),
    "#define CLIP(x) x %= 3\n" IN_EACH("CLIP(i); HR_AT1(a, i) = 1;"),
    "#define i 0\n" IN_EACH("HR_AT1(a, i) = 1;"),
    "#define a b\n" IN_EACH("HR_AT1(a, i) = 1;"),
    "#define STOP return\n" KERNEL(
        "if (n) { STOP; } HR_EACH1(i) { HR_AT1(a, i) = 1; }"),
    "#define HR_AT1(v, i) v[0]\n" IN_EACH("HR_AT1(a, i) = 1;"),
    "#define F(x\n" IN_EACH("F(i); HR_AT1(a, i) = 1;"),
    "#define N 1\n#define N if (n)\n" IN_EACH("N HR_AT1(a, i) = 1;"),
    "#define L(x) x x\n#define L(x) L(x)\n" IN_EACH("L(i); HR_AT1(a, i) = 1;"),
    "#define MAKE(k) \\\n" HEAD "MAKE(k)\n",
    IN_EACH("WHERE(i < n) HR_AT1(a, i) = 1;"), /* of the build */
    IN_EACH("UNLESS(n) continue; HR_AT1(a, i) = 1;"),
    IN_EACH("GUARD HR_AT1(a, i) = 1;"),
    IN_EACH("x = SELECT(i < n, HR_AT1(a, i), 0);"),
    IN_EACH("x = HR_INSIDE1(m, HR_AT1(a, i));"),
    /* conditions of the preprocessor */
    IN_EACH("\n#if A\nif (n)\n#endif\nHR_AT1(a, i) = 1;"),
    IN_EACH("\n#if 0\nHR_AT1(a, i) = 1;\n#endif\n"),
    IN_EACH("n = 1\n#if A\n+ 1\n#endif\n; HR_AT1(a, i) = 1;"),
    "#if A\n" IN_EACH("HR_AT1(a, i) = 1;") "#else\n" IN_EACH("n;") "#endif\n",
    "#if A\n" IN_EACH("HR_AT1(a, i) = 1;") "#else\nMAKE(k)\n#endif\n",
    /* broken */
    "",
    "HR_KERNEL1(k",
    HEAD,
    HEAD "{ HR_EACH1(i) {",
    HEAD "{ HR_EACH1(i",
    HEAD "{ HR_EACH1(i) { HR_AT1(a",
    HEAD "{ HR_EACH1(i) { if (",
    KERNEL("HR_EACH2(i) { HR_AT1(a, i) = 1; }"),
    KERNEL("HR_EACH1(i, j) { HR_AT1(a, i) = 1; }"),
    KERNEL("HR_EACH9(i) { HR_AT1(a, i) = 1; }"),
    KERNEL("HR_EACH1(i) HR_EACH1(j) { HR_AT1(a, j) = 1; }"),
};

static void unsure_views_are_left(void)
{
    TEST_CASE("views that some items may not index");
    for (size_t i = 0; i < sizeof unsure / sizeof unsure[0]; i++) {
        if (!test_check(strcmp(found_in(unsure[i]), "") == 0, unsure[i],
                        __FILE__, __LINE__)) {
            fprintf(stderr, "found: %s\n", found_in(unsure[i]));
        }
    }
}

/* The views of which a text uses own rows alone, as "am". */
static const char *own_in(const char *text)
{
    static char told[8];
    hri_indexings found;
    char *end = told;
    CHECK(find_in(text, &found) == HR_OK);
    for (uint32_t i = 0; i < 4; i++) {
        if (found.own_row[i]) {
            *end++ = parameters_of(NULL)[i].name[0];
        }
    }
    *end = '\0';
    return told;
}

static void own_rows_are_found(void)
{
    static const struct {
        const char *text, *own;
    } rows[] = {
        {IN_EACH("HR_AT1(a, i) = HR_AT2(m, i, 0) + HR_AT3(v, i, 1, 2);"),
         "amv"},
        {IN_EACH("if (i < n) { HR_AT1(a, i) = HR_AT2(m, i, i + 1); }"), "amv"},
        {IN_EACH("if (n && HR_AT1(a, i) > 0) { continue; }"), "amv"},
        {IN_EACH("float x = i > n ? HR_AT1(a, (i)) : HR_EXTENT(a, 0);"), "amv"},
        {IN_EACH("HR_AT1(a, i) = HR_INSIDE2(m, i, n) ? HR_AT2(m, i, n) : 0;"),
         "amv"},
        {KERNEL("HR_EACH1(i) { HR_AT1(a, i) = 1; }\n"
                "HR_EACH1(k) { HR_AT1(a, k) = HR_AT2(m, k, 0); }"),
         "amv"},
        {"#define N 16\n" IN_EACH("HR_AT1(a, i) = N;"), "amv"},
        {KERNEL("HR_EACH2(i, j) { HR_AT2(m, i, j) = HR_AT1(a, j); }"), "mv"},
        {KERNEL("HR_EACH2(i, j) { HR_AT2(m, j, i) = HR_AT1(a, i); }"), "av"},
        {IN_EACH("HR_AT1(a, i) = HR_AT1(a, i + 1);"), "mv"},
        {IN_EACH("HR_AT1(a, i) = HR_AT1(a, 0);"), "mv"},
        {IN_EACH("HR_AT1(a, i) = HR_AT2(m, HR_AT1(a, i), 0);"), "av"},
        {IN_EACH("HR_AT1(a, i) = 1; f(a);"), "mv"},
        {IN_EACH("HR_MEMORY float *p = &HR_AT1(a, i);"), "mv"},
        {IN_EACH("HR_MEMORY float *p = &(HR_AT1(a, i));"), "mv"},
        {IN_EACH("HR_AT1(a, i) = p[HR_STRIDE(a, 0)];"), "mv"},
        {KERNEL("HR_ITEMS1(i) { HR_AT1(a, i) = 1; }"), "mv"},
        {KERNEL("HR_EACH1(i) { HR_AT1(a, i) = 1; }\n"
                "HR_ITEMS1(i) { HR_AT1(a, i) = 1; }"),
         "mv"},
        {KERNEL("hr_index i = 3; n = HR_AT1(a, i); HR_EACH1(i) { }"), "mv"},
        {"#define NEXT HR_AT1(a, i + 1)\n" IN_EACH("HR_AT1(a, i) = 1;"), "mv"},
        {"#define NEXT \\\n HR_AT1(a, i + 1)\n" IN_EACH("NEXT;"), "mv"},
        {IN_EACH("i = i + 1; HR_AT1(a, i) = 1;"), ""},
        {IN_EACH("{ hr_index i = 0; HR_AT1(a, i) = 1; }"), ""},
        {IN_EACH("HR_MEMORY float *a = b; HR_AT1(a, i) = 1;"), ""},
        {IN_EACH("\n#if A\nHR_AT1(a, i) = 1;\n#endif\n"), ""},
        {"#define WHERE(x) if (x)\n" IN_EACH("WHERE(n) HR_AT1(a, i) = 1;"), ""},
        {"#define HR_AT1(v, i) v[0]\n" IN_EACH("HR_AT1(a, i) = 1;"), ""},
        {"#define i 0\n" IN_EACH("HR_AT1(a, i) = 1;"), ""},
        {"", ""},
        {HEAD, ""},
        {HEAD "{ HR_EACH1(i) { HR_AT1(a", ""},
        {HEAD "{ HR_EACH1(i) { HR_AT1(a, i", ""},
    };
    TEST_CASE("views of which a point uses its own row alone");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!test_check(strcmp(own_in(rows[i].text), rows[i].own) == 0,
                        rows[i].text, __FILE__, __LINE__)) {
            fprintf(stderr, "found: %s\n", own_in(rows[i].text));
        }
    }
}

static void lines_and_limits(void)
{
    enum { MANY = 100, DEPTH = 500 };
    static char text[64 * DEPTH];
    hri_indexings found;
    TEST_CASE("lines are those of the file");
    strcpy(text, "#define A 1\n#line 1 \"user.c\"\n" KERNEL(
                     "HR_EACH1(i) {\n\nHR_AT1(a,\n i) = 1;\n}"));
    CHECK(find_in(text, &found) == HR_OK && found.count == 1);
    CHECK(found.list[0].line == 7);
    TEST_CASE("more accesses than are kept");
    char *end = text + sprintf(text, HEAD "{ HR_EACH1(i) {\n");
    for (int i = 0; i < MANY; i++) {
        end += sprintf(end, "HR_AT2(m, 0, i) = HR_AT1(a, i);\n");
    }
    strcpy(end, "} }\n");
    CHECK(find_in(text, &found) == HR_OK && found.count == 2);
    TEST_CASE("statements that are nested too deeply to follow");
    end = text + sprintf(text, HEAD "{ HR_EACH1(i) ");
    for (int i = 0; i < DEPTH; i++) {
        end += sprintf(end, "{");
    }
    strcpy(end, "HR_AT1(a, i) = 1;");
    CHECK(find_in(text, &found) == HR_OK && found.count == 0);
}

static hr_status find_in_body(const char *body)
{
    char text[512];
    hri_indexings found;
    snprintf(text, sizeof text, "HR_KERNEL4(k, )\n%s\n", body);
    return find_in(text, &found);
}

static void no_elements(void)
{
    static const struct {
        const char *body, *sentence;
    } bad[] = {
        {"{ HR_EACH1(i) { a[i] = 1; } }",
         "user.c:2: k: a[] does not know where the view a begins; write "
         "HR_AT1(a, i)"},
        {"{ HR_EACH1(i)\n{ HR_AT1(a, i) = 2 * v [i]; } }",
         "user.c:3: k: v[] does not know where the view v begins; write "
         "HR_AT3(v, i, j, k)"},
        {"{ HR_EACH1(i) { f(&m[i], sizeof a[0]); } }", "write HR_AT2(m, i, j)"},
        {"{ HR_EACH1(i) { return a[i]; } }", "a[] does not know"},
        {"{ HR_EACH2(i, j) { HR_AT2(a, i, j) = 1; } }",
         "user.c:2: k: HR_AT2 takes a view of rank 2, but a has rank 1"},
        {"{ HR_EACH1(i) { x = HR_AT1 (( m ), i); } }",
         "user.c:2: k: HR_AT1 takes a view of rank 1, but m has rank 2"},
    };
    static const char *const good[] = {
        "{ HR_EACH1(i) { s.a[i] = p->a[i] + aa[i] + HR_AT2(other, i, j); } }",
        "{ HR_EACH1(i) { float *a = p; a[0] = 1; } }",
        "{ HR_EACH1(i) { { int a[3]; a[i] = 1; HR_AT2(a, 1, 1); } } }",
        "{ HR_EACH1(i) { f(a + 1); g(HR_EXTENT(a, 0), *a); } }",
        "{ HR_EACH1(i) { }\n#if 1\n}\n#endif\nint f() { a[1]; }",
    };
    TEST_CASE("what is no element of a view");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(find_in_body(bad[i].body), HR_ERROR_BUILD, bad[i].sentence);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        test_check(find_in_body(good[i]) == HR_OK, good[i], __FILE__, __LINE__);
    }
}

int main(void)
{
    TEST(sure_views_are_found());
    TEST(unsure_views_are_left());
    TEST(own_rows_are_found());
    TEST(lines_and_limits());
    TEST(no_elements());
    return test_end();
}
