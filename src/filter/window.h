/* SPDX-License-Identifier: MIT */
/* Windows and their factors. */
#ifndef HRI_FILTER_WINDOW_H
#define HRI_FILTER_WINDOW_H

#include <pthread.h>

#include <headrace/filter.h>

/* w(i, j) = 2^exponent times the sum over k < rank of down[k][i] across[k][j],
 * for i and j from 0 to extent - 1. The error is error * sum |w| in all. */
typedef struct hri_factors {
    int64_t extent, rank; /* extent: 2 reach + 1 */
    int exponent;
    double *down, *across;
    double error;
} hri_factors;

/* The factors that were found last, and for which question. */
typedef struct hri_cached_factors {
    pthread_mutex_t lock;
    double tolerance; /* of the question */
    int64_t most;     /* the limit of the question */
    int64_t spanned;  /* columns that span the table; if fewer than the limit,
                         a higher limit gives the same factors */
    hri_factors factors;
} hri_cached_factors;

struct hr_window {
    int64_t reach;
    hri_cached_factors *kept;
    double values[]; /* [2 reach + 1][2 reach + 1] */
};

/* Find the fewest factors with an error within tolerance. If neither rounding
 * nor the limit `most` allows that, find as many as reduce the error. The
 * caller frees *factors in any case. The same question is answered from memory
 * the next time. Any thread. */
hr_status hri_factors_find(const hr_window *window, double tolerance,
                           int64_t most, hri_factors *factors);
void hri_factors_free(hri_factors *factors);

#endif
