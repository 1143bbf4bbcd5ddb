/* SPDX-License-Identifier: MIT */
/* Threads that are kept when their work is done: starting one takes longer than
 * many a copy. */
#ifndef HRI_BASE_THREADS_H
#define HRI_BASE_THREADS_H

#include <pthread.h>

#include "base/cpus.h"
#include "base/status.h"

typedef struct hri_thread hri_thread;

typedef struct hri_threads {
    pthread_mutex_t lock;
    hri_thread *idle;
    hri_cpus cpus; /* where new ones run; empty: anywhere */
    uint64_t made; /* so far */
} hri_threads;

void hri_threads_init(hri_threads *threads);

/* All have been joined. */
void hri_threads_finish(hri_threads *threads);

/* Let a thread call function(argument): one that waits for work, else a new
 * one. NULL when the system refuses. Any thread may call. */
hri_thread *hri_threads_start(hri_threads *threads, void *(*function)(void *),
                              void *argument);

/* Wait until the function has returned; the thread waits for other work then.
 * Once for each start. */
void hri_thread_join(hri_thread *thread);

/* One of several calls that are made at once, first in the struct that is its
 * argument. */
typedef struct hri_call {
    hri_threads *threads; /* one of these makes it; NULL: the caller does */
    hri_error error;      /* its first one; the function may keep others too */
    hr_status (*function)(void *argument);
    hri_thread *thread; /* NULL at first */
} hri_call;

/* Call function for each of count arguments, `bytes` bytes from one to the
 * next, and wait for all. The caller makes those for which the system refuses a
 * thread. The error of the first argument that has one. */
hr_status hri_threads_call(hr_status (*function)(void *argument),
                           void *arguments, size_t count, size_t bytes);

/* The calling thread is the library's own (hr_thread_is_own): said by each
 * once.
 */
void hri_thread_set_own(void);

/* Lock what others hold for microseconds only: asking again for a while takes
 * less time than falling asleep and being woken. */
void hri_lock_soon(pthread_mutex_t *lock);

#endif
