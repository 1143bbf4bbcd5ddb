/* SPDX-License-Identifier: MIT */
/* The processors that this process may use, those near a device, and what they
 * can. */
#ifndef HRI_BASE_CPUS_H
#define HRI_BASE_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { HRI_MAX_CPUS = 1024, HRI_MAX_THREADS = 1024 };

/* A set of CPUs by number. Empty means that it does not matter which. */
typedef struct hri_cpus {
    uint64_t of[HRI_MAX_CPUS / 64];
} hri_cpus;

/* How many this process may use: by affinity, and by the cgroup's quota. */
uint32_t hri_cpu_count(void);

/* How many threads work on the host for this process: HEADRACE_THREADS, else as
 * many as CPUs. Any thread, while nobody changes the environment. */
uint32_t hri_thread_count(void);
/* HR_ERROR_INVALID when HEADRACE_THREADS is not a number from 1 to
 * HRI_MAX_THREADS; it counts as not set then. */
hr_status hri_thread_count_check(void);

/* Those that this process may use of the ones on the NUMA node of a PCI device,
 * such as "0000:01:00.0", as `folder` (/sys/bus/pci/devices) tells. Empty when
 * that is not told, or is none or all of what this process may use. */
hri_cpus hri_cpus_near(const char *folder, const char *device);

/* Read "0-15,32-47". False when it is something else; numbers that are too
 * large are left out. */
bool hri_cpus_read(const char *list, hri_cpus *cpus);

uint32_t hri_cpus_count(const hri_cpus *cpus);

/* Let the calling thread run on these alone. Nothing changes when the set is
 * empty, or the system refuses. */
void hri_cpus_use(const hri_cpus *cpus);

/* The vectors that a CPU has, each kind with all of those before it. */
typedef enum hri_simd {
    HRI_SIMD_BASELINE,
    HRI_SIMD_AVX2,  /* with FMA and F16C */
    HRI_SIMD_AVX512 /* F, DQ, BW, VL and CD */
} hri_simd;

/* This machine's. Any thread. */
hri_simd hri_simd_here(void);

#endif
