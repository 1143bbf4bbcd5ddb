/* SPDX-License-Identifier: MIT */
/** @file status.h
 *  How Headrace reports errors.
 *
 *  Every function that can fail returns an hr_status. The function that finds
 *  an error records one English sentence with the numbers that matter. The
 *  functions between it and you pass the status on unchanged. The library never
 *  prints, aborts, exits or installs a signal handler. The only exception is in
 *  check.h. */
#ifndef HEADRACE_STATUS_H
#define HEADRACE_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HR_API       __attribute__((visibility("default")))
#define HR_NODISCARD __attribute__((warn_unused_result))
#else
#define HR_API
#define HR_NODISCARD
#endif

/** The version of these headers: major, minor, patch. */
#define HR_VERSION_MAJOR 0
#define HR_VERSION_MINOR 1
#define HR_VERSION_PATCH 0

/** Zero is success, every error is negative. Values never change. */
typedef enum hr_status {
    HR_OK = 0,
    HR_ERROR_INVALID = -1,        /**< An argument breaks a documented rule. */
    HR_ERROR_OUT_OF_MEMORY = -2,  /**< Host or accelerator memory, or a cap. */
    HR_ERROR_UNSUPPORTED = -3,    /**< Valid, but not offered here. */
    HR_ERROR_COMPUTE_DOMAIN = -4, /**< A launch extent that cannot run. */
    HR_ERROR_LOST = -5,           /**< An accelerator no longer works. */
    HR_ERROR_BUILD = -6,          /**< A kernel did not compile. */
    HR_ERROR_IO = -7,             /**< A file could not be read or written. */
    HR_ERROR_CANCELLED = -8,   /**< The caller's progress function said so. */
    HR_ERROR_MISMATCH = -9,    /**< A result failed its verification. */
    HR_ERROR_BACKEND = -10,    /**< A driver or vendor library failed. */
    HR_ERROR_UNAVAILABLE = -11 /**< A backend or accelerator is not there. */
} hr_status;

/** Receives how far a long call is: `done` of `total`, in a unit that the
 *  options of each call name. done never falls, and is total at the end. Return
 *  false to cancel: the call then stops what is under way and returns
 *  HR_ERROR_CANCELLED. That takes a second at most, or as long as one piece of
 *  the work. The options of each call say what its results are then. The
 *  context and its accelerators work as before. At the end, when all is done,
 *  the answer no longer matters.
 *
 *  The function must not call the context that it is told of, except to
 *  describe it.
 * @threads The thread that made the call: at its start, about ten times a
 *          second, and at its end. Not when there is nothing to do, and not
 *          before the call knows that its arguments are valid. */
typedef bool (*hr_progress_function)(void *data, double done, double total);

/** The status's name, such as "HR_ERROR_INVALID".
 *
 * @owner   A constant string; never NULL, also for values not listed above.
 * @threads Any thread. */
HR_API const char *hr_status_name(hr_status status);

/** The sentence of the last error that a Headrace call on this thread returned.
 *  It is one line of UTF-8. Control characters in names of files and the like
 *  are written as `\n`, `\t` or `\xNN`, and so are bytes that are no UTF-8.
 *  After a call that returned HR_OK it says nothing: the call may have tried
 *  what failed, such as a library that is not there.
 *
 * @owner   The calling thread's buffer, valid until its next call. Never
 *          NULL.
 * @threads Any thread; each has its own. */
HR_API const char *hr_last_error(void);

/** Set what hr_last_error returns on this thread, and return the status. For
 *  libraries over this one, such as libheadrace_mpi, whose errors are read like
 *  those of this one.
 *
 * @owner   Copies the sentence, cut off after 511 bytes. NULL: there is none.
 * @threads Any thread. */
HR_API hr_status hr_set_last_error(hr_status status, const char *sentence);

/** The version of the library in use, such as "0.1.0".
 *
 * @owner   A constant string.
 * @threads Any thread. */
HR_API const char *hr_version(void);

#ifdef __cplusplus
}
#endif
#endif
