/* SPDX-License-Identifier: MIT */
/* What must happen when the program is told to stop, or the ground under a
 * mapped file goes away: temporary files are removed, one sentence is printed,
 * and the exit status is 1. */
#ifndef CONSOLE_SIGNALS_H
#define CONSOLE_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

/* How SIGINT, SIGTERM, SIGHUP and SIGQUIT are answered. */
typedef enum cli_phase {
    CLI_AT_ONCE,   /* remove the temporaries and exit, right in the handler */
    CLI_POLLED,    /* the work asks cli_cancelled and ends by itself; if it has
                      not done so shortly after, or at the second signal, as
                      above */
    CLI_HELD,      /* only noted: a temporary file without a known name is being
                      made */
    CLI_COMMITTING /* as at once while the temporary file is there; too late
                      when it has become the result */
} cli_phase;

/* Install the handlers; once, before anything else runs. */
void cli_signals_init(void);

/* Install them again: vendor libraries, when they are loaded, may have put
 * their own in their place (LLVM inside an OpenCL driver does). */
void cli_signals_install(void);

/* Enter a phase; it begins with CLI_AT_ONCE. */
void cli_signals_phase(cli_phase phase);

/* Whether a signal has asked the program to stop. Any thread. */
bool cli_cancelled(void);

/* CLI_FAILED when one has, and "cancelled" has been said; else CLI_OK. */
int cli_check_cancelled(void);

/* Remove path (a file, or a folder that will then be empty) if the program must
 * stop, the one remembered last first. False when there are too many or the
 * path is too long. One thread. */
bool cli_remember(const char *path);

/* The last one remembered is gone, or has become a result. */
void cli_forget(void);

/* Bytes of a mapped file: what to say when touching them raises SIGBUS. path
 * must stay. More than eight are not told apart from other faults. One thread.
 */
void cli_guard(const char *path, const void *start, size_t bytes, bool output);

/* No file is mapped any more. */
void cli_unguard(void);

#endif
