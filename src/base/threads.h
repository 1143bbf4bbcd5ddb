/* SPDX-License-Identifier: MIT */
/* Threads that are kept for reuse: starting one takes longer than many a
 * copy. */
#ifndef HRI_BASE_THREADS_H
#define HRI_BASE_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arithmetic.h"
#include "base/cpus.h"
#include "base/status.h"

typedef struct hri_thread hri_thread;

typedef struct hri_threads {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    hri_thread *idle;
    uint64_t left;          /* that work, and that nobody will join */
    hri_cpus cpus;          /* where new threads run; empty: anywhere */
    uint64_t made;          /* how many there are */
    uint64_t working, most; /* at the moment, and at any */
} hri_threads;

void hri_threads_init(hri_threads *threads);

/* All threads have been joined or left. Waits for those that were left. */
void hri_threads_finish(hri_threads *threads);

/* Wait for those that were left until that time at most. False: one still
 * works. */
bool hri_threads_await_left(hri_threads *threads, uint64_t until_ns);

/* Call function(argument) on an idle thread, or on a new one. NULL when the
 * system refuses to start one. Any thread may call this. */
hri_thread *hri_threads_start(hri_threads *threads, void *(*function)(void *),
                              void *argument);

/* The same on another CPU than the caller's, where there are enough: both will
 * wait awake for each other. Linux wakes a thread on the CPU of the one that
 * wakes it, and there each waits for the other's time to end. On an H200's
 * machine with 16 CPUs products of 256 cubed then took 300 microseconds instead
 * of 95 (November 2026). */
hri_thread *hri_threads_start_apart(hri_threads *threads,
                                    void *(*function)(void *), void *argument);

/* Start idle threads until there are so many in all, or the system refuses. */
void hri_threads_make(hri_threads *threads, uint64_t count);

/* Wait until the function has returned. The thread then is idle. Call this once
 * for each start. */
void hri_thread_join(hri_thread *thread);
/* Wait for that for so long at most, before joining. False: it has not. */
bool hri_thread_await(hri_thread *thread, uint32_t milliseconds);
/* Do not wait: the thread becomes idle by itself. */
void hri_thread_leave(hri_thread *thread);

/* One of several calls that are made at once. It is the first field of the
 * struct that is the function's argument. */
typedef struct hri_call {
    hri_threads *threads; /* where to find a thread; NULL: call on this
                             thread */
    hri_error error;      /* the function's first error; the function may keep
                             others here too */
    hr_status (*function)(void *argument);
    hri_thread *thread; /* the caller sets it to NULL */
} hri_call;

/* Call function for each of `count` arguments, which lie `bytes` bytes apart,
 * and wait for all calls. Where the system refuses a thread, this thread makes
 * the call. Returns the error of the first argument that has one. */
hr_status hri_threads_call(hr_status (*function)(void *argument),
                           void *arguments, size_t count, size_t bytes);
/* The two halves of that: start threads and make the calls of this thread; and
 * wait for the others. */
void hri_threads_begin_calls(hr_status (*function)(void *argument),
                             void *arguments, size_t count, size_t bytes);
hr_status hri_threads_end_calls(void *arguments, size_t count, size_t bytes);

/* What a thread was before it worked for the library. */
typedef struct hri_thread_was {
    bool own;
    hri_arithmetic arithmetic;
} hri_thread_was;

/* From now on the calling thread is the library's own (hr_thread_is_own), and
 * has the usual arithmetic. The second function ends that for a thread of the
 * program's. */
hri_thread_was hri_thread_set_own(void);
void hri_thread_restore(const hri_thread_was *was);

/* Start a thread that may run kernels. Their values and memory of the tile lie
 * on its stack: it has so many bytes at least, whatever is usual. Returns what
 * pthread_create does. */
enum { HRI_KERNEL_STACK = 1 << 20 };
int hri_thread_create(pthread_t *thread, void *(*function)(void *),
                      void *argument);

/* Whether so many bytes are left on this thread's stack. */
bool hri_thread_has_kernel_stack(void);

/* Being woken takes longer than many a product. So a thread may wait awake, for
 * so many seconds at most: while this is true it asks again. On machines with
 * few CPUs others have the CPU in between. Then it should sleep. *since_ns is 0
 * at first. */
bool hri_linger(uint64_t *since_ns, double seconds);

enum { HRI_ENOUGH_CPUS = 4 }; /* for threads that wait awake */

/* For so long threads wait awake for what may come soon, and for the end of a
 * brief product: waking up took 50 microseconds of one that takes 500 (H100,
 * November 2026). */
static const double hri_moment = 2e-4, hri_brief_moment = 1e-3;

/* After its function has returned, the calling thread of hri_threads waits
 * awake for the next one. */
void hri_thread_stay_awake(void);

/* Wait awake until *done, for so many seconds at most. Afterwards the caller
 * looks, and may sleep. */
void hri_wait_awake(const atomic_bool *done, double seconds);

/* Lock a mutex that is held for microseconds only. Trying again for a while
 * takes less time than falling asleep and being woken. */
void hri_lock_soon(pthread_mutex_t *lock);

#endif
