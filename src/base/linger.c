/* SPDX-License-Identifier: MIT */
/* Waiting awake. */
#include <sched.h>

#include "base/clock.h"
#include "base/threads.h"

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether there are CPUs enough for threads that wait. */
static bool has_spare_cpus(void)
{
    static atomic_uint cpus; /* 0: not known yet */
    if (cpus == 0) {
        cpus = hri_cpu_count();
    }
    return cpus >= HRI_ENOUGH_CPUS;
}

/* A call of the system may take tens of microseconds in a sandbox. */
bool hri_linger(uint64_t *since_ns, double seconds)
{
    enum { PAUSES = 4 }; /* 0.2 microseconds on a Xeon */
    const uint64_t now_ns = hri_clock_ns();
    *since_ns = *since_ns == 0 ? now_ns : *since_ns;
    if (has_spare_cpus()) {
        for (int i = 0; i < PAUSES; i++) {
            relax();
        }
    } else {
        (void)sched_yield();
    }
    return (double)(now_ns - *since_ns) * 1e-9 < seconds;
}

void hri_lock_soon(pthread_mutex_t *lock)
{
    enum { QUESTIONS = 500 }; /* about 20 microseconds on a Xeon */
    for (int i = 0; i < QUESTIONS; i++) {
        if (pthread_mutex_trylock(lock) == 0) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(lock);
}
