/* SPDX-License-Identifier: MIT */
/* Accelerators that no longer work. They stay in their context, and engines
 * leave them out. */
#include "runtime/runtime.h"

/* Guards the errors of all accelerators until they are known: losses are
 * rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_known(hri_loss *loss)
{
    return atomic_load_explicit(&loss->known, memory_order_acquire);
}

hr_status hri_accelerator_saw(hri_accelerator *accelerator, hr_status status)
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

bool hri_accelerator_is_lost(hri_accelerator *accelerator)
{
    return is_known(&accelerator->loss);
}

hr_status hri_accelerator_check(hri_accelerator *accelerator)
{
    return hri_accelerator_is_lost(accelerator)
               ? hri_error_raise(&accelerator->loss.error)
               : HR_OK;
}
