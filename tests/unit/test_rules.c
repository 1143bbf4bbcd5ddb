/* SPDX-License-Identifier: MIT */
/* What must not leave a block of items, and what may; and includes. */
#include <headrace/kernel.h>

#include "runtime/module.h"
#include "test.h"

static hr_status check(const char *text)
{
    const hr_kernel kernel = {.name = "k", .file = "user.c", .text = text};
    return hri_rules_check(&kernel);
}

#define KERNEL(body) "HR_KERNEL1(k, (OUT, int, 1, y))\n{\n" body "\n}\n"

static void leaves(void)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {KERNEL("HR_EACH1(i) {\n return;\n}"),
         "user.c:4: k: return must not leave the block of HR_EACH1 in line 3; "
         "continue ends an item"},
        {KERNEL("HR_EACH1(i) { break; }"), "user.c:3: k: break must not leave"},
        {KERNEL("HR_EACH1(i)\nif (i > 3)\nreturn;"), "user.c:5: k: return"},
        {KERNEL("HR_EACH2(i, j) for (;;) { if (i) { return; } }"), ":3: "},
        {KERNEL("HR_EACH3(i, j, k) { while (1) { break; }\nbreak; }"), ":4: "},
        {KERNEL("HR_ITEMS1(i) { if (i) break; }"), "block of HR_ITEMS1"},
        {KERNEL("HR_ITEMS2 (i, j)\n{\n{ { break; } }\n}"), ":5: "},
        {KERNEL("HR_ITEMS3(i, j, k) switch (i) { case 1: return; }"), ":3: "},
        {KERNEL("for (;;) { HR_ITEMS1(i) { break; } }"), "HR_ITEMS1"},
        {KERNEL("HR_EACH1(i) { do { i++; } while (i < 3); break; }"), ":3: "},
        {KERNEL("HR_EACH1(i) { for (;;) if (i) break; else i++;\nbreak; }"),
         ":4: "},
        {KERNEL("HR_EACH1(i) { for (;;) i++; break; }"), ":3: "},
        {KERNEL("HR_EACH1(i) { f(i);\nbreak; }"), ":4: "},
        {KERNEL("HR_EACH1(i) { if (i) { } else\nbreak; }"), ":4: "},
        {KERNEL("HR_EACH1(i) { int a[] = {1, 2};\nbreak; }"), ":4: "},
        {KERNEL("HR_EACH1(i) { goto end; } end: ;"), "goto must not leave"},
        {KERNEL("HR_EACH1(i) {\n#if A\n return;\n#endif\n}"), ":5: "},
        {KERNEL("HR_EACH1(i) {\n#if A\n i++;\n#else\nbreak;\n#endif\n}"),
         ":7: "},
        {"#define MAKE(name) \\\nHR_KERNEL1(name, (OUT, int, 1, y)) \\\n"
         "{ \\\n HR_EACH1(i) { \\\n return; } \\\n}\nMAKE(k)\n",
         "user.c:5: k: return"},
        {"\"\\\"\" /* HR_EACH1(i) { */ // {\n" KERNEL(
             "HR_EACH1(i) { /* for (;;) */ break; }"),
         ":4: "},
    };
    TEST_CASE("statements that leave a block of items");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(check(bad[i].text), HR_ERROR_BUILD, bad[i].sentence);
    }
}

static void stays(void)
{
    static const char *const good[] = {
        "",
        "HR_EACH1(i",
        "HR_EACH1(i) {",
        "} } ) ; {",
        KERNEL("HR_EACH1(i) { if (i) { continue; } }"),
        KERNEL("if (HR_STEP(0) == 1) { HR_EACH1(i) { } return; }"),
        KERNEL("HR_EACH1(i) HR_AT1(y, i) = 1; return;"),
        KERNEL("HR_EACH1(i) if (i) { i++; } else { i--; } return;"),
        KERNEL("for (;;) { HR_ITEMS1(i) { } HR_BARRIER; if (1) break; }"),
        KERNEL("HR_EACH1(i) { for (;;) { if (i) { break; } } }"),
        KERNEL("HR_EACH1(i) { while (i) if (i) break; else break; }"),
        KERNEL("HR_EACH1(i) { do { if (i) break; } while (1); }"),
        KERNEL("HR_EACH1(i) { do break; while (1); }"),
        KERNEL("HR_EACH1(i) { switch (i) { case 0: break; default: break; } }"),
        KERNEL("HR_EACH1(i) { for (;;) { x = (int[]){1}[0]; break; } }"),
        KERNEL("HR_EACH1(i) { FOR(k, 3) { break; } FOR(k, 3) break; }"),
        KERNEL("HR_EACH1(i) { if (i) goto end; i++; end: ; }"),
        KERNEL("HR_EACH1(i) { /* return */ f(\"return\", 'r'); } // break"),
        KERNEL("HR_EACH1(i) { int returned = breaking; }"),
        "static int f(int a) { return a; }\n" KERNEL(
            "HR_EACH1(i) { f(i); }") "static int g(int a) { return a; }\n",
        KERNEL(
            "HR_EACH1(i) {\n#if A\n if (i) {\n#elif B\n if (1) {\n#else\n {\n"
            "#endif\n }\n }\n return;"),
        "#define BEGIN HR_EACH1(i) {\nstatic int f(void) { return 1; }\n",
        "#define BEGIN \\\n HR_EACH1(i) {\nstatic int f(void) { return 1; }\n",
        "#define ADD(a, b) ((a) + (b))\n#define ONE 1\n#define NOTHING\n"
        "static int f(void) { return ADD(ONE, 1); }\n",
        KERNEL("MY_HR_EACH1(i) { return; } HR_EACH(i) { return; }"),
        "#endif\n#else\n#endif\nstatic int f(void) { return 1; }\n",
    };
    TEST_CASE("statements that stay in a block of items");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        test_check(check(good[i]) == HR_OK, good[i], __FILE__, __LINE__);
    }
    CHECK(check(NULL) == HR_OK); /* the host alone */
}

static void includes(void)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"#include \"mine.h\"\n", "user.c:1: k: #include \"mine.h\": compil"},
        {"#include <headrace/dialect.h>\n\n # include <math.h>\n",
         "user.c:3: k: #include <math.h>: compilers of devices get this file"},
        {"#define A \\\n 1\n#include A\n", "user.c:3: k: #include A: "},
        {"#if 0\n#include_next <a.h>\n#endif", "user.c:2: k: #include <a.h>"},
        {"#define A 1\n\n#line 1 \"user.c\"\n#include \"\"", "user.c:1: "},
    };
    TEST_CASE("files that devices do not get");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(check(bad[i].text), HR_ERROR_BUILD, bad[i].sentence);
    }
    CHECK(check("#include <headrace/dialect.h>\n") == HR_OK);
    CHECK(check("#include \"headrace/dialect.h\" /* this */\n") == HR_OK);
    CHECK(check("// #include \"mine.h\"\n") == HR_OK);
}

static void deep(void)
{
    enum { DEPTH = 500 };
    static const char *const opens[] = {"{", "for (;;) ", "#if 1\n", "(",
                                        "HR_EACH1(i) {"};
    char text[DEPTH * 16];
    TEST_CASE("texts that are nested too deeply to follow");
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        char *end = text;
        for (int k = 0; k < DEPTH; k++) {
            end += sprintf(end, "%s", opens[i]);
        }
        CHECK(check(text) == HR_OK);
    }
}

int main(void)
{
    TEST(leaves());
    TEST(stays());
    TEST(includes());
    TEST(deep());
    return test_end();
}
