/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdarg.h>

struct test_state test_state;

enum { MAX_LISTED = 256 };

/* What TEST=list has printed. */
static const char *listed[MAX_LISTED];
static int listed_count;

bool test_listing(void)
{
    const char *only = getenv("TEST");
    return only != NULL && strcmp(only, "list") == 0;
}

void test_note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (!test_listing()) {
        vprintf(format, values);
    }
    va_end(values);
}

/* Print a call, unless it was printed before: a loop has it many times. */
static void test_list(const char *call)
{
    for (int i = 0; i < listed_count; i++) {
        if (strcmp(listed[i], call) == 0) {
            return;
        }
    }
    if (listed_count < MAX_LISTED) {
        listed[listed_count++] = call;
    }
    printf("%s\n", call);
}

/* Whether the call has this word. */
static bool test_names(const char *call, const char *word)
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

bool test_chosen(const char *call)
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

bool test_seed(uint64_t *seed)
{
    const char *only = getenv("TEST_SEED");
    if (only != NULL) {
        *seed = strtoull(only, NULL, 10);
    }
    return only != NULL;
}

void test_case(const char *name)
{
    snprintf(test_state.name, sizeof test_state.name, "%s", name);
}

/* Whether the check is about a status. After any other the last error is an old
 * one. */
static bool test_is_about_status(const char *what)
{
    return strstr(what, "HR_OK") != NULL || strstr(what, "HR_ERROR_") != NULL;
}

int test_check(int ok, const char *what, const char *file, int line)
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

int test_check_fails(hr_status got, hr_status want, const char *word,
                     const char *what, const char *file, int line)
{
    int ok = got == want && strstr(hr_last_error(), word) != NULL;
    if (!test_check(ok, what, file, line)) {
        fprintf(stderr, "  returned %s, not %s about \"%s\": %s\n",
                hr_status_name(got), hr_status_name(want), word,
                hr_last_error());
    }
    return ok;
}

bool test_open(const hr_context_options *options, hr_context **context)
{
    const hr_status status = hr_context_create(options, context);
    test_state.skipped = status == HR_ERROR_UNAVAILABLE;
    return status == HR_OK || (!test_state.skipped && CHECK(status == HR_OK));
}

hr_context *test_context(const char *accelerators, uint64_t memory_limit)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    options.memory_limit = memory_limit;
    CHECK(hr_context_create(&options, &context) == HR_OK);
    return context;
}

#pragma weak __lsan_do_leak_check
void __lsan_do_leak_check(void);

/* With AddressSanitizer: look for leaks here, not when the program exits, as
 * then threads of other libraries end, at which its runtime may fault. */
static void find_leaks(void)
{
    if (__lsan_do_leak_check != NULL) {
        fflush(stdout);
        __lsan_do_leak_check();
    }
}

int test_end(void)
{
    const char *only = getenv("TEST");
    if (test_state.skipped) {
        return test_skip(hr_last_error());
    }
    if (test_listing()) {
        return 0;
    }
    if (only != NULL && !test_state.found) {
        printf("no case is called %s; TEST=list prints them\n", only);
        return 1;
    }
    printf("%ld checks, %ld failures\n", test_state.checks,
           test_state.failures);
    find_leaks();
    return test_state.checks == 0 || test_state.failures > 0;
}

int test_skip(const char *why)
{
    fprintf(test_listing() ? stderr : stdout, "skip: %s\n", why);
    return 77;
}
