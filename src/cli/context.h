/* SPDX-License-Identifier: MIT */
/* The context of a subcommand, from the options that all of them have. */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include <headrace/headrace.h>

#include "args.h"

/* Create it. accelerators may be NULL, memory_limit 0: the defaults. A list
 * that is malformed is a wrong command line, one that names what is not there
 * is work that failed. Returns an exit status. */
int cli_context(const cli_command *command, const char *accelerators,
                uint64_t memory_limit, hr_context **context);

/* The same, but that none of all accelerators can be used is no failure: the
 * context then has none, and tells why. */
int cli_context_to_look(const cli_command *command, const char *accelerators,
                        uint64_t memory_limit, hr_context **context);

#endif
