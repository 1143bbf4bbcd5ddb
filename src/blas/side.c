/* SPDX-License-Identifier: MIT */
#include "blas/blas.h"
#include "model/pays.h"

static bool is_turn(double ratio, unsigned number)
{
    const double loss = (ratio > 1.0 ? ratio : 1.0 / ratio) - 1.0;
    if (!(loss < 1.0)) {
        return false;
    }
    const unsigned some = loss < 0.25 ? 32 : (unsigned)(128.0 * loss) + 1;
    return number % some >= some - 2;
}

blas_side blas_side_of(double ratio, unsigned number)
{
    const bool turn = is_turn(ratio, number);
    return (blas_side){.accelerators = hri_model_prefers(ratio, 1.0) != turn,
                       .turn = turn};
}
