/* SPDX-License-Identifier: MIT */
/* Kernels that are known as text alone (hr_kernel_create). All but the last
 * want the context's lock. */
#ifndef HRI_RUNTIME_TEXT_H
#define HRI_RUNTIME_TEXT_H

#include "runtime/runtime.h"

/* HR_ERROR_INVALID when this is such a kernel, and another context's. */
hr_status hri_text_check(const hr_kernel *kernel, const hr_context *context);

/* Elements of a parameter whose size the text does not tell have this one from
 * now on; 0: it is not known after all. */
void hri_text_learn(const hr_kernel *kernel, uint32_t parameter, size_t bytes);

/* Whether a parameter's size has been learned. */
bool hri_text_learned(const hr_kernel *kernel, uint32_t parameter);

/* Free those of a context whose accelerators are closed. */
void hri_texts_free(hr_context *context);

#endif
