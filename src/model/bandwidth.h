/* SPDX-License-Identifier: MIT */
/* What bounds a kernel that computes little: an accelerator's memory. */
#ifndef HRI_MODEL_BANDWIDTH_H
#define HRI_MODEL_BANDWIDTH_H

#include "model/model.h"

/* Fill the accelerator's memory_rate, what kernels read and write of its
 * memory, from what earlier processes kept, else by measuring (some
 * milliseconds), once. The caller holds the context's lock. */
hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *accelerator);

#endif
