/* SPDX-License-Identifier: MIT */
/* Views as the kernels of calls take them. */
#ifndef HRI_CALLS_VIEWS_H
#define HRI_CALLS_VIEWS_H

#include <headrace/matrix.h>
#include <headrace/view.h>

/* The rules. Their sentences name the call ("scan") and the view ("view a"). */

/* A view of an array of the context, with elements. */
hr_status hri_view_check_owner(const hr_view *view, const hr_context *context,
                               const char *call, const char *name);
/* The same, and elements of a type, if the array knows its own, or else of its
 * size. */
hr_status hri_view_check(const hr_view *view, const hr_context *context,
                         hr_type type, const char *call, const char *name);
/* Two views of one extent. */
hr_status hri_views_check_extents(const hr_view *a, const char *a_name,
                                  const hr_view *b, const char *b_name,
                                  const char *call);
/* Two views without a common element. */
hr_status hri_views_check_apart(const hr_view *a, const char *a_name,
                                const hr_view *b, const char *b_name,
                                const char *call);
/* Give a view of a higher rank this one, which is refused where there are
 * gaps. */
hr_status hri_view_for_kernels(hr_view *view, uint32_t rank, const char *call,
                               const char *name);

/* Whether a view's rows are short and follow each other: kernels that take it
 * as one row are faster. */
bool hri_view_is_narrow(const hr_view *view);

/* The name of a type's elements in kernels. NULL: there is no such type. */
const char *hri_type_element(hr_type type);

/* Whether both views, of one extent, have the same elements in the same
 * places. */
bool hri_view_is_same(const hr_view *a, const hr_view *b);

#endif
