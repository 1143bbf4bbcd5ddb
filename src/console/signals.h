/* SPDX-License-Identifier: MIT */
/* What happens when the program is told to stop, or a mapped file becomes
 * unreadable: temporary files are removed, one message is printed, and the exit
 * status is 1. */
#ifndef CONSOLE_SIGNALS_H
#define CONSOLE_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

/* What SIGINT, SIGTERM, SIGHUP and SIGQUIT do. */
typedef enum cli_phase {
    CLI_AT_ONCE,   /* the handler removes the temporary files and exits */
    CLI_POLLED,    /* the work asks cli_cancelled and ends by itself; after a
                      short while, or at the second signal, the handler does as
                      above */
    CLI_HELD,      /* the signal is only noted: a temporary file is being made,
                      and its name is not known yet; or standard output has the
                      result */
    CLI_COMMITTING /* as CLI_AT_ONCE while the temporary file exists; nothing
                      once it has become the result */
} cli_phase;

/* Install the handlers. Called once, before anything else runs. */
void cli_signals_init(void);

/* Do not say "cancelled": another process does. */
void cli_signals_say_nothing(void);

/* Install them again. Loading a vendor library may have replaced them (LLVM
 * inside an OpenCL driver does). */
void cli_signals_install(void);

/* Enter a phase. The first one is CLI_AT_ONCE. */
void cli_signals_phase(cli_phase phase);

/* Whether a signal has asked the program to stop. Any thread. */
bool cli_cancelled(void);

/* After a signal print "cancelled" and return CLI_FAILED. Otherwise CLI_OK. */
int cli_check_cancelled(void);

/* Remove path if the program must stop. It is a file, or a folder that will be
 * empty then: the path remembered last is removed first. False when there are
 * too many paths, or this one is too long. One thread. */
bool cli_remember(const char *path);

/* Forget the path remembered last: it is gone, or has become a result. */
void cli_forget(void);

/* Guard the bytes of a mapped file: if touching them raises SIGBUS, the message
 * names path. Up to eight files can be guarded. Errors in
 * others look like bugs. One thread. */
void cli_guard(const char *path, const void *start, size_t bytes, bool output);

/* Forget all mapped files. */
void cli_unguard(void);

#endif
