/* SPDX-License-Identifier: MIT */
/* The worker: issues a lane's products in order, and at the end those of other
 * lanes that are behind. */
#include "base/size.h"
#include "gemm/lane.h"

/* Where a task's operands are, in the lane that runs it. NULL: in the caller's
 * memory. */
typedef struct source {
    const hri_place *place[2];
    hri_event *ready[2]; /* NULL: nothing to wait for */
    bool turned;         /* A lies by columns */
} source;

/* ---- what has run */

/* Wait until the next task has run, and count it. */
static hr_status collect(hri_lane *lane)
{
    hri_run_state *run = lane->run;
    int at = (int)(lane->collected % HRI_WINDOW);
    hri_event *begun = lane->begun[at], *done = lane->done[at];
    uint64_t ns = 0;
    hr_status status = done->ops->wait(done);
    if (status == HR_OK) {
        status = begun->ops->elapsed(begun, done, &ns);
    }
    if (status != HR_OK) {
        return status;
    }
    pthread_mutex_lock(&run->lock);
    lane->share->seconds_busy += (double)ns * 1e-9;
    lane->share->flops += lane->flops[at];
    lane->collected++;
    run->flops_done += lane->flops[at];
    pthread_mutex_unlock(&run->lock);
    return HR_OK;
}

/* Wait until no more than `most` tasks are under way. */
static hr_status throttle(hri_lane *lane, int64_t most)
{
    hr_status status = HR_OK;
    while (status == HR_OK && lane->issued - lane->collected > most) {
        status = collect(lane);
    }
    return status;
}

/* Several threads count a lane's bytes. */
static void count(hri_lane *lane, uint64_t *bytes, const hri_copy *copy)
{
    pthread_mutex_lock(&lane->run->lock);
    *bytes += hri_copy_bytes(copy);
    pthread_mutex_unlock(&lane->run->lock);
}

static hr_status run_error(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    hr_status status = hri_error_raise(&run->error);
    pthread_mutex_unlock(&run->lock);
    return status;
}

/* Copy host memory into a buffer on the fetch queue, before other panels, and
 * record event behind it. */
static hr_status fetch_copy(hri_lane *lane, const hri_copy *copy, bool staged,
                            hri_event *event)
{
    hri_queue *q = lane->fetch;
    hr_status status = HR_OK;
    if (staged) {
        hri_job job = {.copy = *copy, .queue = q};
        hri_crew_put(&lane->up_crew, &job, true);
        if (!hri_crew_wait(&lane->up_crew, &job)) {
            return run_error(lane->run);
        }
    }
    hri_lock_soon(&lane->queues);
    if (!staged) {
        status = q->ops->copy(q, copy);
    }
    if (status == HR_OK) {
        status = q->ops->record(q, event);
    }
    pthread_mutex_unlock(&lane->queues);
    count(lane, &lane->share->up, copy);
    return status;
}

/* ---- tiles of C */

/* The slot for the task's tile, free to be written by the compute queue; old C
 * on its way into it where beta wants it. */
static hr_status open_tile(hri_lane *lane, const hri_task *task, int32_t slot)
{
    hri_run_state *run = lane->run;
    hri_tile_slot *tile = &lane->tiles[slot];
    pthread_mutex_lock(&run->lock);
    while (tile->draining && run->error.status == HR_OK) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    hr_status status = hri_error_raise(&run->error);
    pthread_mutex_unlock(&run->lock);
    if (status != HR_OK) {
        return status; /* the crew may have left the tile in use */
    }
    if (!run->plan->shape.read_c) {
        return HR_OK;
    }
    hri_copy copy =
        hri_copy_of(run, HRI_C, task, lane->places[HRI_C][slot], false);
    status = fetch_copy(lane, &copy, lane->staged[HRI_C], tile->fetched);
    return status == HR_OK
               ? lane->compute->ops->wait(lane->compute, tile->fetched)
               : status;
}

/* The crew has brought a tile home. */
static void tile_is_home(void *data)
{
    hri_tile_slot *tile = data;
    hri_run_state *run = tile->lane->run;
    pthread_mutex_lock(&run->lock);
    tile->draining = false;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

/* Send the tile home when its last product, just issued, has run. */
static hr_status store_tile(hri_lane *lane, const hri_task *task, int32_t slot)
{
    hri_tile_slot *tile = &lane->tiles[slot];
    hri_copy copy =
        hri_copy_of(lane->run, HRI_C, task, lane->places[HRI_C][slot], true);
    hr_status status = lane->compute->ops->record(lane->compute, tile->ready);
    if (status == HR_OK) {
        count(lane, &lane->share->down, &copy);
        tile->draining = true;
        tile->home = (hri_job){.copy = copy,
                               .queue = lane->down,
                               .after = tile->ready,
                               .done = tile_is_home,
                               .data = tile};
        hri_crew_put(&lane->down_crew, &tile->home, false);
    }
    return status;
}

/* ---- one task */

static hri_gemm product_of(const hri_lane *lane, const hri_task *task,
                           const source *from, const hri_place *tile)
{
    const hri_product *p = lane->run->product;
    const hri_plan *plan = lane->run->plan;
    hri_gemm gemm = {
        .type = p->a.type,
        .c_type = p->c.type,
        .compute = p->compute,
        .m = hri_plan_length(plan, hri_plan_row, task->row),
        .n = hri_plan_length(plan, hri_plan_col, task->col),
        .k = hri_plan_length(plan, hri_plan_chunk, task->chunk),
        .alpha = p->alpha,
        .beta = task->chunk == 0 ? p->beta : hr_real(1.0),
        .a = hri_operand_of(lane->run, HRI_A, task, from->place[HRI_A],
                            from->turned),
        .b = hri_operand_of(lane->run, HRI_B, task, from->place[HRI_B], false),
        .c = hri_operand_of(lane->run, HRI_C, task, tile, false),
    };
    return gemm;
}

/* The product itself, between two events. */
static hr_status issue_product(hri_lane *lane, const hri_gemm *gemm,
                               const source *from)
{
    hri_run_state *run = lane->run;
    hri_queue *q = lane->compute;
    int at = (int)(lane->issued % HRI_WINDOW);
    hr_status status = HR_OK;
    for (int side = HRI_A; side <= HRI_B && status == HR_OK; side++) {
        if (from->ready[side] != NULL) {
            status = q->ops->wait(q, from->ready[side]);
        }
    }
    if (status == HR_OK) {
        status = q->ops->record(q, lane->begun[at]);
    }
    if (status == HR_OK) {
        status = q->ops->gemm(q, gemm);
    }
    if (status != HR_OK) {
        return status;
    }
    lane->flops[at] = hri_product_flops(gemm->type, gemm->m, gemm->n, gemm->k);
    pthread_mutex_lock(&run->lock);
    status = q->ops->record(q, lane->done[at]);
    lane->issued += status == HR_OK;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return status;
}

static hr_status run_task(hri_lane *lane, const hri_task *task,
                          const source *from)
{
    /* alone in place, tasks are so long that none needs to wait in the queue */
    bool alone = lane->part->in_place && lane->run->plan->part_count == 1;
    hr_status status = throttle(lane, alone ? 0 : HRI_WINDOW - 1);
    bool last = task->chunk == lane->run->plan->blocking.chunks - 1;
    lane->share->tiles += last;
    if (status != HR_OK) {
        return status;
    }
    int32_t slot = task->slot;
    const hri_place *tile = NULL;
    if (!lane->part->in_place) {
        if (slot < 0) {
            slot = (int32_t)(lane->stores++ % lane->part->slots[HRI_C]);
        }
        if (task->chunk == 0) {
            status = open_tile(lane, task, slot);
        }
        tile = &lane->places[HRI_C][slot];
    }
    if (status == HR_OK) {
        hri_gemm gemm = product_of(lane, task, from, tile);
        status = issue_product(lane, &gemm, from);
    }
    return status == HR_OK && last && tile != NULL
               ? store_tile(lane, task, slot)
               : status;
}

/* ---- the lane's own tasks */

/* Wait until delivery `number` of lane has been issued, for its place and
 * event; they mean nothing when the run has failed. */
static void await(hri_lane *lane, int side, int64_t number, source *from)
{
    hri_run_state *run = lane->run;
    if (number < 0) {
        return; /* in place, or not there */
    }
    const hri_arrival *a = &lane->arrivals[number];
    pthread_mutex_lock(&run->lock);
    while (run->error.status == HR_OK && !a->issued) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    from->place[side] =
        &lane->places[side][lane->part->deliveries[number].slot];
    from->ready[side] = a->ready;
    pthread_mutex_unlock(&run->lock);
}

/* Let A come from where it lies by columns; the first task that needs a panel
 * has it turned about. The slot where it arrived is not given to another before
 * that task has run. */
static hr_status turn_panel(hri_lane *lane, const hri_task *task, source *from)
{
    hri_queue *q = lane->compute;
    int32_t slot = lane->part->deliveries[task->a].slot;
    hr_status status = HR_OK;
    if (lane->turned_of[slot] != task->a) {
        hri_turn turn = hri_panel_turn(lane->run, task, *from->place[HRI_A],
                                       lane->turned[slot]);
        status = q->ops->wait(q, from->ready[HRI_A]);
        if (status == HR_OK) {
            status = q->ops->turn(q, &turn);
        }
        lane->turned_of[slot] = task->a;
    }
    from->place[HRI_A] = &lane->turned[slot];
    from->ready[HRI_A] = NULL; /* the queue is in order */
    from->turned = true;
    return status;
}

/* The lane's next own task; NULL when there is none left or the run failed. */
static const hri_task *next_own(hri_lane *lane)
{
    hri_run_state *run = lane->run;
    const hri_task *task = NULL;
    pthread_mutex_lock(&run->lock);
    if (run->error.status == HR_OK && lane->next < lane->end) {
        task = &lane->part->tasks[lane->next++];
    }
    pthread_mutex_unlock(&run->lock);
    return task;
}

static hr_status run_own(hri_lane *lane)
{
    const hri_task *task;
    hr_status status = HR_OK;
    while (status == HR_OK && (task = next_own(lane)) != NULL) {
        source from = {0};
        await(lane, HRI_A, task->a, &from);
        await(lane, HRI_B, task->b, &from);
        if (hri_run_stopped(lane->run)) {
            break;
        }
        if (lane->turned != NULL) {
            status = turn_panel(lane, task, &from);
        }
        if (status == HR_OK) {
            status = run_task(lane, task, &from);
        }
    }
    return status;
}

/* ---- stealing */

/* How long one of the lane's tasks takes: as seen so far, else as planned. */
static double task_seconds(const hri_lane *lane)
{
    if (lane->collected > 0) {
        return lane->share->seconds_busy / (double)lane->collected;
    }
    return lane->part->seconds / (double)lane->part->task_count;
}

/* How long lane has still to do with what it has not issued yet. Only tasks of
 * the last block count: their panels stay to the end. */
static double seconds_left(const hri_lane *lane)
{
    const hri_blocking *b = &lane->run->plan->blocking;
    int64_t blocks = b->block_rows * b->block_cols;
    int64_t first = lane->part->task_count / blocks * (blocks - 1);
    return (double)(lane->end - hri_max(lane->next, first)) *
           task_seconds(lane);
}

/* Take the last task of the lane that is furthest behind, if that ends sooner
 * than leaving it there. NULL: nothing worth it. */
static const hri_task *steal(hri_lane *lane, hri_lane **victim)
{
    hri_run_state *run = lane->run;
    const hri_task *task = NULL;
    hri_lane *behind = NULL;
    pthread_mutex_lock(&run->lock);
    /* its forwarder may still be forwarding panels to those who are behind */
    while (run->error.status == HR_OK && !lane->part->in_place &&
           !lane->forwarded) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    for (uint32_t i = 0; i < run->plan->part_count; i++) {
        hri_lane *other = &run->lanes[i];
        if (other != lane &&
            (behind == NULL || seconds_left(other) > seconds_left(behind))) {
            behind = other;
        }
    }
    double own = task_seconds(lane);
    if (behind != NULL && run->error.status == HR_OK &&
        seconds_left(behind) > own && behind->next < behind->end) {
        task = &behind->part->tasks[--behind->end];
        *victim = behind;
    }
    pthread_mutex_unlock(&run->lock);
    return task;
}

/* The lane's own copy of a panel, when it has one. */
static bool find_own(hri_lane *lane, int side, int32_t index, source *from)
{
    int64_t found = -1;
    pthread_mutex_lock(&lane->run->lock);
    for (int32_t s = 0; s < lane->part->slots[side] && found < 0; s++) {
        int64_t number = lane->held[side][s];
        if (number >= 0 && lane->part->deliveries[number].index == index) {
            found = number;
        }
    }
    pthread_mutex_unlock(&lane->run->lock);
    await(lane, side, found, from);
    return found >= 0;
}

/* Bring a panel of a stolen task into the lane's spare slot: from the victim
 * when it is a peer, else from the host. */
static hr_status bring_panel(hri_lane *lane, hri_lane *victim, int side,
                             const hri_task *task, source *from)
{
    hri_run_state *run = lane->run;
    int32_t index = side == HRI_A ? task->row : task->col;
    int64_t number = side == HRI_A ? task->a : task->b;
    if (find_own(lane, side, index, from)) {
        return HR_OK;
    }
    hri_queue *q = lane->fetch;
    hri_copy copy = hri_copy_of(run, side, task, lane->spare[side], false);
    hri_device *device = lane->accelerator->device;
    bool peers = number >= 0 &&
                 device->ops->is_peer(device, victim->accelerator->device);
    hr_status status = HR_OK;
    if (lane->issued > 0) { /* the last stolen task has read the spare slot */
        status = q->ops->wait(q, lane->done[(lane->issued - 1) % HRI_WINDOW]);
    }
    if (status == HR_OK && peers) {
        source there = {0};
        await(victim, side, number, &there);
        if (hri_run_stopped(run)) {
            return HR_OK;
        }
        copy.from = *there.place[side];
        copy.from_pitch = copy.to_pitch;
        status = q->ops->wait(q, there.ready[side]);
        if (status == HR_OK) {
            status = q->ops->copy(q, &copy);
        }
        if (status == HR_OK) {
            status = q->ops->record(q, lane->spare_ready[side]);
        }
        count(lane, &lane->share->peer, &copy);
    } else if (status == HR_OK) {
        status = fetch_copy(lane, &copy, lane->staged[side],
                            lane->spare_ready[side]);
    }
    count(lane, &lane->share->stolen, &copy);
    from->place[side] = &lane->spare[side];
    from->ready[side] = lane->spare_ready[side];
    return status;
}

static hr_status run_stolen(hri_lane *lane)
{
    const hri_task *task;
    hri_lane *victim;
    hr_status status = HR_OK;
    while (status == HR_OK && lane->part->spare &&
           (task = steal(lane, &victim)) != NULL) {
        source from = {0};
        for (int side = HRI_A; side <= HRI_B && status == HR_OK; side++) {
            if (!lane->part->in_place) {
                status = bring_panel(lane, victim, side, task, &from);
            }
        }
        if (status == HR_OK && !hri_run_stopped(lane->run)) {
            lane->share->tiles_stolen++;
            status = run_task(lane, task, &from);
        }
        if (status == HR_OK) {
            status = throttle(lane, 1); /* look again only when it is due */
        }
    }
    return status;
}

/* Until every thread of the run has started, or it has failed: C stays as it
 * was when the system refuses one. */
static void wait_for_all(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    while (!run->go && run->error.status == HR_OK) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

void *hri_worker_main(void *argument)
{
    hri_lane *lane = argument;
    wait_for_all(lane->run);
    hr_status status = run_own(lane);
    if (status == HR_OK) {
        status = run_stolen(lane);
    }
    if (status == HR_OK) {
        status = throttle(lane, 0);
    }
    hri_lane_thread_ends(lane, status);
    return NULL;
}
