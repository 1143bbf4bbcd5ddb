/* SPDX-License-Identifier: MIT */
/* Fills with one value: split launches of kernels/dialect/fill.c. */
#include <headrace/fill.h>

#include <string.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "calls/views.h"
#include "split/split.h"

enum { WIDE = 16 }; /* bytes of the widest elements */

static const char call[] = "fill", name[] = "the view";

#define KERNELS(name)                                                          \
    extern const hr_kernel name##_line, name##_rows, name##_slices
KERNELS(hri_fill8);
KERNELS(hri_fill16);
KERNELS(hri_fill32);
KERNELS(hri_fill64);
KERNELS(hri_fill128);

/* The kernel for elements of 1, 2, 4, 8 or 16 bytes. */
static const hr_kernel *kernel_for(size_t bytes, uint32_t rank)
{
#define OF(name)                                                               \
    {                                                                          \
        &name##_line, &name##_rows, &name##_slices                             \
    }
    static const hr_kernel *const kernels[][HR_MAX_KERNEL_RANK] = {
        [1] = OF(hri_fill8),
        [2] = OF(hri_fill16),
        [4] = OF(hri_fill32),
        [8] = OF(hri_fill64),
        [16] = OF(hri_fill128)};
#undef OF
    return kernels[bytes][rank - 1];
}

/* ---- the launch */

/* Whether all places keep what starts at multiples of WIDE bytes of the array
 * there. Devices do so within a row. */
static bool is_aligned(const hr_array *a)
{
    const uintptr_t host = (uintptr_t)a->stores[HRI_HOST].host;
    return host % WIDE == 0 && (a->extent.rank == 1 || a->size[2] % WIDE == 0);
}

/* Make the view one of elements of WIDE bytes, if its rows divide into these.
 * Fewer and wider accesses are faster. */
static void widen(hr_view *view, size_t bytes, unsigned char *value)
{
    if (is_aligned(view->array) &&
        hr_view_reinterpret(*view, WIDE, view) == HR_OK) {
        for (size_t at = bytes; at < WIDE; at += bytes) {
            memcpy(value + at, value, bytes);
        }
    }
}

hr_status hr_fill(hr_context *context, hr_view view, hr_type type,
                  const void *value, const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || value == NULL) {
        return hri_fail(HR_ERROR_INVALID, "fill: the %s is NULL",
                        context == NULL ? "context" : "value");
    }
    HRI_TRY(hri_type_check(call, NULL, type));
    HRI_TRY(hri_view_check(&view, context, type, call, name));
    HRI_TRY(hri_view_for_kernels(&view, HR_MAX_KERNEL_RANK, call, name));
    if (hri_view_is_narrow(&view)) {
        hri_view_flatten(&view, 0, 1);
    }
    unsigned char bits[WIDE] = {0};
    const size_t bytes = hr_type_size(type);
    view.type = NULL; /* the kernel is for bits */
    memcpy(bits, value, bytes);
    widen(&view, bytes, bits);
    const hr_argument arguments[] = {
        hr_out(view), hr_value((const void *)bits, view.element_bytes)};
    hri_splitting s = {.context = context,
                       .kernel =
                           kernel_for(view.element_bytes, view.extent.rank),
                       .domain = view.extent,
                       .arguments = arguments,
                       .call = call};
    return hri_split_run(&s, 2, options);
}
