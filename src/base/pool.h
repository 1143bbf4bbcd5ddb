/* SPDX-License-Identifier: MIT */
/* A pool of threads for loops whose iterations are independent. */
#ifndef HRI_BASE_POOL_H
#define HRI_BASE_POOL_H

#include <stdint.h>

#include "base/status.h"

typedef struct hri_pool hri_pool;

/* Called once for each index, by any thread of the pool or the caller's. */
typedef void (*hri_pool_function)(void *data, int64_t index);

/* A pool in which `threads` threads work, the caller's own among them. */
hr_status hri_pool_create(uint32_t threads, hri_pool **pool);

/* NULL is accepted. No hri_pool_run may be under way. */
void hri_pool_destroy(hri_pool *pool);

/* How many threads work in a loop, the caller's among them. */
uint32_t hri_pool_threads(const hri_pool *pool);

/* Call function(data, 0 .. count - 1); returns when all are done. Indices are
 * handed out one at a time, so uneven work balances. Loops started by several
 * threads run one after another. Must not be called from inside a loop. */
void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data);

#endif
