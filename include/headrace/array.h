/* SPDX-License-Identifier: MIT */
/** @file array.h
 *  Arrays: data with a home. Accelerators hold copies of it as they need them.
 *
 *  The home is an accelerator's memory, the caller's memory, memory that the
 *  library allocates on the host, or nowhere yet. You use arrays through views
 *  (view.h). The library knows box by box which elements are valid where.
 *  Reading fetches only what is missing, from where that is cheapest. Writing
 *  makes other copies of just these elements invalid.
 *
 *  An accelerator holds one buffer of an array, around all that has been asked
 *  of it there, until the array is destroyed. When more is asked, a larger
 *  buffer takes its place. For that moment there are both.
 *
 *  Elements are counted in rows: dimension 0 is the slowest, and elements of
 *  the last one lie next to each other. */
#ifndef HEADRACE_ARRAY_H
#define HEADRACE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/context.h>
#include <headrace/queue.h>
#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_MAX_RANK = 6 };

/** Sizes of up to six dimensions, dimension 0 slowest; each at least 1. */
typedef struct hr_extent {
    uint32_t rank; /**< 1 to HR_MAX_RANK */
    int64_t size[HR_MAX_RANK];
} hr_extent;

/** Extents of rank 1, 2 and 3.
 * @errors  None here: what takes an extent checks it.
 * @threads Any thread. */
HR_API hr_extent hr_extent1(int64_t size);
/** rows x cols; see hr_extent1.
 * @threads Any thread. */
HR_API hr_extent hr_extent2(int64_t rows, int64_t cols);
/** slices x rows x cols; see hr_extent1.
 * @threads Any thread. */
HR_API hr_extent hr_extent3(int64_t slices, int64_t rows, int64_t cols);
/** size[0 .. rank - 1], of any rank up to HR_MAX_RANK. The extent has rank 0
 *  where rank is larger or size is NULL; see hr_extent1.
 * @threads Any thread. */
HR_API hr_extent hr_extent_of(uint32_t rank, const int64_t *size);

/** How many elements; 0 for an extent that is none.
 * @threads Any thread. */
HR_API int64_t hr_extent_count(hr_extent extent);

/** Data with a home. */
typedef struct hr_array hr_array;

/** An array whose home is the memory of queue's accelerator. Its elements have
 *  no values yet.
 *
 * @units   element_bytes is the size of one element.
 * @owner   *array is the caller's, to be given to hr_array_destroy before the
 *          context is destroyed; it outlives the queue. Written only on
 *          success.
 * @errors  HR_ERROR_INVALID for NULL, element_bytes of 0, a rank or a size out
 *          of range, or more than 2^62 bytes. HR_ERROR_OUT_OF_MEMORY when the
 *          accelerator may not hold as much, with the numbers.
 * @threads Any thread; waits for other work on the context. */
HR_API HR_NODISCARD hr_status hr_array_create(hr_queue *queue,
                                              size_t element_bytes,
                                              hr_extent extent,
                                              hr_array **array);

/** A staging array: its home is host memory that queue's accelerator copies
 *  from and to at full speed. hr_array_data says where.
 *
 *  Otherwise as hr_array_create.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_array_create_staging(hr_queue *queue,
                                                      size_t element_bytes,
                                                      hr_extent extent,
                                                      hr_array **array);

/** An array over the caller's memory, which holds its values.
 *
 * @shape   Rows follow each other row_bytes apart (0: packed), slices size[1] *
 *          row_bytes.
 * @owner   Borrows data until hr_array_destroy has returned. In between you
 *          read it after hr_synchronize, and call hr_invalidate after you have
 *          written to it. data may be const where no view of the array is
 *          written through.
 * @errors  As hr_array_create; HR_ERROR_INVALID when row_bytes is less than a
 *          row.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_array_wrap(hr_context *context,
                                            const void *data,
                                            size_t element_bytes,
                                            hr_extent extent, size_t row_bytes,
                                            hr_array **array);

/** hr_array_wrap with the type of the elements, as kernels name it: "float",
 *  "int", "hr_c32". hr_launch refuses a view of these elements for a parameter
 *  of another type. Signed and unsigned integers of a size are alike, and so
 *  are hr_f16, hr_bf16 and integers of 16 bits. NULL, a name that is not one of
 *  the dialect's, or one of another size: the type is not known, and only the
 *  size of elements is compared.
 *
 *  In C11 the macro hr_array_wrap passes the type that data points to. A
 *  compound literal as data needs parentheses around it. In C++ and C99
 *  hr_array_wrap is a function that does not know the type.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_array_wrap_typed(
    hr_context *context, const void *data, const char *type,
    size_t element_bytes, hr_extent extent, size_t row_bytes, hr_array **array);
#if !defined(__cplusplus) && defined(__STDC_VERSION__) &&                      \
    __STDC_VERSION__ >= 201112L
/* clang-format off */
#define HR_TYPE_CASE_(type) type *: #type, const type *: #type
#define HR_TYPE_AT_(data)                                                      \
    _Generic((data), HR_TYPE_CASE_(char), HR_TYPE_CASE_(signed char),          \
        HR_TYPE_CASE_(unsigned char), HR_TYPE_CASE_(short),                    \
        HR_TYPE_CASE_(unsigned short), HR_TYPE_CASE_(int),                     \
        HR_TYPE_CASE_(unsigned), HR_TYPE_CASE_(long),                          \
        HR_TYPE_CASE_(unsigned long), HR_TYPE_CASE_(long long),                \
        HR_TYPE_CASE_(unsigned long long), HR_TYPE_CASE_(float),               \
        HR_TYPE_CASE_(double), default: (const char *)0)
/* clang-format on */
#define hr_array_wrap(context, data, ...)                                      \
    hr_array_wrap_typed(context, data, HR_TYPE_AT_(data), __VA_ARGS__)
#endif

/** An array over the caller's memory with any strides: those of a section of
 *  columns, a transposed or a reversed matrix, as NumPy has them. Where they
 * are those of rows, this is hr_array_wrap_typed. Else the library has a packed
 *  copy, made now. hr_synchronize writes a view's elements back, and nothing
 *  between them; elements that have not changed are not written.
 *  hr_invalidate reads a view's elements again. hr_map gives the copy.
 *
 * @units   Element (i, j, ...) is i * stride_bytes[0] + j * stride_bytes[1] +
 * ... bytes behind data. Strides may be negative. Elements may share memory
 * where no view of the array is written through.
 * @owner   As hr_array_wrap. hr_array_data is data.
 * @errors  As hr_array_wrap_typed; HR_ERROR_INVALID for NULL strides, and for
 *          strides that take elements more than 2^62 bytes apart.
 *          HR_ERROR_OUT_OF_MEMORY for the copy.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status
hr_array_wrap_strided(hr_context *context, const void *data, const char *type,
                      size_t element_bytes, hr_extent extent,
                      const int64_t *stride_bytes, hr_array **array);

/** An array with no home: its elements are where they were written last. Host
 *  memory is allocated when hr_synchronize or hr_map asks for it.
 *
 *  Otherwise as hr_array_create.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_array_create_anywhere(hr_context *context,
                                                       size_t element_bytes,
                                                       hr_extent extent,
                                                       hr_array **array);

/** Wait for everything that uses the array. Then free it, and what it holds on
 *  accelerators. Nothing is brought home: hr_synchronize does that, and returns
 *  the error that cannot be returned here. NULL is accepted.
 * @threads Any thread, when no other call on the array is running. */
HR_API void hr_array_destroy(hr_array *array);

/** Its extent.
 * @threads Any thread. */
HR_API hr_extent hr_array_extent(const hr_array *array);
/** The bytes of one of its elements.
 * @threads Any thread. */
HR_API size_t hr_array_element_bytes(const hr_array *array);

/** Where the array's host memory starts; NULL while it has none. You read and
 *  write it as hr_array_wrap says.
 * @threads Any thread. */
HR_API void *hr_array_data(const hr_array *array);

/** Bytes that arrays of the context have moved so far. */
typedef struct hr_traffic {
    uint64_t up;   /**< from host memory to accelerators */
    uint64_t down; /**< from accelerators to host memory */
    uint64_t peer; /**< between accelerators */
} hr_traffic;

/** What has been moved so far; 0 for NULL.
 * @threads Any thread. */
HR_API hr_traffic hr_context_traffic(hr_context *context);

#ifdef __cplusplus
}
#endif
#endif
