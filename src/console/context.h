/* SPDX-License-Identifier: MIT */
/* Calls of the library: opening the context of a subcommand by the options that
 * all subcommands have, and reporting a call that failed. */
#ifndef CONSOLE_CONTEXT_H
#define CONSOLE_CONTEXT_H

#include <headrace/headrace.h>

#include "args.h"

/* Create the context. accelerators NULL and memory_limit 0 mean the defaults. A
 * malformed list is a wrong command line. A list of accelerators that do not
 * exist is a failure. may_be_empty: that no accelerator can be used is no
 * failure; the context then has none, and tells why. Returns an exit status. */
int cli_context(const cli_command *command, const char *accelerators,
                uint64_t memory_limit, bool may_be_empty, hr_context **context);

/* Print why a call of the library failed, or "cancelled" after a signal.
 * Returns CLI_FAILED. */
int cli_failed_call(void);

/* The exit status of a call. A failure is reported. */
int cli_called(hr_status status);

#endif
