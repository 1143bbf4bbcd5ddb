/* SPDX-License-Identifier: MIT */
/* The kernels of filters: kernels/host/filter.c, for the host, and
 * kernels/dialect/filter.c, which the build also compiles with double in the
 * place of float. */
#ifndef HRI_FILTER_KERNELS_H
#define HRI_FILTER_KERNELS_H

#include <headrace/kernel.h>

extern const hr_kernel hri_filter_strip_float, hri_filter_strip_double;
extern const hr_kernel hri_filter_fft_float, hri_filter_fft_double;
extern const hr_kernel hri_filter_direct_float, hri_filter_direct_double;
extern const hr_kernel hri_filter_across_float, hri_filter_across_double;
extern const hr_kernel hri_filter_down_float, hri_filter_down_double;

#endif
