/* SPDX-License-Identifier: MIT */
/* What HEADRACE_CHECK=1 does (headrace/check.h). For all functions but
 * hri_checker_open the caller holds the lock of the context, which has a
 * checker.
 *
 * check.c copies the views of a launch to packed memory of its own and runs the
 * kernel's checked form there twice, with different bits in OUT views. watch.c
 * keeps for each element what wrote and what used it. hr_map gives copies
 * (mapped.c), in pages that are taken away on hr_unmap (guard.c). findings.c
 * keeps what was found, report.c makes sentences of it. */
#ifndef HRI_CHECKER_CHECK_H
#define HRI_CHECKER_CHECK_H

#include <stdatomic.h>

#include "arrays/array.h"

/* findings.c: let the context check launches and mappings from now on. */
hr_status hri_checker_open(hr_context *context);

typedef struct hri_findings hri_findings;

/* Keep a sentence, unless there is one with this key already. */
hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence);

/* check.c, kept.c and mapped.c: the functions of hri_checker (arrays/array.h).
 */
hr_status hri_check_launch(hr_context *context, hri_stream *stream,
                           const hri_launch *launch, hri_pieces *pieces);
void hri_check_forget(hri_pieces *pieces);
hr_status hri_check_map(hr_mapping *mapping, const char *file, int line);
hr_status hri_check_unmap(const hr_mapping *mapping, const hr_mapping *home);

/* mapped.c: turn uses of mapped memory into findings. */
hr_status hri_check_collect(hr_context *context);

/* ---- guard.c: memory for a mapping, which is watched after hr_unmap. The
 * first read and the first write after that are noted, and go on harmlessly.
 * The first guard of the process installs a handler of SIGSEGV for this. */

enum { HRI_GUARDS = 1024 }; /* how many the process watches at a time */

/* A use after hri_guard_retire: the address, and the instruction (0: not
 * known). */
typedef struct hri_use_after {
    atomic_uintptr_t address, code; /* address 0: no use; code is written
                                       first */
    bool told;
} hri_use_after;

typedef struct hri_guard {
    struct hri_guard *next; /* the next guard of the context */
    hr_context *context;
    void *memory; /* that the program uses */
    size_t bytes;
    hr_extent extent; /* of the mapped elements */
    size_t element_bytes;
    const char *file; /* where hr_map was called; NULL: not known */
    int line;
    bool retired;
    bool released; /* no longer watched; any context may set this, under the
                      lock of guard.c */
    hri_use_after read, written;
} hri_guard;

/* New memory, zeroed. The context holds it. */
hr_status hri_guard_create(hr_context *context, size_t bytes,
                           hri_guard **guard);
void hri_guard_retire(hri_guard *guard);
/* Free the guards of a context that are no longer watched. */
void hri_guards_drop(hr_context *context);
/* Free all guards of a context. Nothing uses them any more. */
void hri_guards_close(hr_context *context);

#endif
