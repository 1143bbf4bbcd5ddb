/* SPDX-License-Identifier: MIT */
/* Memory for a caller that is watched once he has given it back: the first read
 * and the first write after that are noted, and go on harmlessly. For this a
 * handler of SIGSEGV is installed with the first guard of the process. */
#ifndef HRI_CHECKER_GUARD_H
#define HRI_CHECKER_GUARD_H

#include <stdatomic.h>

#include "runtime/runtime.h"

enum { HRI_GUARDS = 1024 }; /* of the process that are watched */

/* A use after hri_guard_retire: where, and which instruction (0: not known). */
typedef struct hri_use_after {
    atomic_uintptr_t address, code; /* address 0: none; code is written first */
    bool told;
} hri_use_after;

typedef struct hri_guard {
    struct hri_guard *next; /* of the context */
    hr_context *context;
    void *memory; /* of the caller's */
    size_t bytes;
    void *about; /* the maker's; freed with the guard */
    bool retired;
    bool released; /* not watched any more; any context's work may set it, under
                      the lock of guard.c */
    hri_use_after read, written;
} hri_guard;

/* New memory, zeroed, which the context holds. About becomes the guard's on
 * success. */
hr_status hri_guard_create(hr_context *context, size_t bytes, void *about,
                           hri_guard **guard);
void hri_guard_retire(hri_guard *guard);
/* Free those of a context that are too old to be watched. */
void hri_guards_drop(hr_context *context);
/* Free all guards of a context, which nobody uses any more. */
void hri_guards_close(hr_context *context);

#endif
