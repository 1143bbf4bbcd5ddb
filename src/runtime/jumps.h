/* SPDX-License-Identifier: MIT */
/* The gotos and labels of a text, and whether a goto crosses the edge of a
 * block of items. */
#ifndef HRI_RUNTIME_JUMPS_H
#define HRI_RUNTIME_JUMPS_H

#include <stdbool.h>
#include <stddef.h>

/* A label, or a goto. */
typedef struct hri_jump {
    const char *at;               /* where it is */
    const char *name;             /* of the label; NULL: the goto names none */
    const char *items, *function; /* where those that it is in begin; or NULL */
    bool label;
} hri_jump;

typedef struct hri_jumps {
    hri_jump *list; /* the caller frees it */
    size_t count, capacity;
} hri_jumps;

/* False: there is no memory. */
bool hri_jumps_add(hri_jumps *jumps, const hri_jump *jump);

/* The first goto that leaves or enters a block of items. NULL: none does. *how
 * is "leave" or "enter", and *items is where that block begins. */
const hri_jump *hri_jumps_find_crossing(const hri_jumps *jumps,
                                        const char **how, const char **items);

#endif
