/* SPDX-License-Identifier: MIT */
/* The feeder brings a lane's panels from the host, the forwarder sends them on
 * to the lanes that need them too. */
#include "gemm/lane.h"

/* The delivery before d in its slot; NULL when there was none. */
static hri_arrival *before(const hri_lane *lane, const hri_delivery *d)
{
    int64_t number = lane->held[d->side][d->slot];
    return number < 0 ? NULL : &lane->arrivals[number];
}

/* Whether all that reads the old content of d's slot has been issued. */
static bool is_free(const hri_lane *lane, const hri_delivery *d)
{
    const hri_arrival *old = before(lane, d);
    return lane->issued > d->after && (old == NULL || old->forwarded);
}

/* Wait until d may be issued into lane; false when the run has failed. The
 * run's lock is held. */
static bool wait_free(hri_lane *lane, const hri_delivery *d)
{
    hri_run_state *run = lane->run;
    while (run->error.status == HR_OK && !is_free(lane, d)) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    return run->error.status == HR_OK;
}

static hri_lane *source_of(hri_lane *lane, const hri_delivery *d)
{
    return d->source < 0 ? lane : &lane->run->lanes[d->source];
}

/* A product, and a copy to other lanes; NULL: there is none. */
typedef struct readers {
    hri_event *of[2];
} readers;

/* What reads the old content of d's slot and may not have run yet. The run's
 * lock is held. */
static readers find_readers(const hri_lane *lane, const hri_delivery *d)
{
    const hri_arrival *old = before(lane, d);
    /* older tasks have run: the worker has waited for them */
    bool recent = d->after >= 0 && lane->issued <= d->after + HRI_WINDOW;
    return (readers){{recent ? lane->done[d->after % HRI_WINDOW] : NULL,
                      old != NULL ? old->sent : NULL}};
}

/* The slot holds delivery `number` now: nobody will ask for the events of the
 * one before any more. The run's lock is held. */
static void take_slot(hri_lane *lane, int64_t number)
{
    const hri_delivery *d = &lane->part->deliveries[number];
    hri_arrival *old = before(lane, d);
    if (old != NULL) {
        const hri_delivery *was =
            &lane->part->deliveries[lane->held[d->side][d->slot]];
        hri_accelerator_recycle_event(source_of(lane, was)->accelerator,
                                      old->ready);
        hri_accelerator_recycle_event(lane->accelerator, old->sent);
        old->ready = old->sent = NULL;
    }
    lane->held[d->side][d->slot] = number;
}

/* Let queue wait for them; without one, wait here. */
static hr_status wait_for(readers r, hri_queue *queue)
{
    hr_status status = HR_OK;
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        if (r.of[i] != NULL) {
            status = queue != NULL ? queue->ops->wait(queue, r.of[i])
                                   : r.of[i]->ops->wait(r.of[i]);
        }
    }
    return status;
}

/* Let queue wait until the slot of delivery `number` is free, and take it. The
 * run's lock is held. */
static hr_status queue_for_slot(hri_lane *lane, int64_t number,
                                hri_queue *queue)
{
    readers r = find_readers(lane, &lane->part->deliveries[number]);
    hr_status status = wait_for(r, queue);
    take_slot(lane, number);
    return status;
}

/* The same, waiting here: a crew enqueues pieces of earlier panels later than
 * this, which must not wait for this slot. */
static hr_status wait_for_slot(hri_lane *lane, int64_t number)
{
    hri_run_state *run = lane->run;
    pthread_mutex_lock(&run->lock);
    readers r = find_readers(lane, &lane->part->deliveries[number]);
    pthread_mutex_unlock(&run->lock);
    hr_status status = wait_for(r, NULL);
    pthread_mutex_lock(&run->lock);
    take_slot(lane, number);
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* The panel of delivery `number` is on its way through queue, of lane `from`:
 * whoever waits for it may go on. The run's lock is held. */
static hr_status arrive(hri_lane *lane, int64_t number, hri_lane *from,
                        hri_queue *queue)
{
    hri_arrival *a = &lane->arrivals[number];
    hr_status status = hri_accelerator_take_event(from->accelerator, &a->ready);
    if (status == HR_OK) {
        status = queue->ops->record(queue, a->ready);
    }
    a->issued = status == HR_OK;
    a->forwarded = lane->part->deliveries[number].forward_count == 0;
    pthread_cond_broadcast(&lane->run->changed);
    return status;
}

/* The panel of delivery `number` has been enqueued on lane->up, whose lock is
 * held. */
static hr_status loaded(hri_lane *lane, int64_t number, const hri_copy *copy)
{
    hri_run_state *run = lane->run;
    pthread_mutex_lock(&run->lock);
    lane->share->up += hri_copy_bytes(copy);
    hr_status status = arrive(lane, number, lane, lane->up);
    pthread_mutex_unlock(&run->lock);
    return status;
}

static void load_done(void *data)
{
    const hri_load *load = data;
    hri_lane *lane = load->lane; /* *load is the next one's when it arrives */
    hri_lock_soon(&lane->queues);
    hr_status status = loaded(lane, load->number, &load->job.copy);
    pthread_mutex_unlock(&lane->queues);
    hri_run_fail(lane->run, status);
}

/* Let the crew bring a panel. */
static hr_status load_staged(hri_lane *lane, int64_t number,
                             const hri_copy *copy)
{
    const hri_delivery *d = &lane->part->deliveries[number];
    hri_load *load = &lane->loads[d->side][d->slot];
    hr_status status = wait_for_slot(lane, number);
    if (status == HR_OK) {
        *load = (hri_load){
            .job = {.copy = *copy,
                    .queue = lane->up,
                    .done = load_done,
                    .data = load},
            .lane = lane,
            .number = number,
        };
        hri_crew_put(&lane->up_crew, &load->job, false);
    }
    return status;
}

/* Enqueue the copy of a panel from pinned memory, when there are not too many
 * under way. */
static hr_status load_pinned(hri_lane *lane, int64_t number,
                             const hri_copy *copy)
{
    hri_run_state *run = lane->run;
    hri_event *last = lane->under_way[lane->loaded % HRI_COPIES];
    hr_status status =
        lane->loaded++ < HRI_COPIES ? HR_OK : last->ops->wait(last);
    if (status != HR_OK) {
        return status;
    }
    hri_lock_soon(&lane->queues);
    pthread_mutex_lock(&run->lock);
    status = queue_for_slot(lane, number, lane->up);
    pthread_mutex_unlock(&run->lock);
    if (status == HR_OK) {
        status = lane->up->ops->copy(lane->up, copy);
    }
    if (status == HR_OK) {
        status = lane->up->ops->record(lane->up, last);
    }
    if (status == HR_OK) {
        status = loaded(lane, number, copy);
    }
    pthread_mutex_unlock(&lane->queues);
    return status;
}

/* The copy that brings the panel from the caller's memory to a slot. */
static hri_copy panel_copy(const hri_run_state *run, const hri_delivery *d,
                           hri_place slot)
{
    const hri_task reader = {
        .row = d->index, .col = d->index, .chunk = d->chunk};
    return hri_copy_of(run, d->side, &reader, slot, false);
}

static hr_status load(hri_lane *lane, int64_t number)
{
    hri_run_state *run = lane->run;
    const hri_delivery *d = &lane->part->deliveries[number];
    pthread_mutex_lock(&run->lock);
    bool go_on = wait_free(lane, d);
    pthread_mutex_unlock(&run->lock);
    if (!go_on) {
        return HR_OK;
    }
    hri_copy copy = panel_copy(run, d, lane->places[d->side][d->slot]);
    return lane->staged[d->side] ? load_staged(lane, number, &copy)
                                 : load_pinned(lane, number, &copy);
}

/* One forward of delivery d of lane. The run's lock is held. */
static hr_status forward(hri_lane *lane, const hri_delivery *d,
                         const hri_forward *f)
{
    hri_run_state *run = lane->run;
    hri_lane *to = &run->lanes[f->part];
    const hri_delivery *e = &to->part->deliveries[f->delivery];
    if (!wait_free(to, e)) {
        return HR_OK;
    }
    hr_status status = queue_for_slot(to, f->delivery, lane->peer);
    if (status != HR_OK) {
        return status;
    }
    hri_copy copy = panel_copy(run, d, to->places[e->side][e->slot]);
    copy.from = lane->places[d->side][d->slot];
    copy.from_pitch = copy.to_pitch;
    status = lane->peer->ops->copy(lane->peer, &copy);
    if (status == HR_OK) {
        to->share->peer += hri_copy_bytes(&copy);
        status = arrive(to, f->delivery, lane, lane->peer);
    }
    return status;
}

static hr_status forward_all(hri_lane *lane, int64_t number)
{
    hri_run_state *run = lane->run;
    const hri_delivery *d = &lane->part->deliveries[number];
    hri_arrival *a = &lane->arrivals[number];
    hr_status status = HR_OK;
    if (d->forward_count == 0) {
        return HR_OK;
    }
    pthread_mutex_lock(&run->lock);
    while (!a->issued && run->error.status == HR_OK) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    if (run->error.status == HR_OK) {
        status = lane->peer->ops->wait(lane->peer, a->ready);
    }
    for (int32_t i = 0;
         i < d->forward_count && status == HR_OK && run->error.status == HR_OK;
         i++) {
        status = forward(lane, d, &run->plan->forwards[d->forwards + i]);
    }
    if (status == HR_OK && run->error.status == HR_OK) {
        status = hri_accelerator_take_event(lane->accelerator, &a->sent);
        if (status == HR_OK) {
            status = lane->peer->ops->record(lane->peer, a->sent);
            a->forwarded = true;
            pthread_cond_broadcast(&run->changed);
        }
    }
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* Do what is to be done for each panel that this lane brings itself; others
 * come from their source. */
static hr_status for_own(hri_lane *lane,
                         hr_status (*function)(hri_lane *lane, int64_t number))
{
    hr_status status = HR_OK;
    for (int64_t i = 0; i < lane->part->delivery_count && status == HR_OK &&
                        !hri_run_stopped(lane->run);
         i++) {
        if (lane->part->deliveries[i].source < 0) {
            status = function(lane, i);
        }
    }
    return status;
}

void *hri_feeder_main(void *argument)
{
    hri_lane *lane = argument;
    hri_lane_thread_ends(lane, for_own(lane, load));
    return NULL;
}

void *hri_forwarder_main(void *argument)
{
    hri_lane *lane = argument;
    hri_run_state *run = lane->run;
    hr_status status = for_own(lane, forward_all);
    pthread_mutex_lock(&run->lock);
    lane->forwarded = true;
    pthread_mutex_unlock(&run->lock);
    hri_lane_thread_ends(lane, status);
    return NULL;
}
