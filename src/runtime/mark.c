/* SPDX-License-Identifier: MIT */
#include "runtime/mark.h"

#include <stdlib.h>

hr_status hri_mark_record(hri_accelerator *accelerator, hri_queue *queue,
                          hri_mark **mark)
{
    hri_device *device = accelerator->device;
    hri_mark *m = accelerator->idle_marks;
    hr_status status = HR_OK;
    if (m == NULL) {
        m = calloc(1, sizeof *m);
        if (m == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a mark",
                            accelerator->path);
        }
        status = device->ops->create_event(device, &m->event);
        if (status != HR_OK) {
            free(m);
            return status;
        }
        m->accelerator = accelerator;
    } else {
        accelerator->idle_marks = m->next;
    }
    m->holders = 1;
    m->queue = queue;
    status = queue->ops->record(queue, m->event);
    if (status != HR_OK) {
        hri_mark_drop(m);
        return status;
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
        /* events may be recorded again before they are done */
        mark->next = mark->accelerator->idle_marks;
        mark->accelerator->idle_marks = mark;
    }
}

bool hri_mark_is_passed(const hri_mark *mark)
{
    bool done = false;
    return mark->event->ops->query(mark->event, &done) != HR_OK || done;
}

hr_status hri_mark_order(hri_queue *queue, const hri_mark *mark)
{
    hri_device *device = queue->device;
    if (mark->queue == queue) {
        return HR_OK;
    }
    if (mark->event->device == device ||
        device->ops->is_peer(device, mark->event->device)) {
        return queue->ops->wait(queue, mark->event);
    }
    return mark->event->ops->wait(mark->event);
}

hr_status hri_mark_wait(const hri_mark *mark)
{
    return mark->event->ops->wait(mark->event);
}

hr_status hri_accelerator_carrier(hri_accelerator *accelerator,
                                  hri_queue **queue)
{
    hri_device *device = accelerator->device;
    hr_status status = HR_OK;
    if (accelerator->carrier == NULL) {
        status = device->ops->create_queue(device, &accelerator->carrier);
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
