/* SPDX-License-Identifier: MIT */
#include "support/threads.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int count;
static atomic_long woken;

int threads_count(void)
{
    return count;
}

long threads_woken(void)
{
    return woken;
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __real_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_join(pthread_t, void **);
int __wrap_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument)
{
    const int error =
        __real_pthread_create(thread, attributes, function, argument);
    count += error == 0;
    return error;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    const int error = __real_pthread_join(thread, result);
    count -= error == 0;
    return error;
}

int __wrap_pthread_cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
    const int error = __real_pthread_cond_wait(changed, lock);
    woken++;
    return error;
}
