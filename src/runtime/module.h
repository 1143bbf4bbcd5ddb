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

/* ---- text.c: kernels that are known as text alone (hr_kernel_create). All but
 * the last want the context's lock. */

/* HR_ERROR_INVALID when this is such a kernel, and another context's. */
hr_status hri_text_check(const hr_kernel *kernel, const hr_context *context);

/* Elements of a parameter whose size the text does not tell have this one from
 * now on; 0: it is not known after all. */
void hri_text_learn(const hr_kernel *kernel, uint32_t parameter, size_t bytes);

/* Whether a parameter's size has been learned. */
bool hri_text_learned(const hr_kernel *kernel, uint32_t parameter);

/* Free those of a context whose accelerators are closed. */
void hri_texts_free(hr_context *context);

/* ---- module_cache.c: machine code of kernels, kept in files between
 * processes: `modules` in the folder of cache.h, a file for each source and
 * what it was compiled for. A file is believed when it is this user's and
 * nobody else may write to it, all that it was kept under is as asked, and its
 * sums are right; any other is as good as none, and goes when its place is
 * wanted. Of many files those that were not used for longest go. Any thread;
 * processes may do all of this at once. */

/* Whether there is a folder, and so a reason to ask a device for images. */
bool hri_module_cache_wanted(void);

/* What was kept of a source for a target (hri_device_info), its bytes to be
 * freed; false: nothing. */
bool hri_module_cache_find(const char *target, const char *source,
                           hri_image *image);

/* Keep an image, in the place of an earlier one. */
void hri_module_cache_keep(const char *target, const char *source,
                           const hri_image *image);

#endif
