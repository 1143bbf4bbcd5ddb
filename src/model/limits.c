/* SPDX-License-Identifier: MIT */
/* Measuring the limits that no product on a context's devices can beat. */
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/structs.h"
#include "model/figures.h"

static bool copies(const hri_accelerator *a)
{
    return !a->in_place;
}

static hr_status measure_links(hri_accelerator *const *devices, uint32_t count,
                               bool staged, hri_link *together, hri_link *alone)
{
    if (count == 0) {
        return HR_OK;
    }
    HRI_TRY(hri_links_measure(devices, 1, staged, alone));
    *together = *alone;
    return count > 1 ? hri_links_measure(devices, count, staged, together)
                     : HR_OK;
}

/* Where only some devices stage, ordinary memory is copied directly and so
 * measured directly. For devices that do not stage, it makes no difference. */
static hr_status measure_all_links(hri_accelerator *const *devices,
                                   uint32_t count, hr_gemm_limits *l)
{
    bool staged = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        staged = staged && devices[i]->device->info.staged;
    }
    HRI_TRY(measure_links(devices, count, false, &l->pinned, &l->pinned_alone));
    l->ordinary = l->pinned;
    l->ordinary_alone = l->pinned_alone;
    return staged ? measure_links(devices, count, true, &l->ordinary,
                                  &l->ordinary_alone)
                  : HR_OK;
}

static hr_status measure_rates(hri_accelerator *const *devices, uint32_t count,
                               hri_product_kind kind, hr_gemm_limits *l)
{
    for (uint32_t i = 0; i < count; i++) {
        double rate = 0.0;
        if (hri_accelerator_multiplies(devices[i], kind)) {
            HRI_TRY(hri_accelerator_top_rate(devices[i], kind, &rate));
            l->flops += rate;
        }
    }
    if (l->flops <= 0.0) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "measuring: no accelerator multiplies %s into %s%s",
                        hr_type_name(kind.type), hr_type_name(kind.c_type),
                        hri_compute_phrase(kind.compute));
    }
    return HR_OK;
}

static hr_status measure(hr_context *context, hri_product_kind kind,
                         hr_gemm_limits *l)
{
    hri_accelerator **devices = NULL;
    uint32_t count = 0;
    HRI_TRY(hri_devices_list(context, NULL, &devices, &l->devices));
    hr_status status = measure_rates(devices, l->devices, kind, l);
    free(devices);
    HRI_TRY(status);
    HRI_TRY(hri_devices_list(context, copies, &devices, &count));
    status = measure_all_links(devices, count, l);
    free(devices);
    return status;
}

static const hri_struct limits_struct =
    HRI_STRUCT(hr_gemm_limits, "gemm limits", "HR_GEMM_LIMITS_INIT", pinned);

static hr_status check_arguments(const hr_context *context, hr_type type,
                                 hr_type c_type, hr_compute compute,
                                 const hr_gemm_limits *limits)
{
    if (context == NULL || limits == NULL) {
        return hri_fail(HR_ERROR_INVALID, "measuring: %s is NULL",
                        context == NULL ? "the context" : "limits");
    }
    HRI_TRY(hri_struct_check(&limits_struct, limits));
    if (type < HR_F32 || type > HR_I32 || c_type < HR_F32 || c_type > HR_I32 ||
        (unsigned)compute > HR_COMPUTE_PRECISE) {
        return hri_fail(
            HR_ERROR_INVALID,
            "measuring: unknown type %d, type %d or compute mode %d", (int)type,
            (int)c_type, (int)compute);
    }
    return HR_OK;
}

hr_status hr_gemm_measure_limits(hr_context *context, hr_type type,
                                 hr_type c_type, hr_compute compute,
                                 hr_gemm_limits *limits)
{
    HRI_USUAL_ARITHMETIC;
    hr_gemm_limits known = {0};
    HRI_TRY(check_arguments(context, type, c_type, compute, limits));
    pthread_mutex_lock(&context->lock);
    const hr_status status =
        measure(context, (hri_product_kind){type, c_type, compute}, &known);
    pthread_mutex_unlock(&context->lock);
    HRI_TRY(status);
    hri_struct_write(&limits_struct, &known, limits);
    return HR_OK;
}
