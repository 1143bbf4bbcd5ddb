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

/* Whether both views, of one extent, have the same elements in the same
 * places. */
bool hri_view_is_same(const hr_view *a, const hr_view *b);

#endif
