/* SPDX-License-Identifier: MIT */
/* What is remembered from one piece of a call to the next: the accesses to
 * views that any point may write. Points of all pieces have others of their own
 * rows alone. */
#include <stdlib.h>

#include "checker/watch.h"

typedef struct piece {
    hr_domain domain;
    uint32_t first; /* tile of the call */
} piece;

struct hri_kept {
    hri_element *elements[HR_MAX_PARAMETERS]; /* NULL: not kept */
    piece *pieces;
    size_t count;
    uint64_t tiles; /* of all pieces */
};

hr_status hri_kept_begin(hri_pieces *pieces, const hr_domain *domain,
                         uint32_t *first)
{
    if (pieces->kept == NULL) {
        pieces->kept = calloc(1, sizeof *pieces->kept);
    }
    hri_kept *k = pieces->kept;
    piece *of =
        k != NULL ? realloc(k->pieces, (k->count + 1) * sizeof *of) : NULL;
    if (of == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    const uint64_t tiles =
        (uint64_t)(domain->tiles[0] * domain->tiles[1] * domain->tiles[2]);
    *first = (uint32_t)k->tiles;
    of[k->count++] = (piece){*domain, *first};
    k->pieces = of;
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
    while (kept->pieces[i].first > *tile) {
        i--;
    }
    *tile -= kept->pieces[i].first;
    return &kept->pieces[i].domain;
}

void hri_kept_forget(hri_pieces *pieces)
{
    hri_kept *k = pieces->kept;
    if (k == NULL) {
        return;
    }
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        free(k->elements[i]);
    }
    free(k->pieces);
    free(k);
    pieces->kept = NULL;
}
