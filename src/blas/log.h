/* SPDX-License-Identifier: MIT */
/* What HEADRACE_LOG asks for: "calls", "summary", "file=PATH", with commas
 * between them; "1" is both, on the standard error. */
#ifndef BLAS_LOG_H
#define BLAS_LOG_H

#include "blas/call.h"

/* What became of a call. */
typedef enum blas_fate {
    BLAS_STAYED,      /* with the caller's own BLAS, after a look */
    BLAS_ACCELERATED, /* on accelerators */
    BLAS_FELL_BACK    /* to the caller's own, since that failed */
} blas_fate;

bool blas_logs(void);

/* In a child, right after the fork. */
void blas_log_renew(void);

/* A call that was looked at. Any thread. */
void blas_log_call(const blas_call *call, blas_fate fate, double seconds,
                   const blas_verdict *verdict);

/* A line that is of no call. */
void blas_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
