/* SPDX-License-Identifier: MIT */
/* The devices of the simulated machine. A queue is a thread, which does one
 * command after another and sleeps as long as each takes. The host backend
 * computes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/arithmetic.h"
#include "backends/host/host.h"
#include "base/clock.h"
#include "base/threads.h"
#include "hal/backend.h"
#include "support/simulate.h"

sim_machine sim;

/* Guards the figures of devices, and what events and queues say below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* hidden */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

typedef struct sim_device {
    hri_device base; /* first, as in all of these */
    hri_device *inner;
    sim_device_state *state;
    struct sim_pinned *pinned; /* the areas that exist */
} sim_device;

typedef struct sim_pinned {
    struct sim_pinned *next;
    char *host;
    size_t bytes;
} sim_pinned;

typedef struct sim_buffer {
    hri_buffer base;
    unsigned char *memory;
} sim_buffer;

/* A place in a queue. Events and commands share it. */
typedef struct sim_record {
    uint32_t holders;
    bool passed;
    uint64_t time_ns; /* when it was passed */
    hri_error error;  /* of the queue then */
} sim_record;

typedef struct sim_event {
    hri_event base;
    sim_record *last; /* NULL: it was never recorded */
} sim_event;

typedef enum sim_kind {
    SIM_COPY,
    SIM_FILL,
    SIM_GEMM,
    SIM_PACK,
    SIM_LAUNCH,
    SIM_RECORD,
    SIM_WAIT
} sim_kind;

typedef struct sim_command {
    struct sim_command *next;
    sim_kind kind;
    union {
        hri_copy copy;
        struct {
            unsigned char *start;
            size_t bytes;
            uint8_t value;
        } fill;
        hri_gemm gemm;
        hri_pack pack;
        host_launch *launch;
    } as;
    double work_ns;     /* how long it takes, but for chance */
    sim_record *record; /* of RECORD and WAIT, held; NULL: no wait */
} sim_command;

typedef struct sim_queue {
    hri_queue base;
    pthread_t thread;
    pthread_cond_t come; /* a command, or the end */
    sim_command *first, **last;
    uint64_t given, done;
    bool ends;
    hri_error error;
} sim_queue;

static sim_device *device_of(hri_device *base)
{
    return (sim_device *)base;
}

/* ---- places */

static unsigned char *address_of(const hri_place *place)
{
    unsigned char *start = place->buffer != NULL
                               ? ((sim_buffer *)place->buffer)->memory
                               : place->host;
    return start != NULL ? start + place->offset : NULL;
}

static void resolve_place(hri_place *place)
{
    *place = hri_at_host(address_of(place), 0);
}

/* ---- records. The lock is held. */

static void drop_record(sim_record *record)
{
    if (record != NULL && --record->holders == 0) {
        free(record);
    }
}

/* ---- what a queue does */

/* As long as it takes, or somewhat longer, or, rarely, much longer. */
static uint64_t time_of(const sim_device_state *d, const sim_command *c)
{
    const double usual_ns = (double)d->latency_ns + c->work_ns;
    const double chance = (double)sim_between(70, 200) / 100;
    const bool stalls = sim_between(1, 200) == 1;
    const double stall = stalls ? 40 : 1;
    sim.stalls += stalls;
    const bool slow = d->fault == SIM_SLOW && d->came;
    return (uint64_t)(usual_ns * chance * stall * (slow ? d->slower : 1));
}

static void copy_box(const hri_copy *c)
{
    hri_copy box = *c;
    resolve_place(&box.to);
    resolve_place(&box.from);
    hri_copy_rows(&box);
}

static void flip_bit(const hri_copy *c)
{
    const size_t row = (size_t)sim_between(0, (int64_t)c->height - 1);
    const size_t byte = (size_t)sim_between(0, (int64_t)c->width - 1);
    address_of(&c->to)[row * c->to_pitch + byte] ^=
        (unsigned char)(1 << sim_between(0, 7));
}

static hr_status compute_command(sim_queue *queue, sim_command *c, bool flips)
{
    hri_device *inner = device_of(queue->base.device)->inner;
    switch (c->kind) {
    case SIM_COPY:
        copy_box(&c->as.copy);
        if (flips) {
            flip_bit(&c->as.copy);
        }
        return HR_OK;
    case SIM_FILL:
        memset(c->as.fill.start, c->as.fill.value, c->as.fill.bytes);
        return HR_OK;
    case SIM_GEMM:
        return inner->ops->gemm_now(inner, &c->as.gemm);
    case SIM_PACK:
        hri_host_gemm_pack(NULL, &c->as.pack);
        return HR_OK;
    case SIM_LAUNCH:
        hri_host_launch_run(c->as.launch);
        return HR_OK;
    default:
        return HR_OK;
    }
}

static bool goes_home(const sim_command *c)
{
    return c->kind == SIM_COPY && c->as.copy.to.buffer == NULL;
}

/* Whether the device's fault comes with this operation or has come. The lock is
 * held. */
static bool fault_comes(sim_device_state *d, const sim_command *c)
{
    if (d->fault == SIM_FLIPS && !goes_home(c)) {
        return false;
    }
    const bool now = d->fault != SIM_WELL && ++d->operations == d->at;
    d->came = d->came || now;
    return now;
}

static hr_status run_operation(sim_queue *queue, sim_command *c)
{
    sim_device_state *d = device_of(queue->base.device)->state;
    pthread_mutex_lock(&lock);
    const bool now = fault_comes(d, c);
    const sim_fault fault = d->fault;
    const uint64_t ns = time_of(d, c);
    /* its other queues hang too */
    while (fault == SIM_HANGS && d->came && !d->let_go) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    hri_sleep_ns(ns);
    sim_note(ns);
    pthread_mutex_lock(&lock);
    const bool lost = fault == SIM_LOST && d->came; /* meanwhile, too */
    pthread_mutex_unlock(&lock);
    if (lost) {
        return hri_fail(HR_ERROR_LOST, "%s is lost on request",
                        queue->base.device->info.path);
    }
    if (fault == SIM_FAILS && now) {
        return hri_fail(HR_ERROR_BACKEND, "%s fails on request",
                        queue->base.device->info.path);
    }
    return compute_command(queue, c, fault == SIM_FLIPS && now);
}

static void pass_record(sim_queue *queue, sim_record *record)
{
    pthread_mutex_lock(&lock);
    sim_release(record);
    record->passed = true;
    record->time_ns = hri_clock_ns();
    record->error = queue->error;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* What was never recorded is done. The lock is held. */
static void await_record(sim_record *record)
{
    while (record != NULL && !record->passed) {
        pthread_cond_wait(&changed, &lock);
    }
    if (record != NULL) {
        sim_acquire(record);
    }
}

static void wait_for_record(sim_queue *queue, sim_record *record)
{
    pthread_mutex_lock(&lock);
    await_record(record);
    if (record != NULL && queue->error.status == HR_OK) {
        queue->error = record->error;
    }
    pthread_mutex_unlock(&lock);
}

static void run_command(sim_queue *queue, sim_command *c)
{
    if (c->kind == SIM_RECORD) {
        pass_record(queue, c->record);
    } else if (c->kind == SIM_WAIT) {
        wait_for_record(queue, c->record);
    } else if (queue->error.status == HR_OK) {
        hri_error_keep(&queue->error, run_operation(queue, c));
    }
    if (c->kind == SIM_LAUNCH) {
        hri_host_launch_destroy(c->as.launch);
    }
}

static void *serve_queue(void *argument)
{
    sim_queue *queue = argument;
    (void)hri_thread_set_own();
    pthread_mutex_lock(&lock);
    for (;;) {
        while (queue->first == NULL && !queue->ends) {
            pthread_cond_wait(&queue->come, &lock);
        }
        sim_command *c = queue->first;
        if (c == NULL) {
            break;
        }
        pthread_mutex_unlock(&lock);
        sim_acquire(c);
        run_command(queue, c);
        pthread_mutex_lock(&lock);
        queue->first = c->next;
        if (queue->first == NULL) {
            queue->last = &queue->first;
        }
        queue->done++;
        sim_release(queue);
        sim_release(device_of(queue->base.device)->state);
        drop_record(c->record);
        free(c);
        if (queue->first == NULL) { /* somebody may wait for its end */
            pthread_cond_broadcast(&changed);
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void sim_let_go(void)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < sim.count; i++) {
        sim.devices[i].let_go = true;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- queues */

static hr_status check_lost(hri_device *base)
{
    sim_device_state *d = device_of(base)->state;
    pthread_mutex_lock(&lock);
    const bool lost = d->fault == SIM_LOST && d->came;
    pthread_mutex_unlock(&lock);
    if (lost) { /* what it did is over */
        sim_acquire(d);
    }
    return lost ? hri_fail(HR_ERROR_LOST, "%s is lost on request",
                           base->info.path)
                : HR_OK;
}

/* The command is copied. The event is that of RECORD and WAIT. */
static hr_status enqueue_command(hri_queue *base, const sim_command *command,
                                 hri_event *event)
{
    sim_queue *queue = (sim_queue *)base;
    sim_event *of = (sim_event *)event;
    const bool records = command->kind == SIM_RECORD;
    HRI_TRY(check_lost(base->device));
    sim_command *c = malloc(sizeof *c);
    sim_record *record = records ? calloc(1, sizeof *record) : NULL;
    if (c == NULL || (records && record == NULL)) {
        free(c);
        free(record);
        return hri_no_memory(base->device->info.path);
    }
    *c = *command;
    c->next = NULL;
    sim_release(c);
    pthread_mutex_lock(&lock);
    if (records) {
        drop_record(of->last);
        of->last = record;
        record->holders = 1;
    }
    c->record = of != NULL ? of->last : NULL;
    if (c->record != NULL) {
        c->record->holders++;
    }
    *queue->last = c;
    queue->last = &c->next;
    queue->given++;
    pthread_cond_signal(&queue->come);
    pthread_mutex_unlock(&lock);
    return HR_OK;
}

static hr_status queue_copy(hri_queue *queue, const hri_copy *copy)
{
    const sim_device_state *d = device_of(queue->device)->state;
    const hri_buffer *to = copy->to.buffer, *from = copy->from.buffer;
    const bool peer = to != NULL && from != NULL && to->device != from->device;
    const double rate = to != NULL && from != NULL
                            ? (peer ? d->peer_link : 20 * d->link)
                            : d->link;
    const double bytes = (double)copy->width * (double)copy->height *
                         (double)(copy->depth > 0 ? copy->depth : 1);
    if (hri_copy_is_empty(copy)) {
        return HR_OK;
    }
    return enqueue_command(queue,
                           &(sim_command){.kind = SIM_COPY,
                                          .as.copy = *copy,
                                          .work_ns = bytes / rate * 1e9},
                           NULL);
}

static hr_status queue_fill(hri_queue *queue, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    const hri_place place = hri_at(buffer, offset);
    return enqueue_command(
        queue,
        &(sim_command){.kind = SIM_FILL,
                       .as.fill = {address_of(&place), bytes, value}},
        NULL);
}

static hr_status queue_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    const sim_device_state *d = device_of(queue->device)->state;
    const double products =
        gemm->batch.count > 0 ? (double)gemm->batch.count : 1;
    const double flops =
        2 * products * (double)gemm->m * (double)gemm->n * (double)gemm->k;
    sim_command c = {
        .kind = SIM_GEMM, .as.gemm = *gemm, .work_ns = flops / d->flops * 1e9};
    HRI_TRY(hri_gemm_check_offered(queue, gemm));
    resolve_place(&c.as.gemm.a.place);
    resolve_place(&c.as.gemm.b.place);
    resolve_place(&c.as.gemm.c.place);
    return enqueue_command(queue, &c, NULL);
}

static hr_status queue_pack(hri_queue *queue, const hri_pack *pack)
{
    sim_command c = {.kind = SIM_PACK, .as.pack = *pack};
    resolve_place(&c.as.pack.to);
    resolve_place(&c.as.pack.from.place);
    return enqueue_command(queue, &c, NULL);
}

static hr_status queue_launch(hri_queue *queue, const hri_launch *launch)
{
    const hr_parameter *p = launch->kernel->parameters(launch->kernel);
    hri_device *inner = device_of(queue->device)->inner;
    hri_kernel_argument arguments[HR_MAX_PARAMETERS];
    hri_launch resolved = *launch;
    sim_command c = {.kind = SIM_LAUNCH};
    for (uint32_t i = 0; i < launch->kernel->parameter_count; i++) {
        arguments[i] = launch->arguments[i];
        if (p[i].kind == HR_PARAMETER_VIEW) {
            resolve_place(&arguments[i].place);
        }
    }
    resolved.arguments = arguments;
    HRI_TRY(
        hri_host_launch_create(hri_host_pool(inner), &resolved, &c.as.launch));
    const hr_status status = enqueue_command(queue, &c, NULL);
    if (status != HR_OK) {
        hri_host_launch_destroy(c.as.launch);
    }
    return status;
}

static hr_status queue_record(hri_queue *queue, hri_event *event)
{
    return enqueue_command(queue, &(sim_command){.kind = SIM_RECORD}, event);
}

static hr_status queue_wait(hri_queue *queue, hri_event *event)
{
    return enqueue_command(queue, &(sim_command){.kind = SIM_WAIT}, event);
}

static hr_status queue_finish(hri_queue *base)
{
    sim_queue *queue = (sim_queue *)base;
    pthread_mutex_lock(&lock);
    while (queue->done < queue->given) { /* nobody gives more meanwhile */
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    sim_acquire(queue);
    HRI_TRY(check_lost(base->device));
    return hri_error_raise(&queue->error);
}

static void queue_destroy(hri_queue *base)
{
    sim_queue *queue = (sim_queue *)base;
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    queue->ends = true;
    pthread_cond_signal(&queue->come);
    pthread_mutex_unlock(&lock);
    pthread_join(queue->thread, NULL);
    pthread_cond_destroy(&queue->come);
    free(queue);
}

static const hri_queue_ops queue_ops = {.destroy = queue_destroy,
                                        .copy = queue_copy,
                                        .fill = queue_fill,
                                        .gemm = queue_gemm,
                                        .pack = queue_pack,
                                        .launch = queue_launch,
                                        .record = queue_record,
                                        .wait = queue_wait,
                                        .finish = queue_finish,
                                        .begin_graph = hri_no_begin_graph};

static hr_status device_create_queue(hri_device *device, bool urgent,
                                     hri_queue **out)
{
    sim_queue *queue = calloc(1, sizeof *queue);
    (void)urgent;
    if (queue == NULL) {
        return hri_no_memory(device->info.path);
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = device};
    queue->last = &queue->first;
    pthread_cond_init(&queue->come, NULL);
    if (hri_thread_create(&queue->thread, serve_queue, queue) != 0) {
        free(queue);
        return hri_no_memory_for(device->info.path, "a queue");
    }
    *out = &queue->base;
    return HR_OK;
}

/* ---- events */

static void event_destroy(hri_event *base)
{
    if (base != NULL) {
        pthread_mutex_lock(&lock);
        drop_record(((sim_event *)base)->last);
        pthread_mutex_unlock(&lock);
        free(base);
    }
}

/* Of the last record, or of the device. *done may be NULL: wait. */
static hr_status look_at_event(hri_event *base, bool *done)
{
    const hr_status status = check_lost(base->device);
    hri_error error = {0};
    pthread_mutex_lock(&lock);
    sim_record *record = ((sim_event *)base)->last;
    if (record != NULL) {
        record->holders++; /* it may be recorded again meanwhile */
    }
    if (done == NULL) {
        await_record(record);
    }
    const bool passed = record == NULL || record->passed;
    if (record != NULL && passed) {
        sim_acquire(record);
        error = record->error;
    }
    drop_record(record);
    pthread_mutex_unlock(&lock);
    if (status != HR_OK || error.status != HR_OK) {
        return status != HR_OK ? status : hri_error_raise(&error);
    }
    if (done != NULL) {
        *done = passed;
    }
    return HR_OK;
}

static hr_status event_query(hri_event *event, bool *done)
{
    return look_at_event(event, done);
}

static hr_status event_wait(hri_event *event)
{
    return look_at_event(event, NULL);
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&lock);
    const sim_record *first = ((sim_event *)from)->last;
    const sim_record *second = ((sim_event *)to)->last;
    if (first == NULL || second == NULL) {
        status = hri_fail(HR_ERROR_INVALID, "sim: an event was never recorded");
    } else {
        *ns = second->time_ns > first->time_ns
                  ? second->time_ns - first->time_ns
                  : 0;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static const hri_event_ops event_ops = {.destroy = event_destroy,
                                        .query = event_query,
                                        .wait = event_wait,
                                        .elapsed = event_elapsed};

static hr_status device_create_event(hri_device *device, bool timed,
                                     hri_event **out)
{
    sim_event *event = calloc(1, sizeof *event);
    (void)timed;
    if (event == NULL) {
        return hri_no_memory(device->info.path);
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    *out = &event->base;
    return HR_OK;
}

/* ---- devices */

static void device_close(hri_device *base)
{
    if (base != NULL) {
        hri_device *inner = device_of(base)->inner;
        inner->ops->close(inner);
        free(base);
    }
}

/* Nothing is what it was: what a slot held before is no excuse. */
static hr_status device_allocate(hri_device *base, size_t bytes,
                                 hri_buffer **out)
{
    HRI_TRY(check_lost(base));
    sim_buffer *buffer = calloc(1, sizeof *buffer);
    unsigned char *memory = malloc(bytes > 0 ? bytes : 1);
    if (buffer == NULL || memory == NULL) {
        free(buffer);
        free(memory);
        return hri_no_memory(base->info.path);
    }
    memset(memory, 0xa5, bytes);
    buffer->base = (hri_buffer){.device = base, .bytes = bytes};
    buffer->memory = memory;
    *out = &buffer->base;
    return HR_OK;
}

static void device_release(hri_buffer *base)
{
    if (base != NULL) {
        sim_buffer *buffer = (sim_buffer *)base;
        memset(buffer->memory, 0x5a, base->bytes);
        free(buffer->memory);
        free(buffer);
    }
}

static hr_status device_allocate_pinned(hri_device *base, size_t bytes,
                                        void **host)
{
    HRI_TRY(check_lost(base));
    sim_pinned *area = malloc(sizeof *area);
    char *memory = malloc(bytes > 0 ? bytes : 1);
    if (area == NULL || memory == NULL) {
        free(area);
        free(memory);
        return hri_no_memory(base->info.path);
    }
    memset(memory, 0xa5, bytes);
    pthread_mutex_lock(&lock);
    *area = (sim_pinned){device_of(base)->pinned, memory, bytes};
    device_of(base)->pinned = area;
    pthread_mutex_unlock(&lock);
    *host = memory;
    return HR_OK;
}

static void device_release_pinned(hri_device *base, void *host)
{
    if (host == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    sim_pinned **link = &device_of(base)->pinned;
    while ((*link)->host != host) {
        link = &(*link)->next;
    }
    sim_pinned *area = *link;
    *link = area->next;
    pthread_mutex_unlock(&lock);
    memset(area->host, 0x5a, area->bytes);
    free(area->host);
    free(area);
}

static bool device_is_pinned(hri_device *base, const void *host, size_t bytes)
{
    const char *first = host;
    bool inside = !base->info.staged;
    pthread_mutex_lock(&lock);
    for (const sim_pinned *a = device_of(base)->pinned; a != NULL;
         a = a->next) {
        inside =
            inside || (first >= a->host && first + bytes <= a->host + a->bytes);
    }
    pthread_mutex_unlock(&lock);
    return inside;
}

static hr_status device_build(hri_device *base, const hr_kernel *kernel,
                              const char *source, hri_image *image,
                              hri_module **module)
{
    (void)source;
    if (kernel->host == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "sim: there is no compiler");
    }
    hri_module *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return hri_no_memory(base->info.path);
    }
    *made = (hri_module){
        .device = base, .most_items = INT64_MAX, .most_bytes = UINT64_MAX};
    for (int i = 0; i < HR_MAX_KERNEL_RANK; i++) {
        made->most_tile[i] = INT64_MAX;
    }
    if (image != NULL) {
        *image = (hri_image){NULL, 0};
    }
    *module = made;
    return HR_OK;
}

static hr_status device_load(hri_device *base, const hr_kernel *kernel,
                             const hri_image *image, hri_module **module)
{
    (void)image;
    return device_build(base, kernel, NULL, NULL, module);
}

static void device_unload(hri_module *module)
{
    free(module);
}

static bool device_is_peer(hri_device *device, hri_device *other)
{
    return device == other || (sim.peers && other->backend == device->backend);
}

static bool device_gemm_offered(hri_device *base, hr_type type, hr_type c_type,
                                hr_compute mode)
{
    hri_device *inner = device_of(base)->inner;
    return inner->ops->gemm_offered(inner, type, c_type, mode);
}

static const hri_device_ops device_ops = {
    .close = device_close,
    .check = check_lost,
    .allocate = device_allocate,
    .release = device_release,
    .lend = hri_no_lend,
    .take_back = hri_no_take_back,
    .allocate_pinned = device_allocate_pinned,
    .release_pinned = device_release_pinned,
    .is_pinned = device_is_pinned,
    .create_queue = device_create_queue,
    .create_event = device_create_event,
    .build = device_build,
    .load = device_load,
    .unload = device_unload,
    .destroy_graph = hri_no_destroy_graph,
    .is_peer = device_is_peer,
    .gemm_offered = device_gemm_offered,
    .gemm_variants = hri_one_variant};

/* ---- the backend */

static hr_status probe_sim(uint32_t *count)
{
    sim_hide(&lock);
    *count = sim.count;
    return HR_OK;
}

static hr_status describe_device(uint32_t index, hri_device_info *info)
{
    const sim_device_state *d = &sim.devices[index];
    *info = (hri_device_info){.memory_bytes = d->memory_bytes,
                              .free_bytes = d->memory_bytes,
                              .allocation_bytes = d->memory_bytes,
                              .compute_units = 4,
                              .ieee = true,
                              .staged = d->staged,
                              .reaches = d->reaches,
                              .packed = d->packed};
    snprintf(info->path, sizeof info->path, "sim:%u", index);
    snprintf(info->name, sizeof info->name, "simulated device %u", index);
    snprintf(info->physical_id, sizeof info->physical_id, "sim:%u", index);
    return HR_OK;
}

static hr_status open_device(uint32_t index, uint32_t threads, hri_device **out)
{
    sim_device *device = calloc(1, sizeof *device);
    (void)threads;
    if (device == NULL) {
        return hri_no_memory("sim");
    }
    const hr_status status = hri_backend_host.open(0, 1, &device->inner);
    if (status != HR_OK) {
        free(device);
        return status;
    }
    device->base.ops = &device_ops;
    device->base.backend = &sim_backend;
    device->state = &sim.devices[index];
    (void)describe_device(index, &device->base.info);
    *out = &device->base;
    return HR_OK;
}

const hri_backend sim_backend = {.abi = HRI_HAL_ABI,
                                 .name = "sim",
                                 .probe = probe_sim,
                                 .describe = describe_device,
                                 .open = open_device};
