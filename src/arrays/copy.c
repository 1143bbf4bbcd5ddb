/* SPDX-License-Identifier: MIT */
/* Copies from one view to another. */
#include "arrays/array.h"
#include "base/arithmetic.h"

typedef struct side {
    hr_view view;
    hri_boxes boxes;
} side;

typedef struct copying {
    side from, to;
    int source; /* where unlike views find what they copy */
    int place;  /* where the elements are written */
} copying;

/* ---- rules */

static hr_status check_views(const hr_view *from, const hr_view *to)
{
    if (from->array == NULL || to->array == NULL) {
        return hri_fail(HR_ERROR_INVALID, "copy: %s belongs to no array",
                        from->array == NULL ? "from" : "to");
    }
    if (from->array->context != to->array->context) {
        return hri_fail(HR_ERROR_INVALID,
                        "copy: the views belong to two contexts");
    }
    if (from->element_bytes != to->element_bytes) {
        return hri_fail(HR_ERROR_INVALID,
                        "copy: from has elements of %zu byte%s, but to has %zu",
                        from->element_bytes, hri_plural(from->element_bytes),
                        to->element_bytes);
    }
    if (from->extent.rank != to->extent.rank) {
        return hri_fail(HR_ERROR_INVALID,
                        "copy: from has rank %u, but to has %u",
                        from->extent.rank, to->extent.rank);
    }
    for (uint32_t i = 0; i < from->extent.rank; i++) {
        if (from->extent.size[i] != to->extent.size[i]) {
            return hri_fail(HR_ERROR_INVALID,
                            "copy: from has %lld elements, but to has %lld, in "
                            "dimension %u",
                            (long long)from->extent.size[i],
                            (long long)to->extent.size[i], i);
        }
    }
    return HR_OK;
}

/* The place to write to when the array has no home: the one that has most of
 * the elements. */
static int busiest_place(const side *from)
{
    const hr_array *a = from->view.array;
    int best = HRI_HOST;
    int64_t most = 0;
    for (int p = 0; p <= (int)a->context->accelerator_count; p++) {
        int64_t there = 0;
        for (size_t i = 0; i < a->stores[p].valid.count; i++) {
            for (size_t j = 0; j < from->boxes.count; j++) {
                hri_box both =
                    hri_box_meet(&a->stores[p].valid.of[i], &from->boxes.of[j]);
                there += hri_box_volume(&both);
            }
        }
        if (there > most) {
            most = there;
            best = p;
        }
    }
    return best;
}

/* ---- the elements */

/* Whether both views are one box, and of the same size. */
static bool are_same_kind(const copying *c)
{
    const hri_box *f = &c->from.boxes.of[0], *t = &c->to.boxes.of[0];
    bool same = !c->from.boxes.linear && !c->to.boxes.linear &&
                c->from.boxes.count == 1 && c->to.boxes.count == 1;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        same = same && f->hi[i] - f->lo[i] == t->hi[i] - t->lo[i];
    }
    return same;
}

static hri_copy local_copy(const copying *c)
{
    const hr_view *v = &c->from.view;
    int64_t from[HR_MAX_RANK], to[HR_MAX_RANK];
    const uint32_t rank = v->extent.rank;
    hri_copy copy = {
        .to = hri_view_at(&c->to.view, c->to.boxes.linear, c->place, to),
        .from = hri_view_at(v, c->from.boxes.linear, c->source, from),
        .width = (size_t)v->extent.size[rank - 1] * v->element_bytes,
        .height = rank > 1 ? (size_t)v->extent.size[rank - 2] : 1,
        .depth = rank > 2 ? (size_t)v->extent.size[0] : 1,
    };
    if (rank > 1) {
        copy.to_pitch = (size_t)to[rank - 2];
        copy.from_pitch = (size_t)from[rank - 2];
    }
    if (rank > 2) {
        copy.to_slice = (size_t)to[0];
        copy.from_slice = (size_t)from[0];
    }
    return copy;
}

/* Copy between views of different shapes: first bring all of it to the source,
 * then copy from there. */
static hr_status copy_unlike(const copying *c, hr_queue *queue)
{
    hr_array *from = c->from.view.array, *to = c->to.view.array;
    HRI_TRY(hri_array_begin_use(from, c->source, &c->from.boxes, HR_IN, NULL));
    const hri_copy copy = local_copy(c);
    HRI_TRY(hri_transfer(from, c->source, &c->from.boxes, to, c->place,
                         &c->to.boxes, &copy, queue));
    return hri_array_end_use(to, c->place, &c->to.boxes, HR_OUT, NULL);
}

static hr_status find_boxes(copying *c)
{
    HRI_TRY(hri_view_boxes(&c->from.view, &c->from.boxes));
    return hri_view_boxes(&c->to.view, &c->to.boxes);
}

static void finish_boxes(copying *c)
{
    hri_boxes_finish(&c->from.boxes);
    hri_boxes_finish(&c->to.boxes);
}

/* Copy the elements to a place, which gets memory for them. */
static hr_status copy_elements(const copying *c, hr_queue *queue)
{
    hr_array *from = c->from.view.array, *to = c->to.view.array;
    HRI_TRY(hri_store_hold(to, c->place, &c->to.boxes));
    return are_same_kind(c)
               ? hri_array_copy(from, &c->from.boxes.of[0], to, c->place,
                                &c->to.boxes.of[0], queue)
               : copy_unlike(c, queue);
}

/* hri_view_copy of views of higher rank, one index of dimension 0 after the
 * other. */
static hr_status copy_projections(const hr_view *from, int source,
                                  const hr_view *to, int place, hr_queue *queue)
{
    for (int64_t i = 0; i < from->extent.size[0]; i++) {
        hr_view x, y;
        HRI_TRY(hr_view_project(*from, i, &x));
        HRI_TRY(hr_view_project(*to, i, &y));
        HRI_TRY(hri_view_copy(&x, source, &y, place, queue));
    }
    return HR_OK;
}

hr_status hri_view_copy(const hr_view *from, int source, const hr_view *to,
                        int place, hr_queue *queue)
{
    copying c = {{.view = *from}, {.view = *to}, source, place};
    if (from->extent.rank > HRI_DIMENSIONS) {
        return copy_projections(from, source, to, place, queue);
    }
    hr_status status = find_boxes(&c);
    if (status == HR_OK) {
        status = copy_elements(&c, queue);
    }
    finish_boxes(&c);
    return status;
}

/* ---- the calls */

/* Copy between views of rank 3 or less, whose boxes are known. */
static hr_status copy_space(const copying *c, hri_fences *fences)
{
    hr_array *from = c->from.view.array, *to = c->to.view.array;
    /* an error of the work that wrote the elements is the copy's error */
    HRI_TRY(hri_uses_collect(from, HRI_NOWHERE, &c->from.boxes, true, fences));
    HRI_TRY(copy_elements(c, NULL));
    return hri_uses_collect(to, c->place, &c->to.boxes, true, fences);
}

/* Copy between views of any rank. A higher rank is copied in spaces of three
 * dimensions. Dimensions that can be joined in both views make fewer spaces. */
static hr_status copy_spaces(const copying *all, hri_fences *fences)
{
    copying c = {.from = {.view = all->from.view},
                 .to = {.view = all->to.view},
                 .source = all->source,
                 .place = all->place};
    hr_view from = c.from.view, to = c.to.view;
    while (from.extent.rank > HRI_DIMENSIONS &&
           hri_view_flatten(&from, 0, from.extent.rank - 1) &&
           hri_view_flatten(&to, 0, to.extent.rank - 1)) {
        c.from.view = from;
        c.to.view = to;
    }
    if (c.from.view.extent.rank <= HRI_DIMENSIONS) {
        hr_status status = find_boxes(&c);
        if (status == HR_OK) {
            status = copy_space(&c, fences);
        }
        finish_boxes(&c);
        return status;
    }
    from = c.from.view;
    to = c.to.view;
    for (int64_t i = 0; i < from.extent.size[0]; i++) {
        HRI_TRY(hr_view_project(from, i, &c.from.view));
        HRI_TRY(hr_view_project(to, i, &c.to.view));
        HRI_TRY(copy_spaces(&c, fences));
    }
    return HR_OK;
}

static hr_status enqueue_copies(copying *c, hri_fences *fences)
{
    const hr_array *to = c->to.view.array;
    hri_box box;
    HRI_TRY(find_boxes(c));
    if (c->from.view.array == to &&
        hri_boxes_meet(&c->from.boxes, &c->to.boxes, &box)) {
        return hri_fail(HR_ERROR_INVALID, "copy: the views overlap");
    }
    c->place = to->home == HRI_NOWHERE ? busiest_place(&c->from) : to->home;
    c->source = c->place;
    return c->from.view.extent.rank <= HRI_DIMENSIONS ? copy_space(c, fences)
                                                      : copy_spaces(c, fences);
}

/* Wait for the copies, or make an event of them if one is wanted. */
static hr_status end_copies(const copying *c, bool wait, hri_fences *fences,
                            hr_event **event)
{
    hr_array *from = c->from.view.array, *to = c->to.view.array;
    if (wait) {
        return hri_array_wait(from, to, fences);
    }
    return event != NULL ? hri_fences_to_event(from->context, fences, event)
                         : HR_OK;
}

static hr_status copy_view(const hr_view *from, const hr_view *to, bool wait,
                           hr_event **event)
{
    copying c = {.from = {.view = *from}, .to = {.view = *to}};
    hri_fences fences = {0};
    HRI_TRY(check_views(from, to));
    hr_context *context = from->array->context;
    pthread_mutex_lock(&context->lock);
    hr_status status = enqueue_copies(&c, &fences);
    finish_boxes(&c);
    if (status == HR_OK) {
        status = end_copies(&c, wait, &fences, event);
    }
    hri_fences_finish(&fences);
    pthread_mutex_unlock(&context->lock);
    return status;
}

hr_status hr_copy(hr_view from, hr_view to)
{
    HRI_USUAL_ARITHMETIC;
    return copy_view(&from, &to, true, NULL);
}

hr_status hr_copy_async(hr_view from, hr_view to, hr_event **event)
{
    HRI_USUAL_ARITHMETIC;
    return copy_view(&from, &to, false, event);
}
