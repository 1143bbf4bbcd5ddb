/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/printable.h"

static _Thread_local char message[HRI_MESSAGE_BYTES];

hr_status hri_fail(hr_status status, const char *format, ...)
{
    char text[HRI_MESSAGE_BYTES]; /* the last message itself may be an
                                     argument */
    va_list arguments;
    va_start(arguments, format);
    hri_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    hri_printable(text, message, sizeof message);
    return status;
}

void hri_error_keep(hri_error *error, hr_status status)
{
    if (error->status == HR_OK && status != HR_OK) {
        error->status = status;
        memcpy(error->message, message, sizeof message);
    }
}

hr_status hri_error_raise(const hri_error *error)
{
    if (error->status != HR_OK) {
        memcpy(message, error->message, sizeof message);
    }
    return error->status;
}

void hri_keep_message(void (*function)(void *data), void *data)
{
    char kept[HRI_MESSAGE_BYTES];
    memcpy(kept, message, sizeof kept);
    function(data);
    memcpy(message, kept, sizeof kept);
}

/* A child of fork() has none of the other threads. What one of them tries would
 * never be done there, and a library would stay half loaded. So fork() waits
 * for such threads. */
static struct {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    unsigned threads;  /* that are inside hri_once_run */
    hri_once *running; /* whose function is running; linked by `next` */
} trying = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local unsigned depth; /* of this thread's hri_once_run */

/* This does not wait for ever. A driver may fork while it is loaded, on this
 * thread or, waited for by it, on another one. And glibc before 2.36 lets
 * nobody call pthread_atfork meanwhile, which libraries do when they are
 * loaded. */
static void before_fork(void)
{
    enum { MAX_MS = 10000 };
    const uint64_t until_ns = hri_in_ms(MAX_MS);
    pthread_mutex_lock(&trying.lock);
    while (trying.threads > (depth > 0) &&
           hri_wait_until(&trying.changed, &trying.lock, until_ns)) {
    }
}

static void in_parent(void)
{
    pthread_mutex_unlock(&trying.lock);
}

static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER;

/* What this thread does not try itself has failed here: its thread is
 * missing. */
static void in_child(void)
{
    static const hri_error missing = {
        HR_ERROR_UNAVAILABLE, "the process was forked while another thread "
                              "loaded this library; fork earlier or later"};
    hri_once **link = &trying.running;
    pthread_mutex_init(&calling, NULL);
    pthread_mutex_init(&trying.lock, NULL);
    pthread_cond_init(&trying.changed, NULL);
    trying.threads = depth > 0;
    while (*link != NULL) {
        hri_once *once = *link;
        if (pthread_equal(once->thread, pthread_self())) {
            link = &once->next;
            continue;
        }
        *link = once->next;
        pthread_mutex_init(&once->lock, NULL);
        once->error = missing;
        atomic_store(&once->done, true);
    }
}

/* When the library is loaded: a fork that is under way runs no handler that is
 * registered meanwhile. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

static void count_thread(unsigned change)
{
    pthread_mutex_lock(&trying.lock);
    trying.threads += change;
    pthread_cond_broadcast(&trying.changed);
    pthread_mutex_unlock(&trying.lock);
}

static void add_running(hri_once *once)
{
    pthread_mutex_lock(&trying.lock);
    once->thread = pthread_self();
    once->next = trying.running;
    trying.running = once;
    pthread_mutex_unlock(&trying.lock);
}

static void remove_running(const hri_once *once)
{
    hri_once **link = &trying.running;
    pthread_mutex_lock(&trying.lock);
    while (*link != once) {
        link = &(*link)->next;
    }
    *link = once->next;
    pthread_mutex_unlock(&trying.lock);
}

hr_status hri_once_run(hri_once *once, hr_status (*function)(void))
{
    if (!atomic_load_explicit(&once->done, memory_order_acquire)) {
        if (depth++ == 0) {
            count_thread(1);
        }
        pthread_mutex_lock(&once->lock);
        if (!once->done) {
            add_running(once);
            hri_error_keep(&once->error, function());
            atomic_store_explicit(&once->done, true, memory_order_release);
            remove_running(once);
        }
        pthread_mutex_unlock(&once->lock);
        if (--depth == 0) {
            count_thread(-1U);
        }
    }
    return hri_error_raise(&once->error);
}

void hri_call_once(atomic_bool *called, void (*function)(void))
{
    if (!atomic_load_explicit(called, memory_order_acquire)) {
        pthread_mutex_lock(&calling);
        if (!*called) {
            function();
            atomic_store_explicit(called, true, memory_order_release);
        }
        pthread_mutex_unlock(&calling);
    }
}

const char *hr_last_error(void)
{
    return message;
}

hr_status hr_set_last_error(hr_status status, const char *sentence)
{
    return hri_fail(status, "%s", sentence != NULL ? sentence : "");
}

const char *hr_status_name(hr_status status)
{
    static const char *const names[] = {
        [HR_OK] = "HR_OK",
        [-HR_ERROR_INVALID] = "HR_ERROR_INVALID",
        [-HR_ERROR_OUT_OF_MEMORY] = "HR_ERROR_OUT_OF_MEMORY",
        [-HR_ERROR_UNSUPPORTED] = "HR_ERROR_UNSUPPORTED",
        [-HR_ERROR_COMPUTE_DOMAIN] = "HR_ERROR_COMPUTE_DOMAIN",
        [-HR_ERROR_LOST] = "HR_ERROR_LOST",
        [-HR_ERROR_BUILD] = "HR_ERROR_BUILD",
        [-HR_ERROR_IO] = "HR_ERROR_IO",
        [-HR_ERROR_CANCELLED] = "HR_ERROR_CANCELLED",
        [-HR_ERROR_MISMATCH] = "HR_ERROR_MISMATCH",
        [-HR_ERROR_BACKEND] = "HR_ERROR_BACKEND",
        [-HR_ERROR_UNAVAILABLE] = "HR_ERROR_UNAVAILABLE",
    };
    return status <= HR_OK && status >= HR_ERROR_UNAVAILABLE ? names[-status]
                                                             : "HR_ERROR_?";
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *hr_version(void)
{
    return TEXT(HR_VERSION_MAJOR) "." TEXT(HR_VERSION_MINOR) "." TEXT(
        HR_VERSION_PATCH);
}
