/* SPDX-License-Identifier: MIT */
/* The command, at certain moments of its work: then `sh -c "$DO" MOMENT` runs,
 * in which $0 is the moment and $PPID the command, and the command waits for
 * it. So what a test does then is done at that moment, however quick the work
 * is.
 *
 *     generating              a file of random numbers is there, without them
 *     planning                a product is about to be planned
 *     multiplying, filtering, verifying
 *                             progress is told, at least once
 *     reading, writing        standard input or output has to be waited for
 *
 * With CLOCK in the environment the command's clock goes on by so many seconds
 * whenever it is looked at. No accelerator is late, however busy the machine,
 * so that bytes are as planned. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "console/loop.h"
#include "console/random.h"
#include "console/text.h"
#include "runtime/runtime.h"

extern char **environ;

enum { FILES = 256 /* open ones have lower numbers */ };

/* The linker gives the command's calls of `name` to __wrap_name. */
bool __real_cli_progress_told(void *progress, double done, double total);
bool __wrap_cli_progress_told(void *progress, double done, double total);
bool __real_cli_random_fill(hr_matrix m, uint64_t seed, cli_progress *progress);
bool __wrap_cli_random_fill(hr_matrix m, uint64_t seed, cli_progress *progress);
typedef hr_status plan_function(hr_context *, hr_scalar, hr_matrix, hr_matrix,
                                hr_scalar, hr_matrix, const hr_gemm_options *,
                                hr_gemm_report *);
plan_function __real_hr_gemm_plan, __wrap_hr_gemm_plan;
hr_status __real_hr_context_create(const hr_context_options *options,
                                   hr_context **context);
hr_status __wrap_hr_context_create(const hr_context_options *options,
                                   hr_context **context);
int __real_poll(struct pollfd *files, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *files, nfds_t count, int timeout);
double __real_cli_clock(void);
double __wrap_cli_clock(void);

/* What runs in the background may ignore SIGINT, and so would the command. */
__attribute__((constructor)) static void heed_signals(void)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
}

static void come_to(const char *moment)
{
    const char *commands = getenv("DO");
    if (commands == NULL) {
        return;
    }
    char *const arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)commands,
                               (char *)moment, NULL};
    for (int file = 3; file < FILES; file++) { /* of MPI: it would seem alive */
        (void)fcntl(file, F_SETFD, FD_CLOEXEC);
    }
    pid_t child;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) != 0) {
        perror("moments");
        abort();
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) { /* of its signal */
    }
}

bool __wrap_cli_progress_told(void *progress, double done, double total)
{
    come_to(((const cli_progress *)progress)->what);
    return __real_cli_progress_told(progress, done, total);
}

bool __wrap_cli_random_fill(hr_matrix m, uint64_t seed, cli_progress *progress)
{
    come_to("generating");
    return __real_cli_random_fill(m, seed, progress);
}

hr_status __wrap_hr_gemm_plan(hr_context *context, hr_scalar alpha, hr_matrix a,
                              hr_matrix b, hr_scalar beta, hr_matrix c,
                              const hr_gemm_options *options,
                              hr_gemm_report *report)
{
    come_to("planning");
    return __real_hr_gemm_plan(context, alpha, a, b, beta, c, options, report);
}

hr_status __wrap_hr_context_create(const hr_context_options *options,
                                   hr_context **context)
{
    const hr_status status = __real_hr_context_create(options, context);
    if (status == HR_OK) {
        (*context)->patience = 1e9;
    }
    return status;
}

int __wrap_poll(struct pollfd *files, nfds_t count, int timeout)
{
    come_to(files->events == POLLIN ? "reading" : "writing");
    return __real_poll(files, count, timeout);
}

double __wrap_cli_clock(void)
{
    static double now = 1.0;
    const char *step = getenv("CLOCK");
    return step == NULL ? __real_cli_clock() : (now += strtod(step, NULL));
}
