/* SPDX-License-Identifier: MIT */
/* The context of programs that make none. */
#include <pthread.h>

#include "base/arithmetic.h"
#include "runtime/runtime.h"

static struct {
    pthread_mutex_t lock;  /* guards what follows */
    hr_context *context;   /* NULL: none yet */
    hr_context *of_parent; /* before a fork; its threads are not here */
} standard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Contexts do not survive a fork. The thread that held the lock may be
 * missing. */
static void forget_in_child(void)
{
    pthread_mutex_init(&standard.lock, NULL);
    if (standard.context != NULL) {
        standard.of_parent = standard.context;
        standard.context = NULL;
    }
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

hr_status hr_context_default(hr_context **context)
{
    HRI_USUAL_ARITHMETIC;
    hr_status status = HR_OK;
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "default context: the result is NULL");
    }
    pthread_mutex_lock(&standard.lock);
    if (standard.context == NULL) {
        status = hr_context_create(NULL, &standard.context);
        if (status == HR_OK) {
            standard.context->is_default = true;
        }
    }
    if (status == HR_OK) {
        *context = standard.context;
    }
    pthread_mutex_unlock(&standard.lock);
    return status;
}
