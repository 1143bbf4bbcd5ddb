/* SPDX-License-Identifier: MIT */
#include "context.h"

#include <string.h>

#include "base/environment.h"
#include "loop.h"
#include "signals.h"

int cli_failed_call(void)
{
    return cli_check_cancelled() != CLI_OK ? CLI_FAILED
                                           : cli_fail("%s", hr_last_error());
}

int cli_called(hr_status status)
{
    return status == HR_OK ? CLI_OK : cli_failed_call();
}

hr_context_options cli_context_options(const cli_machine *machine)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = machine->accelerators;
    options.memory_limit = machine->memory_limit;
    options.threads = (uint32_t)machine->threads;
    return options;
}

int cli_context(const cli_command *command, const cli_machine *machine,
                bool may_be_empty, hr_context **context)
{
    static const char list[] = "accelerators, "; /* begins what it lacks */
    hr_context_options options = cli_context_options(machine);
    options.may_be_empty = may_be_empty;
    hr_status status = hr_context_create(&options, context);
    cli_signals_install();
    if (status == HR_OK) {
        cli_loop_threads(hr_thread_count(*context));
        status = machine->trace != NULL
                     ? hr_context_trace(*context, machine->trace)
                     : HR_OK;
    }
    if (status == HR_ERROR_INVALID &&
        strncmp(hr_last_error(), list, sizeof list - 1) == 0) {
        return cli_wrong(command, "--%s", hr_last_error());
    }
    return status == HR_OK ? CLI_OK : cli_fail("%s", hr_last_error());
}

int cli_context_end(const cli_machine *machine, hr_context *context, int status)
{
    const char *wished = hri_environment("HEADRACE_TRACE");
    const bool traced =
        machine->trace != NULL || (wished != NULL && *wished != '\0');
    if (context != NULL && traced && status == CLI_OK) {
        status = cli_called(hr_context_trace(context, NULL));
    }
    hr_context_destroy(context);
    return status;
}
