/* SPDX-License-Identifier: MIT */
#include "model/bandwidth.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/probe.h"
#include "model/tuning.h"

enum {
    MOST_BYTES = 32 << 20, /* more than caches hold, on most */
    LEAST_BYTES = 64 << 10,
    PIECE_BYTES = 1 << 20, /* of the host's copy, for a thread of the pool */
    TRIES = 4
};

/* Where limits do not even let the smallest copy in: an order of magnitude that
 * lets planning go on. */
static const double usual = 2e10;

/* ---- the host's memory, by all its threads */

typedef struct pieces {
    char *to, *from;
} pieces;

static void copy_piece(void *data, int64_t index)
{
    const pieces *p = data;
    const size_t at = (size_t)index * PIECE_BYTES;
    memcpy(p->to + at, p->from + at, PIECE_BYTES);
}

static double time_host(hr_context *context, const pieces *p)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t start = hri_clock_ns();
        hri_pool_run(context->pool, MOST_BYTES / PIECE_BYTES, copy_piece,
                     (void *)(uintptr_t)p);
        const double seconds = hri_seconds_since(start);
        best = i == 0 || seconds < best ? seconds : best;
    }
    return 2.0 * MOST_BYTES / best;
}

static void host_memory(hr_context *context, double *rate, bool *settled)
{
    pieces p = {malloc(MOST_BYTES), malloc(MOST_BYTES)};
    *settled = p.to != NULL && p.from != NULL;
    if (*settled) {
        memset(p.from, 1, MOST_BYTES);
        *rate = time_host(context, &p);
    }
    free(p.to);
    free(p.from);
}

/* ---- a device's */

static hr_status time_copy(const hri_probe *b, hri_buffer *to, hri_buffer *from,
                           double *rate)
{
    const hri_copy copy = {.to = hri_at(to, 0),
                           .from = hri_at(from, 0),
                           .width = from->bytes,
                           .height = 1,
                           .depth = 1};
    double seconds = 0;
    hr_status status = hri_probe_time(b, NULL, &copy, &seconds);
    if (status == HR_OK) {
        *rate = 2 * (double)from->bytes / seconds;
    }
    return status;
}

static hr_status device_memory(hri_accelerator *a, double *rate, bool *settled)
{
    const uint64_t room = hri_accelerator_room(a) / 2;
    const uint64_t largest = a->device->info.allocation_bytes;
    uint64_t bytes = room < MOST_BYTES ? room : MOST_BYTES;
    bytes = largest < bytes ? largest : bytes;
    hri_buffer *from = NULL, *to = NULL;
    hri_probe bench;
    if (bytes < LEAST_BYTES) {
        return HR_OK;
    }
    hr_status status = hri_probe_open(a, &bench);
    if (status != HR_OK) {
        return status;
    }
    status = hri_accelerator_allocate(a, bytes, &from);
    if (status == HR_OK) {
        status = hri_accelerator_allocate(a, bytes, &to);
    }
    if (status == HR_OK) {
        status = time_copy(&bench, to, from, rate);
    }
    (void)bench.queue->ops->finish(bench.queue);
    hri_accelerator_release(a, from);
    hri_accelerator_release(a, to);
    hri_probe_close(&bench);
    *settled = status == HR_OK && bytes == MOST_BYTES;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* ---- once */

/* The same for all virtual accelerators of the device. */
static void set(hri_accelerator *accelerator, double rate)
{
    for (hri_accelerator *a = accelerator; a != NULL;
         a = hri_next_sibling(a, accelerator)) {
        a->memory_rate = rate;
    }
}

hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *accelerator)
{
    static const char *const kind = "memory"; /* in facts.h */
    double rate = usual;
    bool settled = false; /* not a guess, which is not kept */
    hr_status status = HR_OK;
    if (accelerator->memory_rate > 0) {
        return HR_OK;
    }
    if (!hri_tuning_find(kind, accelerator->key, &rate)) {
        if (accelerator->device->info.host) {
            host_memory(context, &rate, &settled);
        } else {
            status = device_memory(accelerator, &rate, &settled);
        }
        if (status == HR_OK && settled) {
            hri_tuning_keep(kind, accelerator->key, rate);
        }
    }
    if (status == HR_OK) {
        set(accelerator, rate);
    }
    return status;
}
