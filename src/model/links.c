/* SPDX-License-Identifier: MIT */
#include "model/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "model/tuning.h"
#include "runtime/stage.h"

enum {
    UP,
    DOWN,
    WAYS,
    TRIES = 3,
    /* One copy each way: more than caches hold, and long enough for links; of
     * ordinary memory much more than crews have under way. */
    MOST_BYTES = 64 << 20,
    MOST_STAGED_BYTES = 256 << 20,
    LEAST_BYTES = 1 << 20,
    SHARE = 4 /* a copy of a SHARE-th tells what starting takes */
};

/* One accelerator's part in a measurement. */
typedef struct probe {
    hri_accelerator *accelerator;
    hri_buffer *buffers[WAYS];
    void *host[WAYS];
    hri_queue *queues[WAYS];
    hri_crew crews[WAYS];
    hri_job jobs[WAYS];
    pthread_mutex_t locks[WAYS]; /* around calls on the queues */
    pthread_mutex_t lock;
    hri_error error; /* of a crew; under lock */
} probe;

typedef struct probes {
    probe *all;
    uint32_t count;
    bool staged;
    uint64_t most, bytes; /* of each copy: that there is room for, and now */
} probes;

static void fail(void *data, hr_status status)
{
    probe *p = data;
    pthread_mutex_lock(&p->lock);
    hri_error_keep(&p->error, status);
    pthread_mutex_unlock(&p->lock);
    hri_crew_stop(&p->crews[UP]);
    hri_crew_stop(&p->crews[DOWN]);
}

/* Host memory whose pages exist. */
static hr_status take_host(const probes *x, probe *p, int way)
{
    hr_status status = HR_OK;
    if (!x->staged) {
        status = hri_accelerator_allocate_pinned(p->accelerator, x->bytes,
                                                 &p->host[way]);
    } else if ((p->host[way] = malloc(x->bytes)) == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "measuring: no %llu bytes of host memory",
                          (unsigned long long)x->bytes);
    }
    if (status == HR_OK) {
        memset(p->host[way], 1, x->bytes);
    }
    return status;
}

static hr_status open_way(const probes *x, probe *p, int way)
{
    hri_accelerator *a = p->accelerator;
    hr_status status = take_host(x, p, way);
    if (status == HR_OK) {
        status = hri_accelerator_allocate(a, x->bytes, &p->buffers[way]);
    }
    if (status == HR_OK) {
        status = hri_accelerator_take_queue(a, false, &p->queues[way]);
    }
    if (status == HR_OK && x->staged) {
        p->crews[way] = (hri_crew){.accelerator = a,
                                   .up = way == UP,
                                   .queues = &p->locks[way],
                                   .fail = fail,
                                   .fail_data = p};
        status = hri_crew_init(&p->crews[way]);
        if (status == HR_OK) {
            status = hri_crew_start(&p->crews[way]);
        }
    }
    return status;
}

static void close_probe(const probes *x, probe *p)
{
    hri_accelerator *a = p->accelerator;
    for (int way = 0; way < WAYS; way++) {
        hri_crew_stop(&p->crews[way]);
        hri_crew_join(&p->crews[way]);
    }
    hri_accelerator_forget(a); /* waits for the queues */
    for (int way = 0; way < WAYS; way++) {
        hri_crew_finish(&p->crews[way]);
        hri_accelerator_release(a, p->buffers[way]);
        if (x->staged) {
            free(p->host[way]);
        } else {
            hri_accelerator_release_pinned(a, p->host[way]);
        }
    }
    hri_accelerator_trim(a);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->locks[UP]);
    pthread_mutex_destroy(&p->locks[DOWN]);
}

static hri_copy whole_copy(const probes *x, const probe *p, int way)
{
    hri_place host = hri_at_host(p->host[way], 0);
    hri_place buffer = hri_at(p->buffers[way], 0);
    return (hri_copy){.to = way == UP ? buffer : host,
                      .from = way == UP ? host : buffer,
                      .to_pitch = x->bytes,
                      .from_pitch = x->bytes,
                      .width = x->bytes,
                      .height = 1,
                      .depth = 1};
}

static hr_status begin(const probes *x, probe *p, int way)
{
    hri_copy copy = whole_copy(x, p, way);
    if (!x->staged) {
        return p->queues[way]->ops->copy(p->queues[way], &copy);
    }
    p->jobs[way] = (hri_job){.copy = copy, .queue = p->queues[way]};
    hri_crew_put(&p->crews[way], &p->jobs[way], false);
    return HR_OK;
}

static hr_status end(const probes *x, probe *p, int way)
{
    if (x->staged && !hri_crew_wait(&p->crews[way], &p->jobs[way])) {
        pthread_mutex_lock(&p->lock);
        hr_status status = hri_error_raise(&p->error);
        pthread_mutex_unlock(&p->lock);
        return status;
    }
    return p->queues[way]->ops->finish(p->queues[way]);
}

/* Seconds of one copy of every accelerator in the ways from `first` to `last`.
 */
static hr_status time_once(const probes *x, int first, int last,
                           double *seconds)
{
    uint64_t start = hri_clock_ns();
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < x->count && status == HR_OK; i++) {
        for (int way = first; way <= last && status == HR_OK; way++) {
            status = begin(x, &x->all[i], way);
        }
    }
    for (uint32_t i = 0; i < x->count; i++) {
        for (int way = first; way <= last; way++) {
            hr_status ended = end(x, &x->all[i], way);
            status = status == HR_OK ? ended : status;
        }
    }
    *seconds = hri_seconds_since(start);
    return status;
}

static hr_status time_best(const probes *x, int first, int last, double *best)
{
    for (int i = 0; i < TRIES; i++) {
        double seconds;
        hr_status status = time_once(x, first, last, &seconds);
        if (status != HR_OK) {
            return status;
        }
        *best = i == 0 || seconds < *best ? seconds : *best;
    }
    return HR_OK;
}

/* What they carry once they are under way: starting is done for the whole copy
 * and for a part of it alike. */
static hr_status find_rate(probes *x, int first, int last, double *rate)
{
    double whole = 0.0, part = 0.0, ways = last - first + 1;
    hr_status status = time_best(x, first, last, &whole);
    if (status == HR_OK) {
        x->bytes = x->most / SHARE;
        status = time_best(x, first, last, &part);
    }
    if (status == HR_OK) {
        double bytes = (double)(x->most - x->bytes), seconds = whole - part;
        if (seconds < whole / 2) { /* something came between */
            bytes = (double)x->most;
            seconds = whole;
        }
        *rate = bytes * ways * x->count / seconds;
    }
    x->bytes = x->most;
    return status;
}

static uint64_t most_bytes(bool staged)
{
    return staged ? MOST_STAGED_BYTES : MOST_BYTES;
}

static uint64_t choose_bytes(hri_accelerator *const *accelerators,
                             uint32_t count, bool staged)
{
    uint64_t bytes = most_bytes(staged);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t room = hri_accelerator_room(accelerators[i]) / 2;
        uint64_t largest = accelerators[i]->device->info.allocation_bytes;
        bytes = room < bytes ? room : bytes;
        bytes = largest < bytes ? largest : bytes;
    }
    return bytes;
}

hr_status hri_links_measure(hri_accelerator *const *accelerators,
                            uint32_t count, bool staged, hri_link *link)
{
    probes x = {.count = count,
                .staged = staged,
                .most = choose_bytes(accelerators, count, staged),
                .all = calloc(count, sizeof *x.all)};
    x.bytes = x.most;
    hri_link found = {0};
    hr_status status = HR_OK;
    if (x.all == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    if (x.bytes < LEAST_BYTES) {
        free(x.all);
        *link = found;
        return HR_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        x.all[i].accelerator = accelerators[i];
        pthread_mutex_init(&x.all[i].lock, NULL);
        pthread_mutex_init(&x.all[i].locks[UP], NULL);
        pthread_mutex_init(&x.all[i].locks[DOWN], NULL);
        for (int way = 0; way < WAYS && status == HR_OK; way++) {
            status = open_way(&x, &x.all[i], way);
        }
    }
    if (status == HR_OK) {
        status = find_rate(&x, UP, UP, &found.up);
    }
    if (status == HR_OK) {
        status = find_rate(&x, DOWN, DOWN, &found.down);
    }
    if (status == HR_OK) {
        status = find_rate(&x, UP, DOWN, &found.both);
    }
    for (uint32_t i = 0; i < count; i++) {
        close_probe(&x, &x.all[i]);
    }
    free(x.all);
    if (status == HR_ERROR_OUT_OF_MEMORY) {
        found = (hri_link){0};
        status = HR_OK;
    }
    if (status == HR_OK) {
        *link = found;
    }
    return status;
}

/* ---- a context's links */

/* Kinds in facts.h. */
static const char *const fact_kinds[HRI_LINKS][3] = {
    [HRI_PINNED] = {"link-up", "link-down", "link-both"},
    [HRI_STAGED] = {"staged-up", "staged-down", "staged-both"},
};

static void keep(const char *key, int kind, const hri_link *link)
{
    if (link->up > 0.0) {
        hri_tuning_keep(fact_kinds[kind][0], key, link->up);
        hri_tuning_keep(fact_kinds[kind][1], key, link->down);
        hri_tuning_keep(fact_kinds[kind][2], key, link->both);
    }
}

static bool find(const char *key, int kind, hri_link *link)
{
    hri_link found;
    if (!hri_tuning_find(fact_kinds[kind][0], key, &found.up) ||
        !hri_tuning_find(fact_kinds[kind][1], key, &found.down) ||
        !hri_tuning_find(fact_kinds[kind][2], key, &found.both)) {
        return false;
    }
    *link = found;
    return true;
}

/* One accelerator of each device that stages memory. Returns how many. */
static uint32_t list_devices(hr_context *context, hri_accelerator **devices)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        bool wanted = !a->in_place && a->device->info.staged;
        for (uint32_t j = 0; j < count && wanted; j++) {
            wanted = devices[j]->physical != a->physical;
        }
        if (wanted) {
            devices[count++] = a;
        }
    }
    return count;
}

/* A name for all these devices together: their keys' FNV-1a hash. */
static void name_set(hri_accelerator *const *devices, uint32_t count, char *key,
                     size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    key[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        if (devices[i]->key[0] == '\0') {
            return;
        }
        for (const char *at = devices[i]->key; *at != '\0'; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
        }
    }
    snprintf(key, bytes, "%u devices %016llx", count, (unsigned long long)hash);
}

/* The same for all accelerators of devices of this name. */
static void set_alone(hr_context *context, const char *name, int kind,
                      const hri_link *link)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        if (strcmp(a->device->info.name, name) == 0) {
            a->links[kind] = *link;
        }
    }
}

/* Whether memory limits leave room to measure well. */
static bool is_settled(hri_accelerator *const *devices, uint32_t count,
                       int kind)
{
    const bool staged = kind == HRI_STAGED;
    return choose_bytes(devices, count, staged) == most_bytes(staged);
}

static hr_status learn(hr_context *context, hri_accelerator *const *devices,
                       uint32_t count, int kind, bool again)
{
    hr_status status = HR_OK;
    char set[64];
    name_set(devices, count, set, sizeof set);
    for (uint32_t i = 0; i < count; i++) {
        devices[i]->links[kind] = (hri_link){0};
    }
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        hri_link link = {0};
        if (devices[i]->links[kind].up > 0.0) {
            continue; /* like an earlier one */
        }
        if (again || !find(devices[i]->key, kind, &link)) {
            status =
                hri_links_measure(&devices[i], 1, kind == HRI_STAGED, &link);
            if (is_settled(&devices[i], 1, kind)) {
                keep(devices[i]->key, kind, &link);
            }
        }
        set_alone(context, devices[i]->device->info.name, kind, &link);
    }
    if (status == HR_OK && count == 1) {
        context->links[kind] = devices[0]->links[kind];
    } else if (status == HR_OK &&
               (again || !find(set, kind, &context->links[kind]))) {
        status = hri_links_measure(devices, count, kind == HRI_STAGED,
                                   &context->links[kind]);
        if (is_settled(devices, count, kind)) {
            keep(set, kind, &context->links[kind]);
        }
    }
    return status;
}

static hr_status learn_all(hr_context *context, bool again)
{
    hri_accelerator **devices =
        calloc(context->accelerator_count, sizeof(hri_accelerator *));
    if (devices == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    uint32_t count = list_devices(context, devices);
    hr_status status = HR_OK;
    for (int kind = 0; kind < HRI_LINKS && status == HR_OK && count > 0;
         kind++) {
        status = learn(context, devices, count, kind, again);
    }
    free(devices);
    context->links_known = status == HR_OK;
    return status;
}

hr_status hri_links_know(hr_context *context)
{
    return context->links_known ? HR_OK : learn_all(context, false);
}

hr_status hri_links_learn(hr_context *context)
{
    return learn_all(context, true);
}
