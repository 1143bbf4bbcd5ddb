/* SPDX-License-Identifier: MIT */
#include "runtime/runtime.h"

/* The first `count` entries are checked already. A list that is longer than the
 * context has some accelerator twice, so nothing is read behind the
 * duplicate. */
static hr_status check_entry(const hr_context *context, const char *caller,
                             const uint32_t *list, uint32_t count,
                             uint32_t length)
{
    const hri_indices before = {list, count};
    const uint32_t index = list[count];
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: accelerator index %u is not below %u", caller,
                        index, context->accelerator_count);
    }
    if (hri_indices_have(&before, index)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: accelerator %u is listed twice among %u "
                        "accelerators",
                        caller, index, length);
    }
    return HR_OK;
}

bool hri_indices_have(const hri_indices *indices, uint32_t index)
{
    for (uint32_t i = 0; i < indices->count; i++) {
        if (hri_indices_at(indices, i) == index) {
            return true;
        }
    }
    return false;
}

hr_status hri_indices_read(const hr_context *context, const char *caller,
                           const uint32_t *list, uint32_t count,
                           hri_indices *indices)
{
    if (context->accelerator_count == 0) {
        return hri_fail(HR_ERROR_INVALID, "%s: the context has 0 accelerators",
                        caller);
    }
    if (list == NULL && count != 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %u accelerator%s, but no list: accelerators is "
                        "NULL",
                        caller, count, hri_plural(count));
    }
    if (list != NULL && count == 0) {
        return hri_fail(HR_ERROR_INVALID, "%s: a list of 0 accelerators",
                        caller);
    }
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        HRI_TRY(check_entry(context, caller, list, i, count));
    }
    const uint32_t all = context->accelerator_count;
    *indices = (hri_indices){list, list != NULL ? count : all};
    return HR_OK;
}

hr_status hri_accelerator_check_double(const hri_accelerator *accelerator)
{
    hri_device *device = accelerator->device;
    return device->ops->gemm_offered(device, HR_F64, HR_F64, HR_COMPUTE_NATIVE)
               ? HR_OK
               : hri_fail(HR_ERROR_UNSUPPORTED, "%s cannot compute in double",
                          accelerator->path);
}
