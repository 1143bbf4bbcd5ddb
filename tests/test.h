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

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

/* Whether the program is built with a sanitizer: TEST_ASAN with that of
 * addresses, TEST_TSAN with that of threads. GCC and clang say so differently.
 */
#if defined(__has_feature)
#define TEST_HAS(sanitizer) __has_feature(sanitizer)
#else
#define TEST_HAS(sanitizer) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TEST_HAS(address_sanitizer)
enum { TEST_ASAN = 1 };
#else
enum { TEST_ASAN = 0 };
#endif
#if defined(__SANITIZE_THREAD__) || TEST_HAS(thread_sanitizer)
enum { TEST_TSAN = 1 };
#else
enum { TEST_TSAN = 0 };
#endif

extern struct test_state {
    char name[96];
    long checks, failures;
    bool found;   /* the case that TEST names */
    bool skipped; /* this machine lacks the subject */
} test_state;

/* Whether to print cases instead of running them. */
bool test_listing(void);

/* Print a line that is no failure, but not into the list of cases. */
void __attribute__((format(printf, 1, 2))) test_note(const char *format, ...);

/* Whether a case runs, as TEST in the environment says. */
bool test_chosen(const char *call);

/* Whether TEST_SEED names the one seed to run. */
bool test_seed(uint64_t *seed);

void test_case(const char *name);
int test_check(int ok, const char *what, const char *file, int line);
int test_check_fails(hr_status got, hr_status want, const char *word,
                     const char *what, const char *file, int line);

/* A context of the set of accelerators that is tested. false: there is none,
 * and the program ends: it is skipped where this machine lacks them. */
bool test_open(const hr_context_options *options, hr_context **context);

/* A context of accelerators that must be there, with this limit of the memory
 * of each. 0: the library's own limit. */
hr_context *test_context(const char *accelerators, uint64_t memory_limit);

/* What main returns. */
int test_end(void);
int test_skip(const char *why);

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
