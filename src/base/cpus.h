/* SPDX-License-Identifier: MIT */
/* The processors that this process may use, those near a device, and their
 * vector instructions. */
#ifndef HRI_BASE_CPUS_H
#define HRI_BASE_CPUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { HRI_MAX_CPUS = 1024, HRI_MAX_THREADS = 1024 };

/* A set of CPUs by number. An empty set stands for any CPU. */
typedef struct hri_cpus {
    uint64_t of[HRI_MAX_CPUS / 64];
} hri_cpus;

/* How many this process may use: by the calling thread's affinity, and by the
 * quota of its control groups. Read anew each time, which takes some 50
 * microseconds. */
uint32_t hri_cpu_count(void);
/* What the quotas of this process's control groups allow, rounded up; 0: there
 * is none. `root` comes before /proc and /sys, and is "" except in tests. */
uint32_t hri_cpu_quota(const char *root);

/* How many threads a context works with on the host that asks for no number:
 * HEADRACE_THREADS, else the number of CPUs. Any thread, as long as nothing
 * changes the environment. */
uint32_t hri_thread_count(void);
/* HR_ERROR_INVALID when HEADRACE_THREADS is not a number from 1 to
 * HRI_MAX_THREADS. The variable counts as not set then. */
hr_status hri_thread_count_check(void);

/* The CPUs on the NUMA node of a PCI device, such as "0000:01:00.0", that this
 * process may use. `folder` is /sys/bus/pci/devices, except in tests. The set
 * is empty when the folder does not tell the CPUs, or when they are none or all
 * of those that this process may use. */
hri_cpus hri_cpus_near(const char *folder, const char *device);

/* Read a list such as "0-15,32-47". Numbers that are too large are left out.
 * False: the text is not such a list. */
bool hri_cpus_read(const char *list, hri_cpus *cpus);

uint32_t hri_cpus_count(const hri_cpus *cpus);

/* Let the calling thread run on these CPUs only. Nothing changes when the set
 * is empty or the system refuses. */
void hri_cpus_use(const hri_cpus *cpus);

/* The same for any thread, and the CPUs that it may run on. That set is empty
 * when the system does not tell. */
void hri_cpus_let(pthread_t thread, const hri_cpus *cpus);
hri_cpus hri_cpus_of(pthread_t thread);

/* The set without a CPU. -1: the set as it is. */
hri_cpus hri_cpus_without(hri_cpus cpus, int number);

/* The number of the CPU that runs the calling thread. -1: not known. */
int hri_cpu_number(void);

/* The vector instructions of a CPU. Each kind includes those before it. */
typedef enum hri_simd {
    HRI_SIMD_BASELINE,
    HRI_SIMD_AVX2,  /* with FMA and F16C */
    HRI_SIMD_AVX512 /* F, DQ, BW, VL and CD */
} hri_simd;

/* What this machine has. Any thread. */
hri_simd hri_simd_here(void);

#endif
