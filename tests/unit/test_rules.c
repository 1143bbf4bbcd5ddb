/* SPDX-License-Identifier: MIT */
/* What must not leave a block of items, and what may; and includes. */
#include <headrace/kernel.h>

#include "kernels/kernels.h"
#include "test.h"

static hr_status check_text(const char *text)
{
    const hr_kernel kernel = {.name = "k", .file = "user.c", .text = text};
    return hri_rules_check(&kernel);
}

#define KERNEL(body) "HR_KERNEL1(k, (OUT, int, 1, y))\n{\n" body "\n}\n"

static const struct refusal {
    const char *text, *sentence;
} leaving[] = {
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
    {KERNEL("HR_ITEMS1(i) {\nHR_BARRIER;\n}"),
     "user.c:4: k: HR_BARRIER must not stand in the block of HR_ITEMS1 in line "
     "3; end the block before it, and begin another one behind it"},
    {KERNEL("HR_EACH1(i) if (i) HR_TILE_BARRIER;"), "HR_TILE_BARRIER must not"},
    {KERNEL("HR_EACH1(i) {\n#if A\n return;\n#endif\n}"), ":5: "},
    {KERNEL("HR_EACH1(i) {\n#if A\n i++;\n#else\nbreak;\n#endif\n}"), ":7: "},
    {"#define MAKE(name) \\\nHR_KERNEL1(name, (OUT, int, 1, y)) \\\n"
     "{ \\\n HR_EACH1(i) { \\\n return; } \\\n}\nMAKE(k)\n",
     "user.c:5: k: return"},
    {"\"\\\"\" /* HR_EACH1(i) { */ // {\n" KERNEL(
         "HR_EACH1(i) { /* for (;;) */ break; }"),
     ":4: "},
    /* an else belongs to the if, not to the loop between them */
    {KERNEL("HR_EACH1(i) { if (a) while (b) c();\nelse break; }"), ":4: "},
    {KERNEL("HR_EACH1(i) { if (a) do c(); while (b);\nelse break; }"), ":4: "},
    {KERNEL("HR_EACH1(i) { if (a) for (;;) c();\nelse { break; } }"), ":4: "},
    {KERNEL("HR_EACH1(i) { if (a) for (;;) { }\nelse if (b) break; }"), ":4: "},
    {KERNEL("HR_EACH1(i) { if (a) for (;;) if (b) c(); else break;\n"
            "else break; }"),
     ":4: "},
    {KERNEL("HR_EACH1(i) { if (a) switch (b) { case 1: break; }\n"
            "else break; }"),
     ":4: "},
    {KERNEL("HR_EACH1(i) if (a) x = (S){1};\nelse return;"), ":4: "},
    {KERNEL("HR_EACH1(i) if (a) if (b) REPEAT(3) c(); else d();\n"
            "else break;"),
     ":4: "},
    {KERNEL("HR_EACH1(i) { do x(); while (y);\nbreak; }"), ":4: "},
    {KERNEL("HR_EACH1(i) { x = ({ return; 1; }); }"), "return must not"},
    {KERNEL("HR_EACH1(i) { IF(x, return); }"), "return must not leave"},
    /* what is no label */
    {KERNEL("HR_EACH1(i) { x = a ? end : b; goto end; } end: ;"), "goto"},
    {KERNEL("HR_EACH1(i) { x = a ? b ? 1 : end : c; goto end; } end: ;"),
     "goto must not leave"},
    {KERNEL("HR_EACH1(i) { switch (i) { case end: goto end; } } end: ;"),
     "goto must not leave"},
    {KERNEL("HR_EACH1(i) {\n#if 0\nend: ;\n#endif\ngoto end; } end: ;"),
     ":7: k: goto must not leave"},
    {KERNEL("HR_EACH1(i) { end: ; } HR_EACH1(i) {\ngoto end; }"), ":4: "},
    {KERNEL("HR_EACH1(i) { x = a ? b : c; goto *p; }"), "goto must not"},
    {KERNEL("goto in; HR_EACH1(i) { in: ; }"),
     "user.c:3: k: goto must not enter the block of HR_EACH1 in line 3"},
    {"#define Q HR_EACH1(i) { goto end; } end: ;\n", "goto must not leave"},
    /* parentheses that nobody closes */
    {"#if 0\nsmile :( \n#endif\n" KERNEL("HR_EACH1(i) { return; }"), ":6: "},
    {KERNEL("#if A\nif (a &&\n#else\nif (\n#endif\nb) { }\n"
            "HR_EACH1(i) { return; }"),
     ":9: "},
    {"#define L (\n" KERNEL("HR_EACH1(i) { return; }"), ":4: "},
    {"#define F(a\n" KERNEL("HR_EACH1(i) { return; }"), ":4: "},
    {KERNEL("{ x = L a; } HR_EACH1(i) { f(a R;\nreturn; }"), ":4: "},
    /* branches */
    {KERNEL("HR_EACH1(i) {\n#if 0\n#elif A\nreturn;\n#endif\n}"), ":6: "},
    {KERNEL("HR_EACH1(i) {\n#if 1\nreturn;\n#else\n#endif\n}"), ":5: "},
    {KERNEL("HR_EACH1(i) {\n#if 0\n#if A\n}\n#else\n}\n#endif\n#else\n"
            "return;\n#endif\n}"),
     ":11: "},
    {KERNEL("HR_EACH1(i) {\n#if A\nfor (;;) {\n#endif\nx();\n#if A\n}\n"
            "#else\ny();\n#endif\nbreak; }"),
     ":13: "},
    {KERNEL("HR_EACH1(i) {\n#if 1\n;\n#else\nfor (;;)\n#endif\nbreak; }"),
     ":9: "},
    {KERNEL("HR_EACH1(i) <% x();\nreturn; %>"), ":4: "},
    /* lines that go on */
    {"#define M \\\r\n HR_EACH1(i) { \\ \r\n return; }\r\n", ":3: "},
    {KERNEL("HR_EACH1(i) { ret\\\nurn; }"), ":3: k: return must not"},
    {KERNEL("// { \\\r\n {\nHR_EACH1(i) { return; }"), ":5: "},
    {"#define A /* { \n\n */ HR_EACH1(i) { return; }\n", ":3: "},
};

static void leaving_is_refused(void)
{
    TEST_CASE("statements that leave a block of items");
    for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++) {
        CHECK_FAILS(check_text(leaving[i].text), HR_ERROR_BUILD,
                    leaving[i].sentence);
    }
}

static const char *const staying[] = {
    "",
    "HR_EACH1(i",
    "HR_EACH1(i) {",
    "} } ) ; {",
    KERNEL("HR_EACH1(i) { if (i) { continue; } }"),
    KERNEL("if (HR_STEP(0) == 1) { HR_EACH1(i) { } return; }"),
    KERNEL("HR_EACH1(i) HR_AT1(y, i) = 1; return;"),
    KERNEL("HR_EACH1(i) if (i) { i++; } else { i--; } return;"),
    KERNEL("for (;;) { HR_ITEMS1(i) { } HR_BARRIER; if (1) break; }"),
    KERNEL("HR_ITEMS1(i) x = 0; HR_BARRIER; HR_ITEMS1(i) { }"),
    KERNEL("HR_ITEMS1(i) STORE(i)\nHR_BARRIER; HR_ITEMS1(i) { }"),
    KERNEL("HR_ITEMS1(i) CLEAR\nHR_BARRIER; HR_ITEMS1(i) { }"),
    KERNEL("TWO(HR_ITEMS1(i) f(i), HR_BARRIER)"),
    "#define PHASE(body) HR_ITEMS1(i) body HR_BARRIER;\n",
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
    KERNEL("HR_EACH1(i) {\n#if A\n if (i) {\n#elif B\n if (1) {\n#else\n {\n"
           "#endif\n }\n }\n return;"),
    "#define BEGIN HR_EACH1(i) {\nstatic int f(void) { return 1; }\n",
    "#define BEGIN \\\n HR_EACH1(i) {\nstatic int f(void) { return 1; }\n",
    "#define ADD(a, b) ((a) + (b))\n#define ONE 1\n#define NOTHING\n"
    "static int f(void) { return ADD(ONE, 1); }\n",
    KERNEL("MY_HR_EACH1(i) { return; } HR_EACH(i) { return; }"),
    "#endif\n#else\n#endif\nstatic int f(void) { return 1; }\n",
    /* blocks of items under an if, or in a loop */
    KERNEL("for (;;) if (n) HR_ITEMS1(i) x(); else break;"),
    KERNEL("for (;;) if (n) HR_ITEMS1(i) { x(); } else { break; }"),
    KERNEL("if (n) HR_EACH1(i) x(); else return;"),
    KERNEL("if (n) HR_EACH1(i) if (m) x(); else y(); else return;"),
    KERNEL("if (n) HR_EACH1(i) do x(); while (y); else return;"),
    /* loops without braces */
    KERNEL("HR_EACH1(i) { for (;;) if (a) if (b) c(); else break; else "
           "break; }"),
    KERNEL("HR_EACH1(i) { while (1) if (a) x = (S){1}; else break; }"),
    KERNEL("HR_EACH1(i) { while (a) { do x(); while (b); if (c) break; } }"),
    KERNEL("HR_EACH1(i) { for (;;) if (a) c();\n#if B\nelse break;\n#endif\n"
           "}"),
    KERNEL("HR_EACH1(i) { for (;;) if (a) { c(); }\n#pragma x\nelse break; "
           "}"),
    /* macros */
    KERNEL("HR_EACH1(i) { FOREVER { if (a) break; } FOREVER if (b) break; }"),
    KERNEL("HR_EACH1(i) { UNROLL FOR(k, 3) { break; } }"),
    KERNEL("HR_EACH1(i) { for (;;) if (a) c(); OTHERWISE break; }"),
    KERNEL("HR_EACH1(i) { for (;;) UNLESS(a) *p = 1; else break; }"),
    KERNEL("HR_EACH1(i) { for (;;) UNLESS(a) { b(); } else break; }"),
    KERNEL("HR_EACH1(i) { if (a) for (;;) UNLESS(b) c(); else break; }"),
    KERNEL("if (n) HR_EACH1(i) REPEAT(3) x(); else return;"),
    KERNEL("if (n) HR_EACH1(i) UNLESS(m) x(); else y(); else return;"),
    KERNEL("HR_EACH1(i) { FOR_EACH(k, 3, if (x) break); }"),
    KERNEL("HR_EACH1(i) { goto end; LABEL(end) }"),
    KERNEL("HR_EACH1(i) { goto\n#if 0\n#endif\nend; end: ; }"),
    KERNEL("HR_EACH1(i) { goto end; LABEL(end) }")
        KERNEL("HR_EACH1(i) { goto end; end: ; }"),
    "#define OPEN {\n#define END }\n" KERNEL(
        "HR_EACH1(i) OPEN for (;;) { break; } END return;"),
    /* labels */
    KERNEL("HR_EACH1(i) { switch (i) { case 1: goto end; } { end: ; } }"),
    KERNEL("HR_EACH1(i) { x = a ? b : c; goto end; TRACE(i) end: ; }"),
    KERNEL("for (;;) { HR_EACH1(i) { } goto end; } end: ;"),
    /* branches that no compiler reads, or that open what another closes */
    KERNEL("#if 0\nHR_EACH1(i) { return; }\n#endif"),
    KERNEL("#if 1\n#else\nHR_EACH1(i) { return; }\n#endif"),
    KERNEL("#if 0\nThis isn't code (see {a}\n#endif"),
    KERNEL("#if 0\n#ifdef A\n#else\n{\n#endif\nHR_EACH1(i) { return;\n"
           "#endif // 0"),
    KERNEL("HR_EACH1(i) {\n#if A\nfor (;;) {\n#endif\nx();\n#if A\n}\n#else\n"
           "y();\n#endif\n} return;"),
    /* lines that go on */
    "#define BEGIN \\\r\n HR_EACH1(i) {\r\nint f(void) { return 1; }\r\n",
    "#define BEGIN /* \n\n */ HR_EACH1(i) {\nint f(void) { return 1; }\n",
    KERNEL("HR_EACH1(i) { // \\\r\n return;\r\n}"),
    KERNEL("HR_EACH1(i) { f(\"\\\r\n return;\"); }"),
};

static void staying_is_accepted(void)
{
    TEST_CASE("statements that stay in a block of items");
    for (size_t i = 0; i < sizeof staying / sizeof staying[0]; i++) {
        test_check(check_text(staying[i]) == HR_OK, staying[i], __FILE__,
                   __LINE__);
    }
    CHECK(check_text(NULL) == HR_OK); /* the host alone */
}

static void includes_are_refused(void)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"#include \"mine.h\"\n", "user.c:1: k: #include \"mine.h\": compil"},
        {"#include <headrace/dialect.h>\n\n # include <math.h>\n",
         "user.c:3: k: #include <math.h>: compilers of devices get this file"},
        {"#define A \\\n 1\n#include A\n", "user.c:3: k: #include A: "},
        {"#if A\n#include_next <a.h>\n#endif",
         "user.c:2: k: #include_next <a.h>"},
        {"%:include <a.h>\n", "user.c:1: k: #include <a.h>: compilers"},
        {"#import \"mine.h\"\n", "user.c:1: k: #import \"mine.h\": compilers"},
        {"#include /* \"a\" */ \"b.h\"\r\n", "k: #include \"b.h\": compilers"},
        {"#include \\\r\n <math.h>\n", "user.c:1: k: #include <math.h>: "},
        {"#define A 1\n\n#line 1 \"user.c\"\n#include \"\"", "user.c:1: "},
    };
    TEST_CASE("files that devices do not get");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(check_text(bad[i].text), HR_ERROR_BUILD, bad[i].sentence);
    }
    CHECK(check_text("#include <headrace/dialect.h>\n") == HR_OK);
    CHECK(check_text("#include \"headrace/dialect.h\" /* this */\n") == HR_OK);
    CHECK(check_text("#include /* \"this\" */ <headrace/dialect.h>\r\n") ==
          HR_OK);
    CHECK(check_text("// #include \"mine.h\"\n") == HR_OK);
    CHECK(check_text("#if 0\n#include \"mine.h\"\n#endif\n") == HR_OK);
}

static void deep_texts_are_left(void)
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
        CHECK(check_text(text) == HR_OK);
    }
}

int main(void)
{
    TEST(leaving_is_refused());
    TEST(staying_is_accepted());
    TEST(includes_are_refused());
    TEST(deep_texts_are_left());
    return test_end();
}
