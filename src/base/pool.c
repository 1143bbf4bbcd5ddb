/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/threads.h"

typedef struct loop {
    hri_pool_function function;
    void *data;
    int64_t count;
} loop;

/* The pool runs one loop at a time: that of the thread which holds
 * loop_lock. */
struct hri_pool {
    pthread_mutex_t loop_lock;
    pthread_mutex_t first;             /* of the threads that wait for
                                          loop_lock */
    _Atomic uint64_t waiting_since_ns; /* since when the thread with `first` has
                                          waited; 0: no thread waits */
    pthread_mutex_t lock;              /* guards what follows, up to `next` */
    pthread_cond_t start, done;
    loop loop;
    uint64_t generation; /* counts loops: each helper enters a loop once */
    uint32_t busy;       /* helpers still inside the loop */
    bool stop;
    _Atomic int64_t next;
    uint32_t helpers;
    pthread_t threads[];
};

/* Whether this thread is inside a loop's function. A loop that starts there
 * must not wait for loop_lock: the thread holds it until the outer loop
 * ends. */
static _Thread_local bool inside;

static void work(hri_pool *pool, const loop *l)
{
    int64_t index;
    inside = true;
    while ((index = atomic_fetch_add(&pool->next, 1)) < l->count) {
        l->function(l->data, index);
    }
    inside = false;
}

static void *helper_main(void *argument)
{
    hri_pool *pool = argument;
    uint64_t seen = 0;
    hri_thread_set_own();
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->generation == seen) {
            pthread_cond_wait(&pool->start, &pool->lock);
        }
        if (pool->stop) {
            break;
        }
        seen = pool->generation;
        const loop l = pool->loop;
        pthread_mutex_unlock(&pool->lock);
        work(pool, &l);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) {
            pthread_cond_signal(&pool->done);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- making a pool */

hr_status hri_pool_create(uint32_t threads, hri_pool **out)
{
    uint32_t helpers = threads > 1 ? threads - 1 : 0;
    hri_pool *pool = calloc(1, sizeof *pool + helpers * sizeof(pthread_t));
    if (pool == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "thread pool: out of memory");
    }
    pthread_mutex_init(&pool->loop_lock, NULL);
    pthread_mutex_init(&pool->first, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (uint32_t i = 0; i < helpers; i++) {
        if (pthread_create(&pool->threads[i], NULL, helper_main, pool) != 0) {
            hri_pool_destroy(pool);
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "thread pool: the system refused thread %u of %u",
                            i + 1, helpers);
        }
        pool->helpers++;
    }
    *out = pool;
    return HR_OK;
}

void hri_pool_destroy(hri_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->helpers; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->start);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->first);
    pthread_mutex_destroy(&pool->loop_lock);
    free(pool);
}

/* ---- the process's pool */

static struct {
    pthread_mutex_t lock; /* guards what follows */
    hri_pool *pool;
    uint32_t holders;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child of fork() has none of the threads. The thread that held the lock may
 * be among the missing ones, so the lock is made anew. */
static void forget_in_child(void)
{
    pthread_mutex_init(&shared.lock, NULL);
    shared.pool = NULL;
    shared.holders = 0;
    inside = false;
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

hr_status hri_pool_hold(hri_pool **pool)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&shared.lock);
    if (shared.holders == 0) {
        status = hri_pool_create(hri_thread_count(), &shared.pool);
    }
    if (status == HR_OK) {
        shared.holders++;
        *pool = shared.pool;
    }
    pthread_mutex_unlock(&shared.lock);
    return status;
}

void hri_pool_drop(hri_pool *pool)
{
    pthread_mutex_lock(&shared.lock);
    if (pool != NULL && pool == shared.pool && --shared.holders == 0) {
        hri_pool_destroy(pool);
        shared.pool = NULL;
    }
    pthread_mutex_unlock(&shared.lock);
}

/* ---- loops */

uint32_t hri_pool_threads(const hri_pool *pool)
{
    return pool != NULL ? pool->helpers + 1 : 1;
}

/* Waking a thread that sleeps takes longer than many a loop. So a thread that
 * finds loop_lock free takes it at once, unless another one has waited for
 * long. */
static bool may_pass(hri_pool *pool)
{
    enum { LONG_NS = 1000000 }; /* waking takes some 50 microseconds */
    const uint64_t since = atomic_load(&pool->waiting_since_ns);
    return since == 0 || hri_clock_ns() - since < LONG_NS;
}

static void lock_loop(hri_pool *pool)
{
    if (may_pass(pool) && pthread_mutex_trylock(&pool->loop_lock) == 0) {
        return;
    }
    pthread_mutex_lock(&pool->first);
    atomic_store(&pool->waiting_since_ns, hri_clock_ns());
    pthread_mutex_lock(&pool->loop_lock);
    atomic_store(&pool->waiting_since_ns, 0);
    pthread_mutex_unlock(&pool->first);
}

static void share_out(hri_pool *pool, const loop *l)
{
    lock_loop(pool);
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->next, 0);
    if (pool->helpers > 0) {
        pool->loop = *l;
        pool->busy = pool->helpers;
        pool->generation++;
        pthread_cond_broadcast(&pool->start);
    }
    pthread_mutex_unlock(&pool->lock);
    work(pool, l);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->loop_lock);
}

void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data)
{
    if (pool != NULL && !inside && count > 1) {
        share_out(pool, &(loop){function, data, count});
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        function(data, i);
    }
}
