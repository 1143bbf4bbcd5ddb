/* SPDX-License-Identifier: MIT */
/* The feeder brings an executor's panels: from the host, and from slots of
 * other executors that have them. Both come in the order of the part's
 * deliveries, but neither waits for the other. A queue of the executor that
 * needs a panel pulls it. So only an executor's own threads use its queues and
 * slots. */
#include "base/size.h"
#include "flow/executor.h"

/* Whether d's term has come, and all commands that read the old content of its
 * slot have been enqueued. */
static bool is_free(const hri_executor *executor, const hri_delivery *d)
{
    const int64_t old = executor->held[d->side][d->slot];
    return executor->run->come > d->chunk && executor->issued > d->after &&
           (old < 0 || executor->arrivals[old].pulls == 0);
}

/* Where another executor has the panel. */
static hri_arrival *origin_of(const hri_executor *executor,
                              const hri_delivery *d)
{
    return &executor->run->executors[d->source].arrivals[d->origin];
}

/* The arrival of a delivery at the i-th executor that pulls it. */
static hri_arrival *pulled_by(const hri_executor *executor,
                              const hri_delivery *d, int32_t i)
{
    const hri_forward *f = &executor->run->flow->forwards[d->forwards + i];
    return &executor->run->executors[f->part].arrivals[f->delivery];
}

/* Whether others have taken the only task that needs d. */
static bool is_stolen(const hri_executor *executor, const hri_delivery *d)
{
    return d->only >= executor->end;
}

/* The last product that reads a slot, and the copies to other executors. */
typedef struct readers {
    hri_event *product;      /* NULL: it has run */
    const hri_delivery *old; /* that others have pulled; NULL: none */
} readers;

/* Find what reads the old content of d's slot and may not have run yet. The
 * run's lock is held. */
static readers find_readers(const hri_executor *executor, const hri_delivery *d)
{
    const int64_t old = executor->held[d->side][d->slot];
    /* the compute thread has waited for older tasks */
    bool recent = d->after >= 0 && executor->issued <= d->after + HRI_WINDOW;
    return (readers){recent ? executor->done[d->after % HRI_WINDOW] : NULL,
                     old >= 0 ? &executor->part->deliveries[old] : NULL};
}

/* Note that the slot holds delivery `number` now. The events of the delivery
 * before it are not needed any more. False when the run was left: they are not
 * ours any more. The run's lock is held. */
static bool take_slot(hri_executor *executor, int64_t number)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->part->deliveries[number];
    const int64_t held = executor->held[d->side][d->slot];
    if (run->left) {
        return false;
    }
    if (held >= 0) {
        const hri_delivery *old = &executor->part->deliveries[held];
        hri_accelerator_recycle_event(executor->accelerator,
                                      executor->arrivals[held].ready);
        executor->arrivals[held].ready = NULL;
        for (int32_t i = 0; i < old->forward_count; i++) {
            const hri_forward *f = &run->flow->forwards[old->forwards + i];
            hri_arrival *there = pulled_by(executor, old, i);
            hri_accelerator_recycle_event(run->executors[f->part].accelerator,
                                          there->pulled);
            there->pulled = NULL;
        }
    }
    executor->held[d->side][d->slot] = number;
    executor->arrivals[number].pulls = d->forward_count;
    return true;
}

/* Make queue wait for an event. If queue is NULL, the calling thread waits. */
static hr_status wait_for(hri_event *event, hri_queue *queue)
{
    return event == NULL   ? HR_OK
           : queue != NULL ? queue->ops->wait(queue, event)
                           : event->ops->wait(event);
}

/* The copy of another executor has failed if this thread sees so: that is the
 * other one's error. */
static hr_status wait_for_readers(const hri_executor *executor, readers r,
                                  hri_queue *queue)
{
    hr_status status = wait_for(r.product, queue);
    for (int32_t i = 0;
         r.old != NULL && i < r.old->forward_count && status == HR_OK; i++) {
        status = wait_for(pulled_by(executor, r.old, i)->pulled, queue);
        if (status != HR_OK && queue == NULL) {
            const hri_forward *f =
                &executor->run->flow->forwards[r.old->forwards + i];
            hri_executor_fail(&executor->run->executors[f->part], status);
            status = HR_OK;
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
    const hri_delivery *d = &executor->part->deliveries[number];
    pthread_mutex_lock(&run->lock);
    const readers r = find_readers(executor, d);
    *taken = !hri_is_stopped(executor);
    executor->feeds = executor->feeds || d->source >= 0 ||
                      (r.old != NULL && r.old->forward_count > 0);
    pthread_mutex_unlock(&run->lock);
    hr_status status = *taken ? wait_for_readers(executor, r, queue) : HR_OK;
    if (*taken) {
        pthread_mutex_lock(&run->lock);
        *taken = take_slot(executor, number) && !hri_is_stopped(executor);
        pthread_mutex_unlock(&run->lock);
    }
    return status;
}

/* Wake the feeders of executors that pull the delivery, and threads that wait
 * for what they pull. */
static void tell_readers(const hri_executor *executor, const hri_delivery *d)
{
    hri_run_state *run = executor->run;
    for (int32_t i = 0; i < d->forward_count; i++) {
        const hri_forward *f = &run->flow->forwards[d->forwards + i];
        pthread_cond_broadcast(&run->executors[f->part].changed[HRI_FREED]);
        pthread_cond_broadcast(&run->executors[f->part].changed[HRI_ARRIVED]);
    }
}

/* Take an event of the executor's. NULL: the run was left, and none is ours. */
static hr_status take_event(hri_executor *executor, hri_event **event)
{
    hri_run_state *run = executor->run;
    const hr_status status =
        hri_accelerator_take_event(executor->accelerator, event);
    pthread_mutex_lock(&run->lock);
    *event = run->left ? NULL : *event;
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* The panel of delivery `number` comes on queue. Threads that wait for it may
 * go on. */
static hr_status arrive(hri_executor *executor, int64_t number,
                        hri_queue *queue)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->part->deliveries[number];
    hri_arrival *a = &executor->arrivals[number];
    hri_event *ready = NULL;
    hr_status status = HR_OK;
    if (!executor->brief) { /* else its products follow in the same queue */
        status = take_event(executor, &ready);
        if (status != HR_OK || ready == NULL) {
            return status;
        }
        status = queue->ops->record(queue, ready);
    }
    pthread_mutex_lock(&run->lock);
    a->ready = ready;
    a->issued = status == HR_OK;
    hri_executor_signs(executor);
    pthread_mutex_unlock(&run->lock);
    pthread_cond_broadcast(&executor->changed[HRI_ARRIVED]);
    tell_readers(executor, d);
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
    return arrive(executor, number, executor->up);
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
    const hri_delivery *d = &executor->part->deliveries[number];
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

/* The slot of another executor has been read, once the event is done. */
static void pulled(hri_executor *executor, int64_t number, hri_event *event)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->part->deliveries[number];
    hri_arrival *origin = origin_of(executor, d);
    pthread_mutex_lock(&run->lock);
    executor->arrivals[number].pulled = event;
    const bool last = --origin->pulls == 0;
    pthread_mutex_unlock(&run->lock);
    if (last) {
        pthread_cond_broadcast(&run->executors[d->source].changed[HRI_FREED]);
    }
}

/* Copy a panel from the slot of another executor. */
static hr_status pull(hri_executor *executor, int64_t number)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->part->deliveries[number];
    const hri_executor *from = &run->executors[d->source];
    const hri_task reader = hri_delivery_reader(d);
    hri_queue *q = executor->peer;
    hri_event *done = NULL;
    bool taken = false;
    hr_status status = free_slot(executor, number, q, &taken);
    if (status != HR_OK || !taken) {
        return status;
    }
    hri_copy copy = run->engine.box(run->engine.data, d->side, &reader,
                                    executor->places[d->side][d->slot]);
    copy.from = from->places[d->side][from->part->deliveries[d->origin].slot];
    copy.from_pitch = copy.to_pitch;
    status = q->ops->wait(q, origin_of(executor, d)->ready);
    if (status == HR_OK) {
        status = q->ops->copy(q, &copy);
    }
    if (status == HR_OK) {
        status = take_event(executor, &done);
    }
    if (status != HR_OK || done == NULL) {
        return status;
    }
    status = q->ops->record(q, done);
    if (status != HR_OK) {
        return status;
    }
    pthread_mutex_lock(&run->lock);
    executor->share.peer += hri_copy_bytes(&copy);
    pthread_mutex_unlock(&run->lock);
    pulled(executor, number, done);
    return arrive(executor, number, q);
}

/* How panels come: from others, or from the host, which may hold up the feeder
 * for a moment. */
enum { PULLS, LOADS, WAYS };

/* The first delivery from `from` on that comes in this way. */
static int64_t next_of(const hri_executor *executor, int way, int64_t from)
{
    const hri_flow_part *part = executor->part;
    while (from < part->delivery_count &&
           (part->deliveries[from].source >= 0) != (way == PULLS)) {
        from++;
    }
    return from;
}

/* Whether a panel may come now, or need not. The run's lock is held. */
static bool may_come(hri_executor *executor, int64_t number)
{
    const hri_delivery *d = &executor->part->deliveries[number];
    if (is_stolen(executor, d)) {
        return true;
    }
    if (!is_free(executor, d)) {
        executor->wanted = hri_min(executor->wanted, d->after + 1);
        return false;
    }
    return hri_is_there(executor, d);
}

/* Wait until the next panel may come, and choose its way. False when none is
 * left, or the executor is stopped. The run's lock is held. */
static bool await_next(hri_executor *executor, const int64_t next[WAYS],
                       int *way)
{
    const int64_t count = executor->part->delivery_count;
    while (!hri_is_stopped(executor) &&
           (next[LOADS] < count || next[PULLS] < count)) {
        for (*way = 0; *way < WAYS; ++*way) {
            if (next[*way] < count && may_come(executor, next[*way])) {
                return true;
            }
        }
        pthread_cond_wait(&executor->changed[HRI_FREED], &executor->run->lock);
    }
    return false;
}

hr_status hri_executor_feed(hri_executor *executor)
{
    static hr_status (*const bring[WAYS])(hri_executor *, int64_t) = {
        [PULLS] = pull, [LOADS] = load};
    hri_run_state *run = executor->run;
    int64_t next[WAYS] = {[PULLS] = next_of(executor, PULLS, 0),
                          [LOADS] = next_of(executor, LOADS, 0)};
    hr_status status = HR_OK;
    bool any = true;
    while (status == HR_OK && any) {
        int way;
        pthread_mutex_lock(&run->lock);
        any = await_next(executor, next, &way);
        const int64_t number = any ? next[way] : 0;
        const bool needed =
            any && !is_stolen(executor, &executor->part->deliveries[number]);
        pthread_mutex_unlock(&run->lock);
        if (needed) {
            status = bring[way](executor, number);
        }
        if (any) {
            next[way] = next_of(executor, way, number + 1);
        }
    }
    return status;
}

void *hri_feeder_main(void *argument)
{
    hri_executor *executor = argument;
    hri_run_state *run = executor->run;
    if (hri_executor_goes(executor)) {
        hri_executor_fail(executor, hri_executor_feed(executor));
    }
    pthread_mutex_lock(&run->lock);
    const bool fed = executor->feeds;
    pthread_mutex_unlock(&run->lock);
    if (fed) {
        hri_executor_fail(executor,
                          executor->peer->ops->finish(executor->peer));
        pthread_mutex_lock(&run->lock);
        executor->feeds = false;
        pthread_mutex_unlock(&run->lock);
    }
    return NULL;
}
