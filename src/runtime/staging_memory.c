/* SPDX-License-Identifier: MIT */
/* The pinned memory of an accelerator's copy pools: how much there is, and
 * which pool has it.
 *
 * On an H100's machine with 16 CPUs both directions of arrays' copies were half
 * as fast with more than 14 threads in all. Products and copies of arrays take
 * turns at an accelerator's pinned memory. */
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
    const int64_t share = threads / accelerators;
    const int64_t count = share / 2;
    accelerator->copy_threads =
        (uint32_t)hri_min(hri_max(count, 1), HRI_MAX_COPY_THREADS);
    for (int way = 0; way < HRI_WAYS; way++) {
        hri_staging *staging = &accelerator->staging[way];
        const int64_t least = accelerator->copy_threads * HRI_THREAD_CHUNKS;
        const int64_t most = way == HRI_UP ? share * 9 / 16 : share / 4;
        staging->threads =
            (uint32_t)hri_min(hri_max(most, 1), HRI_MAX_STREAM_THREADS);
        staging->chunks = (uint32_t)hri_max(
            least, (int64_t)staging->threads *
                       (way == HRI_UP ? HRI_STREAM_CHUNKS : HRI_THREAD_CHUNKS));
        pthread_mutex_init(&staging->lock, NULL);
        pthread_cond_init(&staging->changed, NULL);
    }
    stay_near(accelerator);
}

static size_t staging_bytes(const hri_staging *staging)
{
    return (size_t)staging->chunks * HRI_CHUNK_BYTES;
}

hr_status hri_staging_open(hri_accelerator *a)
{
    hri_device *device = a->device;
    for (int way = 0; way < HRI_WAYS; way++) {
        hri_staging *staging = &a->staging[way];
        const size_t bytes = staging_bytes(staging);
        HRI_TRY(device->ops->allocate_pinned(device, bytes, &staging->pinned));
        a->pinned_used += bytes;
        for (uint32_t i = 0; i < staging->chunks; i++) {
            HRI_TRY(
                device->ops->create_event(device, false, &staging->events[i]));
        }
    }
    return HR_OK;
}

void hri_staging_close(hri_accelerator *a)
{
    for (int way = 0; way < HRI_WAYS && a->copy_threads > 0; way++) {
        hri_staging *staging = &a->staging[way];
        for (uint32_t i = 0; i < staging->chunks; i++) {
            if (staging->events[i] != NULL) {
                staging->events[i]->ops->destroy(staging->events[i]);
            }
        }
        if (staging->pinned != NULL) {
            a->device->ops->release_pinned(a->device, staging->pinned);
            a->pinned_used -= staging_bytes(staging);
        }
        pthread_cond_destroy(&staging->changed);
        pthread_mutex_destroy(&staging->lock);
    }
}

static hri_staging *staging_of(const hri_copy_pool *pool)
{
    return &pool->accelerator->staging[pool->up ? HRI_UP : HRI_DOWN];
}

bool hri_copy_pool_is_wanted(const hri_copy_pool *pool)
{
    hri_staging *staging = staging_of(pool);
    pthread_mutex_lock(&staging->lock);
    const bool wanted = staging->wanted > 0;
    pthread_mutex_unlock(&staging->lock);
    return wanted;
}

void hri_staging_take(hri_copy_pool *pool)
{
    hri_staging *staging = staging_of(pool);
    pthread_mutex_lock(&staging->lock);
    staging->wanted++;
    while (staging->taken > 0) {
        pthread_cond_wait(&staging->changed, &staging->lock);
    }
    staging->wanted--;
    staging->taken++;
    pthread_mutex_unlock(&staging->lock);
    if (staging->owner != 0 && staging->owner != pool->stream) {
        /* wait for the uploads of another stream, whose fences tell their
         * errors */
        for (uint32_t i = 0; i < staging->chunks; i++) {
            (void)staging->events[i]->ops->wait(staging->events[i]);
        }
    }
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        /* its threads go on where those of the stream's last pool ended */
        pool->threads[i].sent =
            staging->owner != 0 && staging->owner == pool->stream
                ? staging->sent[i]
                : 0;
    }
    staging->owner = pool->up ? pool->stream : 0;
    for (uint32_t i = 0; i < pool->thread_count * pool->depth; i++) {
        hri_copy_thread *copy_thread = &pool->threads[i / pool->depth];
        copy_thread->pinned[i % pool->depth] =
            (char *)staging->pinned + (size_t)i * HRI_CHUNK_BYTES;
        copy_thread->events[i % pool->depth] = staging->events[i];
    }
}

void hri_staging_give(const hri_copy_pool *pool)
{
    hri_staging *staging = staging_of(pool);
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        staging->sent[i] = pool->threads[i].sent;
    }
    pthread_mutex_lock(&staging->lock);
    staging->taken--;
    pthread_cond_signal(&staging->changed);
    pthread_mutex_unlock(&staging->lock);
}
