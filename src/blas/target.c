/* SPDX-License-Identifier: MIT */
#include "blas/blas.h"
#include "model/pays.h"

static bool is_retry(double ratio, unsigned number)
{
    const double loss = (ratio > 1.0 ? ratio : 1.0 / ratio) - 1.0;
    if (!(loss < 1.0)) {
        return false;
    }
    const unsigned some = loss < 0.25 ? 32 : (unsigned)(128.0 * loss) + 1;
    return number % some >= some - 2;
}

blas_target blas_target_of(double ratio, unsigned number)
{
    const bool retry = is_retry(ratio, number);
    return (blas_target){.accelerators = hri_model_prefers(ratio, 1.0) != retry,
                         .retry = retry};
}
