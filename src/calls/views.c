/* SPDX-License-Identifier: MIT */
#include "calls/views.h"

#include "arrays/array.h"

hr_status hri_view_for_kernels(hr_view *view, const char *call,
                               const char *name)
{
    return hri_view_flatten(view, 0, HR_MAX_KERNEL_RANK)
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "%s: %s has rank %u, and gaps between its first "
                          "dimensions",
                          call, name, view->extent.rank);
}

hr_view hri_view_in_space(hr_view view)
{
    if (view.extent.rank == 2) {
        view.extent = hr_extent3(view.extent.size[0], 1, view.extent.size[1]);
        view.stride_bytes[2] = view.stride_bytes[1];
        view.stride_bytes[1] = view.stride_bytes[0];
    }
    return view;
}

bool hri_view_is_same(const hr_view *a, const hr_view *b)
{
    bool same = a->array == b->array && a->offset_bytes == b->offset_bytes &&
                a->element_bytes == b->element_bytes;
    for (uint32_t d = 0; d < a->extent.rank; d++) {
        same = same && (a->extent.size[d] == 1 ||
                        a->stride_bytes[d] == b->stride_bytes[d]);
    }
    return same;
}
