/* SPDX-License-Identifier: MIT */
#include "context.h"

#include <string.h>

#include "signals.h"

static int create(const cli_command *command, const hr_context_options *options,
                  hr_context **context)
{
    hr_status status = hr_context_create(options, context);
    cli_signals_install();
    if (status == HR_OK) {
        return CLI_OK;
    }
    if (status == HR_ERROR_INVALID && options->accelerators != NULL &&
        strncmp(hr_last_error(), "HEADRACE_", 9) != 0) {
        return cli_wrong(command, "--accelerators: %s", hr_last_error());
    }
    return cli_fail("%s", hr_last_error());
}

int cli_context(const cli_command *command, const char *accelerators,
                uint64_t memory_limit, hr_context **context)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    options.memory_limit = memory_limit;
    return create(command, &options, context);
}

int cli_context_to_look(const cli_command *command, const char *accelerators,
                        uint64_t memory_limit, hr_context **context)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    options.memory_limit = memory_limit;
    options.may_be_empty = true;
    return create(command, &options, context);
}
