/* SPDX-License-Identifier: MIT */
/* Lines of compilers' logs: each tells the file and line of the kernel. */
#include "backends/opencl/opencl.h"
#include "test.h"

static int becomes(const char *from, const char *to)
{
    static const char source[] = "typedef int first;\n"
                                 "#line 1 \"user.c\"\n"
                                 "one\n"
                                 "two\n"
                                 "#line 1 \"argument p\"\n"
                                 "last\n";
    char line[200];
    hri_log_line(from, source, line, sizeof line);
    return strcmp(line, to) == 0;
}

static void lines(void)
{
    TEST_CASE("a compiler that keeps to #line");
    CHECK(becomes("user.c:2:5: error: no\nmore", "user.c:2:5: error: no"));
    TEST_CASE("one that does not");
    CHECK(becomes("<kernel>:3:7: error: no\r\n", "user.c:1:7: error: no"));
    CHECK(becomes("<kernel>:4:7: error: no", "user.c:2:7: error: no"));
    CHECK(becomes("<kernel>:6:1: error: no", "argument p:1:1: error: no"));
    TEST_CASE("lines that are nowhere");
    CHECK(becomes("<kernel>:1:7: error: no", "<kernel>:1:7: error: no"));
    CHECK(becomes("<kernel>:x", "<kernel>:x"));
    CHECK(becomes("", ""));
}

int main(void)
{
    TEST(lines());
    return test_end();
}
