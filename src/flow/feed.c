/* SPDX-License-Identifier: MIT */
/* The feeder brings an executor's panels from the host. The forwarder sends
 * them on to other executors that need them. */
#include "base/size.h"
#include "flow/executor.h"

/* The delivery that was in d's slot before d. NULL when there was none. */
static hri_arrival *before(const hri_executor *executor, const hri_delivery *d)
{
    int64_t number = executor->held[d->side][d->slot];
    return number < 0 ? NULL : &executor->arrivals[number];
}

/* Whether d's term has come, and all commands that read the old content of its
 * slot have been enqueued. */
static bool is_free(const hri_executor *executor, const hri_delivery *d)
{
    const hri_arrival *old = before(executor, d);
    return executor->run->come > d->chunk && executor->issued > d->after &&
           (old == NULL || old->forwarded);
}

/* Whether others have taken the only task that needs d. */
static bool is_stolen(const hri_executor *executor, const hri_delivery *d)
{
    return d->only >= executor->end;
}

/* Wait until d may be enqueued for executor. False when it must not any more.
 * The run's lock is held. */
static bool wait_free(hri_executor *executor, const hri_delivery *d)
{
    hri_run_state *run = executor->run;
    while (!hri_is_stopped(executor) && !is_stolen(executor, d) &&
           !is_free(executor, d)) {
        executor->wanted = hri_min(executor->wanted, d->after + 1);
        pthread_cond_wait(&executor->changed[HRI_FREED], &run->lock);
    }
    return !hri_is_stopped(executor) && !is_stolen(executor, d);
}

static hri_executor *source_of(hri_executor *executor, const hri_delivery *d)
{
    return d->source < 0 ? executor : &executor->run->executors[d->source];
}

/* The last product that reads a slot, and the last copy to other executors.
 * NULL: there is none. */
typedef struct readers {
    hri_event *of[2];
} readers;

/* Find what reads the old content of d's slot and may not have run yet. The
 * run's lock is held. */
static readers find_readers(const hri_executor *executor, const hri_delivery *d)
{
    const hri_arrival *old = before(executor, d);
    /* the compute thread has waited for older tasks */
    bool recent = d->after >= 0 && executor->issued <= d->after + HRI_WINDOW;
    return (readers){{recent ? executor->done[d->after % HRI_WINDOW] : NULL,
                      old != NULL ? old->sent : NULL}};
}

/* Note that the slot holds delivery `number` now. The events of the delivery
 * before it are not needed any more. False when the run was left: they are not
 * ours any more. The run's lock is held. */
static bool take_slot(hri_executor *executor, int64_t number)
{
    const hri_delivery *d = &executor->part->deliveries[number];
    hri_arrival *old = before(executor, d);
    if (executor->run->left) {
        return false;
    }
    if (old != NULL) {
        const hri_delivery *was =
            &executor->part->deliveries[executor->held[d->side][d->slot]];
        hri_accelerator_recycle_event(source_of(executor, was)->accelerator,
                                      old->ready);
        hri_accelerator_recycle_event(executor->accelerator, old->sent);
        old->ready = old->sent = NULL;
    }
    executor->held[d->side][d->slot] = number;
    return true;
}

/* Make queue wait for the readers. If queue is NULL, the calling thread
 * waits. */
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

/* Take the slot of delivery `number` once queue waits until it is free. If
 * queue is NULL, the calling thread waits. *taken: the run goes on. */
static hr_status free_slot(hri_executor *executor, int64_t number,
                           hri_queue *queue, bool *taken)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    readers r = find_readers(executor, &executor->part->deliveries[number]);
    pthread_mutex_unlock(&run->lock);
    hr_status status = wait_for(r, queue);
    pthread_mutex_lock(&run->lock);
    *taken = take_slot(executor, number) && !hri_is_stopped(executor);
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* The panel of delivery `number` comes on queue, of executor `from`. Threads
 * that wait for it may go on. */
static hr_status arrive(hri_executor *executor, int64_t number,
                        hri_executor *from, hri_queue *queue)
{
    hri_run_state *run = executor->run;
    hri_arrival *a = &executor->arrivals[number];
    hri_event *ready = NULL;
    hr_status status =
        executor->brief ? HR_OK /* its products follow in the same queue */
                        : hri_accelerator_take_event(from->accelerator, &ready);
    pthread_mutex_lock(&run->lock);
    const bool left = run->left; /* then the event is not ours */
    pthread_mutex_unlock(&run->lock);
    if (status != HR_OK || left) {
        return status;
    }
    if (ready != NULL) {
        status = queue->ops->record(queue, ready);
    }
    pthread_mutex_lock(&run->lock);
    a->ready = ready;
    a->issued = status == HR_OK;
    a->forwarded = executor->part->deliveries[number].forward_count == 0;
    hri_executor_signs(executor);
    pthread_mutex_unlock(&run->lock);
    pthread_cond_broadcast(&executor->changed[HRI_ARRIVED]);
    if (from == executor) {
        pthread_cond_broadcast(&executor->changed[HRI_LOADED]);
    }
    return status;
}

/* The panel of delivery `number` has been enqueued on executor->up. The queue's
 * lock is held. */
static hr_status loaded(hri_executor *executor, int64_t number,
                        const hri_copy *copy)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    executor->share.up += hri_copy_bytes(copy);
    pthread_mutex_unlock(&run->lock);
    return arrive(executor, number, executor, executor->up);
}

static void load_done(void *data)
{
    const hri_load *load = data;
    hri_executor *executor =
        load->executor; /* *load may be used for the next panel from now on */
    hri_lock_soon(&executor->queues);
    hr_status status = loaded(executor, load->number, &load->job.copy);
    pthread_mutex_unlock(&executor->queues);
    hri_executor_fail(executor, status);
}

/* Let the copy pool bring a panel. Its queue must not wait for the slot, since
 * pieces of earlier panels may come after this. */
static hr_status load_staged(hri_executor *executor, int64_t number,
                             const hri_passage *passage)
{
    const hri_delivery *d = &executor->part->deliveries[number];
    hri_load *load = &executor->loads[d->side][d->slot];
    bool taken;
    hr_status status = free_slot(executor, number, NULL, &taken);
    if (status == HR_OK && taken) {
        *load = (hri_load){
            .job = {.copy = passage->copy,
                    .gather = passage->gather,
                    .queue = executor->up,
                    .done = load_done,
                    .data = load},
            .executor = executor,
            .number = number,
        };
        hri_copy_pool_put(&executor->up_pool, &load->job, false);
    }
    return status;
}

/* Note that the feeder is about to use the caller's memory, or that it has
 * enqueued the copy. False when it must not begin. */
static bool begin_load(hri_executor *executor, bool begin)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    executor->loading = begin && !hri_is_stopped(executor);
    const bool may = executor->loading;
    pthread_mutex_unlock(&run->lock);
    return may;
}

/* Enqueue the copy of a panel from pinned memory. Wait first if too many are
 * under way, and until the slot is free: then nothing holds up a copy of the
 * caller's memory. A brief flow has too few for that. */
static hr_status load_pinned(hri_executor *executor, int64_t number,
                             const hri_passage *passage)
{
    hri_event *last = executor->under_way[executor->loaded % HRI_COPIES];
    bool taken = false;
    hr_status status = last == NULL || executor->loaded++ < HRI_COPIES
                           ? HR_OK
                           : last->ops->wait(last);
    if (status == HR_OK) {
        status = free_slot(executor, number, NULL, &taken);
    }
    if (status == HR_OK && taken) {
        status = hri_executor_gather(executor, passage, &taken);
    }
    if (status != HR_OK || !taken || !begin_load(executor, true)) {
        return status;
    }
    hri_lock_soon(&executor->queues);
    status = executor->up->ops->copy(executor->up, &passage->copy);
    if (status == HR_OK && last != NULL) {
        status = executor->up->ops->record(executor->up, last);
    }
    if (status == HR_OK) {
        status = loaded(executor, number, &passage->copy);
    }
    pthread_mutex_unlock(&executor->queues);
    begin_load(executor, false);
    return status;
}

static hr_status load(hri_executor *executor, int64_t number)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->part->deliveries[number];
    pthread_mutex_lock(&run->lock);
    bool go_on = wait_free(executor, d);
    pthread_mutex_unlock(&run->lock);
    if (!go_on) {
        return HR_OK;
    }
    const hri_task reader = hri_delivery_reader(d);
    hri_passage passage = {.side = d->side,
                           .task = &reader,
                           .slot = executor->places[d->side][d->slot],
                           .pinned = hri_pinned_of(executor, d->side, d->slot)};
    hri_passage_find(executor, &passage);
    return executor->staged.of[d->side]
               ? load_staged(executor, number, &passage)
               : load_pinned(executor, number, &passage);
}

/* Carry out one forward of delivery d of executor. */
static hr_status forward(hri_executor *executor, const hri_delivery *d,
                         const hri_forward *f)
{
    hri_run_state *run = executor->run;
    hri_executor *to = &run->executors[f->part];
    const hri_delivery *e = &to->part->deliveries[f->delivery];
    bool taken = false;
    pthread_mutex_lock(&run->lock);
    const bool go_on = wait_free(to, e);
    pthread_mutex_unlock(&run->lock);
    hr_status status =
        go_on ? free_slot(to, f->delivery, executor->peer, &taken) : HR_OK;
    if (status != HR_OK || !taken) {
        return status;
    }
    const hri_task reader = hri_delivery_reader(d);
    hri_copy copy = run->engine.box(run->engine.data, d->side, &reader,
                                    to->places[e->side][e->slot]);
    copy.from = executor->places[d->side][d->slot];
    copy.from_pitch = copy.to_pitch;
    status = executor->peer->ops->copy(executor->peer, &copy);
    if (status == HR_OK) {
        pthread_mutex_lock(&run->lock);
        to->share.peer += hri_copy_bytes(&copy);
        pthread_mutex_unlock(&run->lock);
        status = arrive(to, f->delivery, executor, executor->peer);
    }
    return status;
}

/* All copies of the delivery have been enqueued: its slot may be taken after
 * them. */
static hr_status forwarded(hri_executor *executor, hri_arrival *a)
{
    hri_run_state *run = executor->run;
    hri_event *sent = NULL;
    hr_status status = hri_accelerator_take_event(executor->accelerator, &sent);
    pthread_mutex_lock(&run->lock);
    const bool left = run->left;
    pthread_mutex_unlock(&run->lock);
    if (status != HR_OK || left) {
        return status;
    }
    status = executor->peer->ops->record(executor->peer, sent);
    pthread_mutex_lock(&run->lock);
    a->sent = sent;
    a->forwarded = status == HR_OK;
    pthread_mutex_unlock(&run->lock);
    pthread_cond_broadcast(&executor->changed[HRI_FREED]);
    return status;
}

static hr_status forward_all(hri_executor *executor, int64_t number)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->part->deliveries[number];
    hri_arrival *a = &executor->arrivals[number];
    if (d->forward_count == 0) {
        return HR_OK;
    }
    pthread_mutex_lock(&run->lock);
    while (!a->issued && !hri_is_stopped(executor)) {
        pthread_cond_wait(&executor->changed[HRI_LOADED], &run->lock);
    }
    bool go_on = !hri_is_stopped(executor);
    pthread_mutex_unlock(&run->lock);
    hr_status status =
        go_on ? executor->peer->ops->wait(executor->peer, a->ready) : HR_OK;
    for (int32_t i = 0; i < d->forward_count && status == HR_OK && go_on; i++) {
        status = forward(executor, d, &run->flow->forwards[d->forwards + i]);
        go_on = !hri_executor_stopped(executor);
    }
    return status == HR_OK && go_on ? forwarded(executor, a) : status;
}

/* Call a function for each panel that this executor brings itself. Other
 * executors send it the rest. */
static hr_status for_own(hri_executor *executor,
                         hr_status (*function)(hri_executor *executor,
                                               int64_t number))
{
    hr_status status = HR_OK;
    for (int64_t i = 0; i < executor->part->delivery_count && status == HR_OK &&
                        !hri_executor_stopped(executor);
         i++) {
        if (executor->part->deliveries[i].source < 0) {
            status = function(executor, i);
        }
    }
    return status;
}

hr_status hri_executor_feed(hri_executor *executor)
{
    return for_own(executor, load);
}

void *hri_feeder_main(void *argument)
{
    hri_executor *executor = argument;
    if (hri_executor_goes(executor)) {
        hri_executor_fail(executor, hri_executor_feed(executor));
    }
    return NULL;
}

void *hri_forwarder_main(void *argument)
{
    hri_executor *executor = argument;
    hri_run_state *run = executor->run;
    if (hri_executor_goes(executor)) {
        hri_executor_fail(executor, for_own(executor, forward_all));
    }
    pthread_mutex_lock(&run->lock);
    executor->forwarded = true;
    pthread_mutex_unlock(&run->lock);
    pthread_cond_broadcast(&executor->changed[HRI_ARRIVED]);
    hri_executor_fail(executor, executor->peer->ops->finish(executor->peer));
    pthread_mutex_lock(&run->lock);
    executor->sent = true;
    pthread_mutex_unlock(&run->lock);
    return NULL;
}
