/* SPDX-License-Identifier: MIT */
/* What can be used: contexts of this process, and accelerators that still work.
 * Others stay in their context, and engines leave them out. */
#include "base/pool.h"
#include "runtime/runtime.h"

/* Guards the errors of all accelerators until they are known: losses are
 * rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_known(const hri_loss *loss)
{
    return atomic_load_explicit(&loss->known, memory_order_acquire);
}

hr_status hri_accelerator_note_status(hri_accelerator *accelerator,
                                      hr_status status)
{
    hri_loss *loss = &accelerator->loss;
    if (status != HR_ERROR_LOST || is_known(loss)) {
        return status;
    }
    pthread_mutex_lock(&lock);
    hri_error_keep(&loss->error, status);
    atomic_store_explicit(&loss->known, true, memory_order_release);
    pthread_mutex_unlock(&lock);
    return status;
}

hr_status hri_accelerator_check(const hri_accelerator *accelerator)
{
    hri_device *device = accelerator->device;
    return is_known(&accelerator->loss)
               ? hri_error_raise(&accelerator->loss.error)
               : device->ops->check(device);
}

bool hri_accelerator_is_lost(const hri_accelerator *accelerator)
{
    hri_device *device = accelerator->device;
    return is_known(&accelerator->loss) || device->ops->check(device) != HR_OK;
}

hr_status hri_indices_check(const hr_context *context,
                            const hri_indices *indices)
{
    for (uint32_t i = 0; i < indices->count; i++) {
        HRI_TRY(hri_accelerator_check(
            &context->accelerators[hri_indices_at(indices, i)]));
    }
    return HR_OK;
}

hr_status hri_context_check(const hr_context *context, const char *call)
{
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the context is NULL", call);
    }
    if (!hri_pool_is_here(context->pool)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: the context is of the parent process; a child of "
                        "fork() makes its own",
                        call);
    }
    return HR_OK;
}
