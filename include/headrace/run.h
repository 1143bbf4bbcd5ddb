/* SPDX-License-Identifier: MIT */
/** @file run.h
 *  One call that runs a kernel over your memory, on all accelerators, and has
 *  the results when it returns.
 *
 *      extern const hr_kernel saxpy;
 *
 *      status = hr_run(NULL, &saxpy, hr_extent1(n),
 *                      HR_ARGUMENTS(hr_value(2.0f), hr_in(x, n),
 *                                   hr_inout(y, n)), NULL);
 *
 *  Data that stays on accelerators between calls has arrays (array.h). */
#ifndef HEADRACE_RUN_H
#define HEADRACE_RUN_H

#include <headrace/split.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Host memory that the kernel reads, for hr_run.
 *
 *  All accelerators get all of it, and it has any extent. Two things change
 *  that. Either hr_near says which rows a point reads: hr_near(argument, 0, 0)
 *  stands for its own row. Or the text of the kernel shows that points read
 *  nothing but their own rows, in blocks of HR_EACH alone, as in HR_AT1(x, i).
 *  Then each accelerator gets the rows of its band.
 *
 *  In C11 hr_in(data, n), hr_in(data, rows, cols) and hr_in(data, slices, rows,
 *  cols) stand for this, of packed elements whose type is that of the pointer.
 *  hr_in(view) is the function of kernel.h.
 *
 * @shape   Rows follow each other row_bytes apart (0: packed), slices size[1] *
 *          row_bytes.
 * @owner   Borrows data, until hr_run has returned.
 * @errors  None here: hr_run checks it. hr_launch and others refuse it.
 * @threads Any thread. */
HR_API hr_argument hr_in_data(const void *data, const char *type,
                              size_t element_bytes, hr_extent extent,
                              size_t row_bytes);

/** Host memory that the kernel writes: as many rows as the domain has. In C11
 *  hr_out(data, n) and so on stand for it, otherwise as hr_in_data.
 * @threads Any thread. */
HR_API hr_argument hr_out_data(void *data, const char *type,
                               size_t element_bytes, hr_extent extent,
                               size_t row_bytes);

/** Host memory that the kernel reads and writes. In C11 hr_inout(data, n) and
 *  so on stand for it, otherwise as hr_out_data.
 * @threads Any thread. */
HR_API hr_argument hr_inout_data(void *data, const char *type,
                                 size_t element_bytes, hr_extent extent,
                                 size_t row_bytes);

/** Run a kernel with hr_launch_split, and wait until its results are home: in
 *  the host memory of hr_out_data and hr_inout_data, and for views as
 *  hr_synchronize says. Elements of a row that lie behind the extent's last
 *  dimension stay as they are.
 *
 *  Memory that is larger than that of the accelerators streams through it, as
 *  hr_launch_split says. Memory that all accelerators get does not.
 *
 *  context NULL stands for that of hr_context_default.
 *
 * @shape    As hr_launch_split for views, and for host memory as hr_in_data and
 *           hr_out_data say. Written memory with another number of rows than
 *           the domain is for hr_launch.
 * @owner    Borrows arguments, options and host memory until it returns.
 * @aliasing Host memory that is written overlaps no other argument. Views as
 *           hr_launch.
 * @errors   As hr_launch_split, hr_array_wrap_typed, hr_synchronize and, with
 *           NULL, hr_context_default. HR_ERROR_INVALID for a pointer that is
 *           NULL, and for host memory that overlaps. The first error is
 *           returned when all work on host memory has ended. Elements that
 *           should have been written then have no values.
 * @threads  Any thread; as hr_launch_split. Threads may pass the same memory as
 *           long as none writes it. */
HR_API HR_NODISCARD hr_status hr_run(hr_context *context,
                                     const hr_kernel *kernel, hr_extent domain,
                                     const hr_argument *arguments, size_t count,
                                     const hr_split_options *options);

/* In C11 the compiler knows the types of pointers and values. The macros below
 * count their arguments. More than a view or a value has are passed on. */
#if !defined(__cplusplus) && defined(__STDC_VERSION__) &&                      \
    __STDC_VERSION__ >= 201112L
/* clang-format off */
#define HR_FIFTH_(a, b, c, d, e, ...) e
#define HR_DATA_(function, data, extent)                                       \
    function##_data(data, HR_TYPE_AT_(data), sizeof *(data), extent, 0)
#define HR_DATA0_(function, view) (function)(view)
#define HR_DATA1_(function, data, n) HR_DATA_(function, data, hr_extent1(n))
#define HR_DATA2_(function, data, rows, cols)                                  \
    HR_DATA_(function, data, hr_extent2(rows, cols))
#define HR_DATA3_(function, data, slices, rows, cols)                          \
    HR_DATA_(function, data, hr_extent3(slices, rows, cols))
#define HR_DATA_OF_(function, ...)                                             \
    HR_FIFTH_(__VA_ARGS__, HR_DATA3_, HR_DATA2_, HR_DATA1_, HR_DATA0_,         \
              )(function, __VA_ARGS__)
#define hr_in(...)    HR_DATA_OF_(hr_in, __VA_ARGS__)
#define hr_out(...)   HR_DATA_OF_(hr_out, __VA_ARGS__)
#define hr_inout(...) HR_DATA_OF_(hr_inout, __VA_ARGS__)
/* clang-format on */
#endif

#ifdef __cplusplus
}
#endif
#endif
