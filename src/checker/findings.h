/* SPDX-License-Identifier: MIT */
/* What the checker of a context found: sentences, of which each is told once.
 * The caller holds the context's lock. */
#ifndef HRI_CHECKER_FINDINGS_H
#define HRI_CHECKER_FINDINGS_H

#include <stddef.h>

#include "base/status.h"

typedef struct hri_findings hri_findings;

hr_status hri_findings_create(hri_findings **findings);
void hri_findings_destroy(hri_findings *findings); /* accepts NULL */
/* Keep a sentence, unless there is one with this key. */
hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence);
/* HR_ERROR_INVALID with the first sentence that was not told yet, and how many
 * more; HR_OK when there is none. */
hr_status hri_findings_tell(hri_findings *findings);
size_t hri_findings_count(const hri_findings *findings);
/* Stays where it is; NULL when index is too large. */
const char *hri_findings_at(const hri_findings *findings, size_t index);

#endif
