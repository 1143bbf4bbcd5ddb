/* SPDX-License-Identifier: MIT */
/* The subcommands. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "console/args.h"

extern const cli_command cli_devices, cli_generate, cli_matmul, cli_filter,
    cli_report, cli_bench;

#endif
