/* SPDX-License-Identifier: MIT */
#include "runtime/mark.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/relay.h"

hr_status hri_queue_create(hri_accelerator *accelerator, bool urgent,
                           hri_queue **queue)
{
    static atomic_uint_fast64_t last;
    hr_status status = hri_relay_queue_create(accelerator, urgent, queue);
    if (status == HR_OK) {
        (*queue)->serial = atomic_fetch_add(&last, 1) + 1;
    }
    return status;
}

/* One that nobody holds. */
static hr_status take(hri_accelerator *accelerator, hri_mark **mark)
{
    hri_mark *m = accelerator->idle_marks;
    if (m != NULL) {
        accelerator->idle_marks = m->next;
        *mark = m;
        return HR_OK;
    }
    m = calloc(1, sizeof *m);
    if (m == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a mark",
                        accelerator->path);
    }
    hr_status status = hri_relay_event_create(accelerator, &m->event);
    if (status != HR_OK) {
        free(m);
        return status;
    }
    m->accelerator = accelerator;
    *mark = m;
    return HR_OK;
}

hr_status hri_mark_promise(hri_accelerator *accelerator, hri_queue *queue,
                           hri_mark **mark)
{
    hri_mark *m = queue->promised;
    if (m == NULL) {
        hr_status status = take(accelerator, &m);
        if (status != HR_OK) {
            return status;
        }
        m->serial = queue->serial;
        m->promised_by = queue;
        m->abandoned = false;
        queue->promised = m;
    }
    hri_mark_hold(m);
    *mark = m;
    return HR_OK;
}

/* It is promised no more. */
static void release(hri_mark *mark)
{
    if (mark->promised_by != NULL) {
        mark->promised_by->promised = NULL;
        mark->promised_by = NULL;
    }
}

hr_status hri_mark_set(hri_mark *mark)
{
    hri_queue *queue = mark->promised_by;
    if (queue == NULL) {
        return HR_OK;
    }
    hr_status status = queue->ops->record(queue, mark->event);
    if (status == HR_OK) {
        release(mark);
    } else { /* nothing goes on that nobody knows of */
        hri_queue_settle(queue);
    }
    return status;
}

hr_status hri_queue_set(hri_queue *queue)
{
    return queue->promised != NULL ? hri_mark_set(queue->promised) : HR_OK;
}

void hri_queue_forget(hri_queue *queue)
{
    hri_mark *mark = queue->promised;
    if (hri_queue_set(queue) != HR_OK) {
        mark->abandoned = true;
        mark->error = (hri_error){0};
        hri_error_keep(&mark->error, queue->ops->finish(queue));
        release(mark);
    }
}

hr_status hri_mark_record(hri_accelerator *accelerator, hri_queue *queue,
                          hri_mark **mark)
{
    hri_mark *m = NULL;
    hr_status status = hri_mark_promise(accelerator, queue, &m);
    if (status == HR_OK) {
        status = queue->ops->record(queue, m->event);
    }
    if (status != HR_OK) {
        hri_mark_drop(m);
        return status;
    }
    release(m);
    if (queue == accelerator->carrier) {
        hri_mark_drop(accelerator->carried);
        hri_mark_hold(m);
        accelerator->carried = m;
    }
    *mark = m;
    return HR_OK;
}

void hri_mark_hold(hri_mark *mark)
{
    mark->holders++;
}

void hri_mark_drop(hri_mark *mark)
{
    if (mark != NULL && --mark->holders == 0) {
        release(mark);
        /* events may be recorded again before they are done */
        mark->next = mark->accelerator->idle_marks;
        mark->accelerator->idle_marks = mark;
    }
}

hr_status hri_mark_order(hri_queue *queue, hri_mark *mark)
{
    hri_device *device = queue->device;
    if (mark->serial == queue->serial) {
        return HR_OK;
    }
    /* those who wait for the queue need not wait so long */
    hr_status status = hri_mark_set(mark);
    if (status == HR_OK) {
        status = hri_queue_set(queue);
    }
    if (status != HR_OK) {
        return status;
    }
    if (mark->abandoned) {
        return hri_mark_wait(mark);
    }
    if (mark->event->device == device ||
        device->ops->is_peer(device, mark->event->device)) {
        return queue->ops->wait(queue, mark->event);
    }
    return mark->event->ops->wait(mark->event);
}

void hri_queue_settle(hri_queue *queue)
{
    char message[HRI_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", hr_last_error());
    (void)queue->ops->finish(queue);
    (void)hri_fail(HR_ERROR_BACKEND, "%s", message);
}

hr_status hri_mark_wait(const hri_mark *mark)
{
    return mark->abandoned ? hri_error_raise(&mark->error)
                           : mark->event->ops->wait(mark->event);
}

hr_status hri_mark_query(const hri_mark *mark, bool *done)
{
    if (!mark->abandoned) {
        return mark->event->ops->query(mark->event, done);
    }
    *done = true;
    return hri_error_raise(&mark->error);
}

/* Whether what the carrier did last is known to have failed: a queue that
 * waited for one that failed takes over its error. */
static bool has_failed(const hri_accelerator *accelerator)
{
    const hri_mark *last = accelerator->carried;
    bool done;
    return last != NULL && hri_mark_query(last, &done) != HR_OK;
}

hr_status hri_accelerator_carrier(hri_accelerator *accelerator,
                                  hri_queue **queue)
{
    hr_status status = HR_OK;
    if (has_failed(accelerator)) {
        hri_accelerator_drop_carrier(accelerator);
    }
    if (accelerator->carrier == NULL) {
        status = hri_queue_create(accelerator, false, &accelerator->carrier);
    }
    if (status == HR_OK) {
        *queue = accelerator->carrier;
    }
    return status;
}

void hri_accelerator_drop_carrier(hri_accelerator *accelerator)
{
    if (accelerator->carrier != NULL) {
        accelerator->carrier->ops->destroy(accelerator->carrier);
        accelerator->carrier = NULL;
        hri_mark_drop(accelerator->carried);
        accelerator->carried = NULL;
    }
}

void hri_marks_close(hri_accelerator *accelerator)
{
    hri_accelerator_drop_carrier(accelerator);
    while (accelerator->idle_marks != NULL) {
        hri_mark *mark = accelerator->idle_marks;
        accelerator->idle_marks = mark->next;
        mark->event->ops->destroy(mark->event);
        free(mark);
    }
}
