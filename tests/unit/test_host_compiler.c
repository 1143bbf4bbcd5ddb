/* SPDX-License-Identifier: MIT */
/* The C compiler that compiles kernels of text for the host: which one it is,
 * how often it is called, and what is left behind. A script in its place notes
 * each call. Each case is a process of its own. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/host/compiler.h"
#include "base/clock.h"
#include "base/program.h"
#include "support/files.h"
#include "test.h"

enum { N = 1000, PROCESSES = 4 };

/* Folders: of compilers, of files while one is called, and of the cache. */
static char tools[64], temporary[64], cache[64];
static char compiler[96], calls[96], real[PATH_MAX];
static char modules[96], kept[PATH_MAX];

static const char text[] = "HR_KERNEL2(twice, (IN, float, 1, x),\n"
                           "           (OUT, float, 1, y))\n"
                           "{\n"
                           "    HR_EACH1(i)\n"
                           "    {\n"
                           "        HR_AT1(y, i) = 2 * HR_AT1(x, i);\n"
                           "    }\n"
                           "}\n";

/* Let the compiler be a script that notes its call and then does this. */
static void use_script(const char *then)
{
    char script[PATH_MAX + 400];
    snprintf(script, sizeof script, "#!/bin/sh\necho call >>%s\n%s\n", calls,
             then);
    CHECK(files_write(compiler, script, strlen(script)));
    CHECK(chmod(compiler, 0700) == 0);
    CHECK(setenv("HEADRACE_CC", compiler, 1) == 0);
    unlink(calls);
}

static void use_real(void)
{
    char then[PATH_MAX + 40];
    snprintf(then, sizeof then, "exec %s \"$@\"", real);
    use_script(then);
}

static int count_calls(void)
{
    size_t bytes = 0;
    free(files_read(calls, &bytes));
    return (int)(bytes / strlen("call\n"));
}

static hr_status launch_on_each(hr_context *context)
{
    const hr_kernel *kernel = NULL;
    float x[N], y[N];
    HRI_TRY(hr_kernel_create(context, text, "twice", "twice.c", &kernel));
    for (uint32_t a = 0; a < hr_accelerator_count(context); a++) {
        hr_split_options one = HR_SPLIT_OPTIONS_INIT;
        one.accelerators = &a;
        one.accelerator_count = 1;
        for (int i = 0; i < N; i++) {
            x[i] = (float)i;
            y[i] = -1.0f;
        }
        HRI_TRY(hr_run(context, kernel, hr_extent1(N),
                       HR_ARGUMENTS(hr_in(x, N), hr_out(y, N)), &one));
        for (int i = 0; i < N; i++) {
            if (y[i] != 2.0f * (float)i) {
                return HR_ERROR_MISMATCH;
            }
        }
    }
    return HR_OK;
}

/* Launch the kernel on all accelerators of a set. */
static hr_status launch_on(const char *set)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = set;
    HRI_TRY(hr_context_create(&options, &context));
    const hr_status status = launch_on_each(context);
    hr_context_destroy(context);
    return status;
}

static int count_failures(void)
{
    CHECK(files_count(temporary, NULL, 0) == 0); /* nothing is left */
    return test_state.failures < 99 ? (int)test_state.failures : 99;
}

/* ---- which compiler */

static int no_compiler_is_there(int number)
{
    (void)number;
    TEST_CASE("no compiler");
    setenv("HEADRACE_CC", "off", 1);
    CHECK_FAILS(launch_on("host"), HR_ERROR_UNSUPPORTED,
                "host: the kernel twice is known as text alone, and "
                "HEADRACE_CC is off; install a C compiler, or name one in "
                "HEADRACE_CC");
    setenv("HEADRACE_CC", "/nowhere/cc", 1);
    CHECK_FAILS(launch_on("3xhost"), HR_ERROR_UNSUPPORTED,
                "HEADRACE_CC names no program: /nowhere/cc");
    setenv("HEADRACE_CC", tools, 1);
    CHECK_FAILS(launch_on("host"), HR_ERROR_UNSUPPORTED, "names no program");
    unsetenv("HEADRACE_CC");
    setenv("PATH", "/nowhere::.:relative", 1);
    CHECK_FAILS(launch_on("host"), HR_ERROR_UNSUPPORTED,
                "there is no cc, gcc or clang in PATH");
    unsetenv("PATH");
    CHECK_FAILS(launch_on("host"), HR_ERROR_UNSUPPORTED, "in PATH");
    return count_failures();
}

static int compiler_is_named(int number)
{
    (void)number;
    TEST_CASE("a compiler by its name in PATH");
    char path[4096];
    use_real();
    snprintf(path, sizeof path, "%s:%s", tools, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("HEADRACE_CC", "compiler", 1);
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    unsetenv("HEADRACE_CC");
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    return count_failures();
}

/* ---- compilers that fail */

static int compilers_fail(int number)
{
    static const struct {
        const char *script;
        hr_status status;
        const char *words;
    } bad[] = {
        {"echo 'twice.c:5:3: error: no such luck' >&2; exit 1", HR_ERROR_BUILD,
         ": twice.c:5:3: error: no such luck"},
        {"echo out of order; exit 3", HR_ERROR_BUILD, ": out of order"},
        {"exit 1", HR_ERROR_BUILD, "host: twice of twice.c did not compile ("},
        {"kill -9 $$", HR_ERROR_BUILD, "did not compile ("},
        {"exit 0", HR_ERROR_BACKEND, "host: twice cannot be loaded: "},
        {"while [ \"$1\" != -o ]; do shift; done; echo no code >\"$2\"",
         HR_ERROR_BACKEND, "host: twice cannot be loaded: "},
        {"while [ \"$1\" != -o ]; do shift; done; "
         "echo 'int x;' | CC -x c - -shared -fPIC -o \"$2\"",
         HR_ERROR_BUILD, "the kernel twice is not in what was compiled of"},
    };
    (void)number;
    TEST_CASE("compilers that fail");
    setenv("HEADRACE_CACHE", cache, 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char script[PATH_MAX + 200], *cc;
        snprintf(script, sizeof script, "%s", bad[i].script);
        if ((cc = strstr(script, "CC")) != NULL) {
            snprintf(cc, sizeof script - (size_t)(cc - script), "%s%s", real,
                     strstr(bad[i].script, "CC") + 2);
        }
        use_script(script);
        CHECK_FAILS(launch_on("host"), bad[i].status, bad[i].words);
        CHECK(count_calls() == 1 && files_count(modules, NULL, 0) == 0);
    }
    CHECK(files_write(compiler, "no program", 10)); /* but executable */
    CHECK_FAILS(launch_on("host"), HR_ERROR_UNAVAILABLE, "does not start: ");
    setenv("TMPDIR", "/nowhere", 1);
    use_real();
    CHECK_FAILS(launch_on("host"), HR_ERROR_UNAVAILABLE,
                "host: no folder for compiling can be made in /nowhere");
    CHECK(count_calls() == 0);
    return count_failures();
}

/* Time for programs is over once this file has a line. NULL: it goes on. */
static const char *ends_with;
static atomic_bool over;

uint64_t __real_hri_clock_ns(void);
uint64_t __wrap_hri_clock_ns(void);
void __real_hri_sleep_ns(uint64_t ns);
void __wrap_hri_sleep_ns(uint64_t ns);

uint64_t __wrap_hri_clock_ns(void)
{
    return __real_hri_clock_ns() + (over ? UINT64_C(1) << 62 : 0);
}

void __wrap_hri_sleep_ns(uint64_t ns)
{
    size_t bytes = 0;
    char *lines = ends_with != NULL ? files_read(ends_with, &bytes) : NULL;
    over = lines != NULL && memchr(lines, '\n', bytes) != NULL;
    free(lines);
    __real_hri_sleep_ns(ns);
}

static bool process_lives(int process)
{
    char path[64];
    size_t bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    char *state = files_read(path, &bytes);
    const bool does = state != NULL && strstr(state, ") Z ") == NULL;
    free(state);
    return does;
}

/* What hangs is ended with what it has started. */
static int compiler_hangs(int number)
{
    char output[96], script[200];
    size_t bytes = 0;
    int code = 0;
    (void)number;
    TEST_CASE("a compiler that hangs");
    snprintf(output, sizeof output, "%s/output", temporary);
    snprintf(script, sizeof script, "sleep 1000 & echo $!; wait");
    use_script(script);
    const char *const arguments[] = {compiler, NULL};
    ends_with = output;
    CHECK_FAILS(hri_program_run(arguments, output, 1000, &code),
                HR_ERROR_BACKEND,
                "had not ended after 1000 seconds and was killed");
    ends_with = NULL;
    over = false;
    char *child = files_read(output, &bytes);
    const int started = child != NULL ? atoi(child) : 0;
    CHECK(started > 0);
    while (process_lives(started)) {
        sched_yield();
    }
    free(child);
    unlink(output);
    return count_failures();
}

/* ---- the process around it */

static int sigchld_is_ignored(int number)
{
    (void)number;
    TEST_CASE("SIGCHLD is ignored");
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    use_real();
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    use_script("echo twice.c:1: error: no >&2; exit 1");
    CHECK_FAILS(launch_on("host"), HR_ERROR_BUILD, "twice.c:1: error: no");
    return count_failures();
}

static int no_input(int number)
{
    char then[PATH_MAX + 80];
    (void)number;
    TEST_CASE("standard input is empty, and messages are in English");
    snprintf(then, sizeof then,
             "read line && exit 9\n[ \"$LC_ALL\" = C ] || exit 8\n"
             "exec %s \"$@\"",
             real);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    use_script(then);
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    return count_failures();
}

static void *in_thread(void *status)
{
    *(hr_status *)status = launch_on("host");
    return NULL;
}

static int at_once(int number)
{
    pthread_t threads[PROCESSES];
    hr_status status[PROCESSES];
    (void)number;
    TEST_CASE("several threads compile at once");
    use_real();
    for (int i = 0; i < PROCESSES; i++) {
        CHECK(pthread_create(&threads[i], NULL, in_thread, &status[i]) == 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        pthread_join(threads[i], NULL);
        CHECK(status[i] == HR_OK);
    }
    CHECK(count_calls() == PROCESSES);
    return count_failures();
}

/* ---- the cache */

static void find_kept(void)
{
    CHECK(files_count(modules, kept, sizeof kept) == 1);
}

static int code_is_cached(int number)
{
    (void)number;
    TEST_CASE("a text is compiled once");
    use_real();
    setenv("HEADRACE_CACHE", cache, 1);
    CHECK(launch_on("3xhost") == HR_OK && count_calls() == 1);
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    find_kept();
    return count_failures();
}

static int second_process(int number)
{
    (void)number;
    TEST_CASE("and not by another process");
    setenv("HEADRACE_CACHE", cache, 1);
    setenv("HEADRACE_CC", compiler, 1);
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    TEST_CASE("a compiler that has changed compiles anew");
    use_script("echo other >&2; exit 1");
    CHECK_FAILS(launch_on("host"), HR_ERROR_BUILD, "other");
    return count_failures();
}

/* Change the file, and let others write to it. */
static int damaged_code_is_mended(int number)
{
    (void)number;
    TEST_CASE("files that are damaged, or that others may write");
    use_real();
    setenv("HEADRACE_CACHE", cache, 1);
    CHECK(launch_on("host") == HR_OK && count_calls() == 1);
    find_kept();
    size_t bytes = 0;
    char *whole = files_read(kept, &bytes);
    CHECK(whole != NULL && bytes > 1000);
    for (size_t at = 0; whole != NULL && at < bytes; at += bytes / 5) {
        const int before = count_calls();
        whole[at] ^= 1;
        CHECK(files_write(kept, whole, bytes));
        CHECK(launch_on("host") == HR_OK && count_calls() == before + 1);
        whole[at] ^= 1;
    }
    const int before = count_calls();
    CHECK(files_write(kept, whole, bytes / 2));
    CHECK(launch_on("host") == HR_OK && count_calls() == before + 1);
    CHECK(launch_on("host") == HR_OK && count_calls() == before + 1);
    CHECK(chmod(kept, 0666) == 0);
    CHECK(launch_on("host") == HR_OK && count_calls() == before + 2);
    CHECK(launch_on("host") == HR_OK && count_calls() == before + 2);
    find_kept();
    free(whole);
    return count_failures();
}

static int without_cache(int number)
{
    static const char *const names[] = {"", "/dev/null/x", "/proc/x"};
    (void)number;
    TEST_CASE("without a folder everything is compiled");
    use_real();
    for (int i = 0; i < 3; i++) {
        CHECK(setenv("HEADRACE_CACHE", names[i], 1) == 0);
        CHECK(launch_on("host") == HR_OK && count_calls() == i + 1);
    }
    return count_failures();
}

static int one_of_many(int number)
{
    (void)number;
    TEST_CASE("several processes at once");
    setenv("HEADRACE_CACHE", cache, 1);
    setenv("HEADRACE_CC", real, 1);
    CHECK(launch_on("host") == HR_OK);
    return (int)test_state.failures; /* others have files there */
}

static int after_many(int number)
{
    (void)number;
    setenv("HEADRACE_CACHE", cache, 1);
    find_kept();
    return count_failures();
}

/* The case in processes of its own. */
static void run_in_children(int processes, int (*function)(int number))
{
    CHECK(files_in_children(processes, function) == 0);
}

/* The same, with an empty cache. */
static void run_in_child(int (*function)(int number))
{
    files_remove_folder(cache);
    files_make_folder(cache, sizeof cache);
    snprintf(modules, sizeof modules, "%s/modules", cache);
    run_in_children(1, function);
}

int main(void)
{
    host_compiler found;
    if (hri_host_compiler_find(&found) != HR_OK) {
        return test_skip(hr_last_error());
    }
    snprintf(real, sizeof real, "%s", found.path);
    files_make_folder(tools, sizeof tools);
    files_make_folder(temporary, sizeof temporary);
    files_make_folder(cache, sizeof cache);
    snprintf(compiler, sizeof compiler, "%s/compiler", tools);
    snprintf(calls, sizeof calls, "%s/calls", tools);
    setenv("TMPDIR", temporary, 1);
    setenv("HEADRACE_CACHE", "", 1);
    TEST(run_in_child(no_compiler_is_there));
    TEST(run_in_child(compiler_is_named));
    TEST(run_in_child(compilers_fail));
    TEST(run_in_child(compiler_hangs));
    TEST(run_in_child(sigchld_is_ignored));
    TEST(run_in_child(no_input));
    TEST(run_in_child(at_once));
    TEST(run_in_child(code_is_cached));
    TEST(run_in_children(1, second_process));
    TEST(run_in_child(damaged_code_is_mended));
    TEST(run_in_child(without_cache));
    TEST(run_in_children(PROCESSES, one_of_many));
    TEST(run_in_children(1, after_many));
    files_remove_folder(tools);
    files_remove_folder(temporary);
    files_remove_folder(cache);
    return test_end();
}
