/* SPDX-License-Identifier: MIT */
/* What rounding and underflow may do: the terms that thresholds and bounds are
 * made of. docs/verify.md derives them.
 *
 * The check's own sums lose up to 2^-1072 where a product loses w, the least
 * number of its type. So bounds add what underflow may do once with each of the
 * two. A row's threshold has the sum over j of the first, times s_j, and of the
 * second, times 1 + s_j. For complex elements only the terms count that reach
 * the real or the imaginary part. */
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

static double underflow(const hri_verify *v, double smallest,
                        const hri_verify_sums *x)
{
    const double alpha = 1.0 + hri_verify_size(v->alpha);
    const double beta = 1.0 + hri_verify_size(v->beta);
    const double terms = 3.0 * (double)v->k * x->elements + x->a;
    const double all =
        alpha * (terms + x->b * x->b_unit) + 2.0 * beta * x->elements;
    /* `smallest` comes first only where it must, as such products are rounded
     * badly */
    return isfinite(all) ? smallest * all
                         : smallest * alpha * terms +
                               smallest * x->b * x->b_unit * alpha +
                               2.0 * smallest * beta * x->elements;
}

double hri_verify_underflow(const hri_verify *v, const hri_verify_sums *x)
{
    return underflow(v, v->precision.smallest, x);
}

/* An operation rounds a subnormal number by 2^-1075 at most. Dot2 has five
 * products where a plain sum has one. */
double hri_verify_own_underflow(const hri_verify *v, const hri_verify_sums *x)
{
    return underflow(v, 0x1p-1072, x);
}

int hri_verify_exponent(const hri_verify *v, int64_t row)
{
    return v->row_exponents != NULL ? v->row_exponents[row] + v->b_exponent : 0;
}

double hri_verify_b_unit(const hri_verify *v, int64_t row)
{
    const int exponent = v->row_exponents != NULL ? v->row_exponents[row] : 0;
    return exponent < 0 ? ldexp(1.0, -exponent) : 1.0;
}
