/* SPDX-License-Identifier: MIT */
/* What a kernel's own function for the host expects: a struct of its arguments,
 * and memory of the tile behind it. */
#ifndef HRI_HAL_ARGUMENTS_H
#define HRI_HAL_ARGUMENTS_H

#include "hal/hal.h"

enum { HRI_ARGUMENTS_ALIGNMENT = 64 };

/* The bytes of both, a multiple of the alignment. */
size_t hri_arguments_bytes(const hr_kernel *kernel,
                           const hri_kernel_argument *arguments);
/* Fill the struct at `to`; views has where element `start` 0 of each view is.
 */
void hri_arguments_fill(const hr_kernel *kernel,
                        const hri_kernel_argument *arguments,
                        void *const *views, unsigned char *to);

#endif
