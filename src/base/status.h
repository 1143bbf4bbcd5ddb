/* SPDX-License-Identifier: MIT */
/* Recording errors. See include/headrace/status.h for the rules. */
#ifndef HRI_BASE_STATUS_H
#define HRI_BASE_STATUS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <headrace/status.h>

enum { HRI_MESSAGE_BYTES = 512 };

/* Set this thread's error message and return status. Only the function that
 * finds an error calls this. Its callers pass the status on. What a terminal
 * would obey, in names of files and the like, is escaped here. */
hr_status hri_fail(hr_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return from this function with the status of call, unless it is HR_OK. The
 * command forwards its exit statuses in the same way. */
#define HRI_TRY(call)                                                          \
    do {                                                                       \
        const __typeof__(call) hri_tried = (call);                             \
        if (hri_tried != 0) {                                                  \
            return hri_tried;                                                  \
        }                                                                      \
    } while (0)

/* The ending of a noun that follows this count. */
static inline const char *hri_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* An error that is kept for another thread. The first one is kept. */
typedef struct hri_error {
    hr_status status;
    char message[HRI_MESSAGE_BYTES];
} hri_error;

/* Keep status and this thread's message in *error, unless it holds an error
 * already. The caller holds the lock that guards *error, if there is one. */
void hri_error_keep(hri_error *error, hr_status status);

/* Make the kept error this thread's own. Returns its status. */
hr_status hri_error_raise(const hri_error *error);

/* Call function, whose errors nobody is told: this thread's message stays as it
 * is. For cleanups after an error, and functions that destroy something. What
 * returns HR_OK need not do this: it may change the message. */
void hri_keep_message(void (*function)(void *data), void *data);

/* Something that the process tries once, and the result. */
typedef struct hri_once {
    pthread_mutex_t lock; /* guards error until done */
    atomic_bool done;
    hri_error error;
    pthread_t thread;      /* that calls the function; status.c has a lock for
                              it and for what follows */
    struct hri_once *next; /* whose function is running, too */
} hri_once;

#define HRI_ONCE_INIT                                                          \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER                                      \
    }

/* Call function, unless it was called through *once before. The result is the
 * same each time. fork() on another thread waits for the call, but not for
 * ever. In a child that was forked before its end it is HR_ERROR_UNAVAILABLE.
 * Any thread. */
hr_status hri_once_run(hri_once *once, hr_status (*function)(void));

/* Call function, unless *called, and wait where another thread calls it. A
 * child that was forked meanwhile calls it again; pthread_once of musl waits
 * for ever there. The function is short. Any thread. */
void hri_call_once(atomic_bool *called, void (*function)(void));

#endif
