/* SPDX-License-Identifier: MIT */
/* Checking filters on samples, in double. */
#ifndef CONSOLE_FILTER_CHECK_H
#define CONSOLE_FILTER_CHECK_H

#include <headrace/headrace.h>

/* The arguments of hr_filter. */
typedef struct cli_filtered {
    const hr_window *window;
    double scale, constant;
    hr_edges edges;
    hr_matrix in, out;
} cli_filtered;

typedef struct cli_filter_error {
    int64_t samples;  /* elements looked at */
    int64_t compared; /* of these; the others are not finite, as they may be */
    double error;     /* the largest error over the largest exact element */
} cli_filter_error;

/* Compare elements of out, chosen at random, with sums in double. Each may be
 * off by as much as rounding and the report's window error explain. One case
 * cannot be decided: transforms may turn finite elements into infinity or NaN
 * because of another element of their block. Returns an exit status, and prints
 * which element is wrong. *error is complete when none is. */
int cli_filter_check(const cli_filtered *filtered,
                     const hr_filter_report *report, cli_filter_error *error);

/* An element of a matrix of f32 or f64. */
double cli_filter_element(const hr_matrix *m, int64_t row, int64_t col);

#endif
