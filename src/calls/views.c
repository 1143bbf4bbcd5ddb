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
