/* SPDX-License-Identifier: MIT */
/* Kernels of the caller's, compiled for an accelerator when first launched
 * there. The first two want the context's lock. */
#ifndef HRI_RUNTIME_MODULE_H
#define HRI_RUNTIME_MODULE_H

#include "runtime/runtime.h"

/* The module of a kernel; *module is NULL where kernels are part of the
 * program. */
hr_status hri_accelerator_module(hri_accelerator *accelerator,
                                 const hr_kernel *kernel, hri_module **module);
void hri_modules_close(hri_accelerator *accelerator);

/* The dialect, and behind it the text of the kernel's file, for free; NULL when
 * there is no memory. The kernel has its text. Any thread. */
char *hri_kernel_source(const hr_kernel *kernel);

#endif
