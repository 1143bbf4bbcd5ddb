/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/cpus.h"

#include <ctype.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "base/environment.h"

/* CPUs allowed by cgroup v2's cpu.max ("quota period"); 0 when unlimited. */
static uint32_t cgroup_cpus(void)
{
    long quota, period;
    uint32_t cpus = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &quota, &period) == 2 && quota > 0 &&
            period > 0) {
            cpus = (uint32_t)((quota + period - 1) / period);
        }
        fclose(file);
    }
    return cpus;
}

uint32_t hri_cpu_count(void)
{
    cpu_set_t set;
    uint32_t count = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        count = (uint32_t)CPU_COUNT(&set);
    }
    uint32_t quota = cgroup_cpus();
    return quota > 0 && quota < count ? quota : count;
}

/* The number of threads that a text asks for. 0: the text is not a valid number
 * of threads. */
static uint32_t threads_of(const char *text)
{
    char *end = NULL;
    unsigned long number =
        isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    return number >= 1 && number <= HRI_MAX_THREADS && *end == '\0'
               ? (uint32_t)number
               : 0;
}

uint32_t hri_thread_count(void)
{
    const char *text = hri_environment("HEADRACE_THREADS");
    uint32_t count = text != NULL ? threads_of(text) : 0;
    return count > 0 ? count : hri_cpu_count();
}

hr_status hri_thread_count_check(void)
{
    const char *text = hri_environment("HEADRACE_THREADS");
    return text == NULL || *text == '\0' || threads_of(text) > 0
               ? HR_OK
               : hri_fail(
                     HR_ERROR_INVALID,
                     "HEADRACE_THREADS is \"%.64s\", not a number from 1 to %d",
                     text, HRI_MAX_THREADS);
}

uint32_t hri_cpus_count(const hri_cpus *cpus)
{
    uint32_t count = 0;
    for (size_t i = 0; i < HRI_MAX_CPUS; i++) {
        count += (uint32_t)(cpus->of[i / 64] >> i % 64 & 1);
    }
    return count;
}

/* Read the number at *text and move *text behind it. */
static bool read_number(const char **text, unsigned long *number)
{
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    char *end;
    *number = strtoul(*text, &end, 10);
    *text = end;
    return true;
}

bool hri_cpus_read(const char *list, hri_cpus *cpus)
{
    *cpus = (hri_cpus){0};
    for (;;) {
        unsigned long first, last;
        if (!read_number(&list, &first)) {
            return false;
        }
        last = first;
        if (*list == '-') {
            list++;
            if (!read_number(&list, &last)) {
                return false;
            }
        }
        for (unsigned long i = first; i <= last && i < HRI_MAX_CPUS; i++) {
            cpus->of[i / 64] |= UINT64_C(1) << i % 64;
        }
        if (*list != ',') {
            return *list == '\0' || *list == '\n';
        }
        list++;
    }
}

hri_cpus hri_cpus_near(const char *folder, const char *device)
{
    char path[512], line[4096] = "";
    hri_cpus near = {0}, none = {0};
    cpu_set_t allowed;
    snprintf(path, sizeof path, "%s/%s/local_cpulist", folder, device);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return none;
    }
    bool told = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!told || !hri_cpus_read(line, &near) ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return none;
    }
    bool all = true;
    for (size_t i = 0; i < HRI_MAX_CPUS; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        if (i >= CPU_SETSIZE || !CPU_ISSET(i, &allowed)) {
            near.of[i / 64] &= ~bit;
        } else {
            all = all && (near.of[i / 64] & bit) != 0;
        }
    }
    return all ? none : near;
}

void hri_cpus_use(const hri_cpus *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < HRI_MAX_CPUS && i < CPU_SETSIZE; i++) {
        if (cpus->of[i / 64] >> i % 64 & 1) {
            CPU_SET(i, &set);
        }
    }
    if (hri_cpus_count(cpus) > 0) {
        (void)sched_setaffinity(0, sizeof set, &set);
    }
}

static hri_simd find_simd(void)
{
#ifdef __x86_64__
    unsigned a, b, c, d; /* clang 14 does not know "f16c" by name */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        __get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_F16C) == 0) {
        return HRI_SIMD_BASELINE;
    }
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512cd")
               ? HRI_SIMD_AVX512
               : HRI_SIMD_AVX2;
#else
    return HRI_SIMD_BASELINE;
#endif
}

hri_simd hri_simd_here(void)
{
    static atomic_int known; /* The answer plus 1; 0: not asked yet. cpuid is
                                slow in a virtual machine. */
    int simd = atomic_load_explicit(&known, memory_order_relaxed);
    if (simd == 0) {
        simd = 1 + (int)find_simd();
        atomic_store_explicit(&known, simd, memory_order_relaxed);
    }
    return (hri_simd)(simd - 1);
}
