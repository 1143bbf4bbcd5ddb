/* SPDX-License-Identifier: MIT */
#include "hal/hal.h"

extern const hri_backend hri_backend_cuda, hri_backend_opencl, hri_backend_host;

/* Order is preference order. A backend is added here and nowhere else. */
const hri_backend *const hri_backends[] = {
    &hri_backend_cuda,
    &hri_backend_opencl,
    &hri_backend_host,
    NULL,
};
