/* SPDX-License-Identifier: MIT */
/* The command in several processes of MPI. The library for that is found at run
 * time. */
#ifndef CONSOLE_PROCESSES_H
#define CONSOLE_PROCESSES_H

#include "context.h"
#include "product.h"

/* What the program that started this one says: process `rank` of `count`. Alone
 * it is 0 of 1. */
typedef struct cli_launch {
    int rank, count;
} cli_launch;

cli_launch cli_launched(void);

/* Multiply as cli_multiply does, over all processes. Process 0 alone prints
 * what came of it, or what failed in the first process where something did.
 * Returns the same exit status in all. */
int cli_multiply_together(const cli_command *command,
                          const cli_machine *machine,
                          const cli_product *product, bool json);

#endif
