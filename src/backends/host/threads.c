/* SPDX-License-Identifier: MIT */
/* The threads that run the commands of the host's queues, and the line in which
 * commands wait for all CPUs, see host.h. */
#include <pthread.h>
#include <stdlib.h>

#include "backends/host/host.h"
#include "base/cpus.h"
#include "base/size.h"
#include "base/threads.h"

/* Some threads wait for memory, files or the pool, so there are more of them
 * than CPUs. */
enum { MIN_THREADS = 8, THREADS_PER_CPU = 2 };

/* The threads of this process. */
static struct {
    pthread_mutex_t change; /* held while threads start and end */
    uint32_t queues, started, most;
    pthread_t *threads;   /* [most] */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;
    host_runnable *first, *last; /* what no thread runs yet */
    uint32_t idle;               /* threads that wait for work */
    bool waking;                 /* one of them has been woken, but is not
                                    there yet */
    bool stop;
} all = {.change = PTHREAD_MUTEX_INITIALIZER,
         .lock = PTHREAD_MUTEX_INITIALIZER,
         .work = PTHREAD_COND_INITIALIZER};

/* The line. A plain mutex would let one queue go on again and again while the
 * others wait. */
static struct {
    pthread_mutex_t lock;
    bool busy; /* it is somebody's turn */
    host_place *first, *last;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local unsigned forking; /* handlers of a fork that have begun */

/* A child of fork() has none of the threads, so no product runs there yet. */
static void forget_in_child(void)
{
    pthread_mutex_init(&all.change, NULL);
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.work, NULL);
    all.queues = all.started = all.idle = 0;
    all.threads = NULL;
    all.first = all.last = NULL;
    all.waking = all.stop = false;
    pthread_mutex_init(&line.lock, NULL);
    line.busy = false;
    line.first = line.last = NULL;
    forking = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

/* ---- the list */

/* The lock is held. */
static void append(host_runnable *r)
{
    r->next = NULL;
    *(all.first != NULL ? &all.last->next : &all.first) = r;
    all.last = r;
}

/* Wake a thread if there is work for one. One at a time: it wakes the next one
 * when it finds more than it can take. So a burst of short commands wakes few
 * threads. The lock is held, and released. */
static void wake_and_unlock(void)
{
    const bool wakes = all.first != NULL && all.idle > 0 && !all.waking;
    all.waking = all.waking || wakes;
    pthread_mutex_unlock(&all.lock);
    if (wakes) {
        pthread_cond_signal(&all.work);
    }
}

void hri_host_run_soon(host_runnable *r, bool first)
{
    pthread_mutex_lock(&all.lock);
    if (first && all.first != NULL) {
        r->next = all.first;
        all.first = r;
    } else {
        append(r);
    }
    wake_and_unlock();
}

bool hri_host_take_runnable(host_runnable *r)
{
    host_runnable *before = NULL;
    pthread_mutex_lock(&all.lock);
    host_runnable *found = all.first;
    while (found != NULL && found != r) {
        before = found;
        found = found->next;
    }
    if (found != NULL) {
        *(before != NULL ? &before->next : &all.first) = r->next;
        all.last = all.last == r ? before : all.last;
    }
    pthread_mutex_unlock(&all.lock);
    return found != NULL;
}

bool hri_host_give_way(host_runnable *r)
{
    pthread_mutex_lock(&all.lock);
    const bool others = all.first != NULL;
    if (others) {
        append(r);
    }
    pthread_mutex_unlock(&all.lock);
    return others;
}

/* ---- the threads */

static void *thread_main(void *unused)
{
    (void)unused;
    (void)hri_thread_set_own();
    pthread_mutex_lock(&all.lock);
    for (;;) {
        while (all.first == NULL && !all.stop) {
            all.idle++;
            pthread_cond_wait(&all.work, &all.lock);
            all.idle--;
            all.waking = false;
        }
        host_runnable *r = all.first;
        if (r == NULL) {
            break;
        }
        all.first = r->next;
        wake_and_unlock();
        r->run(r);
        pthread_mutex_lock(&all.lock);
    }
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

/* Start one more thread for one more queue, if there are not enough. It is no
 * error when the system refuses another one than the first. `change` is
 * held. */
static hr_status start_another(void)
{
    if (all.threads == NULL) {
        all.most = (uint32_t)hri_max(
            MIN_THREADS, THREADS_PER_CPU * (int64_t)hri_thread_count());
        all.threads = calloc(all.most, sizeof *all.threads);
    }
    if (all.threads != NULL && all.started < all.most &&
        all.started <= all.queues &&
        hri_thread_create(&all.threads[all.started], thread_main, NULL) == 0) {
        all.started++;
    }
    return all.started > 0
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "host queue: the system refused a thread");
}

/* End all threads. `change` is held. */
static void stop_all(void)
{
    pthread_mutex_lock(&all.lock);
    all.stop = true;
    pthread_cond_broadcast(&all.work);
    pthread_mutex_unlock(&all.lock);
    for (uint32_t i = 0; i < all.started; i++) {
        pthread_join(all.threads[i], NULL);
    }
    free(all.threads);
    all.threads = NULL;
    all.started = 0;
    all.stop = false;
}

hr_status hri_host_threads_hold(void)
{
    pthread_mutex_lock(&all.change);
    hr_status status = start_another();
    all.queues += status == HR_OK;
    pthread_mutex_unlock(&all.change);
    return status;
}

void hri_host_threads_drop(void)
{
    pthread_mutex_lock(&all.change);
    if (all.queues > 0 && --all.queues == 0) { /* 0: from before a fork */
        stop_all();
    }
    pthread_mutex_unlock(&all.change);
}

/* ---- the line of those that multiply, or copy much */

bool hri_host_line_enter(host_place *place)
{
    pthread_mutex_lock(&line.lock);
    const bool waits = line.busy;
    line.busy = true;
    if (waits) {
        place->next = NULL;
        *(line.first != NULL ? &line.last->next : &line.first) = place;
        line.last = place;
    }
    pthread_mutex_unlock(&line.lock);
    return !waits;
}

/* The line stays busy for the next one, so that no other gets before it. */
void hri_host_line_leave(void)
{
    pthread_mutex_lock(&line.lock);
    host_place *next = line.first;
    line.busy = next != NULL;
    if (next != NULL) {
        line.first = next->next;
        next->serve(next);
    }
    pthread_mutex_unlock(&line.lock);
}

/* A thread that waits in the line. */
typedef struct thread_place {
    host_place base; /* first: see serve_thread */
    pthread_cond_t served;
    bool is_served;
} thread_place;

/* The line's lock is held. */
static void serve_thread(host_place *base)
{
    thread_place *place = (thread_place *)base;
    place->is_served = true;
    pthread_cond_signal(&place->served);
}

void hri_host_line_wait(void)
{
    thread_place place = {.base.serve = serve_thread,
                          .served = PTHREAD_COND_INITIALIZER};
    if (hri_host_line_enter(&place.base)) {
        return;
    }
    pthread_mutex_lock(&line.lock);
    while (!place.is_served) {
        pthread_cond_wait(&place.served, &line.lock);
    }
    pthread_mutex_unlock(&line.lock);
    pthread_cond_destroy(&place.served);
}

static void before_fork(void)
{
    if (forking++ == 0) {
        hri_host_line_wait();
    }
}

static void in_parent(void)
{
    if (--forking == 0) {
        hri_host_line_leave();
    }
}

/* OpenBLAS ends its threads before a fork, and hangs when they are at work. So
 * fork() waits in the line as products do. A child that was forked in the
 * middle of this comes here once more, and has the handlers twice. */
void hri_host_line_watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, NULL);
}
