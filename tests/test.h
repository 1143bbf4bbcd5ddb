/* SPDX-License-Identifier: MIT */
/* The test harness: checks that count, cases that name themselves.
 *
 *     TEST_CASE("negative rows");
 *     CHECK(status == HR_ERROR_INVALID);
 *     ...
 *     return test_end();
 *
 * A program whose subject is not on this machine returns
 * test_skip("why"): exit status 77, which CTest shows as skipped. */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

static struct {
    char name[96];
    long checks, failures;
} test_state;

static inline void test_case(const char *name)
{
    snprintf(test_state.name, sizeof test_state.name, "%s", name);
}

static inline int test_check(int ok, const char *what, const char *file,
                             int line)
{
    test_state.checks++;
    if (!ok) {
        test_state.failures++;
        fprintf(stderr, "%s:%d: [%s] failed: %s (last error: %s)\n", file, line,
                test_state.name, what, hr_last_error());
    }
    return ok;
}

static inline int test_check_fails(hr_status got, hr_status want,
                                   const char *word, const char *what,
                                   const char *file, int line)
{
    int ok = got == want && strstr(hr_last_error(), word) != NULL;
    if (!test_check(ok, what, file, line)) {
        fprintf(stderr, "  returned %s, not %s about \"%s\"\n",
                hr_status_name(got), hr_status_name(want), word);
    }
    return ok;
}

static inline int test_end(void)
{
    printf("%ld checks, %ld failures\n", test_state.checks,
           test_state.failures);
    return test_state.checks == 0 || test_state.failures > 0;
}

static inline int test_skip(const char *why)
{
    printf("skip: %s\n", why);
    return 77;
}

#define TEST_CASE(name) test_case(name)
#define CHECK(x)        test_check(!!(x), #x, __FILE__, __LINE__)
/* The status, and that the sentence mentions what it must. */
#define CHECK_FAILS(call, status, word)                                        \
    test_check_fails((call), (status), (word), #call, __FILE__, __LINE__)

#endif
