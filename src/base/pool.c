/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/threads.h"

/* Indices of a loop that one thread begins with. Each has a line of the caches
 * to itself. */
typedef struct range {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} range;

enum { RANGES = 32 };

typedef struct loop {
    hri_pool_function function;
    void *data;
    range *ranges;
    uint32_t range_count;
} loop;

typedef struct group group;

/* A thread of the group. */
typedef struct helper {
    struct helper *next;
    group *group;
    pthread_t thread;
    uint32_t index;
    uint64_t seen; /* the last loop that it knows */
    hri_cpus cpus; /* that it may use, unless it stays away from one */
} helper;

/* The threads of pools. They run one loop at a time: that of the thread which
 * holds loop_lock. Helpers that are awake enter and leave a loop without the
 * lock: many threads that want one lock at the same time would sleep. */
struct group {
    pthread_mutex_t loop_lock;
    pthread_mutex_t first;             /* of the threads that wait for
                                          loop_lock */
    _Atomic uint64_t waiting_since_ns; /* since when the thread with `first` has
                                          waited; 0: no thread waits */
    loop loop;                   /* does not change while helpers are busy */
    _Atomic uint32_t open;       /* helpers with lower indices may enter */
    _Atomic uint64_t generation; /* counts loops: each helper enters a loop
                                    once */
    _Atomic uint32_t busy;       /* helpers inside the loop */
    atomic_bool awaited;         /* the caller sleeps until none is busy */
    pthread_mutex_t lock;        /* of those that sleep, and guards what
                                    follows */
    pthread_cond_t start, done;
    bool stop;
    _Atomic uint32_t count; /* of helpers */
    helper *helpers;
    int avoided; /* the CPU that helpers stay away from; -1: none */
};

/* What a holder may use of a group. */
struct hri_pool {
    group *group;
    uint32_t threads;
};

/* Whether this thread is inside a loop's function. A loop that starts there
 * must not wait for loop_lock: the thread holds it until the outer loop
 * ends. */
static _Thread_local bool inside;

/* Work on the own range, then on what the others have left. So in loops of the
 * same length a thread gets the same indices, as far as work balances, and
 * finds in its caches what it left there. */
static void work(const loop *l, uint32_t thread)
{
    int64_t index;
    inside = true;
    for (uint32_t i = 0; i < l->range_count; i++) {
        range *r = &l->ranges[(thread + i) % l->range_count];
        while (atomic_load(&r->next) < r->end &&
               (index = atomic_fetch_add(&r->next, 1)) < r->end) {
            l->function(l->data, index);
        }
    }
    inside = false;
}

/* Loops often follow each other closely, and waking a thread that sleeps takes
 * longer than many a loop. So threads that wait stay awake for a moment. */
static const double moment = 5e-5;

static void linger_for_helpers(group *t)
{
    uint64_t since_ns = 0;
    while (atomic_load(&t->busy) > 0 && hri_linger(&since_ns, moment)) {
    }
}

/* A helper leaves the loop. */
static void leave(group *t)
{
    if (atomic_fetch_sub(&t->busy, 1) == 1 && atomic_load(&t->awaited)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_signal(&t->done);
        pthread_mutex_unlock(&t->lock);
    }
}

static bool may_enter(const helper *me)
{
    return atomic_load(&me->group->generation) != me->seen &&
           me->index < atomic_load(&me->group->open);
}

static void linger_for_loop(const helper *me)
{
    uint64_t since_ns = 0;
    while (!may_enter(me) && hri_linger(&since_ns, moment)) {
    }
}

/* Enter the loop under way, once. A busy helper that still finds it open is one
 * that the caller waits for after closing it. */
static bool enter(helper *me, loop *l)
{
    group *t = me->group;
    if (!may_enter(me)) {
        return false;
    }
    atomic_fetch_add(&t->busy, 1);
    if (me->index >= atomic_load(&t->open)) {
        leave(t);
        return false;
    }
    me->seen = atomic_load(&t->generation);
    *l = t->loop;
    return true;
}

/* False: the group is no longer needed. */
static bool sleep_until_loop(const helper *me)
{
    group *t = me->group;
    pthread_mutex_lock(&t->lock);
    while (!t->stop && !may_enter(me)) {
        pthread_cond_wait(&t->start, &t->lock);
    }
    const bool stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return !stop;
}

static void *helper_main(void *argument)
{
    helper *me = argument;
    loop l;
    (void)hri_thread_set_own();
    while (sleep_until_loop(me)) {
        while (enter(me, &l)) {
            work(&l, me->index + 1);
            leave(me->group);
            linger_for_loop(me);
        }
    }
    return NULL;
}

/* ---- groups */

static void group_destroy(group *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->lock);
    while (t->helpers != NULL) {
        helper *h = t->helpers;
        t->helpers = h->next;
        pthread_join(h->thread, NULL);
        free(h);
    }
    pthread_cond_destroy(&t->start);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->first);
    pthread_mutex_destroy(&t->loop_lock);
    free(t);
}

static group *group_create(void)
{
    group *t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->avoided = -1;
        pthread_mutex_init(&t->loop_lock, NULL);
        pthread_mutex_init(&t->first, NULL);
        pthread_mutex_init(&t->lock, NULL);
        pthread_cond_init(&t->start, NULL);
        pthread_cond_init(&t->done, NULL);
    }
    return t;
}

/* Start one helper more. It knows the loop that may be under way, and leaves it
 * to those that were there when it began. */
static bool add_helper(group *t)
{
    helper *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return false;
    }
    pthread_mutex_lock(&t->lock);
    *h = (helper){.next = t->helpers,
                  .group = t,
                  .index = t->count,
                  .seen = t->generation};
    const bool there = hri_thread_create(&h->thread, helper_main, h) == 0;
    if (there) {
        h->cpus = hri_cpus_of(h->thread);
        t->helpers = h;
        t->count++;
    }
    pthread_mutex_unlock(&t->lock);
    if (!there) {
        free(h);
    }
    return there;
}

/* Let the group have helpers for so many threads. */
static hr_status grow(group *t, uint32_t threads)
{
    while (t->count + 1 < threads) {
        if (!add_helper(t)) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "thread pool: the system refused thread %u of %u",
                            t->count + 1, threads - 1);
        }
    }
    return HR_OK;
}

/* ---- making a pool */

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "thread pool: out of memory");
}

hr_status hri_pool_create(uint32_t threads, hri_pool **out)
{
    hri_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return no_memory();
    }
    pool->threads = threads > 1 ? threads : 1;
    pool->group = group_create();
    hr_status status =
        pool->group != NULL ? grow(pool->group, threads) : no_memory();
    if (status != HR_OK) {
        hri_pool_destroy(pool);
        return status;
    }
    *out = pool;
    return HR_OK;
}

void hri_pool_destroy(hri_pool *pool)
{
    if (pool != NULL && pool->group != NULL) {
        group_destroy(pool->group);
    }
    free(pool);
}

/* ---- the process's pool */

static struct {
    pthread_mutex_t lock; /* guards what follows */
    group *group;
    uint32_t holders;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child of fork() has none of the threads. The thread that held the lock may
 * be among the missing ones, so the lock is made anew. */
static void forget_in_child(void)
{
    pthread_mutex_init(&shared.lock, NULL);
    shared.group = NULL;
    shared.holders = 0;
    inside = false;
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

/* The shared group, with so many threads at least. */
static hr_status hold_group(uint32_t threads)
{
    if (shared.holders == 0) {
        shared.group = group_create();
    }
    if (shared.group == NULL) {
        return no_memory();
    }
    hr_status status = grow(shared.group, threads);
    if (status == HR_OK) {
        shared.holders++;
    } else if (shared.holders == 0) {
        group_destroy(shared.group);
        shared.group = NULL;
    }
    return status;
}

hr_status hri_pool_hold(uint32_t threads, hri_pool **out)
{
    hri_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return no_memory();
    }
    pthread_mutex_lock(&shared.lock);
    hr_status status = hold_group(threads);
    *pool = (hri_pool){shared.group, threads > 1 ? threads : 1};
    pthread_mutex_unlock(&shared.lock);
    if (status != HR_OK) {
        free(pool);
        return status;
    }
    *out = pool;
    return HR_OK;
}

bool hri_pool_is_here(const hri_pool *pool)
{
    return pool->group == shared.group; /* which stays while it is held */
}

void hri_pool_drop(hri_pool *pool)
{
    pthread_mutex_lock(&shared.lock);
    if (pool != NULL && pool->group == shared.group && --shared.holders == 0) {
        group_destroy(shared.group);
        shared.group = NULL;
    }
    pthread_mutex_unlock(&shared.lock);
    free(pool);
}

/* ---- loops */

uint32_t hri_pool_threads(const hri_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
}

/* Waking a thread that sleeps takes longer than many a loop. So a thread that
 * finds loop_lock free takes it at once, unless another one has waited for
 * long. */
static bool may_pass(group *t)
{
    enum { LONG_NS = 1000000 }; /* waking takes some 50 microseconds */
    const uint64_t since = atomic_load(&t->waiting_since_ns);
    return since == 0 || hri_clock_ns() - since < LONG_NS;
}

static bool try_loop(group *t)
{
    return may_pass(t) && pthread_mutex_trylock(&t->loop_lock) == 0;
}

static void lock_loop(group *t)
{
    if (try_loop(t)) {
        return;
    }
    pthread_mutex_lock(&t->first);
    atomic_store(&t->waiting_since_ns, hri_clock_ns());
    pthread_mutex_lock(&t->loop_lock);
    atomic_store(&t->waiting_since_ns, 0);
    pthread_mutex_unlock(&t->first);
}

/* Cut a loop's indices into ranges for so many threads. */
static void cut(int64_t count, uint32_t threads, loop *l)
{
    int64_t first = 0;
    l->range_count = threads < RANGES ? threads : RANGES;
    for (uint32_t i = 0; i < l->range_count; i++) {
        const int64_t left = l->range_count - i;
        range *r = &l->ranges[i];
        r->end = first + (count - first + left - 1) / left;
        atomic_init(&r->next, first);
        first = r->end;
    }
}

/* Keep helpers off a CPU. -1: let them use all again. The lock is held. */
static void avoid(group *t, int cpu)
{
    if (t->avoided == cpu) {
        return;
    }
    for (const helper *h = t->helpers; h != NULL; h = h->next) {
        const hri_cpus others = hri_cpus_without(h->cpus, cpu);
        hri_cpus_let(h->thread, &others);
    }
    t->avoided = cpu;
}

/* Let helpers in. They stay away from the CPU `avoided`; -1: from none. */
static void open_loop(group *t, const loop *l, uint32_t helpers, int avoided)
{
    pthread_mutex_lock(&t->lock);
    avoid(t, avoided);
    t->loop = *l;
    atomic_fetch_add(&t->generation, 1);
    atomic_store(&t->open, helpers);
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->lock);
}

/* Let no more helpers in, and wait for those inside. */
static void close_loop(group *t)
{
    atomic_store(&t->open, 0);
    linger_for_helpers(t);
    if (atomic_load(&t->busy) == 0) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->awaited, true);
    while (atomic_load(&t->busy) > 0) {
        pthread_cond_wait(&t->done, &t->lock);
    }
    atomic_store(&t->awaited, false);
    pthread_mutex_unlock(&t->lock);
}

/* loop_lock is held, and released. */
static void share_out(hri_pool *pool, int64_t count, loop l, int avoided)
{
    group *t = pool->group;
    range ranges[RANGES];
    const uint32_t most = pool->threads - 1;
    const uint32_t helpers = t->count < most ? t->count : most;
    l.ranges = ranges;
    cut(count, helpers + 1, &l);
    open_loop(t, &l, helpers, avoided);
    work(&l, 0);
    close_loop(t);
    pthread_mutex_unlock(&t->loop_lock);
}

static bool can_share(const hri_pool *pool, int64_t count)
{
    return pool != NULL && pool->threads > 1 && !inside && count > 1;
}

/* Where all CPUs are busy, Linux wakes a thread on the CPU of the one that
 * wakes it, if that CPU was busy for the shorter time. Threads of OpenBLAS keep
 * all CPUs busy for 0.1 s after a product, looking for more. Then all helpers
 * had the caller's CPU together: copies by 16 threads had 7 GB/s, as those by
 * one, and 35 else (November 2026). */
bool hri_pool_try(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data)
{
    if (!can_share(pool, count) || !try_loop(pool->group)) {
        return false;
    }
    share_out(pool, count, (loop){.function = function, .data = data},
              hri_cpu_number());
    return true;
}

void hri_pool_run(hri_pool *pool, int64_t count, hri_pool_function function,
                  void *data)
{
    if (can_share(pool, count)) {
        lock_loop(pool->group);
        share_out(pool, count, (loop){.function = function, .data = data}, -1);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        function(data, i);
    }
}
