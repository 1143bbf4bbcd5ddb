/* SPDX-License-Identifier: MIT */
/* The first error of a queue, for it and for the events recorded there. */
#include <stdlib.h>

#include "backends/cuda/cuda.h"

hr_status hri_cuda_fate_create(const char *path, hri_cuda_fate **out)
{
    hri_cuda_fate *fate = calloc(1, sizeof *fate);
    if (fate == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: out of host memory", path);
    }
    pthread_mutex_init(&fate->lock, NULL);
    fate->users = 1;
    *out = fate;
    return HR_OK;
}

void hri_cuda_fate_hold(hri_cuda_fate *fate)
{
    pthread_mutex_lock(&fate->lock);
    fate->users++;
    pthread_mutex_unlock(&fate->lock);
}

void hri_cuda_fate_drop(hri_cuda_fate *fate)
{
    if (fate == NULL) {
        return;
    }
    pthread_mutex_lock(&fate->lock);
    bool last = --fate->users == 0;
    pthread_mutex_unlock(&fate->lock);
    if (last) {
        pthread_mutex_destroy(&fate->lock);
        free(fate);
    }
}

hr_status hri_cuda_fate_keep(hri_cuda_fate *fate, hr_status status)
{
    if (status != HR_OK) {
        pthread_mutex_lock(&fate->lock);
        hri_error_keep(&fate->error, status);
        pthread_mutex_unlock(&fate->lock);
    }
    return status;
}

hr_status hri_cuda_fate_raise(hri_cuda_fate *fate)
{
    hr_status status = HR_OK;
    if (fate != NULL) {
        pthread_mutex_lock(&fate->lock);
        status = hri_error_raise(&fate->error);
        pthread_mutex_unlock(&fate->lock);
    }
    return status;
}
