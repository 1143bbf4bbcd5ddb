/* SPDX-License-Identifier: MIT */
/* Time. It enters the library through these functions alone, so a test can put
 * a clock of its own in their place. */
#ifndef HRI_BASE_CLOCK_H
#define HRI_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* By a clock that never runs backwards. */
uint64_t hri_clock_ns(void);

static inline double hri_seconds_since(uint64_t start_ns)
{
    return (double)(hri_clock_ns() - start_ns) * 1e-9;
}

static inline uint64_t hri_in_ms(uint32_t milliseconds)
{
    return hri_clock_ns() + milliseconds * UINT64_C(1000000);
}

/* CPU time that the threads of this process have used together. */
uint64_t hri_clock_cpu_ns(void);

void hri_sleep_ns(uint64_t ns);

/* pthread_cond_wait until that time at most. False when it has come. */
bool hri_wait_until(pthread_cond_t *changed, pthread_mutex_t *lock,
                    uint64_t until_ns);

#endif
