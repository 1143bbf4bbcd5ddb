/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */
#include "support/cpus.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The CPUs of threads that were told theirs, also of some that have ended. */
static struct {
    pthread_mutex_t lock; /* guards what follows */
    struct {
        pthread_t thread;
        cpu_set_t cpus;
    } * list;
    size_t count;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Where the thread's entry is, or would be added. The lock is held. */
static size_t place_of(pthread_t thread)
{
    size_t i = 0;
    while (i < told.count && !pthread_equal(told.list[i].thread, thread)) {
        i++;
    }
    return i;
}

bool cpus_are_told(pthread_t thread)
{
    pthread_mutex_lock(&told.lock);
    const bool is = place_of(thread) < told.count;
    pthread_mutex_unlock(&told.lock);
    return is;
}

void cpus_forget(void)
{
    pthread_mutex_lock(&told.lock);
    told.count = 0;
    pthread_mutex_unlock(&told.lock);
}

int __wrap_pthread_getaffinity_np(pthread_t, size_t, cpu_set_t *);
int __wrap_pthread_setaffinity_np(pthread_t, size_t, const cpu_set_t *);
int __wrap_sched_getaffinity(pid_t, size_t, cpu_set_t *);
int __wrap_sched_getcpu(void);

int __wrap_pthread_getaffinity_np(pthread_t thread, size_t bytes,
                                  cpu_set_t *cpus)
{
    memset(cpus, 0, bytes);
    pthread_mutex_lock(&told.lock);
    const size_t i = place_of(thread);
    if (i < told.count) {
        memcpy(cpus, &told.list[i].cpus, sizeof *cpus);
    } else {
        for (size_t cpu = 0; cpu < CPUS; cpu++) {
            CPU_SET(cpu, cpus);
        }
    }
    pthread_mutex_unlock(&told.lock);
    return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes,
                                  const cpu_set_t *cpus)
{
    (void)bytes;
    pthread_mutex_lock(&told.lock);
    const size_t i = place_of(thread);
    if (i == told.count) {
        void *longer = realloc(told.list, (i + 1) * sizeof *told.list);
        if (longer == NULL) {
            abort();
        }
        told.list = longer;
        told.list[i].thread = thread;
        told.count++;
    }
    told.list[i].cpus = *cpus;
    pthread_mutex_unlock(&told.lock);
    return 0;
}

int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *cpus)
{
    (void)process; /* this thread */
    return __wrap_pthread_getaffinity_np(pthread_self(), bytes, cpus);
}

int __wrap_sched_getcpu(void)
{
    return CPU;
}
