/* SPDX-License-Identifier: MIT */
/* Elements of any of the four types, as scalars. */
#ifndef BLAS_ELEMENT_H
#define BLAS_ELEMENT_H

#include <headrace/headrace.h>

static inline hr_scalar blas_get(hr_type type, const void *data, int64_t i)
{
    const float *single = data;
    const double *wide = data;
    switch (type) {
    case HR_F32:
        return (hr_scalar){single[i], 0.0};
    case HR_F64:
        return (hr_scalar){wide[i], 0.0};
    case HR_C32:
        return (hr_scalar){single[2 * i], single[2 * i + 1]};
    default:
        return (hr_scalar){wide[2 * i], wide[2 * i + 1]};
    }
}

static inline hr_scalar blas_times(hr_scalar x, hr_scalar y)
{
    return (hr_scalar){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static inline bool blas_is_zero(hr_scalar s)
{
    return s.re == 0.0 && s.im == 0.0;
}

/* Let element i be x and so many times what it was, which is not read where
 * that is 0. */
static inline void blas_update(hr_type type, void *data, int64_t i, hr_scalar x,
                               hr_scalar beta)
{
    float *single = data;
    double *wide = data;
    if (!blas_is_zero(beta)) {
        const hr_scalar old = blas_times(beta, blas_get(type, data, i));
        x.re += old.re;
        x.im += old.im;
    }
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

#endif
