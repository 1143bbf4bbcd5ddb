/* SPDX-License-Identifier: MIT */
/* What libraries that take the place of others tell in HEADRACE_LOG: a line for
 * each call, and a summary at the program's end. Any thread. */
#ifndef BLAS_LOG_H
#define BLAS_LOG_H

#include <stdbool.h>

/* The place that computed a call. */
typedef enum blas_outcome {
    BLAS_STAYED,      /* in the replaced library: faster there */
    BLAS_ACCELERATED, /* here */
    BLAS_FELL_BACK    /* in the replaced library: here it failed */
} blas_outcome;

const char *blas_outcome_name(blas_outcome outcome);

/* Whether anyone reads it. */
bool blas_log_is_wanted(void);

/* One line, if calls are wanted. */
void blas_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line about a setting that does not count, if anyone reads the log. */
void blas_log_setting(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* One call for the summary. */
void blas_log_count(blas_outcome outcome, double seconds, double flops);

/* One call that is too small to be looked at. */
void blas_log_small(void);

/* In a child of fork: nothing has been counted, and nobody has the lock. */
void blas_log_renew(void);

#endif
