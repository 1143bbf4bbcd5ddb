/* SPDX-License-Identifier: MIT */
/* Recording errors. See include/headrace/status.h for the rules. */
#ifndef HRI_BASE_STATUS_H
#define HRI_BASE_STATUS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <headrace/status.h>

enum { HRI_MESSAGE_BYTES = 512 };

/* Record a sentence for this thread and return status. Only the function that
 * finds an error calls this; callers forward. */
hr_status hri_fail(hr_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The ending of a noun that a sentence counts. */
static inline const char *hri_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* An error kept for another thread: the first one wins. */
typedef struct hri_error {
    hr_status status;
    char message[HRI_MESSAGE_BYTES];
} hri_error;

/* Keep status and this thread's sentence in *error unless it holds one. The
 * caller holds whatever lock guards *error. */
void hri_error_keep(hri_error *error, hr_status status);

/* Make the kept error this thread's own; returns its status. */
hr_status hri_error_raise(const hri_error *error);

/* What is tried once in the life of the process, and what came of it. */
typedef struct hri_once {
    pthread_mutex_t lock; /* guards error until done */
    atomic_bool done;
    hri_error error;
} hri_once;

#define HRI_ONCE_INIT                                                          \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER                                      \
    }

/* Call function, which nobody has called through *once yet; the answer is the
 * same each time. Any thread. */
hr_status hri_once_run(hri_once *once, hr_status (*function)(void));

#endif
