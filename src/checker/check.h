/* SPDX-License-Identifier: MIT */
/* What HEADRACE_CHECK=1 does (headrace/check.h). For all functions but
 * hri_checker_open the caller holds the lock of the context, which has a
 * checker.
 *
 * check.c copies the views of a launch to packed memory of its own. The
 * kernel's checked form runs there twice, with different bits in OUT views.
 * watch.c
 * keeps for each element what wrote and what used it, and kept.c does so from
 * one chunk of a call to the next. hr_map gives copies, in pages that are taken
 * away on hr_unmap (mapped.c). findings.c makes sentences of what is found. */
#ifndef HRI_CHECKER_CHECK_H
#define HRI_CHECKER_CHECK_H

#include "arrays/array.h"

/* check.c: let the context check launches and mappings from now on. */
hr_status hri_checker_open(hr_context *context);

typedef struct hri_finding {
    char *key, *sentence;
} hri_finding;

/* What the checker keeps in a context. */
typedef struct hri_findings {
    hri_finding *of;
    size_t count, told;
    struct hri_guard *guards; /* of hr_map */
} hri_findings;

static inline hri_findings *hri_findings_of(const hr_context *context)
{
    return hri_state_find(context, HRI_STATE_CHECKER);
}

/* findings.c: keep a sentence, unless there is one with this key already. */
hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence);

/* mapped.c: functions of hri_checker (arrays/array.h). */
hr_status hri_mapped_map(hr_mapping *mapping, const char *file, int line);
hr_status hri_mapped_unmap(const hr_mapping *mapping, const hr_mapping *home);
/* Turn uses of memory that is no longer mapped into findings. */
hr_status hri_mapped_collect(hr_context *context);
/* Free all mapped memory of a context. Nothing uses it any more. */
void hri_mapped_close(hr_context *context);

#endif
