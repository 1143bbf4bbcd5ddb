/* SPDX-License-Identifier: MIT */
/* Calls of the library: the context of a subcommand, from the options that all
 * of them have, and what to say of a call that failed. */
#ifndef CONSOLE_CONTEXT_H
#define CONSOLE_CONTEXT_H

#include <headrace/headrace.h>

#include "args.h"

/* Create it. accelerators may be NULL, memory_limit 0: the defaults. A list
 * that is malformed is a wrong command line, one that names what is not there
 * is work that failed. That none of all accelerators can be used is no failure
 * when it may be empty: the context then has none, and tells why. Returns an
 * exit status. */
int cli_context(const cli_command *command, const char *accelerators,
                uint64_t memory_limit, bool may_be_empty, hr_context **context);

/* Say why a call of the library failed; "cancelled" if that is what a signal
 * asked for. Returns CLI_FAILED. */
int cli_failed_call(void);

/* The exit status of a call, which has been told of when it failed. */
int cli_called(hr_status status);

#endif
