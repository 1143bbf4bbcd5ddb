/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/cpus.h"

#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "base/environment.h"

/* ---- how many CPUs there are */

/* The CPUs of a quota of time in each period, rounded up. 0: no quota. */
static uint32_t quota_cpus(double quota, double period)
{
    const double cpus = quota > 0 && period > 0 ? quota / period : 0;
    return cpus < HRI_MAX_CPUS ? (uint32_t)cpus + (cpus > (uint32_t)cpus) : 0;
}

static bool read_line(const char *folder, const char *name, char *line,
                      int bytes)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file =
        length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
    const bool there = file != NULL && fgets(line, bytes, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return there;
}

/* The quota of one control group: cpu.max of version 2, or the two files of
 * version 1. */
static uint32_t folder_cpus(const char *folder)
{
    char line[128], period[128];
    long long quota, of;
    if (read_line(folder, "cpu.max", line, sizeof line)) {
        return sscanf(line, "%lld %lld", &quota, &of) == 2
                   ? quota_cpus((double)quota, (double)of)
                   : 0;
    }
    return read_line(folder, "cpu.cfs_quota_us", line, sizeof line) &&
                   read_line(folder, "cpu.cfs_period_us", period,
                             sizeof period) &&
                   sscanf(line, "%lld", &quota) == 1 &&
                   sscanf(period, "%lld", &of) == 1
               ? quota_cpus((double)quota, (double)of)
               : 0;
}

/* The least quota of a group and of those that hold it. In a container the
 * group's own folder may not be there: only the mount's is. */
static uint32_t group_cpus(const char *mount, const char *group)
{
    char folder[PATH_MAX];
    uint32_t least = 0;
    const int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder) {
        return 0;
    }
    for (char *end = folder + length; end != NULL;
         end = strrchr(folder + strlen(mount), '/')) {
        *end = '\0';
        const uint32_t cpus = folder_cpus(folder);
        least = least == 0 || (cpus > 0 && cpus < least) ? cpus : least;
    }
    return least;
}

/* Whether `word` is in a list with commas. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (; list != NULL; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 &&
            (list[length] == '\0' || list[length] == ',')) {
            return true;
        }
    }
    return false;
}

/* The quota of the group in one line of /proc/self/cgroup: "0::/group" of
 * version 2, "3:cpu,cpuacct:/group" of version 1. */
static uint32_t line_cpus(const char *root, char *line)
{
    char mount[PATH_MAX];
    char *kinds = strchr(line, ':');
    char *group = kinds != NULL ? strchr(kinds + 1, ':') : NULL;
    if (group == NULL) {
        return 0;
    }
    *group++ = '\0';
    kinds++;
    group[strcspn(group, "\n")] = '\0';
    if (*kinds != '\0' && !has_word(kinds, "cpu")) {
        return 0;
    }
    /* version 2 lies in `unified` where version 1 is there, too */
    const char *const mounts[] = {kinds, *kinds != '\0' ? "cpu" : "unified"};
    uint32_t least = 0;
    for (size_t i = 0; i < 2; i++) {
        const int length =
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root,
                     *mounts[i] != '\0' ? "/" : "", mounts[i]);
        const uint32_t cpus = length > 0 && (size_t)length < sizeof mount
                                  ? group_cpus(mount, group)
                                  : 0;
        least = least == 0 || (cpus > 0 && cpus < least) ? cpus : least;
    }
    return least;
}

uint32_t hri_cpu_quota(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint32_t least = 0;
    const int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file =
        length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const uint32_t cpus = line_cpus(root, line);
        least = least == 0 || (cpus > 0 && cpus < least) ? cpus : least;
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

/* The CPUs of the calling thread's affinity mask. The kernel refuses sets that
 * are smaller than its own. */
static uint32_t mask_cpus(void)
{
    for (size_t cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(cpus);
        cpu_set_t *set = CPU_ALLOC(cpus);
        const bool told = set != NULL && sched_getaffinity(0, bytes, set) == 0;
        const int count = told ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (told) {
            return count > 0 ? (uint32_t)count : 1;
        }
    }
    return 1;
}

uint32_t hri_cpu_count(void)
{
    const uint32_t count = mask_cpus(), quota = hri_cpu_quota("");
    return quota > 0 && quota < count ? quota : count;
}

/* ---- how many threads work */

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
    count = count > 0 ? count : hri_cpu_count();
    return count < HRI_MAX_THREADS ? count : HRI_MAX_THREADS;
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

hri_cpus hri_cpus_of(pthread_t thread)
{
    hri_cpus cpus = {0};
    cpu_set_t set;
    if (pthread_getaffinity_np(thread, sizeof set, &set) == 0) {
        for (size_t i = 0; i < HRI_MAX_CPUS && i < CPU_SETSIZE; i++) {
            cpus.of[i / 64] |= (uint64_t)(CPU_ISSET(i, &set) != 0) << i % 64;
        }
    }
    return cpus;
}

void hri_cpus_let(pthread_t thread, const hri_cpus *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < HRI_MAX_CPUS && i < CPU_SETSIZE; i++) {
        if (cpus->of[i / 64] >> i % 64 & 1) {
            CPU_SET(i, &set);
        }
    }
    if (hri_cpus_count(cpus) > 0) {
        (void)pthread_setaffinity_np(thread, sizeof set, &set);
    }
}

void hri_cpus_use(const hri_cpus *cpus)
{
    hri_cpus_let(pthread_self(), cpus);
}

hri_cpus hri_cpus_without(hri_cpus cpus, int number)
{
    if (number >= 0 && number < HRI_MAX_CPUS) {
        cpus.of[number / 64] &= ~(UINT64_C(1) << number % 64);
    }
    return cpus;
}

int hri_cpu_number(void)
{
    const int number = sched_getcpu();
    return number < HRI_MAX_CPUS ? number : -1;
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
