/* SPDX-License-Identifier: MIT */
#include "calls/views.h"

#include "arrays/array.h"
#include "kernels/kernels.h"

enum { SHORT = 256 }; /* elements of a row */

hr_status hri_view_check_owner(const hr_view *view, const hr_context *context,
                               const char *call, const char *name)
{
    if (view->array == NULL || view->array->context != context) {
        return hri_fail(HR_ERROR_INVALID, "%s: %s belongs to %s", call, name,
                        view->array == NULL ? "no array" : "another context");
    }
    if (hr_extent_count(view->extent) <= 0) {
        return hri_fail(HR_ERROR_INVALID, "%s: %s has no elements", call, name);
    }
    return HR_OK;
}

hr_status hri_view_check(const hr_view *view, const hr_context *context,
                         hr_type type, const char *call, const char *name)
{
    HRI_TRY(hri_view_check_owner(view, context, call, name));
    if (view->element_bytes != hr_type_size(type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s has elements of %zu byte%s, but %s has %zu",
                        call, name, view->element_bytes,
                        hri_plural(view->element_bytes), hr_type_name(type),
                        hr_type_size(type));
    }
    if (!hri_element_agrees(hri_type_element(type), view->type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s has elements of %s, not of %s", call, name,
                        view->type, hr_type_name(type));
    }
    return HR_OK;
}

hr_status hri_views_check_extents(const hr_view *a, const char *a_name,
                                  const hr_view *b, const char *b_name,
                                  const char *call)
{
    if (a->extent.rank != b->extent.rank) {
        return hri_fail(HR_ERROR_INVALID, "%s: %s has rank %u, but %s has %u",
                        call, a_name, a->extent.rank, b_name, b->extent.rank);
    }
    for (uint32_t d = 0; d < a->extent.rank; d++) {
        if (a->extent.size[d] != b->extent.size[d]) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: %s has size %lld in dimension %u, but %s has "
                            "%lld",
                            call, a_name, (long long)a->extent.size[d], d,
                            b_name, (long long)b->extent.size[d]);
        }
    }
    return HR_OK;
}

hr_status hri_views_check_apart(const hr_view *a, const char *a_name,
                                const hr_view *b, const char *b_name,
                                const char *call)
{
    hri_boxes x = {0}, y = {0};
    hri_box both;
    if (a->array != b->array) {
        return HR_OK;
    }
    hr_status status = hri_view_boxes(a, &x);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_view_boxes(b, &y);
    if (status == HR_OK && hri_boxes_meet(&x, &y, &both)) {
        status = hri_fail(HR_ERROR_INVALID, "%s: %s overlaps %s", call, a_name,
                          b_name);
    }
done:
    hri_boxes_finish(&x);
    hri_boxes_finish(&y);
    return status;
}

const char *hri_type_element(hr_type type)
{
    static const char *const names[] = {
        [HR_F32] = "float",      [HR_F64] = "double", [HR_C32] = "hr_c32",
        [HR_C64] = "hr_c64",     [HR_F16] = "hr_f16", [HR_BF16] = "hr_bf16",
        [HR_I8] = "signed char", [HR_I32] = "int"};
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : NULL;
}

hr_status hri_view_for_kernels(hr_view *view, uint32_t rank, const char *call,
                               const char *name)
{
    if (!hri_view_flatten(view, 0, rank)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s has rank %u, and gaps between its first "
                        "dimensions",
                        call, name, view->extent.rank);
    }
    return HR_OK;
}

bool hri_view_is_narrow(const hr_view *view)
{
    const uint32_t rank = view->extent.rank;
    return rank > 1 && view->extent.size[rank - 1] < SHORT &&
           hri_view_is_packed(view);
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
