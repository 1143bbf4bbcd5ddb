/* SPDX-License-Identifier: MIT */
/* The compute thread issues an executor's products in order. At the end it
 * steals tasks of executors that are behind.
 *
 * At most HRI_WINDOW products are under way (one where the host works alone in
 * place), so that cancelling and stealing are prompt. Where a device multiplies
 * faster with A by columns (hri_device_info.packed), this thread transposes
 * each panel of A right before its first product, into a second set of slots.
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

/* Where a task's operands are in the executor that runs it. NULL: in the
 * caller's memory. */
typedef struct source {
    const hri_place *place[2];
    hri_place there[2];  /* of another executor, which may be gone soon */
    hri_event *ready[2]; /* NULL: nothing to wait for */
    bool packed;         /* A lies by columns */
} source;

/* ---- tasks that have run */

/* Wait until the next task has run, and count it. */
static hr_status collect(hri_executor *executor)
{
    hri_run_state *run = executor->run;
    int at = (int)(executor->collected % HRI_WINDOW);
    hri_event *begun = executor->begun[at], *done = executor->done[at];
    uint64_t ns = 0;
    hr_status status = executor->timed ? done->ops->wait(done) : HR_OK;
    if (status == HR_OK && executor->timed) {
        status = hri_event_elapsed(begun, done, &ns);
    }
    if (status != HR_OK) {
        return status;
    }
    const hri_issued *task = &executor->window[at];
    pthread_mutex_lock(&run->lock);
    executor->share.seconds_busy += (double)ns * 1e-9;
    executor->share.flops += task->flops;
    executor->collected++;
    run->flops_done += task->flops;
    if (executor->part->in_place && task->last) {
        run->home[task->unit] = 1;
        executor->share.tiles += (uint64_t)task->count;
    }
    hri_executor_signs(executor);
    hri_terms_release(run);
    pthread_mutex_unlock(&run->lock);
    return HR_OK;
}

/* Wait until at most `most` tasks are under way. */
static hr_status throttle(hri_executor *executor, int64_t most)
{
    hr_status status = HR_OK;
    while (status == HR_OK && executor->issued - executor->collected > most) {
        status = collect(executor);
    }
    return status;
}

/* Count bytes of a copy. Several threads do so, so the lock is taken. */
static void count(hri_executor *executor, uint64_t *bytes, const hri_copy *copy)
{
    pthread_mutex_lock(&executor->run->lock);
    *bytes += hri_copy_bytes(copy);
    pthread_mutex_unlock(&executor->run->lock);
}

/* The status of an executor that must not begin anything. The run's lock is
 * held. */
static hr_status stop_status(hri_run_state *run)
{
    return run->error.status != HR_OK
               ? hri_error_raise(&run->error)
               : hri_fail(HR_ERROR_CANCELLED, "%s: an accelerator was lost",
                          run->engine.call);
}

static hr_status stopped(hri_run_state *run)
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
            return stopped(executor->run);
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
    count(executor, &executor->share.up, copy);
    return status;
}

/* Products that a task has. */
static int64_t count_of(const hri_executor *executor, const hri_task *task)
{
    const hri_engine *g = &executor->run->engine;
    return g->count != NULL ? g->count(g->data, task) : 1;
}

/* ---- tiles of C */

/* Take the slot for the task's tile, so that the compute queue may write it.
 * Where beta is not 0, start to bring old C into it. */
static hr_status open_tile(hri_executor *executor, const hri_task *task,
                           int32_t slot)
{
    hri_run_state *run = executor->run;
    hri_tile_slot *tile = &executor->tiles[slot];
    pthread_mutex_lock(&run->lock);
    while (tile->draining && !hri_is_stopped(executor)) {
        pthread_cond_wait(&executor->changed[HRI_ARRIVED], &run->lock);
    }
    hr_status status = hri_is_stopped(executor) ? stop_status(run) : HR_OK;
    pthread_mutex_unlock(&run->lock);
    if (status != HR_OK) {
        return status; /* the copy pool may not have released the tile */
    }
    if (!run->flow->reads_result) {
        return HR_OK;
    }
    bool gathered;
    hri_passage old = {.side = HRI_C,
                       .task = task,
                       .slot = executor->places[HRI_C][slot],
                       .pinned = tile->pinned};
    hri_passage_find(executor, &old);
    status = hri_executor_gather(executor, &old, &gathered);
    if (status != HR_OK || !gathered) {
        return status == HR_OK ? stopped(run) : status;
    }
    status = fetch_copy(executor, &old, tile->fetched);
    return status == HR_OK
               ? executor->compute->ops->wait(executor->compute, tile->fetched)
               : status;
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
    executor->share.tiles += (uint64_t)tile->count;
    hri_executor_signs(executor);
    pthread_mutex_unlock(&run->lock);
    pthread_cond_broadcast(&executor->changed[HRI_ARRIVED]);
}

/* Send the tile home after its last product, which has just been enqueued. */
static hr_status store_tile(hri_executor *executor, const hri_task *task,
                            int32_t slot)
{
    hri_tile_slot *tile = &executor->tiles[slot];
    hri_passage home = {.side = HRI_C,
                        .task = task,
                        .slot = executor->places[HRI_C][slot],
                        .pinned = tile->pinned,
                        .home = true};
    hri_passage_find(executor, &home);
    /* the tile follows in the same queue, unless it must not wait there */
    const bool follows = executor->brief && !executor->down_pool.direct;
    hr_status status =
        follows
            ? HR_OK
            : executor->compute->ops->record(executor->compute, tile->ready);
    if (status == HR_OK) {
        count(executor, &executor->share.down, &home.copy);
        tile->draining = true;
        tile->unit = task->unit;
        tile->count = count_of(executor, task);
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
    }
    return status;
}

/* ---- one task */

static double flops_of(const hri_engine *g, const hri_task *task)
{
    return g->flops != NULL ? g->flops(g->data, task) : 0.0;
}

/* Enqueue the task, between two events. */
static hr_status issue(hri_executor *executor, const hri_task *task,
                       const source *from, const hri_place *tile)
{
    hri_run_state *run = executor->run;
    const hri_engine *g = &run->engine;
    hri_queue *q = executor->compute;
    const hri_flow_task command = {
        .task = task,
        .part = (uint32_t)(executor - run->executors),
        .accelerator = executor->accelerator,
        .queue = q,
        .places = {from->place[HRI_A], from->place[HRI_B], tile},
        .packed = from->packed};
    int at = (int)(executor->issued % HRI_WINDOW);
    hr_status status = HR_OK;
    for (int side = HRI_A; side <= HRI_B && status == HR_OK; side++) {
        if (from->ready[side] != NULL) {
            status = q->ops->wait(q, from->ready[side]);
        }
    }
    if (status == HR_OK && executor->timed) {
        status = q->ops->record(q, executor->begun[at]);
    }
    if (status == HR_OK) {
        status = g->run(g->data, &command);
    }
    if (status != HR_OK) {
        return status;
    }
    if (executor->timed) {
        status = q->ops->record(q, executor->done[at]);
    }
    pthread_mutex_lock(&run->lock);
    executor->window[at] = (hri_issued){.flops = flops_of(g, task),
                                        .count = count_of(executor, task),
                                        .unit = task->unit,
                                        .last = task->last};
    executor->issued += status == HR_OK;
    hri_executor_signs(executor);
    const bool wakes = executor->issued >= executor->wanted;
    executor->wanted = wakes ? INT64_MAX : executor->wanted;
    pthread_mutex_unlock(&run->lock);
    if (wakes) {
        pthread_cond_broadcast(&executor->changed[HRI_FREED]);
    }
    return status;
}

static hr_status run_task(hri_executor *executor, const hri_task *task,
                          const source *from)
{
    /* alone in place, tasks are so long that none needs to wait in the queue */
    bool alone =
        executor->part->in_place && executor->run->flow->part_count == 1;
    hr_status status = throttle(executor, alone ? 0 : HRI_WINDOW - 1);
    if (status != HR_OK) {
        return status;
    }
    int32_t slot = task->slot;
    const hri_place *tile = NULL;
    if (!executor->part->in_place) {
        if (slot < 0) {
            slot = (int32_t)(executor->stores++ % executor->part->slots[HRI_C]);
        }
        if (task->first) {
            status = open_tile(executor, task, slot);
        }
        tile = &executor->places[HRI_C][slot];
    }
    if (status == HR_OK) {
        status = issue(executor, task, from, tile);
    }
    return status == HR_OK && task->last && tile != NULL
               ? store_tile(executor, task, slot)
               : status;
}

/* ---- the executor's own tasks */

/* Wait, for executor `who`, until delivery `number` of executor has been
 * enqueued, and give its place and event. When `who` is stopped these mean
 * nothing. */
static void await(hri_executor *who, hri_executor *executor, int side,
                  int64_t number, source *from)
{
    hri_run_state *run = executor->run;
    if (number < 0) {
        return; /* in place, or there is no such delivery */
    }
    const hri_arrival *a = &executor->arrivals[number];
    hri_wait_awake(&a->issued, who->brief ? hri_brief_moment : 0.0);
    pthread_mutex_lock(&run->lock);
    const hri_delivery *d = &executor->part->deliveries[number];
    while (!hri_is_stopped(who) && !a->issued) {
        /* to bring a panel is its own work, once there is one */
        hri_executor_idles(who, executor != who || !hri_is_there(executor, d));
        pthread_cond_wait(&executor->changed[HRI_ARRIVED], &run->lock);
    }
    hri_executor_idles(who, false);
    const hri_place *slot =
        executor == who || !hri_is_stopped(who)
            ? &executor->places[side][executor->part->deliveries[number].slot]
            : NULL; /* the executor may be gone */
    if (executor == who) {
        from->place[side] = slot;
        from->ready[side] = a->ready;
    } else if (slot != NULL) {
        from->there[side] = *slot;
        from->ready[side] = a->ready;
        who->steals = true;
    }
    pthread_mutex_unlock(&run->lock);
}

/* Use the packed copy of A. The first task that needs a panel packs it. The
 * slot where the panel arrived is not used again before that task has run. */
static hr_status pack_panel(hri_executor *executor, const hri_task *task,
                            source *from)
{
    hri_queue *q = executor->compute;
    int32_t slot = executor->part->deliveries[task->a].slot;
    hr_status status = HR_OK;
    if (executor->packed_of[slot] != task->a) {
        const hri_engine *g = &executor->run->engine;
        if (from->ready[HRI_A] != NULL) {
            status = q->ops->wait(q, from->ready[HRI_A]);
        }
        if (status == HR_OK) {
            status = g->pack(g->data, task, q, *from->place[HRI_A],
                             executor->packed[slot]);
        }
        executor->packed_of[slot] = task->a;
    }
    from->place[HRI_A] = &executor->packed[slot];
    from->ready[HRI_A] = NULL; /* the queue is in order, so there is no need to
                                  wait */
    from->packed = true;
    return status;
}

/* The executor's next own task, and whether its term has come. NULL when none
 * is left or it is stopped. */
static const hri_task *next_own(hri_executor *executor, bool *come)
{
    hri_run_state *run = executor->run;
    const hri_task *task = NULL;
    pthread_mutex_lock(&run->lock);
    if (!hri_is_stopped(executor) && executor->next < executor->end) {
        task = &executor->part->tasks[executor->next++];
        *come = run->come > task->chunk;
    }
    pthread_mutex_unlock(&run->lock);
    return task;
}

/* Earlier terms are released first: this one may come to where they were. */
static hr_status await_term(hri_executor *executor, int64_t term)
{
    const hr_status status = throttle(executor, 0);
    if (status == HR_OK) {
        hri_terms_wait(executor, term);
    }
    return status;
}

static hr_status run_own(hri_executor *executor)
{
    const hri_task *task;
    hr_status status = HR_OK;
    bool come;
    while (status == HR_OK && (task = next_own(executor, &come)) != NULL) {
        source from = {0};
        if (!come) {
            status = await_term(executor, task->chunk);
        }
        if (status != HR_OK) {
            break;
        }
        await(executor, executor, HRI_A, task->a, &from);
        await(executor, executor, HRI_B, task->b, &from);
        if (hri_executor_stopped(executor)) {
            break;
        }
        if (executor->packed != NULL) {
            status = pack_panel(executor, task, &from);
        }
        if (status == HR_OK) {
            status = run_task(executor, task, &from);
        }
    }
    return status;
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
            ? executor->share.seconds_busy / (double)executor->collected
            : executor->part->seconds / (double)executor->part->task_count;
    return executor->issued > executor->collected ? fmax(usual, silent) : usual;
}

/* The executor's tasks that others may take. */
static int64_t tasks_left(const hri_executor *executor)
{
    return executor->end - hri_max(executor->next, executor->part->steady);
}

/* Whether the slots have room for the last task of another executor, which may
 * be in place. */
static bool has_room(const hri_executor *executor, const hri_executor *other)
{
    const hri_engine *g = &executor->run->engine;
    const hri_task *task = &other->part->tasks[other->end - 1];
    const hri_place place = {0};
    bool room = true;
    for (int side = HRI_A; side < HRI_SIDES && room; side++) {
        if (executor->part->slots[side] > 0 && !executor->part->in_place) {
            const hri_copy box = g->box(g->data, side, task, place);
            room =
                hri_copy_bytes(&box) <= executor->run->flow->slot_bytes[side];
        }
    }
    return room;
}

/* The executor that is furthest behind. NULL when nobody has tasks left.
 * *seconds: of work that it has not issued yet. The run's lock is held. */
static hri_executor *find_behind(const hri_executor *executor, uint64_t now_ns,
                                 double *seconds)
{
    hri_run_state *run = executor->run;
    hri_executor *behind = NULL;
    *seconds = 0.0;
    for (uint32_t i = 0; i < run->flow->part_count; i++) {
        hri_executor *other = &run->executors[i];
        const int64_t left = tasks_left(other);
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
static const hri_task *steal(hri_executor *executor, hri_executor **victim)
{
    hri_run_state *run = executor->run;
    const uint32_t look_ms = LOOK_MS + run->flow->part_count / LOOKS_PER_MS;
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
            task = &behind->part->tasks[--behind->end];
            *victim = behind;
        } else {
            hri_executor_idles(executor, true);
            const uint64_t soon_ns = hri_in_ms(look_ms);
            hri_wait_until(&executor->changed[HRI_ARRIVED], &run->lock,
                           soon_ns);
        }
    }
    hri_executor_idles(executor, false);
    pthread_mutex_unlock(&run->lock);
    if (task != NULL) { /* its feeder may wait to bring what the task needs */
        pthread_cond_broadcast(&(*victim)->changed[HRI_FREED]);
    }
    return task;
}

/* Find the executor's own copy of a panel. False when it has none. */
static bool find_own(hri_executor *executor, int side, int32_t index,
                     source *from)
{
    int64_t found = -1;
    pthread_mutex_lock(&executor->run->lock);
    for (int32_t s = 0; s < executor->part->slots[side] && found < 0; s++) {
        int64_t number = executor->held[side][s];
        if (number >= 0 && executor->part->deliveries[number].index == index) {
            found = number;
        }
    }
    pthread_mutex_unlock(&executor->run->lock);
    await(executor, executor, side, found, from);
    return found >= 0;
}

/* Bring a panel of a stolen task into the executor's spare slot: from the
 * victim if it is a peer, else from the host. */
static hr_status bring_panel(hri_executor *executor, hri_executor *victim,
                             int side, const hri_task *task, source *from)
{
    const int32_t index = side == HRI_A ? task->row : task->col;
    int64_t number = side == HRI_A ? task->a : task->b;
    if (find_own(executor, side, index, from)) {
        return HR_OK;
    }
    hri_queue *q = executor->fetch;
    hri_passage passage = {
        .side = side,
        .task = task,
        .slot = executor->spare[side],
        .pinned = hri_pinned_of(executor, side, executor->part->slots[side])};
    hri_passage_find(executor, &passage);
    hri_copy copy = passage.copy;
    hri_device *device = executor->accelerator->device;
    /* what nobody else needs does not come to the victim any more */
    bool peers = number >= 0 && victim->part->deliveries[number].only < 0 &&
                 device->ops->is_peer(device, victim->accelerator->device);
    bool gathered;
    hr_status status =
        passage.pinned != NULL && executor->share.tiles_stolen > 0
            ? executor->spare_ready[side]->ops->wait(
                  executor->spare_ready[side])
            : HR_OK;
    if (status == HR_OK) {
        status = hri_executor_gather(executor, &passage, &gathered);
    }
    if (status != HR_OK || !gathered) {
        return status;
    }
    if (executor->issued >
        0) { /* the last stolen task has read the spare slot */
        status = q->ops->wait(
            q, executor->done[(executor->issued - 1) % HRI_WINDOW]);
    }
    if (status == HR_OK && peers) {
        source there = {0};
        await(executor, victim, side, number, &there);
        if (hri_executor_stopped(executor)) {
            return HR_OK;
        }
        copy.from = there.there[side];
        copy.from_pitch = copy.to_pitch;
        status = q->ops->wait(q, there.ready[side]);
        if (status == HR_OK) {
            status = q->ops->copy(q, &copy);
        }
        if (status == HR_OK) {
            status = q->ops->record(q, executor->spare_ready[side]);
        }
        count(executor, &executor->share.peer, &copy);
    } else if (status == HR_OK) {
        status = fetch_copy(executor, &passage, executor->spare_ready[side]);
    }
    count(executor, &executor->share.stolen, &copy);
    from->place[side] = &executor->spare[side];
    from->ready[side] = executor->spare_ready[side];
    return status;
}

static hr_status run_stolen(hri_executor *executor)
{
    const hri_task *task;
    hri_executor *victim = NULL;
    hr_status status = HR_OK;
    while (status == HR_OK && executor->part->spare &&
           (task = steal(executor, &victim)) != NULL) {
        source from = {0};
        for (int side = HRI_A; side <= HRI_B && status == HR_OK; side++) {
            if (!executor->part->in_place && executor->part->slots[side] > 0) {
                status = bring_panel(executor, victim, side, task, &from);
            }
        }
        if (status == HR_OK && !hri_executor_stopped(executor)) {
            executor->share.tiles_stolen += (uint64_t)count_of(executor, task);
            status = run_task(executor, task, &from);
        }
        if (status == HR_OK) {
            status = throttle(executor, 1); /* look for more only when the last
                                               task is nearly done */
        }
    }
    return status;
}

hr_status hri_compute(hri_executor *executor)
{
    hr_status status = HR_OK;
    if (executor->brief) {
        status = hri_executor_feed(executor);
        hri_copy_pool_help(&executor->up_pool);
    }
    if (status == HR_OK) {
        status = run_own(executor);
    }
    if (status == HR_OK) {
        status = run_stolen(executor);
    }
    return status == HR_OK ? throttle(executor, 0) : status;
}
