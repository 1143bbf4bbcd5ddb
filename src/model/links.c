/* SPDX-License-Identifier: MIT */
/* Measuring what the links between host memory and accelerators carry, alone
 * and at once. They share buses and the host's memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/size.h"
#include "model/figures.h"
#include "runtime/staging.h"

enum {
    UP,
    DOWN,
    WAYS,
    /* Bytes of one copy in each direction: more than caches hold, and enough
     * for a steady rate. For ordinary memory it is much more than copy pools
     * have under way. */
    MAX_BYTES = 64 << 20,
    MAX_STAGED_BYTES = 256 << 20,
    MIN_BYTES = 1 << 20,
    SHARE = 8 /* a copy of 1/SHARE of the bytes shows what starting takes */
};

/* One accelerator in a measurement. */
typedef struct probe {
    hri_accelerator *accelerator;
    hri_buffer *buffers[WAYS];
    void *host[WAYS];
    hri_queue *queues[WAYS];
    hri_copy_pool copy_pools[WAYS];
    hri_job jobs[WAYS];
    pthread_mutex_t locks[WAYS]; /* held around calls on the queues */
    pthread_mutex_t lock;
    hri_error error; /* of a copy pool; guarded by lock */
} probe;

typedef struct probes {
    uint32_t count;
    bool staged;
    uint64_t bytes;  /* of each copy; at first the most */
    int first, last; /* directions that are measured at the same time */
    hri_link found;
    probe all[]; /* [count] */
} probes;

static void fail(void *data, hr_status status)
{
    probe *p = data;
    pthread_mutex_lock(&p->lock);
    hri_error_keep(&p->error, status);
    pthread_mutex_unlock(&p->lock);
    hri_copy_pool_stop(&p->copy_pools[UP]);
    hri_copy_pool_stop(&p->copy_pools[DOWN]);
}

/* Allocate host memory and touch its pages. Small ones would take longer than
 * all copies. */
static hr_status take_host(const probes *x, probe *p, int way)
{
    if (!x->staged) {
        HRI_TRY(hri_accelerator_allocate_pinned(p->accelerator, x->bytes,
                                                &p->host[way]));
    } else if ((p->host[way] = hri_pages(x->bytes)) == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "measuring: no %llu bytes of host memory",
                        (unsigned long long)x->bytes);
    }
    memset(p->host[way], 1, x->bytes);
    return HR_OK;
}

static hr_status open_way(const probes *x, probe *p, int way)
{
    hri_accelerator *a = p->accelerator;
    HRI_TRY(take_host(x, p, way));
    HRI_TRY(hri_accelerator_allocate(a, x->bytes, &p->buffers[way]));
    HRI_TRY(hri_accelerator_take_queue(
        a, way == UP ? HRI_QUEUE_UP : HRI_QUEUE_DOWN, &p->queues[way]));
    if (!x->staged) {
        return HR_OK;
    }
    p->copy_pools[way] = (hri_copy_pool){.accelerator = a,
                                         .up = way == UP,
                                         .queues = &p->locks[way],
                                         .fail = fail,
                                         .fail_data = p};
    HRI_TRY(hri_copy_pool_init(&p->copy_pools[way]));
    return hri_copy_pool_start(&p->copy_pools[way]);
}

static void close_probe(const probes *x, probe *p)
{
    hri_accelerator *a = p->accelerator;
    for (int way = 0; way < WAYS; way++) {
        hri_copy_pool_stop(&p->copy_pools[way]);
        hri_copy_pool_join(&p->copy_pools[way]);
    }
    hri_accelerator_discard(a); /* waits for the queues */
    for (int way = 0; way < WAYS; way++) {
        hri_copy_pool_finish(&p->copy_pools[way]);
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

static hr_status begin(const probes *x, probe *p, int way)
{
    const hri_place host = hri_at_host(p->host[way], 0);
    const hri_place buffer = hri_at(p->buffers[way], 0);
    const hri_copy copy = way == UP ? hri_flat_copy(buffer, host, x->bytes)
                                    : hri_flat_copy(host, buffer, x->bytes);
    if (!x->staged) {
        return p->queues[way]->ops->copy(p->queues[way], &copy);
    }
    p->jobs[way] = (hri_job){.copy = copy, .queue = p->queues[way]};
    hri_copy_pool_put(&p->copy_pools[way], &p->jobs[way], false);
    return HR_OK;
}

static hr_status end(const probes *x, probe *p, int way)
{
    if (x->staged && !hri_copy_pool_wait(&p->copy_pools[way], &p->jobs[way])) {
        pthread_mutex_lock(&p->lock);
        hr_status status = hri_error_raise(&p->error);
        pthread_mutex_unlock(&p->lock);
        return status;
    }
    return p->queues[way]->ops->finish(p->queues[way]);
}

static hr_status begin_all(probes *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        for (int way = x->first; way <= x->last; way++) {
            HRI_TRY(begin(x, &x->all[i], way));
        }
    }
    return HR_OK;
}

/* One copy of every accelerator in every direction. */
static hr_status copy_once(void *data, double *seconds)
{
    probes *x = data;
    hr_status status = begin_all(x);
    (void)seconds; /* no device's clock covers all accelerators */
    for (uint32_t i = 0; i < x->count; i++) {
        for (int way = x->first; way <= x->last; way++) {
            hr_status ended = end(x, &x->all[i], way);
            status = status == HR_OK ? ended : status;
        }
    }
    return status;
}

static hr_status open_probe(const probes *x, probe *p)
{
    *p = (probe){.accelerator = p->accelerator};
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->locks[UP], NULL);
    pthread_mutex_init(&p->locks[DOWN], NULL);
    for (int way = 0; way < WAYS; way++) {
        HRI_TRY(open_way(x, p, way));
    }
    return HR_OK;
}

/* Seconds of the shortest copy up, down, and both ways at once. */
enum { BOTH = WAYS, KINDS };
typedef struct times {
    uint64_t bytes; /* of each copy */
    double seconds[KINDS];
} times;

static hr_status time_opened(probes *x, times *t, uint32_t *opened)
{
    const int64_t bytes = (int64_t)t->bytes;
    const hri_trial trial = {
        .run = copy_once, .first = bytes, .most = bytes, .growth = 2};
    x->bytes = t->bytes;
    while (*opened < x->count) {
        HRI_TRY(open_probe(x, &x->all[(*opened)++]));
    }
    for (int kind = UP; kind < KINDS; kind++) {
        hri_probed found;
        x->first = kind == DOWN ? DOWN : UP;
        x->last = kind == UP ? UP : DOWN;
        HRI_TRY(hri_probe(&trial, x, &found));
        t->seconds[kind] = found.settled ? found.seconds : 0.0;
    }
    return HR_OK;
}

/* Time copies of t->bytes. */
static hr_status time_copies(probes *x, times *t)
{
    uint32_t opened = 0;
    const hr_status status = time_opened(x, t, &opened);
    for (uint32_t i = 0; i < opened; i++) {
        close_probe(x, &x->all[i]);
    }
    return status;
}

/* The steady rate of one link. A whole copy and a part of it take the same time
 * to start, so their difference has none of it. There may be no time of the
 * part. */
static double rate_of(const times *whole, const times *part, int kind)
{
    double bytes = (double)(whole->bytes - part->bytes);
    double seconds = whole->seconds[kind] - part->seconds[kind];
    if (part->seconds[kind] <= 0.0 ||
        seconds < whole->seconds[kind] / 2) { /* something came between */
        bytes = (double)whole->bytes;
        seconds = whole->seconds[kind];
    }
    return seconds > 0.0 ? (kind == BOTH ? 2 : 1) * bytes / seconds : 0.0;
}

/* If a part takes long, its start does not count, and no whole copy is made. */
static bool is_long(const times *t)
{
    const double enough = 10e-3;
    return t->seconds[UP] >= enough && t->seconds[DOWN] >= enough;
}

static uint64_t most_bytes(bool staged)
{
    return staged ? MAX_STAGED_BYTES : MAX_BYTES;
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

static hr_status measure(void *job)
{
    probes *x = job;
    times part = {0}, whole = {.bytes = x->bytes / SHARE};
    const uint64_t bytes = x->bytes;
    const uint32_t count = x->count;
    HRI_TRY(time_copies(x, &whole));
    if (!is_long(&whole)) {
        part = whole;
        whole.bytes = bytes;
        HRI_TRY(time_copies(x, &whole));
    }
    x->found = (hri_link){.up = count * rate_of(&whole, &part, UP),
                          .down = count * rate_of(&whole, &part, DOWN),
                          .both = count * rate_of(&whole, &part, BOTH)};
    return HR_OK;
}

hr_status hri_links_measure(hri_accelerator *const *accelerators,
                            uint32_t count, bool staged, hri_link *link)
{
    const uint64_t most = choose_bytes(accelerators, count, staged);
    const size_t bytes = sizeof(probes) + count * sizeof(probe);
    *link = (hri_link){0};
    if (most < MIN_BYTES) {
        return HR_OK;
    }
    probes *x = calloc(1, bytes);
    if (x == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    x->count = count;
    x->staged = staged;
    x->bytes = most;
    for (uint32_t i = 0; i < count; i++) {
        x->all[i].accelerator = accelerators[i];
    }
    hr_status status = hri_measure(accelerators, count, measure, x, bytes);
    *link = x->found;
    free(x);
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* ---- a context's links */

static const char *const names[HRI_LINKS][3] = {
    [HRI_PINNED] = {"link-up", "link-down", "link-both"},
    [HRI_STAGED] = {"staged-up", "staged-down", "staged-both"},
};

static hri_link find(hri_subject of, int kind)
{
    double rates[3];
    for (int i = 0; i < 3; i++) {
        rates[i] = hri_figure_find(of, (hri_kind){.name = names[kind][i]});
    }
    hri_link link = {rates[0], rates[1], rates[2]};
    if (rates[0] <= 0.0 || rates[1] <= 0.0 || rates[2] <= 0.0) {
        link = (hri_link){0};
    }
    return link;
}

static void note(hri_subject of, int kind, hri_link link, bool settled)
{
    const double rates[3] = {link.up, link.down, link.both};
    for (int i = 0; i < 3; i++) {
        hri_figure_note(of, (hri_kind){.name = names[kind][i]},
                        settled && link.up > 0.0, rates[i]);
    }
}

/* Whether it stages memory, and works. */
static bool is_wanted(const hri_accelerator *a)
{
    return !a->in_place && a->device->info.staged &&
           !hri_accelerator_is_lost(a);
}

/* The first earlier device of the same name. The device itself when there is
 * none. */
static uint32_t find_like(hri_accelerator *const *devices, uint32_t i)
{
    uint32_t j = 0;
    while (strcmp(devices[j]->device->info.name,
                  devices[i]->device->info.name) != 0) {
        j++;
    }
    return j;
}

static hr_status learn_set(hri_subject of, hri_accelerator *const *devices,
                           uint32_t count, int kind, bool again)
{
    const bool staged = kind == HRI_STAGED;
    hri_link link;
    if (!again && find(of, kind).up > 0.0) {
        return HR_OK;
    }
    HRI_TRY(hri_links_measure(devices, count, staged, &link));
    /* settled: there was room to measure well */
    note(of, kind, link,
         choose_bytes(devices, count, staged) == most_bytes(staged));
    return HR_OK;
}

/* Measure each device alone, unless one of the same name was measured. Then
 * measure all together. */
static hr_status learn(hri_subject all, hri_accelerator *const *devices,
                       uint32_t count, int kind, bool again)
{
    for (uint32_t i = 0; i < count; i++) {
        const hri_subject of = hri_subject_of(devices[i]);
        const uint32_t like = find_like(devices, i);
        if (like == i) {
            HRI_TRY(learn_set(of, &devices[i], 1, kind, again));
        } else {
            note(of, kind, find(hri_subject_of(devices[like]), kind), false);
        }
    }
    if (count > 1) {
        return learn_set(all, devices, count, kind, again);
    }
    note(all, kind, find(hri_subject_of(devices[0]), kind), false);
    return HR_OK;
}

static hr_status learn_kinds(hr_context *context,
                             hri_accelerator *const *devices, uint32_t count,
                             bool again)
{
    char key[64];
    hri_devices_name(devices, count, key, sizeof key);
    const hri_subject all = {context->model, HRI_ALL_DEVICES, key};
    for (int kind = 0; kind < HRI_LINKS && count > 0; kind++) {
        HRI_TRY(learn(all, devices, count, kind, again));
    }
    return HR_OK;
}

static hr_status learn_all(hr_context *context, bool again)
{
    hri_accelerator **devices = NULL;
    uint32_t count = 0;
    HRI_TRY(hri_devices_list(context, is_wanted, &devices, &count));
    const hr_status status = learn_kinds(context, devices, count, again);
    free(devices);
    context->model->links_known = status == HR_OK;
    return status;
}

hr_status hri_links_know(hr_context *context)
{
    return context->model->links_known ? HR_OK : learn_all(context, false);
}

hr_status hri_links_learn(hr_context *context)
{
    return learn_all(context, true);
}

/* ---- what engines ask for */

hri_link hri_links_of(const hri_accelerator *a, int kind)
{
    return find(hri_subject_of(a), kind);
}

hri_link hri_links_together(const hr_context *context, int kind)
{
    return find((hri_subject){context->model, HRI_ALL_DEVICES, ""}, kind);
}

bool hri_links_lead(const hr_context *context, const hri_accelerator *a)
{
    uint32_t i = 0;
    while (!context->accelerators[i].device->info.staged &&
           &context->accelerators[i] != a) {
        i++;
    }
    return &context->accelerators[i] == a && a->device->info.staged;
}

hr_status hri_model_know_link(hr_context *context, hri_accelerator *a)
{
    if (a->in_place) {
        return HR_OK;
    }
    return a->device->info.staged ? hri_links_know(context)
                                  : hri_accelerator_link(a);
}

/* The link for a flow's memory, when pinned and staged copies have these
 * rates. */
static hri_link link_for(const hri_link_use *f, hri_link pinned,
                         hri_link staged)
{
    const bool copy_pools = f->staged_up || f->staged_down;
    return (hri_link){.up = (f->staged_up ? staged : pinned).up,
                      .down = (f->staged_down ? staged : pinned).down,
                      .both = (copy_pools ? staged : pinned).both};
}

hri_link_use hri_model_link_use(const hri_accelerator *a, bool staged_up,
                                bool staged_down)
{
    hri_link_use f = {
        .accelerator = a, .staged_up = staged_up, .staged_down = staged_down};
    hri_link pinned = {0};
    if (a->device->info.staged) {
        pinned = hri_links_of(a, HRI_PINNED);
    }
    f.own = pinned.up > 0.0 ? link_for(&f, pinned, hri_links_of(a, HRI_STAGED))
                            : hri_link_alone(a);
    return f;
}

/* The part of its rate alone that each link keeps when all are used. `all` was
 * measured for all together. */
static double kept(double all, double sum)
{
    return all > 0.0 && sum > all ? all / sum : 1.0;
}

static hri_link share_of(hri_link link, double sharing)
{
    return (hri_link){link.up / sharing, link.down / sharing,
                      link.both / sharing};
}

static double sharing_of(const hri_link_use *flows, uint32_t count,
                         const hri_accelerator *a)
{
    uint32_t sharing = 0;
    for (uint32_t i = 0; i < count; i++) {
        sharing += hri_accelerators_same_kind(flows[i].accelerator, a);
    }
    return sharing;
}

void hri_model_link_uses(const hr_context *context, hri_link_use *flows,
                         uint32_t count)
{
    hri_link sum = {0};
    double sharing = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        hri_link_use *f = &flows[i];
        if (i == 0 || !hri_accelerators_same_kind(f->accelerator,
                                                  flows[i - 1].accelerator)) {
            sharing = sharing_of(flows, count, f->accelerator);
        }
        f->alone = share_of(f->own, sharing);
        f->beside = f->alone;
        if (f->accelerator->device->info.staged) {
            sum.up += f->alone.up;
            sum.down += f->alone.down;
            sum.both += f->alone.both;
        }
    }
    if (sum.up <= 0.0) {
        return;
    }
    const hri_link pinned = hri_links_together(context, HRI_PINNED);
    const hri_link staged = hri_links_together(context, HRI_STAGED);
    for (uint32_t i = 0; i < count; i++) {
        hri_link_use *f = &flows[i];
        const hri_link all = link_for(f, pinned, staged);
        if (f->accelerator->device->info.staged) {
            f->beside.up *= kept(all.up, sum.up);
            f->beside.down *= kept(all.down, sum.down);
            f->beside.both *= kept(all.both, sum.both);
        }
    }
}
