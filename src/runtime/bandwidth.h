/* SPDX-License-Identifier: MIT */
/* What bounds a kernel that computes little: an accelerator's memory, and its
 * way to the caller's. */
#ifndef HRI_RUNTIME_BANDWIDTH_H
#define HRI_RUNTIME_BANDWIDTH_H

#include "runtime/runtime.h"

/* Fill the accelerator's bandwidth, and its up and down, from what earlier
 * processes kept, else by measuring (some tens of milliseconds), once. The
 * caller holds the context's lock. */
hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *accelerator);

#endif
