/* SPDX-License-Identifier: MIT */
/** @file scan.h
 *  Scans: running sums, products, minima and maxima. */
#ifndef HEADRACE_SCAN_H
#define HEADRACE_SCAN_H

#include <headrace/matrix.h>
#include <headrace/reduce.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a result takes in. */
typedef enum hr_scan_kind {
    HR_SCAN_INCLUSIVE = 1, /**< the elements up to its own, as np.cumsum */
    HR_SCAN_EXCLUSIVE      /**< the elements before its own */
} hr_scan_kind;

/** Write to each element of b what the elements of a up to there give, counted
 *  from the start of the row. Rows are along the last dimension. A view of rank
 *  1 is one row, and the call may wait for it. Views of rank 2 and more are
 *  enqueued as hr_launch_split does.
 *
 *  operation is HR_REDUCE_SUM, PRODUCT, MIN or MAX. The first result of an
 *  exclusive scan is 0, 1, the largest or the least number of the type. Of
 *  fractions the latter are infinities. A NaN makes all later results NaNs.
 *
 *  Fractions are computed in double, and each result is rounded to its type. A
 *  sum of n fractions differs from the exact one by at most (200 + n / 1024)
 *  2^-53 times the sum of |terms|, up to terms of second order, and by this
 *  rounding. A product of n fractions has a relative error of at most n 2^-53,
 *  and this rounding. It overflows or underflows only where it leaves the range
 *  of its type itself: products of neighbours, and those before, may be out of
 *  range. Sums and products of integers wrap around modulo 2 to the bits of b's
 *  elements. Of a MIN or MAX that is a zero, the sign is that of the first zero
 *  in the row.
 *
 *  The order of operations depends on the rank and on the length of a row
 *  alone. So the bits are the same on any set of accelerators, with
 *  hr_context_options.reproducible and without.
 *
 * @shape    Rank 1 to 6, gaps between rows included. Above rank 3 there
 *           are none between the first dimensions. b has a's extent. Rows of
 *           rank 1 are divided among accelerators in units of 4096 elements.
 *           Others are not: dimension 0 is, where a tile takes several rows of
 *           up to 1024 elements in groups of these. The options' report is
 *           that of the last launch. For rank 1 another one, with the same
 *           options, has joined the elements of each unit before. In a context
 *           with one accelerator, a GPU of CUDA, there is one launch, but for
 *           products of fractions.
 * @units    type is that of a: HR_F32, HR_F64, HR_I8 or HR_I32. b has elements
 *           of this type. From HR_F32 it may have doubles, from HR_I8 integers
 *           of 32 bits, and from HR_I32 those of 64 bits.
 * @owner    As hr_launch. options may be NULL; its tile is NULL.
 * @aliasing b is a, or does not overlap it.
 * @errors   HR_ERROR_INVALID for NULL, a view of no array or of another
 *           context, views of different extents, elements of another size, and
 *           an operation or kind that is none of these. HR_ERROR_UNSUPPORTED
 *           for other types, and when no accelerator computes in double.
 *           Accelerators without double get no band. Those of hr_launch_split,
 *           and the error of work that wrote the elements.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_scan(hr_context *context,
                                      hr_reduction operation, hr_scan_kind kind,
                                      hr_type type, hr_view a, hr_view b,
                                      const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
