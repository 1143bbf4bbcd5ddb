/* SPDX-License-Identifier: MIT */
/* The checker's handler of SIGSEGV. A fault that is no use of mapped memory
 * ends a program, or does not, as without the checker. Each case runs in a
 * process of its own. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <headrace/headrace.h>

#include "test.h"

enum { RETURNED = 3, CAME_BACK = 4, FAILED = 5 };

static volatile int *nothing; /* memory that may not be accessed */
static jmp_buf jump;

static void return_once(int signal)
{
    static volatile int calls;
    (void)signal;
    if (++calls > 1) {
        _exit(CAME_BACK);
    }
}

static void jump_out(int signal)
{
    (void)signal;
    longjmp(jump, 1);
}

static void write_nowhere(void)
{
    *nothing = 1;
}

static void send_by_raise(void)
{
    (void)raise(SIGSEGV);
}

static void send_by_kill(void)
{
    (void)kill(getpid(), SIGSEGV);
}

static void crash_thrice(void)
{
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(jump) == 0) {
            write_nowhere();
        }
    }
}

static const struct {
    const char *name;
    void (*handler)(int);
    int flags;
    void (*act)(void);
    int want; /* a signal, or minus what the process returns */
} ways[] = {
    {"a crash", SIG_DFL, 0, write_nowhere, SIGSEGV},
    {"raise", SIG_DFL, 0, send_by_raise, SIGSEGV},
    {"kill", SIG_DFL, 0, send_by_kill, SIGSEGV},
    {"a crash, ignored", SIG_IGN, 0, write_nowhere, SIGSEGV},
    {"raise, ignored", SIG_IGN, 0, send_by_raise, -RETURNED},
    {"a handler for one crash", return_once, (int)SA_RESETHAND, write_nowhere,
     SIGSEGV},
    {"a handler for every crash", return_once, 0, write_nowhere, -CAME_BACK},
    {"a handler that is not held up", jump_out, SA_NODEFER, crash_thrice,
     -RETURNED},
};

/* Map and unmap, which installs the handler. */
static bool install_handler(void)
{
    static int data[4];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_array *array = NULL;
    hr_mapping m;
    options.accelerators = "host";
    return hr_context_create(&options, &context) == HR_OK &&
           hr_array_wrap(context, data, sizeof data[0], hr_extent1(4), 0,
                         &array) == HR_OK &&
           hr_map(hr_view_of(array), HR_IN, &m) == HR_OK && m.data != data &&
           hr_unmap(&m) == HR_OK;
}

static int end_of_child(size_t way)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_handler = ways[way].handler,
                                   .sa_flags = ways[way].flags};
        (void)sigaction(SIGSEGV, &action, NULL);
        if (!install_handler()) {
            _exit(FAILED);
        }
        ways[way].act();
        _exit(RETURNED);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void end_as_without(void)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        TEST_CASE(ways[i].name);
        int got = end_of_child(i);
        if (!CHECK(got == ways[i].want)) {
            printf("%d, not %d\n", got, ways[i].want);
        }
    }
}

int main(void)
{
    setenv("HEADRACE_CHECK", "1", 1);
    nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((void *)(uintptr_t)nothing != MAP_FAILED);
    TEST(end_as_without());
    return test_end();
}
