/* SPDX-License-Identifier: MIT */
/* Calls of the library: opening the context of a subcommand by the options that
 * all subcommands have, and reporting a call that failed. */
#ifndef CONSOLE_CONTEXT_H
#define CONSOLE_CONTEXT_H

#include <headrace/headrace.h>

#include "args.h"

/* What the options of a subcommand say of its context. 0 and NULL mean the
 * defaults. */
typedef struct cli_machine {
    const char *accelerators;
    uint64_t memory_limit;
    int64_t threads;
    const char *trace; /* the file of a timeline */
} cli_machine;

/* The help of the option for `threads`, whose kind is cli_threads. */
#define CLI_THREADS_HELP                                                       \
    "how many threads work on the host\n"                                      \
    "(HEADRACE_THREADS, else the CPUs that may be used)"

#define CLI_TRACE_HELP                                                         \
    "write a timeline for Perfetto: what each queue did when\n"                \
    "(HEADRACE_TRACE)"

/* What the machine says of a context. */
hr_context_options cli_context_options(const cli_machine *machine);

/* Create the context. A malformed list is a wrong command line. A list of
 * accelerators that do not exist is a failure. may_be_empty: that no
 * accelerator can be used is no failure; the context then has none, and tells
 * why. Returns an exit status. */
int cli_context(const cli_command *command, const cli_machine *machine,
                bool may_be_empty, hr_context **context);

/* End the timeline, which may fail to be written, and destroy the context. NULL
 * is accepted. Returns `status`, or CLI_FAILED. */
int cli_context_end(const cli_machine *machine, hr_context *context,
                    int status);

/* Print why a call of the library failed, or "cancelled" after a signal.
 * Returns CLI_FAILED. */
int cli_failed_call(void);

/* The exit status of a call. A failure is reported. */
int cli_called(hr_status status);

#endif
