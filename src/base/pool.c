/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/threads.h"

/* One loop at a time: `owner` is held by the thread that started it. */
struct hri_pool {
    pthread_mutex_t owner;
    pthread_mutex_t lock; /* guards what follows, up to `next` */
    pthread_cond_t start, done;
    hri_pool_function function;
    void *data;
    int64_t count;
    uint64_t generation; /* counts loops, so that none is entered twice */
    uint32_t busy;       /* helpers still inside the loop */
    bool stop;
    _Atomic int64_t next;
    uint32_t helpers;
    pthread_t threads[];
};

static void work(hri_pool *pool, hri_pool_function function, void *data,
                 int64_t count)
{
    for (;;) {
        int64_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= count) {
            return;
        }
        function(data, index);
    }
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
        hri_pool_function function = pool->function;
        void *data = pool->data;
        int64_t count = pool->count;
        pthread_mutex_unlock(&pool->lock);
        work(pool, function, data, count);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) {
            pthread_cond_signal(&pool->done);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

hr_status hri_pool_create(uint32_t threads, hri_pool **out)
{
    uint32_t helpers = threads > 1 ? threads - 1 : 0;
    hri_pool *pool = calloc(1, sizeof *pool + helpers * sizeof(pthread_t));
    if (pool == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "thread pool: out of memory");
    }
    pthread_mutex_init(&pool->owner, NULL);
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
    pthread_mutex_destroy(&pool->owner);
    free(pool);
}

uint32_t hri_pool_threads(const hri_pool *pool)
{
    return pool->helpers + 1;
}

void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data)
{
    pthread_mutex_lock(&pool->owner);
    if (count > 1 && pool->helpers > 0) {
        pthread_mutex_lock(&pool->lock);
        pool->function = function;
        pool->data = data;
        pool->count = count;
        atomic_store(&pool->next, 0);
        pool->busy = pool->helpers;
        pool->generation++;
        pthread_cond_broadcast(&pool->start);
        pthread_mutex_unlock(&pool->lock);
        work(pool, function, data, count);
        pthread_mutex_lock(&pool->lock);
        while (pool->busy > 0) {
            pthread_cond_wait(&pool->done, &pool->lock);
        }
        pthread_mutex_unlock(&pool->lock);
    } else {
        for (int64_t i = 0; i < count; i++) {
            function(data, i);
        }
    }
    pthread_mutex_unlock(&pool->owner);
}
