/* SPDX-License-Identifier: MIT */
#include "hal/hal.h"

/* The list is in order of preference. A backend is added here and nowhere
 * else. */
const hri_backend *const hri_backends[] = {
    &hri_backend_cuda,
    &hri_backend_opencl,
    &hri_backend_host,
    NULL,
};
