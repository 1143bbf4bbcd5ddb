/* SPDX-License-Identifier: MIT */
/* Products on the host, by a CBLAS found at run time or by the built-in
 * kernel. */
#ifndef HRI_BACKENDS_HOST_ARITHMETIC_H
#define HRI_BACKENDS_HOST_ARITHMETIC_H

#include "base/pool.h"
#include "hal/hal.h"

/* Look for a CBLAS, once in the life of the process. HEADRACE_CBLAS names its
 * path, or "builtin" for none. Otherwise OpenBLAS, BLIS and MKL are tried, then
 * the system's libcblas or libblas if it is one of these: the reference BLAS is
 * slower than our kernel. Without a CBLAS the built-in kernel works.
 * HR_ERROR_UNAVAILABLE, each time, when the CBLAS that HEADRACE_CBLAS names
 * cannot be used. Any thread. */
hr_status hri_host_arithmetic_load(void);

/* What was found: "OpenBLAS 0.3.21 SkylakeX", "built-in (avx512)", or "none"
 * after an error. Constant after hri_host_arithmetic_load. */
const char *hri_host_arithmetic_name(void);

/* Multiply operands in host memory or in the host's buffers. Blocks until done.
 * Uses the pool's threads, or as many of the CBLAS's own. One thread
 * of the pool computes each product of a batch, with the bits that it has alone
 * on one thread. Any type pair of headrace/gemm.h, any size. Calls must
 * come one at a time. HR_ERROR_OUT_OF_MEMORY when there is no memory for
 * packing. */
hr_status hri_host_gemm(hri_pool *pool, const hri_gemm *gemm);

/* Pack a panel for hri_host_gemm, at once. */
void hri_host_gemm_pack(hri_pool *pool, const hri_pack *pack);

/* Whether that changes settings of the calling thread, which should be one of
 * the library's then. */
bool hri_host_gemm_sets_thread(void);

/* Whether it multiplies in the mode HR_COMPUTE_REPRODUCIBLE. That needs a CPU
 * with fused multiply-adds. */
bool hri_host_gemm_is_ordered(void);

/* The built-in kernel alone: for tests, and for products that a CBLAS lacks. */
hr_status hri_host_gemm_builtin(hri_pool *pool, const hri_gemm *gemm);

#endif
