/* SPDX-License-Identifier: MIT */
/* Precise products on the host. */
#ifndef HRI_BACKENDS_HOST_PRECISE_H
#define HRI_BACKENDS_HOST_PRECISE_H

#include "base/pool.h"
#include "hal/backend.h"

/* hri_host_gemm for HR_COMPUTE_PRECISE. Where operands are not packed, it packs
 * panels into memory of its own. */
hr_status hri_host_gemm_precise(hri_pool *pool, const hri_gemm *gemm);
/* Make residues of a panel, at once. */
void hri_host_pack_precise(hri_pool *pool, const hri_pack *pack);

#endif
