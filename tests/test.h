/* SPDX-License-Identifier: MIT */
/* The test harness: checks that count, cases that name themselves.
 *
 *     static void negative_rows(void)
 *     {
 *         TEST_CASE("negative rows");
 *         CHECK(status == HR_ERROR_INVALID);
 *     }
 *     ...
 *     TEST(negative_rows());
 *     return test_end();
 *
 * TEST=negative_rows in the environment runs that case alone, or all whose call
 * has this word. TEST=list prints the calls, each once, and nothing else: what
 * programs print beside them goes through test_note.
 *
 * Programs that call test_seed print the seed of each random case that fails.
 * TEST_SEED=137 runs that one alone.
 *
 * A program whose subject is not on this machine returns
 * test_skip("why"): exit status 77, which CTest shows as skipped. */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

enum { TEST_MAX_LISTED = 256 };

static struct {
    char name[96];
    long checks, failures;
    bool found;                          /* the case that TEST names */
    const char *listed[TEST_MAX_LISTED]; /* by TEST=list */
    int listed_count;
} test_state;

/* Whether to print cases instead of running them. */
static inline bool test_listing(void)
{
    const char *only = getenv("TEST");
    return only != NULL && strcmp(only, "list") == 0;
}

/* Print a line that is no failure, but not into the list of cases. */
static inline void __attribute__((format(printf, 1, 2)))
test_note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (!test_listing()) {
        vprintf(format, values);
    }
    va_end(values);
}

/* Print a call, unless it was printed before: a loop has it many times. */
static inline void test_list(const char *call)
{
    for (int i = 0; i < test_state.listed_count; i++) {
        if (strcmp(test_state.listed[i], call) == 0) {
            return;
        }
    }
    if (test_state.listed_count < TEST_MAX_LISTED) {
        test_state.listed[test_state.listed_count++] = call;
    }
    printf("%s\n", call);
}

/* Whether the call has this word. */
static inline bool test_names(const char *call, const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t length = strlen(word);
    while (*call != '\0') {
        const size_t letters_here = strspn(call, letters);
        if (letters_here == length && memcmp(call, word, length) == 0) {
            return true;
        }
        call += letters_here + (letters_here == 0);
    }
    return false;
}

/* Whether a case runs, as TEST in the environment says. */
static inline bool test_chosen(const char *call)
{
    const char *only = getenv("TEST");
    if (only == NULL) {
        return true;
    }
    if (test_listing()) {
        test_list(call);
        return false;
    }
    const bool chosen = test_names(call, only);
    test_state.found = test_state.found || chosen;
    return chosen;
}

/* Whether TEST_SEED names the one seed to run. */
static inline bool test_seed(uint64_t *seed)
{
    const char *only = getenv("TEST_SEED");
    if (only != NULL) {
        *seed = strtoull(only, NULL, 10);
    }
    return only != NULL;
}

static inline void test_case(const char *name)
{
    snprintf(test_state.name, sizeof test_state.name, "%s", name);
}

/* Whether the check is about a status. After any other the last error is an old
 * one. */
static inline bool test_is_about_status(const char *what)
{
    return strstr(what, "HR_OK") != NULL || strstr(what, "HR_ERROR_") != NULL;
}

static inline int test_check(int ok, const char *what, const char *file,
                             int line)
{
    test_state.checks++;
    if (!ok) {
        test_state.failures++;
        fprintf(stderr, "%s:%d: [%s] failed: %s\n", file, line, test_state.name,
                what);
        if (test_is_about_status(what)) {
            fprintf(stderr, "  last error: %s\n", hr_last_error());
        }
    }
    return ok;
}

static inline int test_check_fails(hr_status got, hr_status want,
                                   const char *word, const char *what,
                                   const char *file, int line)
{
    int ok = got == want && strstr(hr_last_error(), word) != NULL;
    if (!test_check(ok, what, file, line)) {
        fprintf(stderr, "  returned %s, not %s about \"%s\": %s\n",
                hr_status_name(got), hr_status_name(want), word,
                hr_last_error());
    }
    return ok;
}

#pragma weak __lsan_do_leak_check
void __lsan_do_leak_check(void);

/* With AddressSanitizer: look for leaks here, not when the program exits, as
 * then threads of other libraries end, at which GCC 12's runtime may fault. */
static inline void test_find_leaks(void)
{
    if (__lsan_do_leak_check != NULL) {
        fflush(stdout);
        __lsan_do_leak_check();
    }
}

static inline int test_end(void)
{
    const char *only = getenv("TEST");
    if (test_listing()) {
        return 0;
    }
    if (only != NULL && !test_state.found) {
        printf("no case is called %s; TEST=list prints them\n", only);
        return 1;
    }
    printf("%ld checks, %ld failures\n", test_state.checks,
           test_state.failures);
    test_find_leaks();
    return test_state.checks == 0 || test_state.failures > 0;
}

static inline int test_skip(const char *why)
{
    fprintf(test_listing() ? stderr : stdout, "skip: %s\n", why);
    return 77;
}

/* A call of a function that is a case. */
#define TEST(call)                                                             \
    do {                                                                       \
        if (test_chosen(#call)) {                                              \
            call;                                                              \
        }                                                                      \
    } while (0)
/* What the messages of failed checks call the part that begins here. */
#define TEST_CASE(name) test_case(name)
#define CHECK(x)        test_check(!!(x), #x, __FILE__, __LINE__)
/* The status, and that the sentence mentions what it must. */
#define CHECK_FAILS(call, status, word)                                        \
    test_check_fails((call), (status), (word), #call, __FILE__, __LINE__)

#endif
