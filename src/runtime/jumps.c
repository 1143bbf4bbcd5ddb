/* SPDX-License-Identifier: MIT */
#include "runtime/jumps.h"

#include <stdlib.h>

#include "runtime/words.h"

bool hri_jumps_add(hri_jumps *jumps, const hri_jump *jump)
{
    if (jumps->count == jumps->capacity) {
        const size_t capacity = 2 * jumps->capacity + 16;
        hri_jump *list = realloc(jumps->list, capacity * sizeof *list);
        if (list == NULL) {
            return false;
        }
        jumps->list = list;
        jumps->capacity = capacity;
    }
    jumps->list[jumps->count++] = *jump;
    return true;
}

/* A label of the goto's name in its function, which is in another block of
 * items. NULL: one is in the same, or there is none, since a macro makes labels
 * that are nowhere. A goto that names none may go anywhere. */
static const hri_jump *find_elsewhere(const hri_jumps *jumps,
                                      const hri_jump *from)
{
    const hri_jump *found = from->name == NULL ? from : NULL;
    for (size_t i = 0; i < jumps->count && from->name != NULL; i++) {
        const hri_jump *to = &jumps->list[i];
        if (to->label && hri_same_word(to->name, from->name) &&
            to->function == from->function) {
            if (to->items == from->items) {
                return NULL;
            }
            found = to;
        }
    }
    return found;
}

const hri_jump *hri_jumps_find_crossing(const hri_jumps *jumps,
                                        const char **how, const char **items)
{
    for (size_t i = 0; i < jumps->count; i++) {
        const hri_jump *from = &jumps->list[i];
        const hri_jump *to = from->label ? NULL : find_elsewhere(jumps, from);
        if (to != NULL && (from->items != NULL || to->items != NULL)) {
            *how = from->items != NULL ? "leave" : "enter";
            *items = from->items != NULL ? from->items : to->items;
            return from;
        }
    }
    return NULL;
}
