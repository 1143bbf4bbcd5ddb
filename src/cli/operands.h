/* SPDX-License-Identifier: MIT */
/* Random matrices in memory, to be multiplied by bench. */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include <stdbool.h>

#include <headrace/headrace.h>

/* What is wanted. */
typedef struct cli_operands_wish {
    hr_type type, c_type;
    int64_t m, n, k;
    hr_context *pinned; /* in memory that it page-locks; NULL: ordinary */
} cli_operands_wish;

typedef struct cli_operands {
    hr_matrix a, b, c; /* row-major and packed; data is this struct's own */
    hr_context *pinned;
} cli_operands;

/* False when out of memory, or cancelled. */
bool cli_operands_create(cli_operands *operands, const cli_operands_wish *wish);

/* Other numbers into C, so that no result of before is taken for the next one.
 * False when cancelled. */
bool cli_operands_spoil(cli_operands *operands);

/* May be called for a zeroed struct. The context in question is still there. */
void cli_operands_free(cli_operands *operands);

#endif
