/* SPDX-License-Identifier: MIT */
/* What rounding and underflow may do: the terms that thresholds and bounds are
 * made of. docs/verify.md derives them. */
#include <float.h>
#include <math.h>

#include "gemm/verify.h"

static const hri_verify_precision single = {
    .unit = 0x1p-24,
    .smallest = FLT_MIN, /* accelerators may flush smaller numbers to zero */
    .largest = (double)FLT_MAX,
    .overflow = 0x1.ffffffp127,
};

static const hri_verify_precision twice = {
    .unit = 0x1p-53,
    .smallest = 0x1p-1074, /* no accelerator flushes double */
    .largest = DBL_MAX,
    .overflow = DBL_MAX,
};

hri_verify_precision hri_verify_precision_of(hr_type c_type)
{
    hri_verify_precision p = single;
    if (c_type == HR_F64 || c_type == HR_C64) {
        p = twice;
    } else if (c_type == HR_F16) {
        p.overflow = 65520.0;
        p.half_unit = 0x1p-11;
        p.half_subnormal = 0x1p-24;
    } else if (c_type == HR_BF16) {
        p.overflow = 0x1.ffp127;
        p.half_unit = 0x1p-8;
        p.half_subnormal = 0x1p-133;
    }
    return p;
}

double hri_verify_gamma(double n, double u)
{
    return n * u <= 0.5 ? n * u / (1.0 - n * u) : 2.0 * n * u;
}

double hri_verify_size(hr_scalar s)
{
    return fabs(s.re) + fabs(s.im);
}

double hri_verify_underflow(const hri_verify *v, double elements, double a,
                            double b)
{
    const hri_verify_units *u = &v->units;
    double operations = 3.0 * (double)v->k * elements * u->one;
    return v->precision.smallest *
           ((1.0 + u->alpha) * (operations + a * u->a + b * u->b) +
            2.0 * elements * (1.0 + u->beta) * u->one);
}
