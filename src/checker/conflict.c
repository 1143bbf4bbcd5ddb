/* SPDX-License-Identifier: MIT */
/* Which accesses of an element are in conflict, and which have to be remembered
 * to find that.
 *
 * Tiles run one after the other, and so do the phases of a tile. As long as no
 * two accesses are in conflict, one of these holds of an element:
 *
 * - All accesses are reads, or all are atomic. A write or an access of the
 * other kind then is in conflict with the first access if that is of another
 * tile. If not, it can only be so with items of its own phase. Two of those are
 *   enough: the last one, and the last one by another item.
 *
 * - All accesses are of one tile. In a phase with accesses of several kinds, or
 *   with a write, all are by one item. So the last access of each kind is
 *   enough.
 *
 * After a conflict later ones may be missed, but none is invented. */
#include "checker/watch.h"

/* Code between blocks is run by all items. What it writes is another fault, but
 * atomics of one item meet plain accesses of another. */
static bool by_same_item(const hri_seen *a, const hri_seen *b)
{
    return a->item == b->item &&
           (a->item >= 0 || (a->kind == HRI_ATOMIC) == (b->kind == HRI_ATOMIC));
}

static bool in_conflict(const hri_seen *a, const hri_seen *b)
{
    if (b->line == 0 || (a->kind == b->kind && a->kind != HRI_WRITE)) {
        return false;
    }
    return a->tile != b->tile || (a->phase == b->phase && !by_same_item(a, b));
}

const hri_seen *hri_find_conflict(const hri_element *e, const hri_seen *use)
{
    const hri_seen *const others[] = {
        &e->last[HRI_WRITE], &e->last[HRI_READ], &e->last[HRI_ATOMIC],
        &e->other,           &e->first,
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (in_conflict(use, others[i])) {
            return others[i];
        }
    }
    return NULL;
}

void hri_remember(hri_element *e, const hri_seen *use)
{
    hri_seen *last = &e->last[use->kind];
    if (e->first.line == 0) {
        e->first = *use;
    }
    if (last->line != 0 && last->item != use->item) {
        e->other = *last;
    }
    *last = *use;
}

const hri_seen *hri_last_write(const hri_element *e)
{
    const hri_seen *write = &e->last[HRI_WRITE];
    const hri_seen *atomic = &e->last[HRI_ATOMIC];
    const bool later =
        atomic->tile > write->tile ||
        (atomic->tile == write->tile && atomic->phase >= write->phase);
    return write->line == 0 || (atomic->line != 0 && later) ? atomic : write;
}
