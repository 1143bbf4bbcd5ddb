/* SPDX-License-Identifier: MIT */
/** @file transform.h
 *  One statement for each element, without a file of kernels.
 *
 *      status = hr_transform(NULL, "y = a * x + y", "a, x, y",
 *                            HR_ARGUMENTS(hr_value(2.0f), hr_in(x, n),
 *                                         hr_inout(y, n)), NULL);
 *
 *  The library writes a kernel around the statement, and accelerators compile
 *  it when it first runs there. On the host that takes a C compiler
 *  (hr_kernel_create). */
#ifndef HEADRACE_TRANSFORM_H
#define HEADRACE_TRANSFORM_H

#include <headrace/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Run a statement in the dialect (dialect.h) for each element, over all
 *  accelerators, and wait until its results are home, as hr_run does.
 *
 *  `names` has a name for each argument, with commas between them. In the
 *  statement the name of a view, or of host memory, is the element itself. It
 *  has no value at first if the argument is OUT, and does not change if it is
 *  IN. The name of a value is the value. Several statements have semicolons
 *  between them. Names of yours do not begin with hr_ or HR_.
 *
 *      hr_transform(context, "float d = x - y; z = d * d", "x, y, z", ...)
 *
 *  context NULL stands for that of hr_context_default. A context makes the
 *  kernel of a statement once for the same names and types, and keeps it.
 *
 * @shape    Views and host memory have one extent, of rank 1 to 6. One of them
 *           is written. Where all rows have less than 256 elements and no gaps
 *           between them, and options no tile, bands are of elements.
 * @owner    statement and names may go after the call. Otherwise as hr_run.
 * @aliasing As hr_run.
 * @errors   HR_ERROR_INVALID for NULL, and for another number of names than of
 *           arguments. The same for arguments of several extents or of an
 *           unknown type, for memory of tiles, and when none is written. Types
 *           are known of hr_in(x, n) and hr_value(2.0f) in C11, and otherwise
 *           of hr_in_data, hr_value_typed and hr_array_wrap_typed.
 *           HR_ERROR_BUILD, as hr_launch, with the line of the statement.
 *           HR_ERROR_UNSUPPORTED where an accelerator has no compiler. Those of
 *           hr_run.
 * @threads  Any thread; as hr_run. */
HR_API HR_NODISCARD hr_status hr_transform(hr_context *context,
                                           const char *statement,
                                           const char *names,
                                           const hr_argument *arguments,
                                           size_t count,
                                           const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
