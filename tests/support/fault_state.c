/* SPDX-License-Identifier: MIT */
/* What tests ask of the wrapper backend, and what it counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "base/clock.h"
#include "support/fault_internal.h"

pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
/* A call was made, or calls that wait may go on. */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

enum { TIMED = 4 }; /* devices with times that tests can set */

/* Where calls, operations and allocations came from, in order. It is no
 * allocation itself. */
enum { LOGS = 3, LOGGED = 1 << 16 };
static uint64_t logs[LOGS][LOGGED];

static struct {
    struct {
        fault_point point;
        uint64_t seen; /* of those with its path */
        hr_status status;
        bool came;
    } faults[FAULT_WAYS];
    void (*hook)(void *data);
    void *hook_data;
    bool traced;
    size_t logged[LOGS];
    uint64_t hold_others; /* 0: nothing is held */
    uint64_t stick_call;  /* calls until the device is stuck; 0: it never is */
    uint32_t stick_device, stuck;
    uint32_t hold_device, devices;
    uint64_t products;
    bool staged, no_double;
    uint32_t packed;
    uint64_t free_bytes, allocation_bytes; /* 0: as it is */
    uint64_t times[TIMED];                 /* 0: as it is */
    double rates[TIMED];                   /* likewise */
    uint64_t calls, operations, allocations, breaches;
    uint64_t counts[FAULT_SLOTS];
    uint64_t bytes[FAULT_DIRECTIONS], largest_ordinary;
    bool stop_copies;
    uint32_t stopped; /* bits of devices */
} state;

static uint64_t objects; /* not in state: a reset must not forget them */

static const char *const slot_names[FAULT_SLOTS] = {
    [FAULT_PROBE] = "probe",
    [FAULT_DESCRIBE] = "describe",
    [FAULT_OPEN] = "open",
    [FAULT_ALLOCATE] = "allocate",
    [FAULT_LEND] = "lend",
    [FAULT_TAKE_BACK] = "take_back",
    [FAULT_ALLOCATE_PINNED] = "allocate_pinned",
    [FAULT_CREATE_QUEUE] = "create_queue",
    [FAULT_CREATE_EVENT] = "create_event",
    [FAULT_COPY] = "copy",
    [FAULT_FILL] = "fill",
    [FAULT_GEMM] = "gemm",
    [FAULT_PACK] = "pack",
    [FAULT_LAUNCH] = "launch",
    [FAULT_BUILD] = "build",
    [FAULT_LOAD] = "load",
    [FAULT_UNLOAD] = "unload",
    [FAULT_RECORD] = "record",
    [FAULT_WAIT] = "wait",
    [FAULT_FINISH] = "finish",
    [FAULT_BEGIN_GRAPH] = "begin_graph",
    [FAULT_END_GRAPH] = "end_graph",
    [FAULT_RUN_GRAPH] = "run_graph",
    [FAULT_DESTROY_GRAPH] = "destroy_graph",
    [FAULT_EVENT_QUERY] = "event query",
    [FAULT_EVENT_WAIT] = "event wait",
    [FAULT_EVENT_ELAPSED] = "event elapsed",
    [FAULT_CLOSE] = "close",
    [FAULT_RELEASE] = "release",
    [FAULT_RELEASE_PINNED] = "release_pinned",
    [FAULT_DESTROY_QUEUE] = "destroy queue",
    [FAULT_DESTROY_EVENT] = "destroy event",
    [FAULT_IS_PINNED] = "is_pinned",
    [FAULT_IS_PEER] = "is_peer",
    [FAULT_GEMM_OFFERED] = "gemm_offered",
};

const char *fault_slot_name(fault_slot slot)
{
    return slot < FAULT_SLOTS ? slot_names[slot] : "?";
}

void fault_backend_reset(void)
{
    pthread_mutex_lock(&fault_lock);
    memset(&state, 0, sizeof state);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_inject(fault_way way, fault_point point, hr_status status)
{
    pthread_mutex_lock(&fault_lock);
    memset(&state.faults[way], 0, sizeof state.faults[way]);
    state.faults[way].point = point;
    state.faults[way].status = status;
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_at(fault_point point, void (*hook)(void *data), void *data)
{
    fault_backend_inject(FAULT_HOOK, point, HR_OK);
    pthread_mutex_lock(&fault_lock);
    state.hook = hook;
    state.hook_data = data;
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_trace(void)
{
    pthread_mutex_lock(&fault_lock);
    state.traced = true;
    memset(state.logged, 0, sizeof state.logged);
    pthread_mutex_unlock(&fault_lock);
}

#ifndef __GLIBC__
/* musl-gcc links the unwinder of a gcc for glibc, which asks glibc for the
 * tables of a frame. After this answer it looks for them itself. */
int _dl_find_object(void *address, void *found);
int _dl_find_object(void *address, void *found)
{
    (void)address;
    (void)found;
    return -1;
}
#endif

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *frame, void *hash)
{
    uint64_t *h = hash;
    *h = (*h ^ _Unwind_GetIP(frame)) * UINT64_C(0x100000001b3); /* FNV */
    return _URC_NO_REASON;
}

/* Where this call comes from: never 0. */
static uint64_t path_of_caller(void)
{
    uint64_t hash = 1;
    (void)_Unwind_Backtrace(add_frame, &hash);
    return hash | 1;
}

static size_t log_of(fault_way way)
{
    return way == FAULT_OPERATION ? 1 : way == FAULT_MEMORY ? 2 : 0;
}

/* Whether faults of this way still wait for something that comes from one
 * place. The lock is held, as below. */
static bool awaits_path(fault_way way)
{
    return state.faults[way].point.path != 0 && !state.faults[way].came;
}

/* Where something comes from that can fail in this way; 0 where nobody asks. */
static uint64_t note_path(fault_way way)
{
    const size_t log = log_of(way);
    const bool asked = state.traced || awaits_path(way) ||
                       (way == FAULT_CALL &&
                        (awaits_path(FAULT_LOSS) || awaits_path(FAULT_HOOK)));
    const uint64_t path = asked ? path_of_caller() : 0;
    if (state.traced && state.logged[log] < LOGGED) {
        logs[log][state.logged[log]++] = path;
    }
    return path;
}

/* Whether a fault strikes here, at call `call` of all. */
static bool fault_strikes(fault_way way, uint64_t path, uint64_t call)
{
    const fault_point point = state.faults[way].point;
    uint64_t number = call;
    if (point.path != 0) {
        state.faults[way].seen += point.path == path;
        number = point.path == path ? state.faults[way].seen : 0;
    }
    const bool now = point.number > 0 && number == point.number;
    state.faults[way].came = state.faults[way].came || now;
    return now;
}

bool fault_backend_came(fault_way way)
{
    pthread_mutex_lock(&fault_lock);
    const bool came = state.faults[way].came;
    pthread_mutex_unlock(&fault_lock);
    return came;
}

uint64_t fault_backend_path(fault_way way, size_t index)
{
    const size_t log = log_of(way);
    pthread_mutex_lock(&fault_lock);
    const uint64_t path = index < state.logged[log] ? logs[log][index] : 0;
    pthread_mutex_unlock(&fault_lock);
    return path;
}

bool fault_backend_refuses(void)
{
    pthread_mutex_lock(&fault_lock);
    const uint64_t path = note_path(FAULT_MEMORY);
    const bool refuses = fault_strikes(FAULT_MEMORY, path, ++state.allocations);
    pthread_mutex_unlock(&fault_lock);
    return refuses;
}

void fault_backend_hold(uint32_t device, uint64_t others)
{
    pthread_mutex_lock(&fault_lock);
    state.hold_device = device;
    state.hold_others = others;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_rate(uint32_t device, double flops_per_second)
{
    pthread_mutex_lock(&fault_lock);
    state.rates[device] = flops_per_second;
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_stick(uint32_t device, uint64_t call)
{
    pthread_mutex_lock(&fault_lock);
    state.stick_device = device;
    state.stick_call = call;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_let_go(void)
{
    fault_backend_stick(0, 0);
}

bool fault_backend_sticks(void)
{
    pthread_mutex_lock(&fault_lock);
    const bool sticks = state.stuck > 0;
    pthread_mutex_unlock(&fault_lock);
    return sticks;
}

void fault_backend_stop_copies(bool stop)
{
    pthread_mutex_lock(&fault_lock);
    state.stop_copies = stop;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_await_stopped(uint32_t wanted)
{
    pthread_mutex_lock(&fault_lock);
    while ((state.stopped & wanted) != wanted) {
        pthread_cond_wait(&changed, &fault_lock);
    }
    pthread_mutex_unlock(&fault_lock);
}

void fault_pass_copy(const fault_device *device)
{
    pthread_mutex_lock(&fault_lock);
    while (state.stop_copies) {
        state.stopped |= UINT32_C(1) << device->number;
        pthread_cond_broadcast(&changed);
        pthread_cond_wait(&changed, &fault_lock);
    }
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_pretend_packed(uint32_t types)
{
    pthread_mutex_lock(&fault_lock);
    state.packed = types;
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_pretend_staged(bool staged)
{
    pthread_mutex_lock(&fault_lock);
    state.staged = staged;
    pthread_mutex_unlock(&fault_lock);
}

void fault_backend_pretend_no_double(bool none)
{
    pthread_mutex_lock(&fault_lock);
    state.no_double = none;
    pthread_mutex_unlock(&fault_lock);
}

bool fault_has_no_double(void)
{
    pthread_mutex_lock(&fault_lock);
    const bool none = state.no_double;
    pthread_mutex_unlock(&fault_lock);
    return none;
}

void fault_backend_pretend_time(uint32_t device, uint64_t time_ns)
{
    pthread_mutex_lock(&fault_lock);
    state.times[device] = time_ns;
    pthread_mutex_unlock(&fault_lock);
}

uint64_t fault_time(const fault_device *device)
{
    pthread_mutex_lock(&fault_lock);
    const uint64_t time =
        device->number < TIMED ? state.times[device->number] : 0;
    pthread_mutex_unlock(&fault_lock);
    return time;
}

void fault_backend_limit(uint64_t free_bytes, uint64_t allocation_bytes)
{
    pthread_mutex_lock(&fault_lock);
    state.free_bytes = free_bytes;
    state.allocation_bytes = allocation_bytes;
    pthread_mutex_unlock(&fault_lock);
}

/* The lock is held. */
static void pretend_info(hri_device_info *info)
{
    info->staged = info->staged || state.staged;
    info->reaches = info->reaches || state.staged;
    info->packed |= state.packed;
    if (state.free_bytes > 0 && state.free_bytes < info->free_bytes) {
        info->free_bytes = state.free_bytes;
    }
    if (state.allocation_bytes > 0 &&
        state.allocation_bytes < info->allocation_bytes) {
        info->allocation_bytes = state.allocation_bytes;
    }
}

void fault_pretend(hri_device_info *info)
{
    pthread_mutex_lock(&fault_lock);
    pretend_info(info);
    pthread_mutex_unlock(&fault_lock);
}

void fault_add_device(fault_device *device)
{
    pthread_mutex_lock(&fault_lock);
    pretend_info(&device->base.info);
    device->free_bytes = state.free_bytes;
    device->number = state.devices++;
    objects++;
    pthread_mutex_unlock(&fault_lock);
}

/* Wait while the device is stuck. The lock is held, and released meanwhile. */
static void wait_if_stuck(const hri_device *base)
{
    const fault_device *device = (const fault_device *)base;
    if (state.stick_call == 0 || device->number != state.stick_device) {
        return;
    }
    if (state.stick_call > 1) {
        state.stick_call--;
        return;
    }
    state.stuck++;
    while (state.stick_call > 0) {
        pthread_cond_wait(&changed, &fault_lock);
    }
    state.stuck--;
}

hr_status fault_enter(const hri_device *device, fault_slot slot)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&fault_lock);
    if (device != NULL) {
        wait_if_stuck(device);
    }
    const uint64_t path = note_path(FAULT_CALL);
    const uint64_t call = ++state.calls;
    pthread_cond_broadcast(&changed);
    state.counts[slot]++;
    const bool hooked = fault_strikes(FAULT_HOOK, path, call);
    if (fault_strikes(FAULT_CALL, path, call)) {
        status = state.faults[FAULT_CALL].status;
    }
    if (fault_strikes(FAULT_LOSS, path, call) ||
        state.faults[FAULT_LOSS].came) {
        status = HR_ERROR_LOST;
    }
    void (*hook)(void *) = hooked ? state.hook : NULL;
    void *hook_data = state.hook_data;
    pthread_mutex_unlock(&fault_lock);
    if (hook != NULL) {
        hook(hook_data);
    }
    if (status != HR_OK) {
        hri_fail(status, "fault backend: call %llu (%s) fails on request",
                 (unsigned long long)call, fault_slot_name(slot));
    }
    return status;
}

void fault_note(fault_slot slot)
{
    pthread_mutex_lock(&fault_lock);
    state.counts[slot]++;
    pthread_mutex_unlock(&fault_lock);
}

/* Whether a fault or the hook has happened. The lock is held. */
static bool has_happened(void)
{
    for (int way = 0; way < FAULT_WAYS; way++) {
        if (state.faults[way].came) {
            return true;
        }
    }
    return false;
}

/* Whether the product still waits for others. The lock is held. */
static bool is_held(const fault_device *device)
{
    return device->number == state.hold_device &&
           state.products - device->products < state.hold_others &&
           !has_happened();
}

void fault_product(fault_device *device, const hri_gemm *gemm)
{
    enum { PATIENCE_MS = 100 };
    const double count =
        gemm->batch.count > 0 ? (double)gemm->batch.count : 1.0;
    const double flops =
        2.0 * count * (double)gemm->m * (double)gemm->n * (double)gemm->k;
    pthread_mutex_lock(&fault_lock);
    state.products++;
    device->products++;
    pthread_cond_broadcast(&changed);
    while (is_held(device) &&
           hri_wait_until(&changed, &fault_lock, hri_in_ms(PATIENCE_MS))) {
    }
    const double rate =
        device->number < TIMED ? state.rates[device->number] : 0.0;
    pthread_mutex_unlock(&fault_lock);
    if (rate > 0.0) {
        hri_sleep_ns((uint64_t)(flops / rate * 1e9));
    }
}

bool fault_operation(hri_error *error)
{
    pthread_mutex_lock(&fault_lock);
    const uint64_t path = note_path(FAULT_OPERATION);
    const uint64_t operation = ++state.operations;
    pthread_cond_broadcast(&changed);
    const bool fails = fault_strikes(FAULT_OPERATION, path, operation);
    const hr_status status = state.faults[FAULT_OPERATION].status;
    pthread_mutex_unlock(&fault_lock);
    if (fails) {
        error->status = status;
        snprintf(error->message, sizeof error->message,
                 "fault backend: operation %llu fails on request",
                 (unsigned long long)operation);
    }
    return fails;
}

void fault_count_copy(fault_direction direction, uint64_t bytes, bool ordinary)
{
    pthread_mutex_lock(&fault_lock);
    state.bytes[direction] += bytes;
    if (ordinary && bytes > state.largest_ordinary) {
        state.largest_ordinary = bytes;
    }
    pthread_mutex_unlock(&fault_lock);
}

void fault_count_object(fault_device *device, int change)
{
    pthread_mutex_lock(&fault_lock);
    objects += (uint64_t)(int64_t)change;
    if (device != NULL) {
        device->objects += (uint64_t)(int64_t)change;
    }
    pthread_mutex_unlock(&fault_lock);
}

hr_status fault_breach(const char *what)
{
    fprintf(stderr, "fault backend: breach of contract: %s\n", what);
    pthread_mutex_lock(&fault_lock);
    state.breaches++;
    pthread_mutex_unlock(&fault_lock);
    return hri_fail(HR_ERROR_INVALID, "fault backend: %s", what);
}

static uint64_t read_state(const uint64_t *number)
{
    pthread_mutex_lock(&fault_lock);
    uint64_t copy = *number;
    pthread_mutex_unlock(&fault_lock);
    return copy;
}

uint64_t fault_backend_calls(void)
{
    return read_state(&state.calls);
}

uint64_t fault_backend_operations(void)
{
    return read_state(&state.operations);
}

uint64_t fault_backend_count(fault_slot slot)
{
    return read_state(&state.counts[slot]);
}

uint64_t fault_backend_bytes(fault_direction direction)
{
    return read_state(&state.bytes[direction]);
}

uint64_t fault_backend_largest_ordinary(void)
{
    return read_state(&state.largest_ordinary);
}

uint64_t fault_backend_objects(void)
{
    return read_state(&objects);
}

uint64_t fault_backend_breaches(void)
{
    return read_state(&state.breaches);
}
