/* SPDX-License-Identifier: MIT */
/* Filters on samples, in double. */
#ifndef CONSOLE_FILTER_CHECK_H
#define CONSOLE_FILTER_CHECK_H

#include <headrace/headrace.h>

/* What was asked of hr_filter. */
typedef struct cli_filtered {
    const hr_window *window;
    double scale, constant;
    hr_edges edges;
    hr_matrix in, out;
} cli_filtered;

typedef struct cli_filter_error {
    int64_t samples;  /* elements looked at */
    int64_t compared; /* of them; the others are not finite, and may be so */
    double error;     /* the largest, over the largest exact element */
} cli_filter_error;

/* Compare elements of out, spread over it by chance, with sums in double: each
 * may be off by what rounding and the report's window error explain. Whether
 * one that transforms made of finite elements alone may be infinite or NaN,
 * because another of its block is, cannot be told. Returns an exit status, and
 * says which element is wrong; *error is whole when none is. */
int cli_filter_check(const cli_filtered *filtered,
                     const hr_filter_report *report, cli_filter_error *error);

/* An element of a matrix of f32 or f64. */
double cli_filter_element(const hr_matrix *m, int64_t row, int64_t col);

#endif
