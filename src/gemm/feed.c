/* SPDX-License-Identifier: MIT */
/* The feeder: brings a lane's panels from the host and forwards them. */
#include "gemm/lane.h"

hr_status hri_lane_up(hri_lane *lane, hri_queue *queue, hri_ring *ring,
                      const hri_copy *copy)
{
    return lane->device->info.staged ? hri_ring_up(ring, queue, copy)
                                     : queue->ops->copy(queue, copy);
}

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

/* Let queue wait until the old content of the slot has been read, and note that
 * it holds delivery `number` now. The run's lock is held. */
static hr_status take_slot(hri_lane *lane, int64_t number, hri_queue *queue)
{
    const hri_delivery *d = &lane->part->deliveries[number];
    hri_arrival *old = before(lane, d);
    hr_status status = HR_OK;
    /* older tasks have run: the worker has waited for them */
    if (d->after >= 0 && lane->issued <= d->after + HRI_WINDOW) {
        status = queue->ops->wait(queue, lane->done[d->after % HRI_WINDOW]);
    }
    if (status == HR_OK && old != NULL && old->sent != NULL) {
        status = queue->ops->wait(queue, old->sent);
    }
    if (old != NULL) {
        const hri_delivery *was =
            &lane->part->deliveries[lane->held[d->side][d->slot]];
        hri_lane_recycle_event(source_of(lane, was), old->ready);
        hri_lane_recycle_event(lane, old->sent);
        old->ready = old->sent = NULL;
    }
    lane->held[d->side][d->slot] = number;
    return status;
}

/* The panel of delivery `number` is on its way through queue, of lane `from`:
 * whoever waits for it may go on. The run's lock is held. */
static hr_status arrive(hri_lane *lane, int64_t number, hri_lane *from,
                        hri_queue *queue)
{
    hri_arrival *a = &lane->arrivals[number];
    hr_status status = hri_lane_take_event(from, &a->ready);
    if (status == HR_OK) {
        status = queue->ops->record(queue, a->ready);
    }
    a->issued = status == HR_OK;
    a->forwarded = lane->part->deliveries[number].forward_count == 0;
    pthread_cond_broadcast(&lane->run->changed);
    return status;
}

static hr_status load(hri_lane *lane, int64_t number)
{
    hri_run_state *run = lane->run;
    const hri_delivery *d = &lane->part->deliveries[number];
    pthread_mutex_lock(&run->lock);
    if (!wait_free(lane, d)) {
        pthread_mutex_unlock(&run->lock);
        return HR_OK;
    }
    hr_status status = take_slot(lane, number, lane->up);
    pthread_mutex_unlock(&run->lock);
    if (status != HR_OK) {
        return status;
    }
    hri_copy copy = hri_panel_copy(run, d->side, d->index, d->chunk,
                                   lane->panels[d->side][d->slot]);
    status = hri_lane_up(lane, lane->up, &lane->up_ring, &copy);
    if (status != HR_OK) {
        return status;
    }
    pthread_mutex_lock(&run->lock);
    lane->share->up += hri_copy_bytes(&copy);
    status = arrive(lane, number, lane, lane->up);
    pthread_mutex_unlock(&run->lock);
    return status;
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
    hr_status status = take_slot(to, f->delivery, lane->peer);
    if (status != HR_OK) {
        return status;
    }
    hri_copy copy = hri_panel_copy(run, d->side, d->index, d->chunk,
                                   to->panels[e->side][e->slot]);
    copy.from = lane->panels[d->side][d->slot];
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
    pthread_mutex_lock(&run->lock);
    hr_status status = lane->peer->ops->wait(lane->peer, a->ready);
    for (int32_t i = 0;
         i < d->forward_count && status == HR_OK && run->error.status == HR_OK;
         i++) {
        status = forward(lane, d, &run->plan->forwards[d->forwards + i]);
    }
    if (status == HR_OK && run->error.status == HR_OK) {
        status = hri_lane_take_event(lane, &a->sent);
    }
    if (status == HR_OK && run->error.status == HR_OK) {
        status = lane->peer->ops->record(lane->peer, a->sent);
        a->forwarded = true;
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
    return status;
}

void *hri_feeder_main(void *argument)
{
    hri_lane *lane = argument;
    hri_run_state *run = lane->run;
    hr_status status = HR_OK;
    for (int64_t i = 0; i < lane->part->delivery_count && status == HR_OK &&
                        !hri_run_stopped(run);
         i++) {
        const hri_delivery *d = &lane->part->deliveries[i];
        if (d->source >= 0) {
            continue; /* its source's feeder brings it */
        }
        status = load(lane, i);
        if (status == HR_OK && d->forward_count > 0 && !hri_run_stopped(run)) {
            status = forward_all(lane, i);
        }
    }
    hri_run_fail(run, status);
    pthread_mutex_lock(&run->lock);
    lane->fed = true;
    run->threads_running--;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}
