/* SPDX-License-Identifier: MIT */
/* Faults. After a fault of a kernel, or of something else that ran on a GPU,
 * every call of the driver returns its error, on every GPU and in every context
 * of the process, also on GPUs that were not open (2 H200s, 2026-11). Only the
 * first such error says anything. */
#include <stdio.h>
#include <string.h>

#include "backends/cuda/cuda.h"

/* The errors of which NVIDIA's documentation of CUresult (CUDA 13) says: "This
 * leaves the process in an inconsistent state and any further CUDA work will
 * return the same error. To continue using CUDA, the process must be
 * terminated and relaunched." */
static const struct {
    cu_result error;
    const char *what; /* a kernel did; NULL: it was no kernel */
} faults[] = {
    {CU_CONTAINED, "caused an error that the GPU contained"},
    {CU_ILLEGAL_ADDRESS, "read or wrote outside of its memory"},
    {CU_LAUNCH_TIMEOUT, "ran longer than the driver allows"},
    {CU_HARDWARE_STACK_ERROR, "damaged or exceeded its stack"},
    {CU_ILLEGAL_INSTRUCTION, "met an illegal instruction"},
    {CU_MISALIGNED_ADDRESS, "read or wrote at an address that is not aligned"},
    {CU_INVALID_ADDRESS_SPACE, "used an address of the wrong kind of memory"},
    {CU_INVALID_PC, "left its code"},
    {CU_LAUNCH_FAILED, "failed"},
    {CU_TENSOR_MEMORY_LEAK, "kept tensor memory when it ended"},
    {CU_EXTERNAL_DEVICE, NULL},
};

static struct {
    pthread_mutex_t lock;  /* guards what follows, and the launches of units */
    hri_cuda_unit *units;  /* on which the caller's kernels were launched */
    uint64_t launches;     /* of those kernels, so far */
    atomic_bool has_first; /* a fault is known; error and cause are constant
                              then */
    cu_result error;
    char cause[160]; /* "a kernel on cuda:0 (the last was "x") failed" */
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

void hri_cuda_note_launch(hri_cuda_unit *unit, const char *kernel)
{
    pthread_mutex_lock(&seen.lock);
    if (unit->launches == 0) {
        unit->next = seen.units;
        seen.units = unit;
    }
    unit->launches = ++seen.launches;
    if (strncmp(unit->launched, kernel, sizeof unit->launched - 1) != 0) {
        snprintf(unit->launched, sizeof unit->launched, "%s", kernel);
    }
    pthread_mutex_unlock(&seen.lock);
}

/* The unit whose kernel it probably was: that where the error was seen, else
 * the one with the last launch. Other units are told the error, too, and may
 * be the first to be asked. NULL: the caller has launched nothing. */
static const hri_cuda_unit *suspect(const char *path)
{
    const hri_cuda_unit *last = NULL;
    for (const hri_cuda_unit *u = seen.units; u != NULL; u = u->next) {
        if (strcmp(u->path, path) == 0) {
            return u;
        }
        last = last == NULL || u->launches > last->launches ? u : last;
    }
    return last;
}

static void describe(const char *path, const char *what)
{
    const hri_cuda_unit *unit = suspect(path);
    if (what == NULL) {
        snprintf(seen.cause, sizeof seen.cause,
                 "a device outside of CUDA failed");
    } else if (unit == NULL) {
        snprintf(seen.cause, sizeof seen.cause, "a kernel of this process %s",
                 what);
    } else {
        snprintf(seen.cause, sizeof seen.cause,
                 "a kernel on %s (the last was \"%s\") %s", unit->path,
                 unit->launched, what);
    }
}

bool hri_cuda_keep_fault(const char *path, cu_result error)
{
    const size_t count = sizeof faults / sizeof faults[0];
    size_t i = 0;
    while (i < count && faults[i].error != error) {
        i++;
    }
    if (i == count) {
        return false;
    }
    pthread_mutex_lock(&seen.lock);
    const bool first = !seen.has_first;
    if (first) {
        describe(path, faults[i].what);
        seen.error = error;
        atomic_store_explicit(&seen.has_first, true, memory_order_release);
    }
    pthread_mutex_unlock(&seen.lock);
    return first;
}

const char *hri_cuda_fault_cause(void)
{
    return atomic_load_explicit(&seen.has_first, memory_order_acquire)
               ? seen.cause
               : NULL;
}

hr_status hri_cuda_fault_check(const char *path)
{
    const char *cause = hri_cuda_fault_cause();
    return cause == NULL
               ? HR_OK
               : hri_fail(HR_ERROR_LOST,
                          "%s: lost, as %s (CUDA error %d); only a new process "
                          "can use NVIDIA's GPUs",
                          path, cause, (int)seen.error);
}
