/* SPDX-License-Identifier: MIT */
/** @file sort.h
 *  Stable sorts of views, and of values by their keys. */
#ifndef HEADRACE_SORT_H
#define HEADRACE_SORT_H

#include <headrace/matrix.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which elements come first. */
typedef enum hr_sort_order {
    HR_SORT_ASCENDING = 1, /**< the least, as np.sort */
    HR_SORT_DESCENDING     /**< the largest */
} hr_sort_order;

/** Write a's elements to b in order, each row for itself. Rows are along the
 *  last dimension, and a view of rank 1 is one row.
 *
 *  Equal elements stay in the order they have in a. -0 and 0 are equal. NaNs
 *  are equal too, and larger than all numbers. So they are last in ascending
 *  order, as NumPy has them, and first in descending order. Elements keep their
 *  bits, and the result has the same bits on any set of accelerators.
 *
 *  The call waits for rows of more than 4096 elements, of HR_F64 2048. Shorter
 *  ones are enqueued as hr_launch_split does. Results stay where they were
 *  made, and hr_synchronize brings them home.
 *
 *  Sorting takes one pass for each byte of an element, lowest byte first. Bytes
 *  that are the same in all elements take none.
 *
 *  A row of rank 1 is divided among accelerators. Each sorts its band, and gets
 *  its part of the result from the others. Otherwise each accelerator sorts
 *  whole rows. Sets and bands are chosen as hr_launch_split does, from the same
 *  options. But nothing is measured: bytes and the speed of memory count.
 *
 *  Beside a and b, an accelerator holds a copy of its band of b, and 3 KiB for
 *  each row and each 8192 elements of a row. For rows of rank 1 the latter are
 *  3 MiB at most, and each other accelerator adds 2 KiB. Rows up to the length
 *  above need none of this.
 *
 * @shape    Rank 1 to 6, gaps between rows included. Above rank 2 there are
 *           none between the first dimensions. b has a's extent. Rows of rank 1
 *           are divided in units of 4096 elements. Rows of bands are as many
 *           short rows as a tile sorts.
 * @units    type is that of a and b: HR_F32, HR_F64, HR_F16, HR_BF16, HR_I8 or
 *           HR_I32.
 * @owner    As hr_launch. options may be NULL; its tile is NULL, and its
 *           threads are not looked at.
 * @aliasing b is a, or does not overlap it.
 * @errors   HR_ERROR_INVALID for NULL, a view of no array or of another
 *           context, views of different extents, elements of another size, and
 *           an order that is none of these. HR_ERROR_UNSUPPORTED for other
 *           types, and when no accelerator computes in double.
 *           HR_ERROR_OUT_OF_MEMORY, before anything is sorted, when an
 *           accelerator cannot hold its band and the copy: longer rows do not
 *           stream. With a progress function some rows may be sorted then.
 *           Those of hr_launch_split, and the error of work that wrote the
 *           elements. After a failure while rows are sorted, b's elements have
 *           no values.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_sort(hr_context *context, hr_sort_order order,
                                      hr_type type, hr_view a, hr_view b,
                                      const hr_split_options *options);

/** Sort keys in place, and move the values with them: value i of a row goes
 *  where key i goes. With the numbers 0, 1, 2... as values that gives what
 *  np.argsort(kind="stable") gives.
 *
 *  Memory and order are those of hr_sort. The copy is one of the band's keys
 *  and values.
 *
 * @shape    As hr_sort. values has the extent of keys.
 * @units    key_type is one of hr_sort's types. value_type has 4 or 8 bytes:
 *           HR_F32, HR_I32, HR_F64 or HR_C32. Values are only moved. So HR_F64
 *           stands for any values of 8 bytes, such as integers.
 * @owner    As hr_sort.
 * @aliasing keys and values do not overlap.
 * @errors   Those of hr_sort. After a failure neither keys nor values have
 *           values.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_sort_by_key(hr_context *context,
                                             hr_sort_order order,
                                             hr_type key_type, hr_view keys,
                                             hr_type value_type, hr_view values,
                                             const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
