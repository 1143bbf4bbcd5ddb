/* SPDX-License-Identifier: MIT */
/* An element of C with the roundings of HR_COMPUTE_REPRODUCIBLE, as
 * src/hal/hal.h defines them: the oracle of the tests, and what the fake CUDA
 * computes. */
#ifndef ORDERED_H
#define ORDERED_H

#include <math.h>

#include "hal/hal.h"

typedef struct ordered {
    bool wide, complex; /* accumulated in f64; pairs */
    double alpha[2], beta[2];
} ordered;

static inline double ordered_fma(const ordered *o, double x, double y, double z)
{
    return o->wide ? fma(x, y, z) : (double)fmaf((float)x, (float)y, (float)z);
}

/* to := to + f x, with the real part of the factor first. */
static inline void ordered_add(const ordered *o, const double f[2],
                               const double x[2], double to[2])
{
    to[0] = ordered_fma(o, f[0], x[0], to[0]);
    to[1] = ordered_fma(o, f[0], x[1], to[1]);
    if (f[1] != 0.0) {
        to[0] = ordered_fma(o, -f[1], x[1], to[0]);
        to[1] = ordered_fma(o, f[1], x[0], to[1]);
    }
}

/* t = beta c. Adding to -0 rounds a product as multiplying does. */
static inline void ordered_begin(const ordered *o, const double c[2],
                                 double t[2])
{
    const bool read = o->beta[0] != 0.0 || o->beta[1] != 0.0;
    t[0] = t[1] = read ? -0.0 : 0.0;
    if (read) {
        ordered_add(o, o->beta, c, t);
    }
}

/* t = t + alpha a b over k elements, in slices. Element p of the row of A and
 * of the column of B is at 2 p and 2 p + 1. */
static inline void ordered_add_slices(const ordered *o, int64_t k,
                                      const double *a, const double *b,
                                      double t[2])
{
    for (int64_t first = 0; first < k; first += HRI_ORDERED_DEPTH) {
        double s[2] = {0.0, 0.0};
        for (int64_t p = first; p < k && p < first + HRI_ORDERED_DEPTH; p++) {
            const double *x = a + 2 * p, *y = b + 2 * p;
            s[0] = ordered_fma(o, x[0], y[0], s[0]);
            if (o->complex) {
                s[0] = ordered_fma(o, -x[1], y[1], s[0]);
                s[1] = ordered_fma(o, x[0], y[1], s[1]);
                s[1] = ordered_fma(o, x[1], y[0], s[1]);
            }
        }
        ordered_add(o, o->alpha, s, t);
    }
}

/* c is the old element, and then the new one. All are numbers of the type that
 * is accumulated in. */
static inline void ordered_element(const ordered *o, int64_t k, const double *a,
                                   const double *b, double c[2])
{
    double t[2];
    ordered_begin(o, c, t);
    ordered_add_slices(o, k, a, b, t);
    c[0] = t[0];
    c[1] = t[1];
}

#endif
