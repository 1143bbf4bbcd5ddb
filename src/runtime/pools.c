/* SPDX-License-Identifier: MIT */
/* Pools of queues and events. Creating them takes longer than many a copy. */
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "runtime/runtime.h"

/* ---- queues */

hr_status hri_accelerator_take_queue(hri_accelerator *accelerator,
                                     hri_queue_use use, hri_queue **queue)
{
    static const char *const names[] = {[HRI_QUEUE_COMPUTE] = "compute",
                                        [HRI_QUEUE_UP] = "up",
                                        [HRI_QUEUE_DOWN] = "down",
                                        [HRI_QUEUE_PEER] = "peer",
                                        [HRI_QUEUE_FETCH] = "fetch"};
    hri_device *device = accelerator->device;
    if (accelerator->setting_up) {
        return hri_fail(HR_ERROR_LOST,
                        "%s: it has not answered since an earlier product",
                        accelerator->path);
    }
    hri_queue **place = &accelerator->queues[use];
    if (*place == NULL) {
        HRI_TRY(device->ops->create_queue(device, false, place));
        (*place)->name = names[use];
        accelerator->allocations++;
    }
    accelerator->lent[use] = true;
    *queue = *place;
    return HR_OK;
}

/* ---- events */

static void push(hri_event_pool *pool, hri_event_list list, hri_event *event)
{
    pool->of[list][pool->count[list]++] = event;
}

/* NULL: the list is empty. */
static hri_event *pop(hri_event_pool *pool, hri_event_list list)
{
    return pool->count[list] > 0 ? pool->of[list][--pool->count[list]] : NULL;
}

/* Give each list room for all events and one more. */
static hr_status grow(hri_accelerator *a)
{
    hri_event_pool *pool = &a->events;
    const size_t capacity = (size_t)pool->capacity * 2 + 64;
    if (pool->made < pool->capacity) {
        return HR_OK;
    }
    for (int i = 0; i < HRI_EVENT_LISTS; i++) {
        hri_event **of = realloc(pool->of[i], capacity * sizeof(hri_event *));
        if (of == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "%s: no memory for %zu events", a->path, capacity);
        }
        pool->of[i] = of;
    }
    pool->capacity = (uint32_t)capacity;
    return HR_OK;
}

/* Take an idle event, else a new one. The pool's lock is held, and released
 * while the device makes one. */
static hr_status take_event(hri_accelerator *a, hri_event **event)
{
    hri_event *idle = pop(&a->events, HRI_EVENTS_FREE);
    if (idle != NULL) {
        *event = idle;
        return HR_OK;
    }
    HRI_TRY(grow(a));
    a->events.made++;
    pthread_mutex_unlock(&a->events.lock);
    const hr_status status =
        a->device->ops->create_event(a->device, true, event);
    pthread_mutex_lock(&a->events.lock);
    a->events.made -= status != HR_OK;
    return status;
}

hr_status hri_events_take(hri_accelerator *a, hri_event **event)
{
    pthread_mutex_lock(&a->events.lock);
    hr_status status = take_event(a, event);
    pthread_mutex_unlock(&a->events.lock);
    return status;
}

static void put_back(hri_accelerator *a, hri_event_list list, hri_event *event)
{
    if (event != NULL) {
        pthread_mutex_lock(&a->events.lock);
        push(&a->events, list, event);
        pthread_mutex_unlock(&a->events.lock);
    }
}

void hri_events_give(hri_accelerator *a, hri_event *event)
{
    put_back(a, HRI_EVENTS_FREE, event);
}

/* The pool's lock is held. */
static hr_status lend_event(hri_accelerator *a, hri_event **event)
{
    hri_event_pool *pool = &a->events;
    hri_event *again = pop(pool, HRI_EVENTS_RETURNED);
    if (again != NULL) {
        *event = again;
        return HR_OK;
    }
    const bool idle = pool->count[HRI_EVENTS_FREE] > 0;
    HRI_TRY(take_event(a, event));
    a->allocations += !idle;
    push(pool, HRI_EVENTS_LENT, *event);
    return HR_OK;
}

hr_status hri_accelerator_take_event(hri_accelerator *a, hri_event **event)
{
    pthread_mutex_lock(&a->events.lock);
    hr_status status = lend_event(a, event);
    pthread_mutex_unlock(&a->events.lock);
    return status;
}

void hri_accelerator_recycle_event(hri_accelerator *a, hri_event *event)
{
    put_back(a, HRI_EVENTS_RETURNED, event);
}

hr_status hri_event_wait_awake(hri_event *event, double seconds)
{
    uint64_t since_ns = 0;
    bool done = false;
    HRI_TRY(event->ops->query(event, &done));
    while (!done && hri_linger(&since_ns, seconds)) {
        HRI_TRY(event->ops->query(event, &done));
    }
    return done ? HR_OK : event->ops->wait(event);
}

/* No event is returned any more, and those that were lent go to a list. */
static void end_loans(hri_event_pool *pool, hri_event_list list)
{
    hri_event *event;
    pthread_mutex_lock(&pool->lock);
    pool->count[HRI_EVENTS_RETURNED] = 0;
    while ((event = pop(pool, HRI_EVENTS_LENT)) != NULL) {
        push(pool, list, event);
    }
    pthread_mutex_unlock(&pool->lock);
}

static void destroy_all(hri_event_pool *pool, hri_event_list list)
{
    hri_event *event;
    while ((event = pop(pool, list)) != NULL) {
        event->ops->destroy(event);
        pool->made--;
    }
}

/* ---- at the end of an engine's call, and of the accelerator */

void hri_accelerator_reclaim(hri_accelerator *a)
{
    if (a->setting_up) {
        return;
    }
    memset(a->lent, 0, sizeof a->lent);
    end_loans(&a->events, HRI_EVENTS_FREE);
}

void hri_accelerator_discard(hri_accelerator *a)
{
    if (a->setting_up) {
        return;
    }
    for (int i = 0; i < HRI_QUEUES; i++) {
        if (a->queues[i] != NULL) {
            a->queues[i]->ops->destroy(a->queues[i]);
            a->queues[i] = NULL;
        }
        a->lent[i] = false;
    }
    pthread_mutex_lock(&a->events.lock);
    a->events.count[HRI_EVENTS_RETURNED] = 0;
    destroy_all(&a->events, HRI_EVENTS_LENT);
    pthread_mutex_unlock(&a->events.lock);
}

void hri_accelerator_detach(hri_accelerator *a)
{
    for (int i = 0; i < HRI_QUEUES; i++) {
        a->queues[i] = a->lent[i] ? NULL : a->queues[i];
        a->lent[i] = false;
    }
    a->parted++;
    end_loans(&a->events, HRI_EVENTS_PARTED);
}

void hri_accelerator_end_detached(hri_accelerator *a)
{
    if (--a->parted == 0) {
        pthread_mutex_lock(&a->events.lock);
        destroy_all(&a->events, HRI_EVENTS_PARTED);
        pthread_mutex_unlock(&a->events.lock);
    }
}

void hri_pools_init(hri_accelerator *a)
{
    pthread_mutex_init(&a->events.lock, NULL);
}

void hri_pools_close(hri_accelerator *a)
{
    hri_accelerator_discard(a);
    destroy_all(&a->events, HRI_EVENTS_FREE);
    for (int i = 0; i < HRI_EVENT_LISTS; i++) {
        free(a->events.of[i]);
    }
    pthread_mutex_destroy(&a->events.lock);
}
