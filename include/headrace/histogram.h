/* SPDX-License-Identifier: MIT */
/** @file histogram.h
 *  How many elements of a view lie in each of some bins. */
#ifndef HEADRACE_HISTOGRAM_H
#define HEADRACE_HISTOGRAM_H

#include <headrace/matrix.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Count the elements of view a in bins of the same width from low to high, on
 *  all accelerators: a split launch with a combined view (hr_combined).
 *
 *      status = hr_histogram(context, HR_F32, x, 0, 1, counts, NULL);
 *
 *  There are as many bins as counts has elements, n. Bin b begins with its edge
 *  low + b * ((high - low) / n). An element on an edge is in the bin that
 *  begins there. The last bin includes high. Elements below low or above high
 *  and NaNs are not counted. Edges are computed in double. For HR_F32 they are
 *  rounded to float, low and high too. So counts are those of NumPy's
 *  histogram(a, n, (low, high)), as long as all edges differ. Of equal edges
 *  the last one counts.
 *
 *  To count each of the integers 0 to n - 1, as NumPy's bincount does, pass
 *  -0.5 and n - 0.5.
 *
 * @shape    a has rank 1 to 6, and may have gaps between its rows. Above rank 3
 *           it has none between its first dimensions. counts has rank 1, and 1
 *           to 2^30 integers of 64 bits. What it held before is not read.
 * @owner    As hr_launch_split; options may be NULL, and has no tile. When the
 *           call returns, counts are where hr_launch_split has left them:
 *           hr_synchronize brings them home. After a failure on an accelerator
 *           they have no values.
 * @aliasing a and counts are views of different arrays.
 * @errors   HR_ERROR_INVALID when context is NULL, or a view belongs to no
 *           array or another context. The same when a has not type's size,
 *           counts is not as above, or options has a tile. The same when low is
 *           not less than high, or their difference is not finite.
 *           HR_ERROR_UNSUPPORTED for types other than HR_F32, HR_F64, HR_I8 and
 *           HR_I32, and when an accelerator cannot compute in double for
 *           HR_F64. HR_ERROR_BUILD when an OpenCL device has no atomics of 64
 *           bits. Otherwise as hr_launch_split.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_histogram(hr_context *context, hr_type type,
                                           hr_view a, double low, double high,
                                           hr_view counts,
                                           const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
