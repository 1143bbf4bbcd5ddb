/* SPDX-License-Identifier: MIT */
/** @file check.h
 *  The checker: whether kernels do with their views what they declare.
 *
 *  A context that is created while the environment has HEADRACE_CHECK=1 runs
 *  each launch inside hr_launch. The launch runs on the host, in one thread and
 *  on copies of the views, whatever accelerator it is for. A kernel of text is
 *  checked on accelerators of the host alone. Elsewhere hr_launch returns
 *  HR_ERROR_UNSUPPORTED for it, and so do hr_transform and hr_reduce_with. The
 *  checker watches every HR_AT. It finds:
 *
 *  - An index outside of a view. The access goes elsewhere and harms nothing.
 *
 *  - An item that reads an element of an OUT view which has no value yet.
 *
 *  - Elements whose values come from what an OUT view held before. Under the
 *    checker an OUT view holds large negative numbers first, 0 and small
 *    positive ones in a second run, and large positive ones in a third. A loop
 *    over an unsigned bound from there may not end. If the first two runs find
 *    nothing, this holds for other bounds too.
 *
 *  - An IN view that was written, with const cast away.
 *
 *  - A block of HR_EACH or HR_ITEMS whose rank is not the domain's. The launch
 *    returns HR_ERROR_COMPUTE_DOMAIN, each time.
 *
 *  - An element that one item writes and another item writes or uses. An
 *    HR_BARRIER between two accesses of one tile allows it, and so does
 *    HR_ATOMIC for both.
 *
 *  - An element that code between the blocks of items writes, which all items
 *    run.
 *
 *  - In hr_run and hr_launch_split: a row that the argument does not give to
 *    the point. The point has its own row, or those of its tile where bands
 *    are cut between tiles, and what hr_near, hr_whole or hr_combined add. It
 *    does not matter how many bands there are. Conflicts are found between
 *    bands, too.
 *
 *  Members of one struct are one element.
 *
 *  hr_launch then returns HR_ERROR_INVALID with a sentence for the first
 *  finding: "kernels.c:12: add: item (3) writes c[5], outside its extent 5".
 *  The sentence also says how many more findings there are. The launch has been
 *  done all the same: the views have what it wrote. hr_run and hr_launch_split
 *  return it when all bands have run. Each finding is reported once. Of one
 *  line, view and kind the first element counts. A launch with known findings
 *  alone succeeds.
 *
 *  hr_map gives a copy of the elements, which cannot be accessed any more after
 *  hr_unmap. The first use of it then gets zeros. The next hr_map,
 *  hr_synchronize or hr_launch of the context reports it, and does nothing
 *  else: "walk.c:31: element (2, 3) of the view mapped here was read after
 *  hr_unmap, by program+0x1234". For this, and with HEADRACE_CHECK=1 only, the
 *  library installs a handler of SIGSEGV. Faults that are no such use go to the
 *  handler that was there before. A handler that the program installs after its
 *  first hr_map takes the library's place. The last 1,024 mappings are watched.
 *
 *  The launch of each band of a grid is checked like this. The step fails when
 *  a kernel reads further than a halo or writes another cell than its own. The
 *  checker does not find neighbours that a kernel reads of a field given by
 *  hr_field_here where the band has them. Nor does it find cells of
 *  HR_BOUNDARY_USER that nobody has written.
 *
 *  The checker does not see these either:
 *
 *  - what is written over an INOUT element with the bits it has;
 *
 *  - memory of tiles, also accesses outside of it: a launch whose tiles have
 *    more items than HR_TILE_STATIC has room for may crash;
 *
 *  - elements of an IN or INOUT view that nobody has written: they have any
 *    value;
 *
 *  - pointers that a kernel makes from HR_AT and steps on;
 *
 *  - views whose pointer a kernel has moved.
 *
 *  An element counts as read if its address is taken and its item does not
 *  change it. */
#ifndef HEADRACE_CHECK_H
#define HEADRACE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/context.h>
#include <headrace/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How many findings there are so far, reported or not; 0 without
 *  HEADRACE_CHECK=1.
 * @threads Any thread. */
HR_API size_t hr_check_count(hr_context *context);

/** The sentence of finding index, 0 <= index < hr_check_count, else NULL.
 *
 * @owner   The context's.
 * @threads Any thread. */
HR_API const char *hr_check_finding(hr_context *context, size_t index);

/* Functions for kernels that were compiled with HR_CHECKED. You do not call
 * them. */

/** An HR_AT of this rank in this line. */
typedef struct hr_checked_access {
    const void *view;
    const hr_shape *shape;
    size_t bytes; /**< of an element */
    int line;
    uint32_t rank; /**< of a view, or of each view of the list */
    bool list;     /**< index[0] is that of a view of the list */
    int64_t index[1 + HR_MAX_KERNEL_RANK];
} hr_checked_access;

/** The address of the element that the running item accesses.
 *
 * @owner   The library's, until the item is done.
 * @threads The thread that runs the kernel. */
HR_API void *hr_checked_at(const hr_checked_access *access);

/** Say what runs now: `item` of the tile while there are more, else the code
 *  between blocks. The block in this line is of this rank. Returns more.
 * @threads The thread that runs the kernel. */
HR_API int hr_checked_item(int more, int64_t item, uint32_t rank, int line);

/** Say that the access that gave this place is atomic. Returns place.
 * @threads The thread that runs the kernel. */
HR_API void *hr_checked_atomic(const void *place);

/** Say that all items of the tile have come here.
 * @threads The thread that runs the kernel. */
HR_API void hr_checked_barrier(void);

/** These functions, for kernels that are compiled at run time. */
typedef struct hr_checked_calls {
    void *(*at)(const hr_checked_access *access);
    int (*item)(int more, int64_t item, uint32_t rank, int line);
    void *(*atomic)(const void *place);
    void (*barrier)(void);
} hr_checked_calls;

#ifdef __cplusplus
}
#endif
#endif
