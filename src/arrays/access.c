/* SPDX-License-Identifier: MIT */
/* Calls that move the elements of views: copies, synchronizing, mapping. */
#include "arrays/array.h"
#include "base/arithmetic.h"

/* A view, its boxes, and the context, which is locked. */
typedef struct work {
    hr_array *array;
    hri_boxes boxes;
    hri_fences fences; /* to wait for */
} work;

static hr_status work_begin(work *w, const hr_view *view, const char *what)
{
    *w = (work){.array = view->array};
    if (view->array == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the view belongs to no array",
                        what);
    }
    pthread_mutex_lock(&view->array->context->lock);
    return hri_view_boxes(view, &w->boxes);
}

static void work_end(work *w)
{
    if (w->array != NULL) {
        hri_fences_finish(&w->fences);
        hri_boxes_finish(&w->boxes);
        pthread_mutex_unlock(&w->array->context->lock);
    }
}

static hr_status collect(work *w, int place, bool writes_alone)
{
    return hri_uses_collect(w->array, place, &w->boxes, writes_alone,
                            &w->fences);
}

/* ---- home */

/* Enqueue the copies that bring the boxes home, and collect what the caller
 * has to wait for. These are the writes, since errors are found there, and all
 * work on the home, reads included. */
static hr_status bring_home(work *w)
{
    const int home = w->array->home == HRI_NOWHERE ? HRI_HOST : w->array->home;
    HRI_TRY(collect(w, HRI_NOWHERE, true));
    HRI_TRY(hri_array_fetch(w->array, home, &w->boxes, NULL));
    return collect(w, home, false);
}

static hr_status synchronize_boxes(work *w, const hr_view *view, bool wait,
                                   hr_event **event)
{
    HRI_TRY(work_begin(w, view, "synchronize"));
    if (wait) {
        HRI_TRY(hri_check_tell(w->array->context));
    }
    HRI_TRY(bring_home(w));
    if (wait || w->array->strided.data != NULL) {
        HRI_TRY(hri_array_wait(w->array, NULL, &w->fences));
    }
    hri_strided_scatter(w->array, &w->boxes);
    return event != NULL
               ? hri_fences_to_event(w->array->context, &w->fences, event)
               : HR_OK;
}

static hr_status synchronize(const hr_view *view, bool wait, hr_event **event)
{
    work w;
    const hr_status status = synchronize_boxes(&w, view, wait, event);
    work_end(&w);
    return status;
}

hr_status hr_synchronize(hr_view view)
{
    HRI_USUAL_ARITHMETIC;
    return synchronize(&view, true, NULL);
}

hr_status hr_synchronize_async(hr_view view, hr_event **event)
{
    HRI_USUAL_ARITHMETIC;
    return synchronize(&view, false, event);
}

static hr_status invalidate_boxes(work *w, const hr_view *view)
{
    HRI_TRY(work_begin(w, view, "invalidate"));
    if (w->array->stores[HRI_HOST].host == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "invalidate: the array has no host memory");
    }
    HRI_TRY(collect(w, HRI_NOWHERE, false));
    /* an error of work on the old elements does not matter */
    (void)hri_array_wait(w->array, NULL, &w->fences);
    hri_strided_gather(w->array, &w->boxes);
    return hri_array_end_use(w->array, HRI_HOST, &w->boxes, HR_OUT, NULL);
}

hr_status hr_invalidate(hr_view view)
{
    work w;
    const hr_status status = invalidate_boxes(&w, &view);
    work_end(&w);
    return status;
}

hr_status hr_discard(hr_view view)
{
    work w;
    hr_status status = work_begin(&w, &view, "discard");
    if (status == HR_OK) {
        status = hri_array_forget(w.array, &w.boxes);
    }
    work_end(&w);
    return status;
}

static hr_status prefetch_boxes(work *w, const hr_view *view, hr_queue *queue)
{
    HRI_TRY(work_begin(w, view, "prefetch"));
    if (queue->context != w->array->context) {
        return hri_fail(HR_ERROR_INVALID,
                        "prefetch: the queue belongs to another context");
    }
    HRI_TRY(hri_queue_enter(queue, true));
    const int place = hri_place_of(queue->context, queue->accelerator);
    return hri_array_begin_use(w->array, place, &w->boxes, HR_IN, queue);
}

hr_status hr_prefetch(hr_view view, hr_queue *queue)
{
    HRI_USUAL_ARITHMETIC;
    work w;
    if (queue == NULL) {
        return hri_fail(HR_ERROR_INVALID, "prefetch: the queue is NULL");
    }
    const hr_status status = prefetch_boxes(&w, &view, queue);
    work_end(&w);
    return status;
}

/* ---- memory that the caller uses */

/* The mapping of a view at a place. Its first element is in the buffer that is
 * lent, or in host memory. */
static hr_mapping mapping_of(const work *w, const hr_view *view, int place,
                             hr_access access)
{
    hr_mapping mapping = {
        .view = *view, .access = access, .place = (uint32_t)place};
    hri_place first =
        hri_view_at(view, w->boxes.linear, place, mapping.stride_bytes);
    mapping.data = (void *)((uintptr_t)first.host + first.offset);
    return mapping;
}

/* Take back what was lent. Other threads use the context meanwhile. */
static hr_status take_back(const work *w, const hr_mapping *mapping)
{
    hri_buffer *buffer = w->array->stores[mapping->place].buffer;
    pthread_mutex_unlock(&w->array->context->lock);
    const hr_status status =
        buffer->device->ops->take_back(buffer, (mapping->access & HR_OUT) != 0);
    pthread_mutex_lock(&w->array->context->lock);
    return status;
}

/* Whether the memory of an accelerator's place can be lent. */
static hr_status check_lends(const hr_context *context, int place)
{
    const hri_accelerator *a = hri_accelerator_at(context, place);
    if (!a->device->info.lends) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "map: the memory of %s has no addresses", a->path);
    }
    return HR_OK;
}

/* Make the boxes ready at a place, and wait for other work on it. */
static hr_status prepare(work *w, int place, hr_access access)
{
    const hri_box all = hri_array_box(w->array);
    const hri_boxes whole = hri_boxes_of(&all);
    HRI_TRY(hri_check_tell(w->array->context));
    if (place != HRI_HOST) {
        HRI_TRY(check_lends(w->array->context, place));
        HRI_TRY(hri_store_hold(w->array, place, &whole));
    }
    HRI_TRY(hri_array_begin_use(w->array, place, &w->boxes, access, NULL));
    HRI_TRY(collect(w, HRI_NOWHERE, true));
    if (access != HR_IN) { /* wait for those that read it, too */
        HRI_TRY(collect(w, place, false));
    }
    const hr_status status = hri_array_wait(w->array, NULL, &w->fences);
    /* what is written anew may have failed before */
    return access == HR_OUT ? HR_OK : status;
}

/* Lend the caller the buffer of an accelerator's place. It has room for the
 * whole array, so it is never replaced by a larger one. */
static hr_status lend(const work *w, hr_mapping *mapping)
{
    hri_buffer *buffer = w->array->stores[mapping->place].buffer;
    void *address = NULL;
    HRI_TRY(buffer->device->ops->lend(buffer, &address));
    mapping->data = (char *)address + (uintptr_t)mapping->data;
    return HR_OK;
}

static hr_status map(const hr_view *view, int place, hr_access access,
                     hr_mapping *mapping, const char *file, int line)
{
    work w;
    if (mapping == NULL) {
        return hri_fail(HR_ERROR_INVALID, "map: the mapping is NULL");
    }
    if (access != HR_IN && access != HR_OUT && access != HR_INOUT) {
        return hri_fail(HR_ERROR_INVALID, "map: unknown access %d",
                        (int)access);
    }
    hr_status status = work_begin(&w, view, "map");
    if (status != HR_OK) {
        goto done;
    }
    status = prepare(&w, place, access);
    if (status != HR_OK) {
        goto done;
    }
    hr_mapping found = mapping_of(&w, view, place, access);
    const hri_checker *checker = w.array->context->checker;
    if (place != HRI_HOST) {
        status = lend(&w, &found);
    } else if (checker != NULL) {
        status = checker->map(&found, file, line);
    }
    if (status == HR_OK) {
        *mapping = found;
    }
done:
    work_end(&w);
    return status;
}

/* A function for other languages, which cannot use the macro. */
hr_status(hr_map)(hr_view view, hr_access access, hr_mapping *mapping)
{
    HRI_USUAL_ARITHMETIC;
    return map(&view, HRI_HOST, access, mapping, NULL, 0);
}

hr_status hr_map_at(hr_view view, hr_access access, hr_mapping *mapping,
                    const char *file, int line)
{
    HRI_USUAL_ARITHMETIC;
    return map(&view, HRI_HOST, access, mapping, file, line);
}

hr_status hr_map_on(hr_view view, uint32_t index, hr_access access,
                    hr_mapping *mapping)
{
    HRI_USUAL_ARITHMETIC;
    if (view.array == NULL) {
        return map(&view, HRI_HOST, access, mapping, NULL, 0);
    }
    const hr_context *context = view.array->context;
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "map: accelerator %u of a context with %u", index,
                        context->accelerator_count);
    }
    const int place = hri_place_of(context, &context->accelerators[index]);
    return map(&view, place, access, mapping, NULL, 0);
}

/* Whether something of the array may be mapped at a place. */
static bool is_place(const hr_array *array, uint32_t place)
{
    return array == NULL || place == HRI_HOST ||
           (place <= array->context->accelerator_count &&
            array->stores[place].buffer != NULL);
}

hr_status hr_unmap(hr_mapping *mapping)
{
    HRI_USUAL_ARITHMETIC;
    work w;
    if (mapping == NULL || mapping->data == NULL ||
        !is_place(mapping->view.array, mapping->place)) {
        return hri_fail(HR_ERROR_INVALID, "unmap: nothing is mapped");
    }
    hr_status status = work_begin(&w, &mapping->view, "unmap");
    if (w.array != NULL && mapping->place != HRI_HOST) {
        const hr_status taken = take_back(&w, mapping);
        status = status == HR_OK ? taken : status;
    } else if (status == HR_OK && w.array->context->checker != NULL) {
        const hr_mapping home =
            mapping_of(&w, &mapping->view, HRI_HOST, mapping->access);
        status = w.array->context->checker->unmap(mapping, &home);
    }
    if (status == HR_OK) {
        status = hri_array_end_use(w.array, (int)mapping->place, &w.boxes,
                                   mapping->access, NULL);
    }
    work_end(&w);
    *mapping = (hr_mapping){0};
    return status;
}
