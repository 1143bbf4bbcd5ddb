/* SPDX-License-Identifier: MIT */
#include "axpy.h"

extern const hr_kernel axpy_kernel;

hr_status axpy(float a, const float *x, float *y, int64_t n)
{
    return hr_run(NULL, &axpy_kernel, hr_extent1(n),
                  HR_ARGUMENTS(hr_value(a), hr_in(x, n), hr_inout(y, n)), NULL);
}
