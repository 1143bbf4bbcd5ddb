/* SPDX-License-Identifier: MIT */
/* What the link of one accelerator carries, from and to pinned memory. */
#include <string.h>

#include "model/links.h"
#include "model/probe.h"
#include "model/tuning.h"

enum {
    FIRST_BYTES = 4 << 20, /* of a copy, until it takes long enough */
    MOST_BYTES = 64 << 20,
    LEAST_BYTES = 64 << 10 /* below, latency is all that would be seen */
};

/* What takes at least so long is not ruled by latency or the clock's steps. */
static const double long_enough = 2e-3;

/* Where the limit does not even let the smallest copy in: an order of magnitude
 * that lets planning go on. */
static const double default_link = 1e10;

/* Seconds that `bytes` bytes take each way. */
static hr_status time_link(const hri_probe *b, uint64_t bytes, double *up,
                           double *down)
{
    hri_buffer *buffer = NULL;
    void *host = NULL;
    hr_status status = hri_accelerator_allocate(b->accelerator, bytes, &buffer);
    if (status == HR_OK) {
        status = hri_accelerator_allocate_pinned(b->accelerator, bytes, &host);
    }
    if (status == HR_OK) {
        memset(host, 1, bytes); /* so that its pages exist */
        hri_copy copy = {.to = hri_at(buffer, 0),
                         .from = hri_at_host(host, 0),
                         .width = bytes,
                         .height = 1,
                         .depth = 1};
        status = hri_probe_time(b, NULL, &copy, up);
        if (status == HR_OK) {
            hri_place to = copy.to;
            copy.to = copy.from;
            copy.from = to;
            status = hri_probe_time(b, NULL, &copy, down);
        }
    }
    hr_status finished = b->queue->ops->finish(b->queue);
    hri_accelerator_release(b->accelerator, buffer);
    hri_accelerator_release_pinned(b->accelerator, host);
    return status != HR_OK ? status : finished;
}

/* Start with what fits of FIRST_BYTES; four times as much until it takes long
 * enough or does not fit. */
static hr_status link_on_bench(const hri_probe *b, double *up, double *down,
                               bool *settled)
{
    hr_status status = HR_OK;
    double up_time = 0.0, down_time = 0.0;
    const uint64_t room = hri_accelerator_room(b->accelerator);
    const uint64_t largest = b->accelerator->device->info.allocation_bytes;
    uint64_t bytes = room < largest ? room : largest;
    bytes = bytes < FIRST_BYTES ? bytes : FIRST_BYTES;
    *up = *down = default_link;
    while (bytes >= LEAST_BYTES && bytes <= MOST_BYTES &&
           (up_time < long_enough || down_time < long_enough)) {
        status = time_link(b, bytes, &up_time, &down_time);
        if (status != HR_OK) {
            break;
        }
        *up = (double)bytes / up_time;
        *down = (double)bytes / down_time;
        bytes *= 4;
    }
    *settled = status == HR_OK && up_time >= long_enough;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

static void set_link(hri_accelerator *accelerator, double up, double down)
{
    for (hri_accelerator *a = accelerator; a != NULL;
         a = hri_next_sibling(a, accelerator)) {
        a->up = up;
        a->down = down;
    }
}

hr_status hri_link_measure(hri_accelerator *accelerator)
{
    hri_probe b;
    double up = 0.0, down = 0.0;
    hr_status status = hri_probe_open(accelerator, &b);
    if (status != HR_OK) {
        return status;
    }
    bool settled = false;
    status = link_on_bench(&b, &up, &down, &settled);
    hri_probe_close(&b);
    if (status == HR_OK) {
        set_link(accelerator, up, down);
    }
    if (settled) {
        hri_tuning_keep("up", accelerator->key, up);
        hri_tuning_keep("down", accelerator->key, down);
    }
    return status;
}

hr_status hri_accelerator_link(hri_accelerator *accelerator)
{
    double up, down;
    if (accelerator->in_place || accelerator->up > 0.0) {
        return HR_OK;
    }
    if (hri_tuning_find("up", accelerator->key, &up) &&
        hri_tuning_find("down", accelerator->key, &down)) {
        set_link(accelerator, up, down);
        return HR_OK;
    }
    return hri_link_measure(accelerator);
}
