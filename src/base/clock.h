/* SPDX-License-Identifier: MIT */
/* A clock that never runs backwards. */
#ifndef HRI_BASE_CLOCK_H
#define HRI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hri_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double hri_seconds_since(uint64_t start_ns)
{
    return (double)(hri_clock_ns() - start_ns) * 1e-9;
}

#endif
