/* SPDX-License-Identifier: MIT */
/* Tests that need a process of their own, as what they do cannot be undone. */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Wait for a child. Returns its exit status, or 99 when it did not end by
 * itself. */
static inline int test_end_child(pid_t child)
{
    enum { BROKEN = 99 };
    int how = 0;
    if (child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how)) {
        return WEXITSTATUS(how);
    }
    fprintf(stderr, "[%s] the child did not end by itself: signal %d\n",
            test_state.name, WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    return BROKEN;
}

/* Run the function in a child. Nothing of the library may have been used
 * before. Returns what the function returns, 1 when one of its checks failed,
 * and 99 when the child did not end by itself. */
static inline int test_in_child(int (*function)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        test_state.failures = 0;
        const int status = function();
        exit(test_state.failures > 0 ? 1 : status);
    }
    return test_end_child(child);
}

/* Whether the function returns true in a child that then ends at once: without
 * what runs at exit, and whichever threads the parent has. */
static inline bool test_is_true_in_child(bool (*function)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        _exit(function() ? 0 : 1);
    }
    return test_end_child(child) == 0;
}

#endif
