/* SPDX-License-Identifier: MIT */
/* The accesses of items: to which elements, whether they write, and which of
 * them are in conflict.
 *
 * To find conflicts, few accesses have to be remembered. Tiles run one after
 * the other, and so do the phases of a tile. As long as no two accesses are in
 * conflict, there are two cases. In the first all accesses are reads, or all
 * are atomic. Another one is then in conflict with the first of them if that is
 * of another tile, and otherwise with items of its own phase alone. Two of
 * those are enough: the last one, and the last one by another item. In the
 * second case all accesses are of one tile. If a phase has several kinds or a
 * write, they are by one item. So the last access of each kind is enough.
 *
 * After a conflict later ones may be missed, but none is invented. */
#include "checker/watch.h"

#include <stdlib.h>
#include <string.h>

#include <headrace/check.h>

#include "base/size.h"

enum { ALIGNMENT = 64, NOTHING = 0xa5 /* in stray memory; negative */ };

/* The run that this thread's accesses belong to. */
static _Thread_local hri_watch *current;

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

static void remember_use(hri_element *e, const hri_seen *use)
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

static void note_use(hri_watch *w, const hri_pending *p, const hri_seen *use)
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
    remember_use(e, use);
}

static bool is_changed(const hri_pending *p, const unsigned char *bits)
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
static void settle_element(hri_watch *w, const hri_pending *p,
                           const unsigned char *bits)
{
    hri_element *e = &p->view->elements[p->index];
    hri_seen plain = w->here, atomic = w->here;
    const bool changed = is_changed(p, bits);
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
        note_use(w, p, &plain);
    }
    if (p->atomic > 0) {
        note_use(w, p, &atomic);
    }
}

/* ---- the end of an item */

static void settle_strays(hri_watch *w)
{
    for (uint32_t i = 0; i < w->stray_count; i++) {
        hri_report *s = &w->strays[i];
        const unsigned char *memory = w->stray_memory + i * w->stray_bytes;
        for (size_t b = 0; b < s->view->parameter->bytes; b++) {
            s->writes = s->writes || memory[b] != NOTHING;
        }
        hri_watch_report(w, s);
    }
    w->stray_count = 0;
}

/* Look at all elements that the item has accessed. It is done, or has come to a
 * barrier. */
static void settle_item(hri_watch *w)
{
    for (uint32_t i = 0; i < w->pending_count; i++) {
        settle_element(w, &w->pending[i], w->bits + i * w->widest);
    }
    w->pending_count = 0;
    settle_strays(w);
}

/* ---- accesses */

static bool grow_pending(hri_watch *w)
{
    if (w->pending_count < w->pending_capacity) {
        return true;
    }
    uint32_t capacity = w->pending_capacity > 0 ? 2 * w->pending_capacity : 64;
    hri_pending *pending = realloc(w->pending, capacity * sizeof *pending);
    w->pending = pending != NULL ? pending : w->pending;
    unsigned char *bits = realloc(w->bits, capacity * w->widest);
    w->bits = bits != NULL ? bits : w->bits;
    if (pending == NULL || bits == NULL) {
        w->status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
        return false;
    }
    w->pending_capacity = capacity;
    return true;
}

/* Note that a run has to forget this element. */
static bool touch_element(hri_watch *w, hri_watched *v, int64_t index)
{
    if (v->elements[index].touched || v->kept) {
        return true;
    }
    if (v->touched_count == v->touched_capacity) {
        const size_t capacity = 2 * v->touched_capacity + 64;
        int64_t *touched = realloc(v->touched, capacity * sizeof *touched);
        if (touched == NULL) {
            w->status =
                hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
            return false;
        }
        v->touched = touched;
        v->touched_capacity = capacity;
    }
    v->touched[v->touched_count++] = index;
    v->elements[index].touched = true;
    return true;
}

/* Whether the access is to a view of this rank, or to a list of such views. */
static bool suits(const hri_watched *v, const hr_checked_access *a)
{
    return a->list == v->parameter->list && a->rank == v->parameter->rank;
}

/* Whether the access is to an element that there is, maybe in another chunk of
 * the call. */
static bool is_in_extent(const hri_watched *v, const hr_checked_access *a)
{
    bool inside = suits(v, a);
    for (uint32_t d = 0; d < v->rank && inside; d++) {
        inside = a->index[d] >= 0 && a->index[d] < v->extent[d];
    }
    return inside;
}

/* Whether the call gives this row to the point. */
static bool is_near(const hri_watch *w, const hri_watched *v,
                    const hr_checked_access *a)
{
    const hri_reach *r = v->reach;
    const int64_t row = a->index[a->list];
    return r == NULL || (row >= w->row_first * r->rows - r->before &&
                         row < w->row_end * r->rows + r->after);
}

/* Note an access to an element of another row than the call gives to the
 * point. */
static void note_far(hri_watch *w, hri_watched *v, int64_t index, int line)
{
    if (v->elements == NULL) {
        hri_watch_report_element(
            w, index,
            &(hri_report){.fault = HRI_FAR, .view = v, .use = v->seen[index]});
    } else if (v->elements[index].pending > 0) {
        w->pending[v->elements[index].pending - 1].far_line = line;
    }
}

/* Memory for an access outside of the view. When it runs out, the first of
 * these accesses are reported, and their memory is used again. */
static void *stray_access(hri_watch *w, const hri_watched *v,
                          const hr_checked_access *a)
{
    if (w->stray_count == HRI_STRAYS) {
        settle_strays(w);
    }
    hri_report *s = &w->strays[w->stray_count];
    unsigned char *memory = w->stray_memory + w->stray_count * w->stray_bytes;
    w->stray_count++;
    *s = (hri_report){.fault = !suits(v, a) ? HRI_RANK
                               : v->reach != NULL && is_in_extent(v, a)
                                   ? HRI_FAR
                                   : HRI_OUTSIDE,
                      .view = v,
                      .rank = a->rank + a->list,
                      .use = w->here};
    s->use.line = a->line;
    memcpy(s->index, a->index, sizeof s->index);
    return memset(memory, NOTHING, w->stray_bytes);
}

static void *access_element(hri_watch *w, hri_watched *v, int64_t index,
                            int line)
{
    unsigned char *memory = v->now + (size_t)index * v->parameter->bytes;
    if (v->elements == NULL) {
        v->seen[index] = w->here;
        v->seen[index].line = line;
        return memory;
    }
    hri_element *e = &v->elements[index];
    if (e->pending == 0) {
        if (!grow_pending(w) || !touch_element(w, v, index)) {
            return w->stray_memory;
        }
        memcpy(w->bits + w->pending_count * w->widest, memory,
               v->parameter->bytes);
        w->pending[w->pending_count] = (hri_pending){.view = v, .index = index};
        e->pending = ++w->pending_count;
    }
    hri_pending *p = &w->pending[e->pending - 1];
    p->line_before = p->line;
    p->line = line;
    p->plain++;
    return memory;
}

static hri_watched *find_view(hri_watch *w, const void *view)
{
    for (uint32_t i = 0; i < w->kernel->parameter_count; i++) {
        if (w->views[i].now == view && view != NULL) {
            return &w->views[i];
        }
    }
    return NULL;
}

/* The address that HR_AT gives without a checker. */
static void *plain_place(const hr_checked_access *a)
{
    const int64_t *index = a->index + a->list;
    int64_t element = a->shape->start + index[a->rank - 1];
    for (uint32_t d = 0; d + 1 < a->rank; d++) {
        element += index[d] * a->shape->stride[d];
    }
    if (a->list) {
        element += a->index[0] * ((const hr_list_shape *)a->shape)->step;
    }
    return (unsigned char *)(uintptr_t)a->view + element * (int64_t)a->bytes;
}

void *hr_checked_at(const hr_checked_access *access)
{
    hri_watch *w = current;
    hri_watched *v = w != NULL ? find_view(w, access->view) : NULL;
    const int64_t *index = access->index;
    int64_t element = 0;
    if (v == NULL) {
        return plain_place(access);
    }
    bool inside = suits(v, access);
    for (uint32_t d = 0; d < v->rank && inside; d++) {
        const int64_t at = index[d] - v->held_first[d];
        inside = at >= 0 && at < v->held[d];
        element += inside ? at * v->stride[d] : 0;
    }
    if (!inside) {
        return stray_access(w, v, access);
    }
    void *memory = access_element(w, v, element, access->line);
    if (!is_near(w, v, access)) {
        note_far(w, v, element, access->line);
    }
    return memory;
}

/* Find the rows with which the running item may be in one chunk. */
static void find_rows(hri_watch *w)
{
    const hr_domain *d = &w->domain;
    if (w->chunks == NULL) {
        return;
    }
    const int64_t grain = w->chunks->grain;
    int64_t first = d->first[0] + d->number[0] * d->tile[0];
    int64_t count = d->tile[0];
    if (w->here.item >= 0) {
        first += w->here.item / (d->tile[1] * d->tile[2]);
        count = 1;
    }
    w->row_first = first / grain * grain;
    w->row_end = hri_round_up(first + count, grain);
}

int hr_checked_item(int more, int64_t item, uint32_t rank, int line)
{
    hri_watch *w = current;
    if (w == NULL) {
        return more;
    }
    if (rank != w->rank && w->status == HR_OK) {
        w->status =
            hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                     "%s:%d: %s: the block has rank %u, but the domain has %u",
                     w->kernel->file, line, w->kernel->name, rank, w->rank);
    }
    if (!more) { /* a single item runs the code between blocks, too */
        const int64_t *tile = w->domain.tile;
        item = tile[0] * tile[1] * tile[2] == 1 ? 0 : -1;
    }
    if (item != w->here.item) {
        settle_item(w);
        w->here.item = (int16_t)item;
        find_rows(w);
    }
    return more;
}

/* The item's access to what lies at a place, also to a member of an element.
 * NULL: there is none. */
static hri_pending *find_pending(hri_watch *w, const void *place)
{
    for (uint32_t i = 0; i < w->kernel->parameter_count; i++) {
        const hri_watched *v = &w->views[i];
        const uintptr_t at = (uintptr_t)place - (uintptr_t)v->now;
        const size_t bytes = v->elements != NULL ? v->parameter->bytes : 1;
        if (v->elements != NULL && at < (size_t)v->count * bytes) {
            const uint32_t pending = v->elements[at / bytes].pending;
            return pending > 0 ? &w->pending[pending - 1] : NULL;
        }
    }
    return NULL;
}

void *hr_checked_atomic(const void *place)
{
    hri_watch *w = current;
    hri_pending *p = w != NULL ? find_pending(w, place) : NULL;
    if (p != NULL) {
        const size_t i = (size_t)(p - w->pending);
        if (p->atomic == 0) {
            p->wrote = is_changed(p, w->bits + i * w->widest);
        }
        p->atomic_line = p->line;
        p->line = p->line_before;
        p->plain--;
        p->atomic++;
    }
    return (void *)(uintptr_t)place;
}

void hr_checked_barrier(void)
{
    if (current != NULL) {
        settle_item(current);
        current->here.phase++;
    }
}

/* ---- runs */

static hr_status prepare_run(hri_watch *w)
{
    w->stray_bytes = hri_round_up_bytes(w->widest, ALIGNMENT);
    if (w->stray_memory == NULL) {
        w->stray_memory =
            aligned_alloc(ALIGNMENT, HRI_STRAYS * w->stray_bytes + ALIGNMENT);
    }
    if (w->stray_memory == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    for (uint32_t i = 0; i < w->kernel->parameter_count; i++) {
        hri_watched *v = &w->views[i];
        for (size_t k = 0; k < v->touched_count; k++) {
            hri_element *e = &v->elements[v->touched[k]];
            *e = (hri_element){.lacked = e->lacked, .touched = true};
        }
    }
    w->status = HR_OK;
    return HR_OK;
}

hr_status hri_watch_run(hri_watch *watch, const void *arguments)
{
    hr_domain *d = &watch->domain;
    const int64_t *tiles = d->tiles;
    HRI_TRY(prepare_run(watch));
    current = watch;
    for (int64_t i = 0; i < tiles[0] * tiles[1] * tiles[2]; i++) {
        hri_domain_set_tile(d, i);
        watch->here = (hri_seen){.tile = watch->first_tile + (uint32_t)i};
        (void)hr_checked_item(0, -1, watch->rank, 0);
        find_rows(watch);
        watch->kernel->checked(d, arguments);
        settle_item(watch);
    }
    current = NULL;
    return watch->status;
}

void hri_watch_finish(hri_watch *watch)
{
    free(watch->pending);
    free(watch->bits);
    free(watch->stray_memory);
}
