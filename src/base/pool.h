/* SPDX-License-Identifier: MIT */
/* A pool of threads for loops with independent iterations. A process has one
 * group of threads, which all contexts and host devices share. A pool says how
 * many of them a holder may use. Tests make pools with groups of their own. */
#ifndef HRI_BASE_POOL_H
#define HRI_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hri_pool hri_pool;

/* The pool calls this once for each index, on a thread of the pool or the
 * caller's. */
typedef void (*hri_pool_function)(void *data, int64_t index);

/* Get a pool of `threads` of the process's threads. The caller's own counts as
 * one of them. The first holder starts the threads, and one that may use more
 * starts the missing ones. A child of fork() has no threads until its first
 * context starts some. Any thread. */
hr_status hri_pool_hold(uint32_t threads, hri_pool **pool);

/* Give a pool of hri_pool_hold back. After the last one the threads end. NULL
 * is accepted. So is a pool from before a fork: its threads are not here. */
void hri_pool_drop(hri_pool *pool);

/* Make a pool with a group of its own. */
hr_status hri_pool_create(uint32_t threads, hri_pool **pool);

/* NULL is accepted. No hri_pool_run may be under way. */
void hri_pool_destroy(hri_pool *pool);

/* How many threads work in a loop. The caller's counts. Without a pool (NULL)
 * only the caller's works, here as in hri_pool_run. */
uint32_t hri_pool_threads(const hri_pool *pool);

/* Whether the threads of a pool of hri_pool_hold are this process's: not in a
 * child of fork(). Any thread. */
bool hri_pool_is_here(const hri_pool *pool);

/* Call function(data, 0 .. count - 1), in any order. Returns when all calls are
 * done. Each thread begins with a range of its own, the same one in each loop,
 * and takes one index at a time, also of other ranges, so uneven work balances.
 * When several threads start loops, the loops take turns, and none waits long.
 * A loop that starts inside a loop runs on its own thread alone. */
void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data);

/* The same for a long loop, but only when several threads can work in it at
 * once. They leave the caller's CPU to the caller. False: nothing was called.
 */
bool hri_pool_try(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data);

#endif
