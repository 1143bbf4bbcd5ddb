/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_cond_clockwait */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

uint64_t hri_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t hri_clock_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void hri_sleep_ns(uint64_t ns)
{
    const struct timespec time = timespec_of(ns);
    (void)nanosleep(&time, NULL);
}

#ifdef __GLIBC__

/* By the clock of hri_clock_ns: the one of the day may be set meanwhile. */
bool hri_wait_until(pthread_cond_t *changed, pthread_mutex_t *lock,
                    uint64_t until_ns)
{
    const struct timespec until = timespec_of(until_ns);
    return pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, &until) !=
           ETIMEDOUT;
}

#else

/* musl knows the clock of the day alone, which it reads once: then it waits for
 * the time that is left. */
bool hri_wait_until(pthread_cond_t *changed, pthread_mutex_t *lock,
                    uint64_t until_ns)
{
    const uint64_t now_ns = hri_clock_ns();
    const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    const struct timespec until =
        timespec_of(read_clock(CLOCK_REALTIME) + left_ns);
    return pthread_cond_timedwait(changed, lock, &until) != ETIMEDOUT;
}

#endif
