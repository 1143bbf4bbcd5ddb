/* SPDX-License-Identifier: MIT */
/* CLBlast, used only where HEADRACE_CLBLAST asks for it: see clblast.c. */
#ifndef HRI_BACKENDS_OPENCL_CLBLAST_H
#define HRI_BACKENDS_OPENCL_CLBLAST_H

#include "backends/opencl/opencl.h"

/* Whether it was asked for and is there. Any thread. */
bool hri_cl_clblast_wanted(void);

/* What multiplies, in words. Any thread. */
const char *hri_cl_arithmetic_name(void);

/* Whether it is wanted and can do this product, whose m, n and k are positive
 * and whose alpha is not 0, without memory of its own. */
bool hri_cl_clblast_suits(hri_cl_queue *queue, const hri_gemm *gemm);

/* Enqueue a product that suits. */
hr_status hri_cl_clblast_gemm(hri_cl_queue *queue, const hri_gemm *gemm);

/* Forget the programs that it keeps for contexts: one of them ends. */
void hri_cl_clblast_forget(void);

#endif
