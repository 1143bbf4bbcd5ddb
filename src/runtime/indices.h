/* SPDX-License-Identifier: MIT */
/* A caller's list of accelerators: indices into the context, each once. */
#ifndef HRI_RUNTIME_INDICES_H
#define HRI_RUNTIME_INDICES_H

#include "runtime/runtime.h"

typedef struct hri_indices {
    const uint32_t *list; /* the caller's; NULL: all, in the context's order */
    uint32_t count;       /* at least 1 */
} hri_indices;

/* Check and read a list. `who` begins the sentence when it cannot be: it has no
 * entry, one twice or one that is not there, or it is NULL with a count.
 * Nothing can be listed of a context without accelerators. */
hr_status hri_indices_read(const hr_context *context, const char *who,
                           const uint32_t *list, uint32_t count,
                           hri_indices *indices);

/* Entry i, i < count. */
static inline uint32_t hri_indices_at(const hri_indices *indices, uint32_t i)
{
    return indices->list != NULL ? indices->list[i] : i;
}

/* Whether an accelerator of the context is among them. */
bool hri_indices_have(const hri_indices *indices, uint32_t index);

#endif
