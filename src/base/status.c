/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

static _Thread_local char message[HRI_MESSAGE_BYTES];

hr_status hri_fail(hr_status status, const char *format, ...)
{
    char text[HRI_MESSAGE_BYTES]; /* the last message itself may be an
                                     argument */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
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

hr_status hri_once_run(hri_once *once, hr_status (*function)(void))
{
    if (!atomic_load_explicit(&once->done, memory_order_acquire)) {
        pthread_mutex_lock(&once->lock);
        if (!once->done) {
            hri_error_keep(&once->error, function());
            atomic_store_explicit(&once->done, true, memory_order_release);
        }
        pthread_mutex_unlock(&once->lock);
    }
    return hri_error_raise(&once->error);
}

const char *hr_last_error(void)
{
    return message;
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
