/* SPDX-License-Identifier: MIT */
#include "runtime/bandwidth.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/bench.h"
#include "runtime/facts.h"
#include "runtime/memory.h"

enum {
    MOST_BYTES = 32 << 20, /* more than caches hold, on most */
    LEAST_BYTES = 64 << 10,
    PIECE_BYTES = 1 << 20, /* of the host's copy, for a thread of the pool */
    TRIES = 4
};

/* Where limits do not even let the smallest copy in: an order of magnitude that
 * lets planning go on. */
static const hri_bandwidth usual = {2e10, 1e10, 1e10};

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

static double host_memory(hr_context *context)
{
    pieces p = {malloc(MOST_BYTES), malloc(MOST_BYTES)};
    double rate = usual.memory;
    if (p.to != NULL && p.from != NULL) {
        memset(p.from, 1, MOST_BYTES);
        rate = time_host(context, &p);
    }
    free(p.to);
    free(p.from);
    return rate;
}

/* ---- a device's */

typedef struct probe {
    hri_bench bench;
    hri_buffer *from, *to;
    void *host;
    size_t bytes;
} probe;

static hr_status time_copy(const probe *p, hri_place to, hri_place from,
                           double *rate)
{
    const hri_copy copy = {
        .to = to, .from = from, .width = p->bytes, .height = 1, .depth = 1};
    double seconds = 0;
    hr_status status = hri_bench_time(&p->bench, NULL, &copy, &seconds);
    if (status == HR_OK) {
        *rate = (double)p->bytes / seconds;
    }
    return status;
}

static hr_status time_all(const probe *p, hri_bandwidth *found)
{
    hri_place host = hri_at_host(p->host, 0), from = hri_at(p->from, 0);
    double copied = 0;
    hr_status status = time_copy(p, from, host, &found->up);
    if (status == HR_OK) {
        status = time_copy(p, host, from, &found->down);
    }
    if (status == HR_OK) {
        status = time_copy(p, hri_at(p->to, 0), from, &copied);
    }
    if (status == HR_OK) {
        found->memory = 2 * copied;
    }
    return status;
}

static hr_status open_probe(hri_accelerator *a, probe *p)
{
    p->host = malloc(p->bytes);
    if (p->host == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    memset(p->host, 1, p->bytes);
    hr_status status = hri_accelerator_allocate(a, p->bytes, &p->from);
    return status == HR_OK ? hri_accelerator_allocate(a, p->bytes, &p->to)
                           : status;
}

static hr_status measure(hri_accelerator *a, hri_bandwidth *found,
                         bool *settled)
{
    const uint64_t room = hri_accelerator_room(a) / 2;
    const uint64_t largest = a->device->info.allocation_bytes;
    probe p = {.bytes = MOST_BYTES};
    p.bytes = room < p.bytes ? room : p.bytes;
    p.bytes = largest < p.bytes ? largest : p.bytes;
    if (p.bytes < LEAST_BYTES) {
        return HR_OK;
    }
    hr_status status = hri_bench_open(a, &p.bench);
    if (status != HR_OK) {
        return status;
    }
    status = open_probe(a, &p);
    if (status == HR_OK) {
        status = time_all(&p, found);
    }
    (void)p.bench.queue->ops->finish(p.bench.queue);
    hri_accelerator_release(a, p.from);
    hri_accelerator_release(a, p.to);
    free(p.host);
    hri_bench_close(&p.bench);
    *settled = status == HR_OK && p.bytes == MOST_BYTES;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* ---- once */

/* Kinds in facts.h. */
static const char *const kinds[] = {"memory", "plain-up", "plain-down"};

/* In place nothing is copied. */
static bool find(const hri_accelerator *a, hri_bandwidth *found)
{
    hri_bandwidth b = usual;
    if (!hri_facts_find(kinds[0], a->key, &b.memory) ||
        (!a->in_place && (!hri_facts_find(kinds[1], a->key, &b.up) ||
                          !hri_facts_find(kinds[2], a->key, &b.down)))) {
        return false;
    }
    *found = b;
    return true;
}

static void keep(const hri_accelerator *a, const hri_bandwidth *found)
{
    hri_facts_keep(kinds[0], a->key, found->memory);
    if (!a->in_place) {
        hri_facts_keep(kinds[1], a->key, found->up);
        hri_facts_keep(kinds[2], a->key, found->down);
    }
}

/* The same for all virtual accelerators of the device. */
static void set(hri_accelerator *accelerator, const hri_bandwidth *found)
{
    hri_accelerator *a = accelerator;
    do {
        a->bandwidth = *found;
        a = a->sibling;
    } while (a != NULL && a != accelerator);
}

hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *accelerator)
{
    hri_bandwidth found = usual;
    hr_status status = hri_accelerator_link(accelerator);
    if (status != HR_OK || accelerator->bandwidth.memory > 0) {
        return status;
    }
    if (!find(accelerator, &found)) {
        bool settled = accelerator->in_place;
        if (!settled) {
            status = measure(accelerator, &found, &settled);
        }
        if (accelerator->device->info.host) {
            found.memory = host_memory(context);
        }
        if (status == HR_OK && settled) {
            keep(accelerator, &found);
        }
    }
    if (status == HR_OK) {
        set(accelerator, &found);
    }
    return status;
}
