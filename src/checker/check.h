/* SPDX-License-Identifier: MIT */
/* What HEADRACE_CHECK=1 does (headrace/check.h). All functions but
 * hri_checker_open want the lock of the context, which has a checker. */
#ifndef HRI_CHECKER_CHECK_H
#define HRI_CHECKER_CHECK_H

#include <stdatomic.h>

#include "arrays/array.h"

/* findings.c: let launches and mappings of the context be checked from now on.
 */
hr_status hri_checker_open(hr_context *context);

typedef struct hri_findings hri_findings;

/* Keep a sentence, unless there is one with this key. */
hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence);

/* check.c and mapped.c: as hri_checker has them (arrays/array.h). */
hr_status hri_check_launch(hr_context *context, hri_stream *stream,
                           const hri_launch *launch);
hr_status hri_check_map(hr_mapping *mapping, const char *file, int line);
hr_status hri_check_unmap(const hr_mapping *mapping, const hr_mapping *home);

/* mapped.c: make findings of the uses of mapped memory. */
hr_status hri_check_collect(hr_context *context);

/* ---- guard.c: memory for a caller that is watched once it has been given
 * back: the first read and the first write after that are noted, and go on
 * harmlessly. For this a handler of SIGSEGV is installed with the first guard
 * of the process. */

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
    hr_extent extent; /* of the elements there */
    size_t element_bytes;
    const char *file; /* where hr_map was called; NULL: not known */
    int line;
    bool retired;
    bool released; /* not watched any more; any context's work may set it, under
                      the lock of guard.c */
    hri_use_after read, written;
} hri_guard;

/* New memory, zeroed, which the context holds. */
hr_status hri_guard_create(hr_context *context, size_t bytes,
                           hri_guard **guard);
void hri_guard_retire(hri_guard *guard);
/* Free those of a context that are too old to be watched. */
void hri_guards_drop(hr_context *context);
/* Free all guards of a context, which nobody uses any more. */
void hri_guards_close(hr_context *context);

#endif
