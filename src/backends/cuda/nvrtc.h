/* SPDX-License-Identifier: MIT */
/* NVRTC, NVIDIA's run-time compiler, found at run time: see nvrtc.c. */
#ifndef HRI_BACKENDS_CUDA_NVRTC_H
#define HRI_BACKENDS_CUDA_NVRTC_H

#include "backends/cuda/api.h"

/* Load it, once in the life of the process; HR_ERROR_UNAVAILABLE when it is not
 * there or HEADRACE_NVRTC is "off". Any thread. */
hr_status hri_nvrtc_load(void);

/* "NVRTC 13.0", or "" without it. */
const char *hri_nvrtc_name(void);

/* Compile source for devices of a capability (90 for 9.0) with the options
 * given, ended by NULL. *image is machine code, or PTX where the compiler is
 * older than the device, of *bytes bytes (unless bytes is NULL), to be freed.
 * HR_ERROR_BUILD with the first error of
 * the compiler; HR_ERROR_UNSUPPORTED for a device that it knows no more. path
 * is the device's, for the sentence. */
hr_status hri_nvrtc_compile(const char *path, const char *source,
                            int capability, const char *const *options,
                            char **image, size_t *bytes);

#endif
