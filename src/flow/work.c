/* SPDX-License-Identifier: MIT */
/* The compute thread issues an executor's products in order. At the end it
 * steals tasks of executors that are behind.
 *
 * At most HRI_WINDOW products are under way (one where the host works alone in
 * place), so that cancelling and stealing are prompt. Some devices multiply
 * faster with A by columns (hri_device_info.packed), and precise products need
 * residues of both operands. There this thread packs each panel right before
 * its first product, into a second set of slots.
 *
 * An executor that has issued all its own tiles takes over the last tile of the
 * executor that is furthest behind, when that ends sooner. How slow an executor
 * is follows from the tasks that it has ended, and from the age of the one
 * under way. Panels that the thief lacks come from the victim, or from the host
 * when they are no peers or nobody else needs them, into spare slots.
 * Only results of one task move, those of the last block. The report counts
 * their bytes apart. */
#include <math.h>

#include "base/clock.h"
#include "base/size.h"
#include "flow/executor.h"
#include "trace/traced.h"

/* The places of a task's operands in the executor that runs it. NULL: in the
 * caller's memory. */
typedef struct source {
    const hri_place *place[2];
    hri_place there[2];  /* of another executor, which may be gone soon */
    hri_event *ready[2]; /* NULL: nothing to wait for */
    int64_t own[2]; /* the executor's delivery that a place holds; -1: it is a
                       spare slot */
    const hri_place *packed[2]; /* NULL: it is not packed */
} source;

/* ---- tasks that have run */

/* Wait until the next task has run, and count it. */
static hr_status collect_task(hri_executor *executor)
{
    hri_run_state *run = executor->run;
    int at = (int)(executor->collected % HRI_WINDOW);
    hri_event *begun = executor->begun[at], *done = executor->done[at];
    const hri_issued *task = &executor->window[at];
    uint64_t ns = 0;
    if (executor->timed) {
        HRI_TRY(done->ops->wait(done));
        HRI_TRY(hri_event_elapsed(begun, done, &ns));
    }
    pthread_mutex_lock(&run->lock);
    executor->report.seconds_busy += (double)ns * 1e-9;
    executor->report.flops += task->flops;
    executor->collected++;
    run->flops_done += task->flops;
    if (executor->share->in_place && task->last) {
        run->home[task->unit] = 1;
        executor->report.tiles += (uint64_t)task->count;
    }
    hri_executor_note_work(executor);
    hri_terms_release(run);
    pthread_mutex_unlock(&run->lock);
    return HR_OK;
}

/* Wait until at most `most` tasks are under way. */
static hr_status throttle(hri_executor *executor, int64_t most)
{
    while (executor->issued - executor->collected > most) {
        HRI_TRY(collect_task(executor));
    }
    return HR_OK;
}

/* Count bytes of a copy. Several threads do so, so the lock is taken. */
static void count_bytes(hri_executor *executor, uint64_t *bytes,
                        const hri_copy *copy)
{
    pthread_mutex_lock(&executor->run->lock);
    *bytes += hri_copy_bytes(copy);
    pthread_mutex_unlock(&executor->run->lock);
}

/* The status of an executor that must not begin anything. The run's lock is
 * held. */
static hr_status stop_status(const hri_run_state *run)
{
    return run->error.status != HR_OK
               ? hri_error_raise(&run->error)
               : hri_fail(HR_ERROR_CANCELLED, "%s: an accelerator was lost",
                          run->engine.call);
}

/* The same, without the lock. */
static hr_status raise_stop(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    hr_status status = stop_status(run);
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* Copy host memory into a buffer on the fetch queue, so that it need not wait
 * for panels. Record event after it. */
static hr_status fetch_copy(hri_executor *executor, const hri_passage *passage,
                            hri_event *event)
{
    const hri_copy *copy = &passage->copy;
    const bool staged = executor->staged.of[passage->side];
    hri_queue *q = executor->fetch;
    hr_status status = HR_OK;
    if (staged) {
        hri_job job = {.copy = *copy, .gather = passage->gather, .queue = q};
        hri_copy_pool_put(&executor->up_pool, &job, true);
        if (executor->brief) {
            hri_copy_pool_help(&executor->up_pool);
        }
        if (!hri_copy_pool_wait(&executor->up_pool, &job)) {
            return raise_stop(executor->run);
        }
    }
    hri_lock_soon(&executor->queues);
    if (!staged) {
        status = q->ops->copy(q, copy);
    }
    if (status == HR_OK) {
        status = q->ops->record(q, event);
    }
    pthread_mutex_unlock(&executor->queues);
    count_bytes(executor, &executor->report.up, copy);
    return status;
}

/* Products that a task has. */
static int64_t products_of(const hri_executor *executor, const hri_task *task)
{
    const hri_engine *g = &executor->run->engine;
    return g->count != NULL ? g->count(g->data, task) : 1;
}

/* ---- tiles of C */

/* Wait until the tile in a slot is home. */
static hr_status await_tile_slot(hri_executor *executor,
                                 const hri_tile_slot *tile)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    while (tile->draining && !hri_is_stopped(executor)) {
        pthread_cond_wait(&executor->changed[HRI_ENQUEUED], &run->lock);
    }
    hr_status status = hri_is_stopped(executor) ? stop_status(run) : HR_OK;
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* Take the slot for the task's tile, so that the compute queue may write it.
 * Start to bring old C into it, unless beta is 0. */
static hr_status open_tile(hri_executor *executor, const hri_task *task,
                           int32_t slot)
{
    hri_queue *q = executor->compute;
    hri_tile_slot *tile = &executor->tiles[slot];
    HRI_TRY(await_tile_slot(executor, tile));
    if (!executor->run->flow->reads_result) {
        return HR_OK;
    }
    bool gathered;
    hri_passage old = {.side = HRI_C,
                       .task = task,
                       .slot = executor->places[HRI_C][slot],
                       .pinned = tile->pinned};
    hri_passage_find(executor, &old);
    HRI_TRY(hri_executor_gather(executor, &old, &gathered));
    if (!gathered) {
        return raise_stop(executor->run);
    }
    HRI_TRY(fetch_copy(executor, &old, tile->fetched));
    return q->ops->wait(q, tile->fetched);
}

/* The copy pool has brought a tile home. */
static void tile_is_home(void *data)
{
    hri_tile_slot *tile = data;
    hri_executor *executor = tile->executor;
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    tile->draining = false;
    run->home[tile->unit] = 1;
    executor->report.tiles += (uint64_t)tile->count;
    hri_executor_note_work(executor);
    pthread_mutex_unlock(&run->lock);
    pthread_cond_broadcast(&executor->changed[HRI_ENQUEUED]);
}

/* Send the tile home after its last product, which has just been enqueued. */
static hr_status store_tile(hri_executor *executor, const hri_task *task,
                            int32_t slot)
{
    hri_queue *q = executor->compute;
    hri_tile_slot *tile = &executor->tiles[slot];
    hri_passage home = {.side = HRI_C,
                        .task = task,
                        .slot = executor->places[HRI_C][slot],
                        .pinned = tile->pinned,
                        .home = true};
    hri_passage_find(executor, &home);
    /* the tile follows in the same queue, unless it must not wait there */
    const bool follows = executor->brief && !executor->down_pool.direct;
    if (!follows) {
        HRI_TRY(q->ops->record(q, tile->ready));
    }
    count_bytes(executor, &executor->report.down, &home.copy);
    tile->draining = true;
    tile->unit = task->unit;
    tile->count = products_of(executor, task);
    tile->home = (hri_job){.copy = home.copy,
                           .gather = home.gather,
                           .queue = executor->down,
                           .after = follows ? NULL : tile->ready,
                           .done = tile_is_home,
                           .data = tile};
    hri_copy_pool_put(&executor->down_pool, &tile->home, false);
    if (executor->brief) {
        hri_copy_pool_help(&executor->down_pool);
    }
    return HR_OK;
}

/* ---- one task */

static double flops_of(const hri_engine *g, const hri_task *task)
{
    return g->flops != NULL ? g->flops(g->data, task) : 0.0;
}

/* Note that the task has been enqueued. */
static void note_issued(hri_executor *executor, const hri_task *task)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    executor->window[executor->issued % HRI_WINDOW] =
        (hri_issued){.flops = flops_of(&run->engine, task),
                     .count = products_of(executor, task),
                     .unit = task->unit,
                     .last = hri_task_is_last(run->flow, task)};
    executor->issued++;
    hri_executor_note_work(executor);
    const bool wakes = executor->issued >= executor->wanted;
    executor->wanted = wakes ? INT64_MAX : executor->wanted;
    pthread_mutex_unlock(&run->lock);
    if (wakes) {
        pthread_cond_broadcast(&executor->changed[HRI_FREED]);
    }
}

/* Enqueue the task, between two events. */
static hr_status issue_task(hri_executor *executor, const hri_task *task,
                            const source *from, const hri_place *tile)
{
    const hri_engine *g = &executor->run->engine;
    hri_queue *q = executor->compute;
    const hri_flow_task command = {
        .task = task,
        .share = (uint32_t)(executor - executor->run->executors),
        .accelerator = executor->accelerator,
        .queue = q,
        .places = {from->place[HRI_A], from->place[HRI_B], tile},
        .packed = {from->packed[HRI_A], from->packed[HRI_B]},
        .scratch = executor->scratch};
    const int at = (int)(executor->issued % HRI_WINDOW);
    for (int side = HRI_A; side <= HRI_B; side++) {
        if (from->ready[side] != NULL) {
            HRI_TRY(q->ops->wait(q, from->ready[side]));
        }
    }
    if (executor->timed) {
        HRI_TRY(q->ops->record(q, executor->begun[at]));
    }
    HRI_TRY(g->run(g->data, &command));
    if (executor->timed) {
        HRI_TRY(q->ops->record(q, executor->done[at]));
    }
    note_issued(executor, task);
    return HR_OK;
}

static hr_status run_task(hri_executor *executor, const hri_task *task,
                          const source *from)
{
    const hri_flow *flow = executor->run->flow;
    /* alone in place, tasks are so long that none needs to wait in the queue */
    const bool alone = executor->share->in_place && flow->share_count == 1;
    HRI_TRY(throttle(executor, alone ? 0 : HRI_WINDOW - 1));
    if (executor->share->in_place) {
        return issue_task(executor, task, from, NULL);
    }
    int32_t slot = task->slot;
    if (slot < 0) {
        slot = (int32_t)(executor->stores++ % executor->share->slots[HRI_C]);
    }
    if (hri_task_is_first(task)) {
        HRI_TRY(open_tile(executor, task, slot));
    }
    HRI_TRY(issue_task(executor, task, from, &executor->places[HRI_C][slot]));
    return hri_task_is_last(flow, task) ? store_tile(executor, task, slot)
                                        : HR_OK;
}

/* ---- the executor's own tasks */

/* Wait, for `executor`, until delivery `number` of `owner` has been enqueued.
 * For its arrival the queue waits (issue_task).
 * Set its place and event, unless there is no such delivery. They mean nothing
 * when the executor is stopped: the owner may be gone. */
static void await_panel(hri_executor *executor, hri_executor *owner, int side,
                        int64_t number, source *from)
{
    hri_run_state *run = executor->run;
    if (number < 0) {
        return;
    }
    const hri_delivery_state *state = &owner->delivery_states[number];
    hri_wait_awake(&state->issued, executor->brief ? hri_brief_moment : 0.0);
    pthread_mutex_lock(&run->lock);
    const hri_delivery *d = &owner->share->deliveries[number];
    while (!hri_is_stopped(executor) && !state->issued) {
        /* to bring a panel is its own work, once there is one */
        hri_executor_set_idle(executor, executor != owner ||
                                            !hri_panel_can_come(owner, d));
        pthread_cond_wait(&owner->changed[HRI_ENQUEUED], &run->lock);
    }
    hri_executor_set_idle(executor, false);
    if (executor == owner) {
        from->place[side] = &owner->places[side][d->slot];
        from->ready[side] = state->ready;
        from->own[side] = number;
    } else if (!hri_is_stopped(executor)) {
        from->there[side] = owner->places[side][d->slot];
        from->ready[side] = state->ready;
        executor->steals = true;
    }
    pthread_mutex_unlock(&run->lock);
}

/* Use the packed copy of a panel. The first task that needs a panel packs it.
 * The slot where the panel arrived is not used again before that task has
 * run. */
static hr_status pack_panel(hri_executor *executor, int side,
                            const hri_task *task, source *from)
{
    hri_queue *q = executor->compute;
    const hri_engine *g = &executor->run->engine;
    const int64_t number = from->own[side];
    const int32_t slot = number < 0 ? executor->share->slots[side]
                                    : executor->share->deliveries[number].slot;
    hri_place *packed = &executor->packed[side][slot];
    if (number < 0 || executor->packed_of[side][slot] != number) {
        executor->packed_of[side][slot] = number;
        if (from->ready[side] != NULL) {
            HRI_TRY(q->ops->wait(q, from->ready[side]));
        }
        HRI_TRY(g->pack(g->data, side, task, q, *from->place[side], *packed));
    }
    from->packed[side] = packed;
    from->ready[side] = NULL; /* the queue is in order, so there is no need to
                                 wait */
    return HR_OK;
}

static hr_status pack_panels(hri_executor *executor, const hri_task *task,
                             source *from)
{
    for (int side = HRI_A; side <= HRI_B; side++) {
        if (executor->share->packed[side]) {
            HRI_TRY(pack_panel(executor, side, task, from));
        }
    }
    return HR_OK;
}

/* The executor's next own task, and whether its term has come. NULL when none
 * is left or it is stopped. */
static const hri_task *next_own(hri_executor *executor, bool *come)
{
    hri_run_state *run = executor->run;
    const hri_task *task = NULL;
    pthread_mutex_lock(&run->lock);
    if (!hri_is_stopped(executor) && executor->next < executor->end) {
        task = &executor->share->tasks[executor->next++];
        *come = run->come > task->chunk;
    }
    pthread_mutex_unlock(&run->lock);
    return task;
}

static hr_status run_own(hri_executor *executor)
{
    const hri_task *task;
    bool come;
    while ((task = next_own(executor, &come)) != NULL) {
        source from = {0};
        if (!come) { /* earlier terms are released first: this one may come to
                        where they were */
            HRI_TRY(throttle(executor, 0));
            hri_terms_wait(executor, task->chunk);
        }
        await_panel(executor, executor, HRI_A, task->a, &from);
        await_panel(executor, executor, HRI_B, task->b, &from);
        if (hri_executor_stopped(executor)) {
            break;
        }
        HRI_TRY(pack_panels(executor, task, &from));
        HRI_TRY(run_task(executor, task, &from));
    }
    return HR_OK;
}

/* ---- stealing */

/* How often an executor looks for tasks to steal. Each look is at all
 * executors, so they look the less often the more there are. */
enum { LOOK_MS = 5, LOOKS_PER_MS = 2 };

/* Seconds for one of the executor's tasks: as measured so far, else as planned;
 * at least as long as it has shown no sign of one that is under way. */
static double task_seconds(const hri_executor *executor, uint64_t now_ns)
{
    const double silent = hri_executor_silence(executor, now_ns);
    const double usual =
        executor->collected > 0
            ? executor->report.seconds_busy / (double)executor->collected
            : executor->share->seconds / (double)executor->share->task_count;
    return executor->issued > executor->collected ? fmax(usual, silent) : usual;
}

/* Whether the slots have room for the last task of another executor, which may
 * be in place. */
static bool has_room(const hri_executor *executor, const hri_executor *other)
{
    const hri_engine *g = &executor->run->engine;
    const hri_task *task = &other->share->tasks[other->end - 1];
    const hri_place place = {0};
    for (int side = HRI_A; side < HRI_SIDES && !executor->share->in_place;
         side++) {
        if (executor->share->slots[side] == 0) {
            continue;
        }
        const hri_copy box = g->box(g->data, side, task, place);
        if (hri_copy_bytes(&box) > executor->run->flow->slot_bytes[side]) {
            return false;
        }
    }
    return true;
}

/* The executor that is furthest behind. NULL when nobody has tasks left.
 * *seconds: of work that it has not issued yet. The run's lock is held. */
static hri_executor *find_behind(const hri_executor *executor, uint64_t now_ns,
                                 double *seconds)
{
    hri_run_state *run = executor->run;
    hri_executor *behind = NULL;
    *seconds = 0.0;
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        hri_executor *other = &run->executors[i];
        const int64_t left = /* that others may take */
            other->end - hri_max(other->next, other->share->steady);
        const double theirs = (double)left * task_seconds(other, now_ns);
        if (other != executor && left > 0 && theirs > *seconds &&
            has_room(executor, other)) {
            behind = other;
            *seconds = theirs;
        }
    }
    return behind;
}

/* Steal the last task of the executor that is furthest behind, if this ends
 * sooner than leaving it there. While others have tasks left, look again: one
 * may turn out to be slow. NULL: none has, or the executor is stopped. */
static const hri_task *steal_task(hri_executor *executor, hri_executor **victim)
{
    hri_run_state *run = executor->run;
    const uint32_t look_ms = LOOK_MS + run->flow->share_count / LOOKS_PER_MS;
    const hri_task *task = NULL;
    double seconds;
    pthread_mutex_lock(&run->lock);
    while (!hri_is_stopped(executor) && !run->halted && task == NULL) {
        const uint64_t now_ns = hri_clock_ns();
        hri_executor *behind = find_behind(executor, now_ns, &seconds);
        if (behind == NULL) {
            break;
        }
        if (seconds > task_seconds(executor, now_ns)) {
            task = &behind->share->tasks[--behind->end];
            *victim = behind;
        } else {
            hri_executor_set_idle(executor, true);
            const uint64_t soon_ns = hri_in_ms(look_ms);
            hri_wait_until(&executor->changed[HRI_ENQUEUED], &run->lock,
                           soon_ns);
        }
    }
    hri_executor_set_idle(executor, false);
    pthread_mutex_unlock(&run->lock);
    if (task != NULL) { /* its feeder may wait to bring what the task needs */
        pthread_cond_broadcast(&(*victim)->changed[HRI_FREED]);
    }
    return task;
}

/* The executor's own delivery of a panel that lies in a slot. -1: none. */
static int64_t find_own(hri_executor *executor, int side, int64_t index)
{
    int64_t found = -1;
    pthread_mutex_lock(&executor->run->lock);
    for (int32_t s = 0; s < executor->share->slots[side] && found < 0; s++) {
        int64_t number = executor->held[side][s];
        if (number >= 0 && executor->share->deliveries[number].index == index) {
            found = number;
        }
    }
    pthread_mutex_unlock(&executor->run->lock);
    return found;
}

/* Copy a panel from the victim, which is a peer, into the spare slot. */
static hr_status copy_from_victim(hri_executor *executor, hri_executor *victim,
                                  int side, int64_t number, hri_copy copy)
{
    hri_queue *q = executor->fetch;
    source there = {0};
    await_panel(executor, victim, side, number, &there);
    if (hri_executor_stopped(executor)) {
        return HR_OK;
    }
    copy.from = there.there[side];
    copy.from_pitch = copy.to_pitch;
    HRI_TRY(q->ops->wait(q, there.ready[side]));
    HRI_TRY(q->ops->copy(q, &copy));
    HRI_TRY(q->ops->record(q, executor->spare_ready[side]));
    count_bytes(executor, &executor->report.peer, &copy);
    count_bytes(executor, &executor->report.stolen, &copy);
    return HR_OK;
}

/* Bring a panel of a stolen task into the executor's spare slot: from the
 * victim if it is a peer, else from the host. */
static hr_status bring_panel(hri_executor *executor, hri_executor *victim,
                             int side, const hri_task *task, source *from)
{
    const int64_t number = side == HRI_A ? task->a : task->b;
    const int64_t own = find_own(executor, side, hri_task_index(task, side));
    if (own >= 0) {
        await_panel(executor, executor, side, own, from);
        return HR_OK;
    }
    hri_queue *q = executor->fetch;
    hri_event *ready = executor->spare_ready[side];
    hri_passage passage = {
        .side = side,
        .task = task,
        .slot = executor->spare[side],
        .pinned = hri_pinned_of(executor, side, executor->share->slots[side])};
    hri_passage_find(executor, &passage);
    hri_device *device = executor->accelerator->device;
    bool gathered;
    if (passage.pinned != NULL && executor->report.tiles_stolen > 0) {
        HRI_TRY(ready->ops->wait(ready));
    }
    HRI_TRY(hri_executor_gather(executor, &passage, &gathered));
    if (!gathered) {
        return HR_OK;
    }
    if (executor->issued > 0) { /* the last stolen task has read the spare
                                   slot */
        HRI_TRY(q->ops->wait(
            q, executor->done[(executor->issued - 1) % HRI_WINDOW]));
    }
    /* what nobody else needs does not come to the victim any more */
    if (number >= 0 && victim->share->deliveries[number].only < 0 &&
        device->ops->is_peer(device, victim->accelerator->device)) {
        HRI_TRY(copy_from_victim(executor, victim, side, number, passage.copy));
    } else {
        HRI_TRY(fetch_copy(executor, &passage, ready));
        count_bytes(executor, &executor->report.stolen, &passage.copy);
    }
    from->place[side] = &executor->spare[side];
    from->ready[side] = ready;
    from->own[side] = -1;
    return HR_OK;
}

/* Count a stolen task. False when the executor must not begin it. */
static bool begin_stolen(hri_executor *executor, const hri_task *task)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    const bool may = !hri_is_stopped(executor);
    executor->report.tiles_stolen +=
        may ? (uint64_t)products_of(executor, task) : 0;
    pthread_mutex_unlock(&run->lock);
    return may;
}

static hr_status run_stolen(hri_executor *executor)
{
    const hri_task *task;
    hri_executor *victim = NULL;
    while (executor->share->can_steal &&
           (task = steal_task(executor, &victim)) != NULL) {
        source from = {0};
        for (int side = HRI_A; side <= HRI_B; side++) {
            if (!executor->share->in_place &&
                executor->share->slots[side] > 0) {
                HRI_TRY(bring_panel(executor, victim, side, task, &from));
            }
        }
        if (begin_stolen(executor, task)) {
            if (executor->run->flow->must_pack) {
                HRI_TRY(pack_panels(executor, task, &from));
            }
            HRI_TRY(run_task(executor, task, &from));
        }
        HRI_TRY(throttle(executor, 1)); /* look for more only when the last task
                                           is nearly done */
    }
    return HR_OK;
}

hr_status hri_executor_compute(hri_executor *executor)
{
    if (executor->brief) {
        HRI_TRY(hri_executor_feed(executor));
        hri_copy_pool_help(&executor->up_pool);
    }
    HRI_TRY(run_own(executor));
    HRI_TRY(run_stolen(executor));
    return throttle(executor, 0);
}
