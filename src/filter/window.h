/* SPDX-License-Identifier: MIT */
/* Windows, and what they are made of. */
#ifndef HRI_FILTER_WINDOW_H
#define HRI_FILTER_WINDOW_H

#include <pthread.h>

#include <headrace/filter.h>

/* w(i, j) = 2^exponent times the sum over k < rank of down[k][i] across[k][j],
 * i and j from 0 to extent - 1, but for error * sum |w| in all. */
typedef struct hri_factors {
    int64_t extent, rank; /* extent: 2 reach + 1 */
    int exponent;
    double *down, *across;
    double error;
} hri_factors;

/* Factors that were asked for last. */
typedef struct hri_cached_factors {
    pthread_mutex_t lock;
    double tolerance; /* that they were asked for with, */
    int64_t most;     /* as well as this; */
    int64_t spanned;  /* where these are fewer, any number above them */
    hri_factors factors;
} hri_cached_factors;

struct hr_window {
    int64_t reach;
    hri_cached_factors *kept;
    double values[]; /* [2 reach + 1][2 reach + 1] */
};

/* The fewest factors whose error is within tolerance; when rounding, or `most`,
 * of which there may be no more, does not let any be, as many as bring it down.
 * *factors is to be freed in any case. Asked again they are there at once. Any
 * thread. */
hr_status hri_factors_find(const hr_window *window, double tolerance,
                           int64_t most, hri_factors *factors);
void hri_factors_free(hri_factors *factors);

#endif
