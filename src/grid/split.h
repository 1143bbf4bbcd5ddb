/* SPDX-License-Identifier: MIT */
/* Bands of launches over several accelerators. */
#ifndef HRI_GRID_SPLIT_H
#define HRI_GRID_SPLIT_H

#include <headrace/split.h>

#include "runtime/runtime.h"

/* A launch that is split: what hr_launch_split was given. */
typedef struct hri_splitting {
    hr_context *context;
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    hr_extent domain;
    const hr_argument *arguments;
    hr_split_options options;
    uint32_t count; /* accelerators that could be used */
    hr_band *bands; /* of each of them, in their order */
} hri_splitting;

/* What a band of `size` rows reads. A band without rows reads none. */
void hri_band_reach(int64_t size, int64_t before, int64_t after, hr_band *band);

/* Cut the domain's rows into s->bands by these weights, between tiles, with the
 * accelerators in their places and what they read of any view. */
hr_status hri_split_cut(hri_splitting *s, const double *weights);

/* The rows of argument i that a band needs, as a view; *first is the first of
 * them. */
hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view,
                             int64_t *first);

#endif
