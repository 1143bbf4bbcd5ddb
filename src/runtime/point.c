/* SPDX-License-Identifier: MIT */
/* Events of relays. */
#include <stdlib.h>

#include "runtime/relay.h"

void hri_relay_init(hri_relay *relay)
{
    pthread_mutex_init(&relay->lock, NULL);
    pthread_mutex_init(&relay->launches, NULL);
    pthread_cond_init(&relay->changed, NULL);
}

void hri_relay_finish(hri_relay *relay)
{
    while (relay->idle != NULL) {
        hri_point *point = relay->idle;
        relay->idle = point->next;
        point->inner->ops->destroy(point->inner);
        free(point);
    }
    pthread_mutex_destroy(&relay->lock);
    pthread_mutex_destroy(&relay->launches);
    pthread_cond_destroy(&relay->changed);
}

/* ---- points */

/* One that is held once. */
static hr_status make(hri_accelerator *accelerator, hri_point **out)
{
    hri_device *device = accelerator->device;
    hri_point *point = calloc(1, sizeof *point);
    if (point == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for an event",
                        accelerator->path);
    }
    hr_status status = device->ops->create_event(device, &point->inner);
    if (status != HR_OK) {
        free(point);
        return status;
    }
    point->accelerator = accelerator;
    point->holders = 1;
    *out = point;
    return HR_OK;
}

/* The same to be recorded: nobody waits for what an idle one was. */
static hr_status take(hri_accelerator *accelerator, hri_point **out)
{
    hri_relay *relay = &accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    hri_point *point = relay->idle;
    if (point != NULL) {
        relay->idle = point->next;
        point->holders = 1;
        *out = point;
    }
    pthread_mutex_unlock(&relay->lock);
    return point != NULL ? HR_OK : make(accelerator, out);
}

/* The lock is held. */
static void drop(hri_point *point)
{
    hri_relay *relay = &point->accelerator->relay;
    if (--point->holders == 0) {
        point->next = relay->idle;
        relay->idle = point;
    }
}

void hri_point_drop(hri_point *point)
{
    hri_relay *relay = &point->accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    drop(point);
    pthread_mutex_unlock(&relay->lock);
}

hri_point *hri_point_of(hri_relay_event *event)
{
    hri_relay *relay = &event->accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    hri_point *point = event->point;
    point->holders++;
    pthread_mutex_unlock(&relay->lock);
    return point;
}

/* What nobody else holds is taken again. */
hr_status hri_point_renew(hri_relay_event *event, bool noted)
{
    hri_relay *relay = &event->accelerator->relay;
    hri_point *fresh = NULL;
    pthread_mutex_lock(&relay->lock);
    bool held = event->point->holders > 1;
    pthread_mutex_unlock(&relay->lock);
    if (held) {
        hr_status status = take(event->accelerator, &fresh);
        if (status != HR_OK) {
            return status;
        }
    }
    pthread_mutex_lock(&relay->lock);
    if (held) {
        drop(event->point);
        event->point = fresh;
    }
    event->point->noted = noted;
    event->point->error.status = HR_OK;
    pthread_mutex_unlock(&relay->lock);
    return HR_OK;
}

bool hri_point_is_noted(hri_point *point)
{
    hri_relay *relay = &point->accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    bool noted = point->noted;
    pthread_mutex_unlock(&relay->lock);
    return noted;
}

void hri_point_await(hri_point *point)
{
    hri_relay *relay = &point->accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    while (point->noted) {
        pthread_cond_wait(&relay->changed, &relay->lock);
    }
    pthread_mutex_unlock(&relay->lock);
}

void hri_point_recorded(hri_point *point, const hri_error *error)
{
    hri_relay *relay = &point->accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    point->noted = false;
    if (error->status != HR_OK) {
        point->error = *error;
    }
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
}

hr_status hri_point_raise(hri_point *point)
{
    hri_relay *relay = &point->accelerator->relay;
    pthread_mutex_lock(&relay->lock);
    hr_status status = hri_error_raise(&point->error);
    pthread_mutex_unlock(&relay->lock);
    return status;
}

/* ---- events */

static void event_destroy(hri_event *base)
{
    hri_relay_event *event = (hri_relay_event *)base;
    if (event != NULL) {
        hri_point_drop(event->point);
        free(event);
    }
}

static hr_status event_query(hri_event *base, bool *done)
{
    hri_point *point = hri_point_of((hri_relay_event *)base);
    hr_status status = HR_OK;
    bool passed = false;
    if (!hri_point_is_noted(point)) {
        status = point->inner->ops->query(point->inner, &passed);
        if (status == HR_OK && passed) {
            status = hri_point_raise(point);
        }
    }
    if (status == HR_OK) {
        *done = passed;
    }
    hri_point_drop(point);
    return status;
}

static hr_status event_wait(hri_event *base)
{
    hri_point *point = hri_point_of((hri_relay_event *)base);
    hri_point_await(point);
    hr_status status = point->inner->ops->wait(point->inner);
    if (status == HR_OK) {
        status = hri_point_raise(point);
    }
    hri_point_drop(point);
    return status;
}

static hr_status event_elapsed(hri_event *from_base, hri_event *to_base,
                               uint64_t *ns)
{
    hri_point *from = hri_point_of((hri_relay_event *)from_base);
    hri_point *to = hri_point_of((hri_relay_event *)to_base);
    hr_status status = from->inner->ops->elapsed(from->inner, to->inner, ns);
    hri_point_drop(from);
    hri_point_drop(to);
    return status;
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status hri_relay_event_create(hri_accelerator *accelerator, hri_event **out)
{
    hri_relay_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for an event",
                        accelerator->path);
    }
    hr_status status = make(accelerator, &event->point);
    if (status != HR_OK) {
        free(event);
        return status;
    }
    event->base = (hri_event){.ops = &event_ops, .device = accelerator->device};
    event->accelerator = accelerator;
    *out = &event->base;
    return HR_OK;
}
