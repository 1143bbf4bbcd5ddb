/* SPDX-License-Identifier: MIT */
/* Views as the kernels of calls take them. */
#ifndef HRI_CALLS_VIEWS_H
#define HRI_CALLS_VIEWS_H

#include <headrace/view.h>

/* Give a view of a higher rank the rank that kernels have. HR_ERROR_INVALID
 * where gaps forbid it: the sentence names the call and the view. */
hr_status hri_view_for_kernels(hr_view *view, const char *call,
                               const char *name);

/* Rank 2 becomes rank 3. */
hr_view hri_view_in_space(hr_view view);

#endif
