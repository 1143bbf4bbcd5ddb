/* SPDX-License-Identifier: MIT */
/* The feeder brings an executor's panels: from the host, and from slots of
 * other executors that have them. Both come in the order of the share's
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
           (old < 0 || executor->delivery_states[old].pulls == 0);
}

/* The i-th executor that pulls a delivery, and the state of what it pulls. */
static const hri_puller *puller_of(const hri_executor *executor,
                                   const hri_delivery *d, int32_t i)
{
    return &executor->run->flow->pullers[d->pullers + i];
}

static hri_delivery_state *pulled_by(const hri_executor *executor,
                                     const hri_puller *puller)
{
    return &executor->run->executors[puller->share]
                .delivery_states[puller->delivery];
}

/* ---- slots */

/* What reads the old content of a slot: the last product, and other
 * executors. */
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
                     old >= 0 ? &executor->share->deliveries[old] : NULL};
}

/* Note that the slot holds delivery `number` now. The events of the delivery
 * before it are not needed any more. False when the run was left: they are not
 * ours any more. The run's lock is held. */
static bool take_slot(hri_executor *executor, int64_t number)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->share->deliveries[number];
    const int64_t held = executor->held[d->side][d->slot];
    if (run->left) {
        return false;
    }
    if (held >= 0) {
        const hri_delivery *old = &executor->share->deliveries[held];
        hri_accelerator_recycle_event(executor->accelerator,
                                      executor->delivery_states[held].ready);
        executor->delivery_states[held].ready = NULL;
        for (int32_t i = 0; i < old->puller_count; i++) {
            const hri_puller *puller = puller_of(executor, old, i);
            hri_delivery_state *there = pulled_by(executor, puller);
            hri_accelerator_recycle_event(
                run->executors[puller->share].accelerator, there->pulled);
            there->pulled = NULL;
        }
    }
    executor->held[d->side][d->slot] = number;
    executor->delivery_states[number].pulls = d->puller_count;
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
    HRI_TRY(wait_for(r.product, queue));
    for (int32_t i = 0; r.old != NULL && i < r.old->puller_count; i++) {
        const hri_puller *puller = puller_of(executor, r.old, i);
        const hr_status status =
            wait_for(pulled_by(executor, puller)->pulled, queue);
        if (queue == NULL) {
            hri_executor_fail(&executor->run->executors[puller->share], status);
        } else if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

/* Take the slot of delivery `number` once queue waits until it is free. If
 * queue is NULL, the calling thread waits. *taken: the run goes on. */
static hr_status free_slot(hri_executor *executor, int64_t number,
                           hri_queue *queue, bool *taken)
{
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->share->deliveries[number];
    pthread_mutex_lock(&run->lock);
    const readers r = find_readers(executor, d);
    *taken = !hri_is_stopped(executor);
    executor->feeds = executor->feeds || d->source >= 0 ||
                      (r.old != NULL && r.old->puller_count > 0);
    pthread_mutex_unlock(&run->lock);
    if (!*taken) {
        return HR_OK;
    }
    const hr_status status = wait_for_readers(executor, r, queue);
    pthread_mutex_lock(&run->lock);
    *taken = take_slot(executor, number) && !hri_is_stopped(executor);
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* ---- what is noted of a delivery */

/* Record `count` new events of the executor on queue. *left: the run was left,
 * and no event is ours. */
static hr_status record_new(hri_executor *executor, hri_queue *queue,
                            hri_event **events, int count, bool *left)
{
    hri_run_state *run = executor->run;
    for (int i = 0; i < count; i++) {
        HRI_TRY(hri_accelerator_take_event(executor->accelerator, &events[i]));
    }
    pthread_mutex_lock(&run->lock);
    *left = run->left;
    pthread_mutex_unlock(&run->lock);
    for (int i = 0; i < count && !*left; i++) {
        HRI_TRY(queue->ops->record(queue, events[i]));
    }
    return HR_OK;
}

/* Wake the threads that wait for a delivery whose copy has been enqueued. read:
 * the executor whose slot nobody has still to pull; NULL: none. */
static void wake_waiting(hri_executor *executor, const hri_delivery *d,
                         hri_executor *read)
{
    if (read != NULL) {
        pthread_cond_broadcast(&read->changed[HRI_FREED]);
    }
    pthread_cond_broadcast(&executor->changed[HRI_ENQUEUED]);
    for (int32_t i = 0; i < d->puller_count; i++) {
        /* its feeder may pull the panel, and threads wait for what it pulls */
        const hri_puller *puller = puller_of(executor, d, i);
        hri_executor *to = &executor->run->executors[puller->share];
        pthread_cond_broadcast(&to->changed[HRI_FREED]);
        pthread_cond_broadcast(&to->changed[HRI_ENQUEUED]);
    }
}

/* The copy of delivery `number` has been enqueued on queue. Threads that wait
 * for the panel may go on, and where it comes from another executor's slot,
 * that slot is being read. */
static hr_status note_enqueued(hri_executor *executor, int64_t number,
                               hri_queue *queue, const hri_copy *copy)
{
    enum { READY, PULLED, EVENTS };
    hri_run_state *run = executor->run;
    const hri_delivery *d = &executor->share->deliveries[number];
    hri_delivery_state *state = &executor->delivery_states[number];
    hri_executor *from = d->source >= 0 ? &run->executors[d->source] : NULL;
    hri_executor *read = NULL;
    hri_event *events[EVENTS] = {NULL, NULL};
    bool left = false;
    if (!executor->brief) { /* else its products follow in the same queue */
        HRI_TRY(record_new(executor, queue, events, from != NULL ? EVENTS : 1,
                           &left));
    }
    if (left) {
        return HR_OK;
    }
    pthread_mutex_lock(&run->lock);
    if (from != NULL) {
        executor->report.peer += hri_copy_bytes(copy);
        state->pulled = events[PULLED];
        read = --from->delivery_states[d->origin].pulls == 0 ? from : NULL;
    } else {
        executor->report.up += hri_copy_bytes(copy);
    }
    state->ready = events[READY];
    state->issued = true;
    hri_executor_note_work(executor);
    pthread_mutex_unlock(&run->lock);
    wake_waiting(executor, d, read);
    return HR_OK;
}

/* ---- from the host */

static void load_done(void *data)
{
    const hri_load *load = data;
    hri_executor *executor =
        load->executor; /* *load may be used for the next panel from now on */
    hri_lock_soon(&executor->queues);
    hr_status status =
        note_enqueued(executor, load->number, executor->up, &load->job.copy);
    pthread_mutex_unlock(&executor->queues);
    hri_executor_fail(executor, status);
}

/* Let the copy pool bring a panel. Its queue must not wait for the slot, since
 * chunks of earlier panels may come after this. */
static hr_status load_staged(hri_executor *executor, int64_t number,
                             const hri_passage *passage)
{
    const hri_delivery *d = &executor->share->deliveries[number];
    hri_load *load = &executor->loads[d->side][d->slot];
    bool taken;
    HRI_TRY(free_slot(executor, number, NULL, &taken));
    if (!taken) {
        return HR_OK;
    }
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
    return HR_OK;
}

/* Note that the feeder is about to use the caller's memory, or that it has
 * enqueued the copy. False when it must not begin. */
static bool set_loading(hri_executor *executor, bool begin)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    executor->loading = begin && !hri_is_stopped(executor);
    const bool may = executor->loading;
    pthread_mutex_unlock(&run->lock);
    return may;
}

/* Enqueue the copy of a panel, with `last` behind it. */
static hr_status enqueue_load(hri_executor *executor, int64_t number,
                              const hri_copy *copy, hri_event *last)
{
    hri_queue *q = executor->up;
    HRI_TRY(q->ops->copy(q, copy));
    if (last != NULL) {
        HRI_TRY(q->ops->record(q, last));
    }
    return note_enqueued(executor, number, q, copy);
}

/* Bring a panel from pinned memory. Wait first if too many copies are under
 * way, and until the slot is free: then nothing holds up a copy of the caller's
 * memory. A brief flow has too few for that. */
static hr_status load_pinned(hri_executor *executor, int64_t number,
                             const hri_passage *passage)
{
    hri_event *last = executor->under_way[executor->loaded % HRI_COPIES];
    bool taken;
    if (last != NULL && executor->loaded++ >= HRI_COPIES) {
        HRI_TRY(last->ops->wait(last));
    }
    HRI_TRY(free_slot(executor, number, NULL, &taken));
    if (!taken) {
        return HR_OK;
    }
    HRI_TRY(hri_executor_gather(executor, passage, &taken));
    if (!taken || !set_loading(executor, true)) {
        return HR_OK;
    }
    hri_lock_soon(&executor->queues);
    const hr_status status =
        enqueue_load(executor, number, &passage->copy, last);
    pthread_mutex_unlock(&executor->queues);
    set_loading(executor, false);
    return status;
}

static hr_status load_panel(hri_executor *executor, int64_t number)
{
    const hri_delivery *d = &executor->share->deliveries[number];
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

/* ---- from other executors */

/* The copy of a panel from the slot of the executor that has it. The slots of
 * both executors have the same layout. */
static hri_copy copy_between_slots(const hri_executor *from,
                                   const hri_executor *to,
                                   const hri_delivery *d)
{
    const hri_engine *engine = &to->run->engine;
    const hri_task reader = hri_delivery_reader(d);
    const int32_t origin = from->share->deliveries[d->origin].slot;
    hri_copy copy = engine->box(engine->data, d->side, &reader,
                                to->places[d->side][d->slot]);
    copy.from = from->places[d->side][origin];
    copy.from_pitch = copy.to_pitch;
    return copy;
}

/* Pull a panel from the slot of another executor. The peer queue waits until
 * its own slot is free, and until the panel is in the other one. */
static hr_status pull_panel(hri_executor *executor, int64_t number)
{
    const hri_delivery *d = &executor->share->deliveries[number];
    const hri_executor *from = &executor->run->executors[d->source];
    hri_queue *q = executor->peer;
    bool taken;
    HRI_TRY(free_slot(executor, number, q, &taken));
    if (!taken) {
        return HR_OK;
    }
    const hri_copy copy = copy_between_slots(from, executor, d);
    HRI_TRY(q->ops->wait(q, from->delivery_states[d->origin].ready));
    HRI_TRY(q->ops->copy(q, &copy));
    return note_enqueued(executor, number, q, &copy);
}

/* ---- the feeder */

/* How panels come: pulled from others, or loaded from the host, which may hold
 * up the feeder for a moment. */
typedef enum way { PULL, LOAD, WAYS, NO_WAY = WAYS } way;

static way way_of(const hri_delivery *d)
{
    return d->source >= 0 ? PULL : LOAD;
}

/* The first delivery from `from` on that comes in this way. */
static int64_t find_delivery(const hri_executor *executor, way w, int64_t from)
{
    const hri_flow_share *share = executor->share;
    while (from < share->delivery_count &&
           way_of(&share->deliveries[from]) != w) {
        from++;
    }
    return from;
}

/* Skip deliveries of this way whose only task others have taken. The run's lock
 * is held. */
static int64_t skip_stolen(const hri_executor *executor, way w, int64_t from)
{
    const hri_flow_share *share = executor->share;
    while (from < share->delivery_count &&
           share->deliveries[from].only >= executor->end) {
        from = find_delivery(executor, w, from + 1);
    }
    return from;
}

/* Whether the panel may come now. The run's lock is held. */
static bool may_come(hri_executor *executor, int64_t number)
{
    const hri_delivery *d = &executor->share->deliveries[number];
    if (!is_free(executor, d)) {
        executor->wanted = hri_min(executor->wanted, d->after + 1);
        return false;
    }
    return hri_panel_can_come(executor, d);
}

/* The way in which the next panel may come now; NO_WAY: in none. *left: there
 * are panels that may come later. The run's lock is held. */
static way find_way(hri_executor *executor, int64_t next[WAYS], bool *left)
{
    *left = false;
    for (way w = PULL; w < WAYS; w++) {
        next[w] = skip_stolen(executor, w, next[w]);
        if (next[w] == executor->share->delivery_count) {
            continue;
        }
        if (may_come(executor, next[w])) {
            return w;
        }
        *left = true;
    }
    return NO_WAY;
}

/* Wait until the next panel of a way may come. NO_WAY: no panel is left, or the
 * executor is stopped. The run's lock is held. */
static way await_next(hri_executor *executor, int64_t next[WAYS])
{
    while (!hri_is_stopped(executor)) {
        bool left;
        const way w = find_way(executor, next, &left);
        if (w != NO_WAY || !left) {
            return w;
        }
        pthread_cond_wait(&executor->changed[HRI_FREED], &executor->run->lock);
    }
    return NO_WAY;
}

hr_status hri_executor_feed(hri_executor *executor)
{
    hri_run_state *run = executor->run;
    int64_t next[WAYS] = {[PULL] = find_delivery(executor, PULL, 0),
                          [LOAD] = find_delivery(executor, LOAD, 0)};
    for (;;) {
        pthread_mutex_lock(&run->lock);
        const way w = await_next(executor, next);
        pthread_mutex_unlock(&run->lock);
        if (w == NO_WAY) {
            return HR_OK;
        }
        HRI_TRY(w == PULL ? pull_panel(executor, next[w])
                          : load_panel(executor, next[w]));
        next[w] = find_delivery(executor, w, next[w] + 1);
    }
}

void *hri_feeder_main(void *argument)
{
    hri_executor *executor = argument;
    hri_run_state *run = executor->run;
    if (hri_executor_await_start(executor)) {
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
