/* SPDX-License-Identifier: MIT */
/* C := beta C, for products that have nothing to multiply. */
#ifndef HRI_GEMM_SCALE_H
#define HRI_GEMM_SCALE_H

#include "base/pool.h"
#include "gemm/check.h"

/* c in normal form. beta = 0 never reads c. Returns when it is done. */
void hri_scale(hri_pool *pool, hr_scalar beta, const hr_matrix *c);

#endif
