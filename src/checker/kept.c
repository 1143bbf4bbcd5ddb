/* SPDX-License-Identifier: MIT */
/* What is remembered from one chunk of a call to the next: the accesses to
 * views that any point may write. Points of all chunks have others of their own
 * rows alone. */
#include <stdlib.h>

#include "checker/watch.h"

typedef struct chunk {
    hr_domain domain;
    uint32_t first; /* tile of the call */
} chunk;

struct hri_kept {
    hri_element *elements[HR_MAX_PARAMETERS]; /* NULL: not kept */
    chunk *chunks;
    size_t count;
    uint64_t tiles; /* of all chunks */
};

hr_status hri_kept_begin(hri_chunks *chunks, const hr_domain *domain,
                         uint32_t *first)
{
    if (chunks->kept == NULL) {
        chunks->kept = calloc(1, sizeof *chunks->kept);
    }
    hri_kept *k = chunks->kept;
    chunk *of =
        k != NULL ? realloc(k->chunks, (k->count + 1) * sizeof *of) : NULL;
    if (of == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    const uint64_t tiles =
        (uint64_t)(domain->tiles[0] * domain->tiles[1] * domain->tiles[2]);
    *first = (uint32_t)k->tiles;
    of[k->count++] = (chunk){*domain, *first};
    k->chunks = of;
    k->tiles += tiles;
    if (k->tiles > UINT32_MAX) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "HEADRACE_CHECK=1 checks calls of fewer than 2^32 "
                        "tiles");
    }
    return HR_OK;
}

hri_element *hri_kept_elements(hri_kept *kept, uint32_t parameter, size_t count)
{
    hri_element **elements = &kept->elements[parameter];
    if (*elements == NULL) {
        *elements = calloc(count, sizeof **elements);
    }
    return *elements;
}

const hr_domain *hri_kept_domain(const hri_kept *kept, uint32_t *tile)
{
    size_t i = kept->count - 1;
    while (kept->chunks[i].first > *tile) {
        i--;
    }
    *tile -= kept->chunks[i].first;
    return &kept->chunks[i].domain;
}

void hri_kept_forget(hri_chunks *chunks)
{
    hri_kept *k = chunks->kept;
    if (k == NULL) {
        return;
    }
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        free(k->elements[i]);
    }
    free(k->chunks);
    free(k);
    chunks->kept = NULL;
}
