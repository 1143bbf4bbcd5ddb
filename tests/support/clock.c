/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* gettid, RUSAGE_THREAD */
#include "support/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* A thread that waits until a time, on its stack. */
typedef struct waiter {
    struct waiter *next;
    pthread_cond_t *changed;
    uint64_t until_ns;
} waiter;

/* The library takes 0 for no time. */
static _Atomic uint64_t time_ns = 1000000000;
static _Atomic uint64_t cpu_time_ns;
static atomic_bool started;
static _Atomic int working; /* threads, as if */

static struct {
    pthread_mutex_t lock; /* taken after those of waiters; guards what
                             follows */
    pthread_cond_t come;  /* there is a waiter */
    waiter *first;
} waiters = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .come = PTHREAD_COND_INITIALIZER};

/* ---- whether all threads sleep */

/* How often all threads but this one have given back their CPU, or lost it. */
static long count_switches(void)
{
    struct rusage all, own;
    getrusage(RUSAGE_SELF, &all);
    getrusage(RUSAGE_THREAD, &own);
    return all.ru_nvcsw + all.ru_nivcsw - own.ru_nvcsw - own.ru_nivcsw;
}

/* `id` is a name in that folder, of a thread that may just have ended. */
static bool seems_asleep(int folder, const char *id)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "%.20s/stat", id);
    const int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0) {
        close(file);
    }
    text[bytes > 0 ? bytes : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && strncmp(name_end, ") S", 3) == 0;
}

/* Threads are looked at one after another: one that was seen asleep may have
 * been woken by one that was not looked at yet, which sleeps now. But then one
 * of them has switched meanwhile. */
static bool all_sleep(void)
{
    const long own = gettid(), before = count_switches();
    DIR *folder = opendir("/proc/self/task");
    bool asleep = folder != NULL;
    for (struct dirent *e; asleep && (e = readdir(folder)) != NULL;) {
        asleep = !isdigit((unsigned char)e->d_name[0]) ||
                 atol(e->d_name) == own ||
                 seems_asleep(dirfd(folder), e->d_name);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return asleep && count_switches() == before;
}

/* ---- the clock */

/* The lock is held. */
static uint64_t first_time(void)
{
    uint64_t first_ns = UINT64_MAX;
    for (const waiter *w = waiters.first; w != NULL; w = w->next) {
        first_ns = w->until_ns < first_ns ? w->until_ns : first_ns;
    }
    return first_ns;
}

/* Wake those whose time has come, again and again: one that is about to sleep
 * misses it. The lock is held, so they stay. */
static void wake_waiters(void)
{
    for (const waiter *w = waiters.first; w != NULL; w = w->next) {
        if (w->until_ns <= time_ns) {
            pthread_cond_broadcast(w->changed);
        }
    }
}

static void *tick(void *none)
{
    const struct timespec moment = {.tv_nsec = 200000};
    pthread_mutex_lock(&waiters.lock);
    for (;;) {
        while (waiters.first == NULL) {
            pthread_cond_wait(&waiters.come, &waiters.lock);
        }
        pthread_mutex_unlock(&waiters.lock); /* who wants it would seem
                                                asleep */
        const bool asleep = all_sleep();
        if (!asleep) {
            nanosleep(&moment, NULL);
        }
        pthread_mutex_lock(&waiters.lock);
        const uint64_t next_ns = first_time();
        if (asleep && next_ns > time_ns && next_ns != UINT64_MAX) {
            cpu_time_ns += (next_ns - time_ns) * (uint64_t)working;
            time_ns = next_ns;
        }
        wake_waiters();
    }
    return none;
}

void test_clock_start(void)
{
    pthread_t thread;
    (void)setenv("HEADRACE_CBLAS", "builtin", 1);
    if (pthread_create(&thread, NULL, tick, NULL) != 0) {
        fputs("test clock: the system refuses a thread\n", stderr);
        exit(1);
    }
    pthread_detach(thread);
    started = true;
}

void test_clock_works(int threads)
{
    working = threads;
}

void test_clock_pass(uint64_t ns)
{
    time_ns += ns;
}

/* ---- in the place of base/clock.h */

uint64_t __real_hri_clock_ns(void);
uint64_t __real_hri_clock_cpu_ns(void);
void __real_hri_sleep_ns(uint64_t ns);
bool __real_hri_wait_until(pthread_cond_t *, pthread_mutex_t *, uint64_t);
bool __real_hri_linger(uint64_t *, double);
uint64_t __wrap_hri_clock_ns(void);
uint64_t __wrap_hri_clock_cpu_ns(void);
void __wrap_hri_sleep_ns(uint64_t ns);
bool __wrap_hri_wait_until(pthread_cond_t *, pthread_mutex_t *, uint64_t);
bool __wrap_hri_linger(uint64_t *, double);

uint64_t __wrap_hri_clock_ns(void)
{
    return started ? time_ns : __real_hri_clock_ns();
}

uint64_t __wrap_hri_clock_cpu_ns(void)
{
    return started ? cpu_time_ns : __real_hri_clock_cpu_ns();
}

bool __wrap_hri_linger(uint64_t *since_ns, double seconds)
{
    return !started && __real_hri_linger(since_ns, seconds);
}

bool __wrap_hri_wait_until(pthread_cond_t *changed, pthread_mutex_t *lock,
                           uint64_t until_ns)
{
    if (!started) {
        return __real_hri_wait_until(changed, lock, until_ns);
    }
    if (time_ns >= until_ns) {
        return false;
    }
    waiter w = {.changed = changed, .until_ns = until_ns};
    pthread_mutex_lock(&waiters.lock);
    w.next = waiters.first;
    waiters.first = &w;
    pthread_cond_signal(&waiters.come);
    pthread_mutex_unlock(&waiters.lock);
    pthread_cond_wait(changed, lock);
    pthread_mutex_lock(&waiters.lock);
    waiter **link = &waiters.first;
    while (*link != &w) {
        link = &(*link)->next;
    }
    *link = w.next;
    pthread_mutex_unlock(&waiters.lock);
    return time_ns < until_ns;
}

void __wrap_hri_sleep_ns(uint64_t ns)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    if (!started) {
        __real_hri_sleep_ns(ns);
        return;
    }
    const uint64_t until_ns = time_ns + ns;
    pthread_mutex_lock(&lock);
    while (__wrap_hri_wait_until(&never, &lock, until_ns)) {
    }
    pthread_mutex_unlock(&lock);
}
