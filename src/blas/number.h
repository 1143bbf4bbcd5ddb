/* SPDX-License-Identifier: MIT */
/* Elements of any of the four types, as pairs of double. */
#ifndef BLAS_NUMBER_H
#define BLAS_NUMBER_H

#include <headrace/headrace.h>

typedef struct number {
    double re, im;
} number;

static inline number number_get(hr_type type, const void *data, int64_t i)
{
    const float *single = data;
    const double *wide = data;
    switch (type) {
    case HR_F32:
        return (number){single[i], 0.0};
    case HR_F64:
        return (number){wide[i], 0.0};
    case HR_C32:
        return (number){single[2 * i], single[2 * i + 1]};
    default:
        return (number){wide[2 * i], wide[2 * i + 1]};
    }
}

static inline void number_put(hr_type type, void *data, int64_t i, number x)
{
    float *single = data;
    double *wide = data;
    switch (type) {
    case HR_F32:
        single[i] = (float)x.re;
        break;
    case HR_F64:
        wide[i] = x.re;
        break;
    case HR_C32:
        single[2 * i] = (float)x.re;
        single[2 * i + 1] = (float)x.im;
        break;
    default:
        wide[2 * i] = x.re;
        wide[2 * i + 1] = x.im;
        break;
    }
}

static inline number number_times(hr_scalar x, number y)
{
    return (number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static inline bool number_is_zero(hr_scalar s)
{
    return s.re == 0.0 && s.im == 0.0;
}

#endif
