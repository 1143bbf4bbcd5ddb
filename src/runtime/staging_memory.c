/* SPDX-License-Identifier: MIT */
/* The pinned memory of an accelerator's copy pools: how much there is, and
 * which pool has it. */
#include <string.h>

#include "base/size.h"
#include "runtime/staging.h"

/* Let the threads of an accelerator run on the CPUs near it. This needs to be
 * known, and the CPUs must be enough for its copy pools. */
static void stay_near(hri_accelerator *a)
{
    static const char prefix[] = "pci:";
    const char *id = a->device->info.physical_id;
    if (strncmp(id, prefix, sizeof prefix - 1) == 0) {
        hri_cpus near =
            hri_cpus_near("/sys/bus/pci/devices", id + sizeof prefix - 1);
        if (hri_cpus_count(&near) >= 2 * a->copy_threads) {
            a->threads.cpus = near;
        }
    }
}

void hri_staging_plan(hri_accelerator *accelerator, uint32_t accelerators,
                      uint32_t threads)
{
    /* half of the threads for each direction, as many of them wait for memory
     * or copies */
    int64_t count = threads / (2 * accelerators);
    accelerator->copy_threads =
        (uint32_t)hri_min(hri_max(count, 1), HRI_MAX_COPY_THREADS);
    for (int way = 0; way < HRI_WAYS; way++) {
        pthread_mutex_init(&accelerator->staging[way].lock, NULL);
        pthread_cond_init(&accelerator->staging[way].changed, NULL);
    }
    stay_near(accelerator);
}

static size_t staging_bytes(const hri_accelerator *accelerator)
{
    return (size_t)accelerator->copy_threads * HRI_THREAD_PIECES *
           HRI_PIECE_BYTES;
}

hr_status hri_staging_open(hri_accelerator *a)
{
    hri_device *device = a->device;
    const size_t bytes = staging_bytes(a);
    hr_status status = HR_OK;
    for (int way = 0; way < HRI_WAYS && status == HR_OK; way++) {
        hri_staging *staging = &a->staging[way];
        status = device->ops->allocate_pinned(device, bytes, &staging->pinned);
        a->pinned_used += status == HR_OK ? bytes : 0;
        for (uint32_t i = 0;
             i < a->copy_threads * HRI_THREAD_PIECES && status == HR_OK; i++) {
            status =
                device->ops->create_event(device, false, &staging->events[i]);
        }
    }
    return status;
}

void hri_staging_close(hri_accelerator *a)
{
    for (int way = 0; way < HRI_WAYS && a->copy_threads > 0; way++) {
        hri_staging *staging = &a->staging[way];
        for (uint32_t i = 0; i < a->copy_threads * HRI_THREAD_PIECES; i++) {
            if (staging->events[i] != NULL) {
                staging->events[i]->ops->destroy(staging->events[i]);
            }
        }
        if (staging->pinned != NULL) {
            a->device->ops->release_pinned(a->device, staging->pinned);
            a->pinned_used -= staging_bytes(a);
        }
        pthread_cond_destroy(&staging->changed);
        pthread_mutex_destroy(&staging->lock);
    }
}

static hri_staging *staging_of(const hri_copy_pool *pool)
{
    return &pool->accelerator->staging[pool->up ? HRI_UP : HRI_DOWN];
}

void hri_staging_take(hri_copy_pool *pool)
{
    hri_staging *staging = staging_of(pool);
    pthread_mutex_lock(&staging->lock);
    while (staging->taken) {
        pthread_cond_wait(&staging->changed, &staging->lock);
    }
    staging->taken = true;
    pthread_mutex_unlock(&staging->lock);
    for (uint32_t i = 0; i < pool->thread_count * pool->depth; i++) {
        hri_copy_thread *copy_thread = &pool->threads[i / pool->depth];
        copy_thread->pinned[i % pool->depth] =
            (char *)staging->pinned + (size_t)i * HRI_PIECE_BYTES;
        copy_thread->events[i % pool->depth] = staging->events[i];
    }
}

void hri_staging_give(const hri_copy_pool *pool)
{
    hri_staging *staging = staging_of(pool);
    pthread_mutex_lock(&staging->lock);
    staging->taken = false;
    pthread_cond_signal(&staging->changed);
    pthread_mutex_unlock(&staging->lock);
}
