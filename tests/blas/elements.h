/* SPDX-License-Identifier: MIT */
/* Elements of a BLAS's four types, and what wrong arguments end in. For a
 * program that checks all calls: it has the xerbla_ that they reach. */
#ifndef BLAS_ELEMENTS_H
#define BLAS_ELEMENTS_H

#include <complex.h>
#include <stdio.h>

#include "blas/names.h"
#include "support/pairs.h"

enum { BY_ROWS = 101, BY_COLUMNS = 102 };

static inline double complex get_element(hr_type type, const void *data,
                                         int64_t i)
{
    switch (type) {
    case HR_F32:
        return ((const float *)data)[i];
    case HR_F64:
        return ((const double *)data)[i];
    case HR_C32:
        return ((const float complex *)data)[i];
    default:
        return ((const double complex *)data)[i];
    }
}

static inline void put_element(hr_type type, void *data, int64_t i,
                               double complex x)
{
    switch (type) {
    case HR_F32:
        ((float *)data)[i] = (float)creal(x);
        break;
    case HR_F64:
        ((double *)data)[i] = creal(x);
        break;
    case HR_C32:
        ((float complex *)data)[i] = (float complex)x;
        break;
    default:
        ((double complex *)data)[i] = x;
        break;
    }
}

/* The unit roundoff of a type. */
static inline double roundoff_of(hr_type type)
{
    return type == HR_F32 || type == HR_C32 ? 0x1p-24 : 0x1p-53;
}

static plain_int told; /* the position that xerbla_ was told last */
static char told_of[32];

void xerbla_(const char *name, const plain_int *position, size_t length);

void xerbla_(const char *name, const plain_int *position, size_t length)
{
    told = *position;
    snprintf(told_of, sizeof told_of, "%.*s", (int)length, name);
}

#endif
