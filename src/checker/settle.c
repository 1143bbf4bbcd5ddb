/* SPDX-License-Identifier: MIT */
/* What an item did with an element, once that is done; and which accesses of an
 * element are in conflict.
 *
 * To find conflicts, few accesses have to be remembered. Tiles run one after
 * the other, and so do the phases of a tile. As long as no two accesses are in
 * conflict, there are two cases. In the first all accesses are reads, or all
 * are atomic. Another one is then in conflict with the first of them if that is
 * of another tile, and otherwise with items of its own phase alone. Two of
 * those are enough: the last one, and the last one by another item. In the
 * second case all accesses are of one tile. Where a phase has several kinds or
 * a write, they are by one item. So the last access of each kind is enough.
 *
 * After a conflict later ones may be missed, but none is invented. */
#include <string.h>

#include "checker/watch.h"

/* ---- conflicts */

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

/* The remembered access that this one is in conflict with. NULL: none. */
static const hri_seen *find_conflict(const hri_element *e, const hri_seen *use)
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

static void remember(hri_element *e, const hri_seen *use)
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

/* ---- what accesses mean */

/* The item may have written the very bits that the element held, but not in
 * both runs. So it is reported if both runs left the bits unchanged. */
static void lacks_value(hri_watch *w, const hri_pending *p, const hri_seen *use)
{
    hri_seen *before = &p->view->elements[p->index].lacked;
    if (w->run == 0 && before->line == 0) {
        *before = *use;
    } else if (w->run == 1 && before->line == use->line &&
               before->tile == use->tile && before->item == use->item) {
        hri_watch_report_element(
            w, p->index,
            &(hri_report){.fault = HRI_NO_VALUE, .view = p->view, .use = *use});
    }
}

static void note(hri_watch *w, const hri_pending *p, const hri_seen *use)
{
    hri_element *e = &p->view->elements[p->index];
    const hri_seen *other = find_conflict(e, use);
    const bool writes = use->kind != HRI_READ;
    if (other != NULL) {
        hri_watch_report_element(
            w, p->index,
            &(hri_report){.fault = HRI_CONFLICT,
                          .view = p->view,
                          .use = *use,
                          .writes = writes,
                          .other = *other,
                          .other_writes = other->kind != HRI_READ});
    }
    if (use->kind == HRI_WRITE && use->item < 0) {
        hri_watch_report_element(w, p->index,
                                 &(hri_report){.fault = HRI_UNIFORM,
                                               .view = p->view,
                                               .use = *use,
                                               .writes = true});
    }
    remember(e, use);
}

bool hri_is_changed(const hri_pending *p, const unsigned char *bits)
{
    const size_t bytes = p->view->parameter->bytes;
    return memcmp(p->view->now + (size_t)p->index * bytes, bits, bytes) != 0;
}

static void report_far(hri_watch *w, const hri_pending *p, bool changed)
{
    hri_report far = {
        .fault = HRI_FAR, .view = p->view, .use = w->here, .writes = changed};
    far.use.line = p->far_line;
    hri_watch_report_element(w, p->index, &far);
}

/* There are plain accesses, atomic ones or both, and then a change may come
 * from either. It does not matter whether a plain one beside an atomic one
 * wrote: the two are in conflict with the same accesses. */
void hri_settle(hri_watch *w, const hri_pending *p, const unsigned char *bits)
{
    hri_element *e = &p->view->elements[p->index];
    hri_seen plain = w->here, atomic = w->here;
    const bool changed = hri_is_changed(p, bits);
    plain.line = p->line;
    plain.kind = (p->atomic > 0 ? p->wrote : changed) ? HRI_WRITE : HRI_READ;
    atomic.line = p->atomic_line;
    atomic.kind = HRI_ATOMIC;
    e->pending = 0;
    if (p->far_line > 0) {
        report_far(w, p, changed);
    }
    if (p->view->kept && w->run > 0) { /* this has been noted */
        return;
    }
    if (!changed && p->view->parameter->access == HR_OUT &&
        hri_last_write(e)->line == 0) {
        lacks_value(w, p, p->plain > 0 ? &plain : &atomic);
    }
    if (p->plain > 0) {
        note(w, p, &plain);
    }
    if (p->atomic > 0) {
        note(w, p, &atomic);
    }
}
