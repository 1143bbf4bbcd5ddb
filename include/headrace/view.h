/* SPDX-License-Identifier: MIT */
/** @file view.h
 *  Views: by-value windows into arrays, and everything that moves their
 *  elements.
 *
 *  The error of work that fails is returned once: by the next call that waits
 *  for its array, by an event behind it, and by its queue. The elements that it
 *  should have written then have no values.
 *
 *  Copies between accelerators and ordinary host memory go through the
 *  library's pinned memory, by its own threads, and do not block the caller.
 *  Those from and to staging arrays and memory of hr_allocate_pinned need
 *  neither. Elements whose rows are not rows of the array (hr_view_reshape,
 *  then a section) move row by row.
 *
 *  Views of one array may overlap. Suppose one view writes elements that
 *  another reads or writes. Then work through them runs in the order of the
 *  calls, on whatever queues. Work that has no element in common runs side by
 *  side. Calls of several threads on views that overlap have some order. Only
 *  the threads themselves can make sure of it. */
#ifndef HEADRACE_VIEW_H
#define HEADRACE_VIEW_H

#include <headrace/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A window into an array. Element (i, j, ...) is offset_bytes + i *
 *  stride_bytes[0] + j * stride_bytes[1] + ... behind the array's first one, as
 *  if the array were packed. Made by the functions below; passed by value. */
typedef struct hr_view {
    hr_array *array;
    hr_extent extent;
    size_t element_bytes;
    int64_t offset_bytes;
    int64_t stride_bytes[HR_MAX_RANK]; /**< of the extent's dimensions */
    const char *type; /**< of the elements (hr_array_wrap_typed); NULL: not
                           known */
} hr_view;

/** What is done with the elements of a view. */
typedef enum hr_access {
    HR_IN = 1,   /**< read */
    HR_OUT = 2,  /**< all of them written, none read */
    HR_INOUT = 3 /**< read and written */
} hr_access;

/** The view of a whole array.
 * @threads Any thread. */
HR_API hr_view hr_view_of(hr_array *array);

/** The window of view that starts at origin[0 .. rank - 1].
 *
 * @shape   extent has view's rank and lies inside it.
 * @owner   *section is written only on success and borrows the array.
 * @errors  HR_ERROR_INVALID for NULL, another rank, or when it does not lie
 *          inside.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_view_section(hr_view view,
                                              const int64_t *origin,
                                              hr_extent extent,
                                              hr_view *section);

/** The part of view at `index` of dimension 0, with one dimension less.
 *
 * @errors  HR_ERROR_INVALID for NULL, rank 1, or an index out of range.
 *          Otherwise as hr_view_section. */
HR_API HR_NODISCARD hr_status hr_view_project(hr_view view, int64_t index,
                                              hr_view *projection);

/** Several views as one, with a new dimension 0 that counts them: what an
 *  argument for a list of views is (kernel.h).
 *
 * @shape   Views of one array, with the same extent, element_bytes and strides.
 *          They lie at equal distances: view i + 1 as far behind view i as view
 *          1 behind view 0. One view alone is a list, too.
 * @owner   *list is written only on success and borrows the array.
 * @errors  HR_ERROR_INVALID for NULL, 0 views, a view of rank HR_MAX_RANK, or
 *          views that are not like that.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_view_list(const hr_view *views, uint32_t count,
                                           hr_view *list);

/** The same elements in the same order under another extent. The extent may
 *  have fewer elements: the first ones.
 *
 * @errors  HR_ERROR_INVALID for NULL, an extent that is none or has more
 *          elements, or a view with gaps between its rows. Otherwise as
 *          hr_view_section. */
HR_API HR_NODISCARD hr_status hr_view_reshape(hr_view view, hr_extent extent,
                                              hr_view *reshaped);

/** The same bytes as elements of another size: the last dimension changes its
 *  size. The type of the elements is not known any more, also if their size is
 *  the same.
 *
 * @errors  HR_ERROR_INVALID for NULL, or when element_bytes does not divide a
 *          row's bytes. Where view has several rows, it must divide the
 *          distance between them, too. Otherwise as hr_view_section. */
HR_API HR_NODISCARD hr_status hr_view_reinterpret(hr_view view,
                                                  size_t element_bytes,
                                                  hr_view *other);

/** Copy the elements of one view to another and wait for it. They go to the
 *  home of to's array. When that has none, they go to where most of `from` is.
 *  They come from where they are valid, over the fewest links.
 *
 * @shape    The two have the same extent and element_bytes.
 * @aliasing The views must not overlap.
 * @errors   HR_ERROR_INVALID when one of these does not hold; whatever the
 *           accelerators report.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_copy(hr_view from, hr_view to);

/** hr_copy without waiting. When both ends are in host memory, the calling
 *  thread copies before it returns.
 *
 * @owner   *event is the caller's; event may be NULL.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_copy_async(hr_view from, hr_view to,
                                            hr_event **event);

/** Bring the elements to the array's home, where they are not yet, and wait for
 *  all work on them. An array without a home gets host memory.
 *
 * @errors  HR_ERROR_INVALID for a view of no array; HR_ERROR_OUT_OF_MEMORY; the
 *          error of work that wrote the elements.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_synchronize(hr_view view);

/** hr_synchronize without waiting. It does wait where the array's memory is
 *  strided (hr_array_wrap_strided).
 *
 * @owner   *event is the caller's; event may be NULL.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_synchronize_async(hr_view view,
                                                   hr_event **event);

/** Say that you have written to these elements in the array's host memory:
 *  copies elsewhere are no longer valid. Waits for work on the elements that is
 *  under way.
 *
 * @errors  HR_ERROR_INVALID for a view of no array or of one without host
 *          memory; HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_invalidate(hr_view view);

/** Say that the values of these elements are no longer needed: nothing fetches
 *  them.
 *
 * @errors  HR_ERROR_INVALID for a view of no array.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_discard(hr_view view);

/** Fetch elements to queue's accelerator before they are needed there. Elements
 *  that have no values stay so.
 *
 * @errors  HR_ERROR_INVALID for NULL, a view of no array, or a queue of another
 *          context; HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_prefetch(hr_view view, hr_queue *queue);

/** Elements in memory that the caller uses, until hr_unmap. */
typedef struct hr_mapping {
    void *data;                        /**< the view's first element */
    int64_t stride_bytes[HR_MAX_RANK]; /**< of the view's dimensions */
    hr_view view;
    hr_access access;
    uint32_t place; /**< 0: host memory; else that of accelerator place - 1 */
} hr_mapping;

/** Let the caller use the elements in host memory as access says. Brings what
 *  is not there, unless they are only written, and waits for work on them.
 *
 * @owner   *mapping is written only on success. What it points to is the
 *          caller's until hr_unmap, and nothing else uses the elements until
 *          then.
 * @errors  HR_ERROR_INVALID for NULL, a view of no array or an access that is
 *          none; HR_ERROR_OUT_OF_MEMORY; the error of work that wrote the
 *          elements.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_map(hr_view view, hr_access access,
                                     hr_mapping *mapping);

/** hr_map with the place in the source that the checker names (check.h). In C
 *  and C++ the macro hr_map passes the place where it stands. file may be NULL.
 *
 * @owner   file outlives the context; otherwise as hr_map.
 * @errors  Those of hr_map.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_map_at(hr_view view, hr_access access,
                                        hr_mapping *mapping, const char *file,
                                        int line);
#define hr_map(...) hr_map_at(__VA_ARGS__, __FILE__, __LINE__)

/** hr_map in the memory of accelerator index: for libraries that work there,
 *  and for MPI that sends from there. An accelerator that works on host memory
 *  gives that. On CUDA, data is an address as cuMemAlloc gives it, and the
 *  device's primary context is the thread's current one until hr_unmap. The
 *  accelerator gets memory for all of the array.
 *
 * @owner   What uses the elements has ended before hr_unmap; where they were
 *          written, hr_unmap waits for CUDA's legacy default stream. Otherwise
 *          as hr_map.
 * @errors  Those of hr_map; HR_ERROR_INVALID for an index that is none;
 *          HR_ERROR_UNSUPPORTED where memory has no addresses, as with OpenCL.
 * @threads Any thread. The same one calls hr_unmap, with the same CUDA context
 *          as its current one; of several accelerators the last one first. */
HR_API HR_NODISCARD hr_status hr_map_on(hr_view view, uint32_t index,
                                        hr_access access, hr_mapping *mapping);

/** End the mapping: what the caller wrote is valid there alone. The mapping is
 *  ended also after an error.
 *
 * @errors  HR_ERROR_INVALID for NULL, or a mapping of neither hr_map nor
 *          hr_map_on; the error of CUDA's default stream.
 * @threads Any thread; after hr_map_on the one that called it. */
HR_API HR_NODISCARD hr_status hr_unmap(hr_mapping *mapping);

#ifdef __cplusplus
}
#endif
#endif
