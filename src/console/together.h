/* SPDX-License-Identifier: MIT */
/* Multiplying files into a file in several processes. */
#ifndef CONSOLE_TOGETHER_H
#define CONSOLE_TOGETHER_H

#include "context.h"
#include "product.h"

/* Multiply as cli_multiply does, over all processes. Process 0 alone prints
 * what came of it, or what failed in the first process where something did.
 * Returns the same exit status in all. */
int cli_multiply_together(const cli_command *command,
                          const cli_machine *machine,
                          const cli_product *product, bool json);

#endif
