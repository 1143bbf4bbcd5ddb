/* SPDX-License-Identifier: MIT */
/* The context that calls share, which lives as long as the process. */
#ifndef BLAS_ENGINE_H
#define BLAS_ENGINE_H

#include "blas/call.h"

/* Begin to open it, on a thread of its own. Any thread. */
void blas_engine_begin(void);

/* While it is being opened, which takes processors from calls. Any thread. */
bool blas_engine_is_opening(void);

/* The context; NULL while it is not open, or cannot be. wait: until that is
 * known, or ten seconds. A process that was forked from one that had begun has
 * none: threads and drivers do not come along. Any thread. */
hr_context *blas_engine(bool wait);

/* Carry out a call that keeps the rules and whose C has elements. NULL, or why
 * it failed; then C is as it was before. */
const char *blas_engine_run(hr_context *context, const blas_call *call);

/* op(A), op(B) and C as they are; part of C is all of it. */
typedef struct blas_operands {
    hr_matrix a, b, c;
} blas_operands;

blas_operands blas_operands_of(const blas_call *call);

#endif
