/* SPDX-License-Identifier: MIT */
/* The GPUs of this machine, the primary context of each, and which of them copy
 * from each other. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/cuda/cuda.h"

/* Drivers from CUDA 11 on have every function that we call, and run the machine
 * code of the oldest libraries that we look for. */
enum { OLDEST_DRIVER = 11000 };

static struct {
    hri_once found;
    hri_cuda_unit *units;
    uint32_t count;
    pid_t process;        /* that has found them */
    pthread_mutex_t lock; /* guards the peers of all units */
} machine = {.found = HRI_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

int hri_cuda_unit_number(const hri_cuda_unit *unit, int what)
{
    int number = 0;
    cu_result error = hri_cuda.cuDeviceGetAttribute(&number, what, unit->id);
    return error == CU_SUCCESS ? number : 0;
}

static hr_status unit_init(hri_cuda_unit *unit, uint32_t index, uint32_t count)
{
    unit->index = index;
    snprintf(unit->path, sizeof unit->path, "cuda:%u", index);
    pthread_mutex_init(&unit->lock, NULL);
    unit->peers = calloc(count, sizeof *unit->peers);
    if (unit->peers == NULL) {
        return hri_no_memory(unit->path);
    }
    hr_status status = hri_cuda_check(
        unit->path, hri_cuda.cuDeviceGet(&unit->id, (int)index), "cuDeviceGet");
    unit->capability =
        10 * hri_cuda_unit_number(unit, CU_ATTRIBUTE_CAPABILITY_MAJOR) +
        hri_cuda_unit_number(unit, CU_ATTRIBUTE_CAPABILITY_MINOR);
    int pitch = hri_cuda_unit_number(unit, CU_ATTRIBUTE_MAX_PITCH);
    unit->most_pitch = pitch > 0 ? (size_t)pitch : 1;
    return status;
}

static hr_status no_gpu(cu_result error)
{
    return hri_fail(HR_ERROR_UNAVAILABLE,
                    "the NVIDIA driver's library is there, but offers no GPU: "
                    "%s (%d)",
                    hri_cuda_error_name(error), (int)error);
}

/* Check that the driver is new enough, and count its devices. */
static hr_status check_driver(int *count)
{
    int version = 0;
    cu_result error = hri_cuda.cuDriverGetVersion(&version);
    if (error != CU_SUCCESS) {
        return no_gpu(error);
    }
    if (version < OLDEST_DRIVER) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "the NVIDIA driver supports CUDA %d.%d, but %d.0 or "
                        "later is needed",
                        version / 1000, version % 1000 / 10,
                        OLDEST_DRIVER / 1000);
    }
    error = hri_cuda.cuInit(0);
    if (error != CU_SUCCESS) {
        return no_gpu(error);
    }
    error = hri_cuda.cuDeviceGetCount(count);
    if (error != CU_SUCCESS) {
        return no_gpu(error);
    }
    return *count > 0 ? HR_OK : no_gpu(CU_NO_DEVICE);
}

/* Products need cuBLAS or NVRTC. */
static hr_status check_arithmetic(void)
{
    if (hri_cublas_load() == HR_OK || hri_nvrtc_load() == HR_OK) {
        return HR_OK;
    }
    return hri_fail(
        HR_ERROR_UNAVAILABLE,
        "there is a GPU, but neither cuBLAS nor NVRTC can be used: %s",
        hr_last_error());
}

static hr_status find_units(void)
{
    int count = 0;
    HRI_TRY(hri_cuda_load());
    machine.process = getpid();
    HRI_TRY(check_driver(&count));
    HRI_TRY(check_arithmetic());
    machine.units = calloc((size_t)count, sizeof *machine.units);
    if (machine.units == NULL) {
        return hri_no_memory("cuda");
    }
    machine.count = (uint32_t)count;
    for (uint32_t i = 0; i < machine.count; i++) {
        HRI_TRY(unit_init(&machine.units[i], i, machine.count));
    }
    return HR_OK;
}

hr_status hri_cuda_unit_count(uint32_t *count)
{
    HRI_TRY(hri_once_run(&machine.found, find_units));
    HRI_TRY(hri_library_check_process("CUDA", machine.process));
    *count = machine.count;
    return HR_OK;
}

hri_cuda_unit *hri_cuda_unit_at(uint32_t index)
{
    return &machine.units[index];
}

hr_status hri_cuda_unit_acquire(hri_cuda_unit *unit)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&unit->lock);
    if (unit->opens == 0) {
        status = hri_cuda_check(
            unit->path,
            hri_cuda.cuDevicePrimaryCtxRetain(&unit->context, unit->id),
            "cuDevicePrimaryCtxRetain");
    }
    unit->opens += status == HR_OK;
    pthread_mutex_unlock(&unit->lock);
    return status;
}

/* The context may end, and with it the access between peers. */
static void forget_peers(hri_cuda_unit *unit)
{
    pthread_mutex_lock(&machine.lock);
    for (uint32_t i = 0; i < machine.count; i++) {
        unit->peers[i] = machine.units[i].peers[unit->index] = HRI_CUDA_UNASKED;
    }
    pthread_mutex_unlock(&machine.lock);
}

/* The unit's context is current. */
static void release_kernels(hri_cuda_unit *unit)
{
    hri_cuda_precise_unload(unit);
    hri_cuda_kernel *all = &unit->kernels[0][0];
    for (size_t i = 0; i < sizeof unit->kernels / sizeof *all; i++) {
        if (all[i].module != NULL) {
            hri_cuda.cuModuleUnload(all[i].module);
            all[i] = (hri_cuda_kernel){0};
        }
    }
}

void hri_cuda_unit_release(hri_cuda_unit *unit)
{
    pthread_mutex_lock(&unit->lock);
    if (--unit->opens == 0) {
        forget_peers(unit);
        if (hri_cuda_enter(unit) == CU_SUCCESS) {
            release_kernels(unit);
            hri_cuda_leave();
        }
        hri_cuda.cuDevicePrimaryCtxRelease_v2(unit->id);
        unit->context = NULL;
    }
    pthread_mutex_unlock(&unit->lock);
}

/* Let unit access the memory of other. */
static bool allow(const hri_cuda_unit *unit, const hri_cuda_unit *other)
{
    int can = 0;
    if (hri_cuda.cuDeviceCanAccessPeer(&can, unit->id, other->id) !=
            CU_SUCCESS ||
        can == 0 || hri_cuda_enter(unit) != CU_SUCCESS) {
        return false;
    }
    cu_result error = hri_cuda.cuCtxEnablePeerAccess(other->context, 0);
    hri_cuda_leave();
    return error == CU_SUCCESS || error == CU_PEER_ACCESS_ALREADY_ENABLED;
}

bool hri_cuda_units_are_peers(hri_cuda_unit *a, hri_cuda_unit *b)
{
    if (a == b) {
        return true;
    }
    pthread_mutex_lock(&machine.lock);
    if (a->peers[b->index] == HRI_CUDA_UNASKED) {
        a->peers[b->index] = b->peers[a->index] =
            allow(a, b) && allow(b, a) ? HRI_CUDA_PEERS : HRI_CUDA_STRANGERS;
    }
    bool peers = a->peers[b->index] == HRI_CUDA_PEERS;
    pthread_mutex_unlock(&machine.lock);
    return peers;
}

cu_result hri_cuda_enter(const hri_cuda_unit *unit)
{
    return hri_cuda.cuCtxPushCurrent_v2(unit->context);
}

void hri_cuda_leave(void)
{
    cu_context ours;
    hri_cuda.cuCtxPopCurrent_v2(&ours);
}
