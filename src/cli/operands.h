/* SPDX-License-Identifier: MIT */
/* Random matrices in memory, to be multiplied by bench. */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include <stdbool.h>

#include <headrace/headrace.h>

typedef struct cli_operands {
    hr_matrix a, b, c; /* row-major and packed; data is this struct's own */
} cli_operands;

/* C of the type that cli_default_type says. False when out of memory, or
 * cancelled. */
bool cli_operands_create(cli_operands *operands, hr_type type, int64_t m,
                         int64_t n, int64_t k);

/* May be called for a zeroed struct. */
void cli_operands_free(cli_operands *operands);

#endif
