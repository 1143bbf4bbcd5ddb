/* SPDX-License-Identifier: MIT */
/** @file fill.h
 *  One value for all elements of a view. */
#ifndef HEADRACE_FILL_H
#define HEADRACE_FILL_H

#include <headrace/matrix.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Set each element of a view to a value: hr_launch_split of a kernel. Elements
 *  get the bits of the value, also those of a NaN.
 *
 *      const float one = 1;
 *      status = hr_fill(context, x, HR_F32, &one, NULL);
 *
 * @shape    A view of rank 1 to 6, which may have gaps between its rows. Above
 *           rank 3 it has none between its first dimensions. Bands are of its
 *           rows; where these have less than 256 elements and no gaps between
 *           them, of elements.
 * @owner    As hr_launch_split. value points to a number of that type, which
 *           the call copies. options may be NULL, and has no tile.
 * @errors   HR_ERROR_INVALID when context or value is NULL, or the view belongs
 *           to no array. The same when its elements have not type's size or are
 *           of another kind, and for options with a tile.
 *           HR_ERROR_UNSUPPORTED for an unknown type. Otherwise as
 *           hr_launch_split.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_fill(hr_context *context, hr_view view,
                                      hr_type type, const void *value,
                                      const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
