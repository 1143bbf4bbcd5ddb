/* SPDX-License-Identifier: MIT */
/* A pool of threads for loops with independent iterations. A process has one
 * pool, which all contexts and host devices share. Tests make pools of their
 * own. */
#ifndef HRI_BASE_POOL_H
#define HRI_BASE_POOL_H

#include <stdint.h>

#include "base/status.h"

typedef struct hri_pool hri_pool;

/* The pool calls this once for each index, on a thread of the pool or the
 * caller's. */
typedef void (*hri_pool_function)(void *data, int64_t index);

/* Hold the process's pool once more. The first hold makes it, with
 * hri_thread_count() threads. A child of fork() has no pool until its first
 * context makes one. Any thread. */
hr_status hri_pool_hold(hri_pool **pool);

/* Hold the pool once less. When nothing holds it any more, its threads end.
 * NULL is accepted. So is a pool from before a fork: it has no threads here and
 * stays as it is. */
void hri_pool_drop(hri_pool *pool);

/* Make a pool of `threads` threads. The caller's own counts as one of them. */
hr_status hri_pool_create(uint32_t threads, hri_pool **pool);

/* NULL is accepted. No hri_pool_run may be under way. */
void hri_pool_destroy(hri_pool *pool);

/* How many threads work in a loop. The caller's counts. Without a pool (NULL)
 * only the caller's works, here as in hri_pool_run. */
uint32_t hri_pool_threads(const hri_pool *pool);

/* Call function(data, 0 .. count - 1). Returns when all calls are done. Threads
 * take one index at a time, so uneven work balances. When several threads start
 * loops, the loops take turns, and none waits long. A loop that starts inside a
 * loop runs on its own thread alone. */
void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data);

#endif
