/* SPDX-License-Identifier: MIT */
/* The subcommands. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "args.h"

extern const cli_command cli_devices, cli_generate, cli_matmul, cli_filter,
    cli_bench_command;

/* The hidden one that bench starts: it multiplies with OpenBLAS, on request.
 * Returns an exit status. */
int cli_bench_peer(void);

#endif
