/* SPDX-License-Identifier: MIT */
/* Tests that need a process of their own, as what they do cannot be undone. */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Run the function in a child, which is ended when it hangs. Returns what the
 * function returns, 1 when one of its checks failed, and 99 when the child did
 * not end by itself. Nothing of the library may have been used before. */
static inline int test_in_child(int (*function)(void))
{
    enum { SECONDS = 240, BROKEN = 99 };
    int how = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        test_state.failures = 0;
        const int status = function();
        exit(test_state.failures > 0 ? 1 : status);
    }
    if (child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how)) {
        return WEXITSTATUS(how);
    }
    fprintf(stderr, "[%s] the child did not end by itself: signal %d\n",
            test_state.name, WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    return BROKEN;
}

#endif
