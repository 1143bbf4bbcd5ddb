/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "base/threads.h"

#include <stdlib.h>

#include <headrace/context.h>

#include "base/clock.h"

struct hri_thread {
    hri_threads *threads;
    hri_thread *next; /* in the list of idle threads */
    pthread_t id;
    hri_cpus cpus;        /* that it may use, unless it stays away from one */
    bool has_choice;      /* they are so many that it can do without one */
    int avoided;          /* the CPU that it stays away from; -1: none */
    atomic_bool called;   /* a function is to be called, or the thread to end */
    atomic_bool returned; /* from the last one */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    void *(*function)(void *); /* to call; NULL: the thread ends */
    void *argument;
    bool left; /* nobody joins it */
};

static _Thread_local bool is_own, stays_awake;
static _Thread_local const hri_cpus *all_cpus; /* of the hri_thread; NULL: it is
                                                  none */

hri_thread_was hri_thread_set_own(void)
{
    const hri_thread_was was = {is_own, hri_arithmetic_usual()};
    is_own = true;
    return was;
}

void hri_thread_restore(const hri_thread_was *was)
{
    hri_arithmetic_restore(&was->arithmetic);
    is_own = was->own;
}

bool hr_thread_is_own(void)
{
    return is_own;
}

/* Nobody uses the thread any more. */
static void become_idle(hri_thread *t, bool left)
{
    pthread_mutex_lock(&t->threads->lock);
    t->next = t->threads->idle;
    t->threads->idle = t;
    t->threads->working--;
    t->threads->left -= left;
    pthread_cond_broadcast(&t->threads->changed);
    pthread_mutex_unlock(&t->threads->lock);
}

void hri_thread_stay_awake(void)
{
    stays_awake = true;
}

static void *thread_main(void *argument)
{
    hri_thread *t = argument;
    (void)hri_thread_set_own();
    all_cpus = &t->cpus;
    for (;;) {
        hri_wait_awake(&t->called, stays_awake ? hri_moment : 0.0);
        stays_awake = false;
        hri_lock_soon(&t->lock);
        while (!t->called) {
            pthread_cond_wait(&t->changed, &t->lock);
        }
        t->called = false;
        void *(*function)(void *) = t->function;
        pthread_mutex_unlock(&t->lock);
        if (function == NULL) {
            return NULL;
        }
        (void)function(t->argument);
        pthread_mutex_lock(&t->lock);
        t->returned = true;
        pthread_cond_broadcast(&t->changed);
        if (t->left) {
            t->left = false;
            become_idle(t, true);
        }
        pthread_mutex_unlock(&t->lock);
    }
}

/* Let an idle thread call the function. NULL: let it end. */
static void hand_over(hri_thread *t, void *(*function)(void *), void *argument)
{
    pthread_mutex_lock(&t->lock);
    t->function = function;
    t->argument = argument;
    t->returned = false;
    t->called = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

/* A new thread inherits its maker's CPUs, also where the maker stays away from
 * one for a while. */
static void use_all(pthread_t id)
{
    if (all_cpus != NULL) {
        hri_cpus_let(id, all_cpus);
    }
}

static void destroy(hri_thread *t)
{
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static hri_thread *create(hri_threads *threads)
{
    hri_thread *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    t->threads = threads;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    if (pthread_create(&t->id, NULL, thread_main, t) != 0) {
        destroy(t);
        return NULL;
    }
    use_all(t->id);
    hri_cpus_let(t->id, &threads->cpus);
    t->cpus = hri_cpus_of(t->id);
    t->has_choice = hri_cpus_count(&t->cpus) >= HRI_ENOUGH_CPUS;
    t->avoided = -1;
    threads->made++;
    return t;
}

void hri_threads_init(hri_threads *threads)
{
    *threads = (hri_threads){0};
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->changed, NULL);
}

void hri_threads_finish(hri_threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    while (threads->left > 0) {
        pthread_cond_wait(&threads->changed, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
    while (threads->idle != NULL) {
        hri_thread *t = threads->idle;
        threads->idle = t->next;
        hand_over(t, NULL, NULL);
        pthread_join(t->id, NULL);
        destroy(t);
    }
    pthread_cond_destroy(&threads->changed);
    pthread_mutex_destroy(&threads->lock);
}

bool hri_threads_await_left(hri_threads *threads, uint64_t until_ns)
{
    pthread_mutex_lock(&threads->lock);
    while (threads->left > 0 &&
           hri_wait_until(&threads->changed, &threads->lock, until_ns)) {
    }
    const bool none = threads->left == 0;
    pthread_mutex_unlock(&threads->lock);
    return none;
}

void hri_threads_make(hri_threads *threads, uint64_t count)
{
    hri_thread *t = NULL;
    pthread_mutex_lock(&threads->lock);
    while (threads->made < count && (t = create(threads)) != NULL) {
        t->next = threads->idle;
        threads->idle = t;
    }
    pthread_mutex_unlock(&threads->lock);
}

/* Take an idle thread, or a new one. NULL: the system refuses. */
static hri_thread *take(hri_threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    hri_thread *t = threads->idle;
    if (t != NULL) {
        threads->idle = t->next;
    } else {
        t = create(threads);
    }
    threads->working += t != NULL;
    if (threads->working > threads->most) {
        threads->most = threads->working;
    }
    pthread_mutex_unlock(&threads->lock);
    return t;
}

/* Keep the thread off a CPU. -1: let it use all again. */
static void avoid(hri_thread *t, int cpu)
{
    if (cpu != t->avoided) {
        const hri_cpus others = hri_cpus_without(t->cpus, cpu);
        hri_cpus_let(t->id, &others);
        t->avoided = cpu;
    }
}

hri_thread *hri_threads_start(hri_threads *threads, void *(*function)(void *),
                              void *argument)
{
    hri_thread *t = take(threads);
    if (t != NULL) {
        avoid(t, -1);
        hand_over(t, function, argument);
    }
    return t;
}

hri_thread *hri_threads_start_apart(hri_threads *threads,
                                    void *(*function)(void *), void *argument)
{
    hri_thread *t = take(threads);
    if (t != NULL) {
        avoid(t, t->has_choice ? hri_cpu_number() : -1);
        hand_over(t, function, argument);
    }
    return t;
}

void hri_thread_join(hri_thread *t)
{
    hri_wait_awake(&t->returned, hri_moment);
    hri_lock_soon(&t->lock);
    while (!t->returned) {
        pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    become_idle(t, false);
}

bool hri_thread_await(hri_thread *t, uint32_t milliseconds)
{
    hri_wait_awake(&t->returned, hri_moment);
    const uint64_t until_ns = hri_in_ms(milliseconds);
    pthread_mutex_lock(&t->lock);
    while (!t->returned && hri_wait_until(&t->changed, &t->lock, until_ns)) {
    }
    pthread_mutex_unlock(&t->lock);
    return t->returned;
}

void hri_thread_leave(hri_thread *t)
{
    pthread_mutex_lock(&t->lock);
    const bool works = !t->returned;
    t->left = works;
    if (works) {
        pthread_mutex_lock(&t->threads->lock);
        t->threads->left++;
        pthread_mutex_unlock(&t->threads->lock);
    }
    pthread_mutex_unlock(&t->lock);
    if (!works) {
        become_idle(t, false);
    }
}

static void *call_main(void *argument)
{
    hri_call *call = argument;
    hri_error_keep(&call->error, call->function(call));
    return NULL;
}

void hri_threads_begin_calls(hr_status (*function)(void *argument),
                             void *arguments, size_t count, size_t bytes)
{
    char *const end = (char *)arguments + count * bytes;
    for (char *at = arguments; at < end; at += bytes) {
        hri_call *call = (hri_call *)(void *)at;
        call->function = function;
        if (call->threads != NULL) {
            call->thread = hri_threads_start(call->threads, call_main, call);
        }
    }
    for (char *at = arguments; at < end; at += bytes) {
        hri_call *call = (hri_call *)(void *)at;
        if (call->thread == NULL) {
            call_main(call);
        }
    }
}

hr_status hri_threads_end_calls(void *arguments, size_t count, size_t bytes)
{
    char *const end = (char *)arguments + count * bytes;
    const hri_error *first = NULL; /* raised last: other calls may set
                                      messages */
    for (char *at = arguments; at < end; at += bytes) {
        hri_call *call = (hri_call *)(void *)at;
        if (call->thread != NULL) {
            hri_thread_join(call->thread);
        }
        if (first == NULL && call->error.status != HR_OK) {
            first = &call->error;
        }
    }
    return first != NULL ? hri_error_raise(first) : HR_OK;
}

hr_status hri_threads_call(hr_status (*function)(void *argument),
                           void *arguments, size_t count, size_t bytes)
{
    hri_threads_begin_calls(function, arguments, count, bytes);
    return hri_threads_end_calls(arguments, count, bytes);
}

/* This thread's stack. Its size is 0 if it is not known. */
typedef struct stack {
    uintptr_t start;
    size_t bytes;
    bool asked;
} stack;

static stack find_stack(void)
{
    stack found = {.asked = true};
    pthread_attr_t attributes;
    void *start = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &start, &found.bytes) != 0) {
            found.bytes = 0;
        }
        pthread_attr_destroy(&attributes);
    }
    found.start = (uintptr_t)start;
    return found;
}

/* A fiber's stack is another one than its thread's. */
bool hri_thread_has_kernel_stack(void)
{
    static _Thread_local stack own;
    if (!own.asked) {
        own = find_stack();
    }
    const size_t left = (uintptr_t)__builtin_frame_address(0) - own.start;
    return left < own.bytes && left >= HRI_KERNEL_STACK;
}

int hri_thread_create(pthread_t *thread, void *(*function)(void *),
                      void *argument)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    error = pthread_attr_getstacksize(&attributes, &bytes);
    if (error == 0 && bytes < HRI_KERNEL_STACK) {
        error = pthread_attr_setstacksize(&attributes, HRI_KERNEL_STACK);
    }
    if (error == 0) {
        error = pthread_create(thread, &attributes, function, argument);
    }
    if (error == 0) {
        use_all(*thread);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

void hri_wait_awake(const atomic_bool *done, double seconds)
{
    uint64_t since_ns = 0;
    while (!*done && seconds > 0.0 && hri_linger(&since_ns, seconds)) {
    }
}
