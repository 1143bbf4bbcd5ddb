/* SPDX-License-Identifier: MIT */
/* A pool of threads for loops whose iterations are independent. A process has
 * one, which all contexts and host devices share; tests make pools of their
 * own.
 */
#ifndef HRI_BASE_POOL_H
#define HRI_BASE_POOL_H

#include <stdint.h>

#include "base/status.h"

typedef struct hri_pool hri_pool;

/* Called once for each index, by any thread of the pool or the caller's. */
typedef void (*hri_pool_function)(void *data, int64_t index);

/* The process's pool, held once more. The first to ask makes it, of as many
 * threads as hri_thread_count says. A child of fork() has none at first: its
 * first context makes one of its own. Any thread. */
hr_status hri_pool_hold(hri_pool **pool);

/* Held once less; the last one ends the threads. NULL is accepted, and so is a
 * pool from before a fork, which has no threads here and stays as it is. */
void hri_pool_drop(hri_pool *pool);

/* A pool in which `threads` threads work, the caller's own among them. */
hr_status hri_pool_create(uint32_t threads, hri_pool **pool);

/* NULL is accepted. No hri_pool_run may be under way. */
void hri_pool_destroy(hri_pool *pool);

/* How many threads work in a loop, the caller's among them. Without a pool,
 * NULL, that is the caller's alone, here as in loops. */
uint32_t hri_pool_threads(const hri_pool *pool);

/* Call function(data, 0 .. count - 1); returns when all are done. Indices are
 * handed out one at a time, so uneven work balances. Loops started by several
 * threads take turns: none waits long for others that start one loop after
 * another. A loop that is started from inside a loop runs on its own thread
 * alone. */
void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data);

#endif
