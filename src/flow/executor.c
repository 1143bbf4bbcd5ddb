/* SPDX-License-Identifier: MIT */
/* The life of an executor, from setting up to settling: its memory, its queues
 * and its threads. */
#include "flow/executor.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/size.h"
#include "trace/traced.h"

static hr_status no_memory(const hri_executor *executor)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory to run the plan",
                    executor->run->engine.call);
}

/* ---- slots */

static hr_status allocate_buffer(hri_executor *executor, uint64_t bytes,
                                 hri_buffer **buffer)
{
    HRI_TRY(hri_accelerator_allocate(executor->accelerator, bytes, buffer));
    executor->buffers[executor->buffer_count++] = *buffer;
    return HR_OK;
}

/* Allocate all memory of the share at once, if one buffer may hold it. An H200
 * takes 0.1 to 0.4 ms for each new buffer (November 2026). With more memory
 * products take so long that it does not matter. */
static hr_status allocate_whole(hri_executor *executor)
{
    static const uint64_t most = UINT64_C(1) << 30;
    const uint64_t bytes =
        hri_flow_memory(executor->run->flow, executor->share);
    return bytes <= most &&
                   bytes <= executor->accelerator->device->info.allocation_bytes
               ? allocate_buffer(executor, bytes, &executor->whole)
               : HR_OK;
}

/* Find memory for `count` slots of `bytes` bytes, in as few buffers as the
 * device allows. places[i] is where slot i starts. */
static hr_status allocate_places(hri_executor *executor, uint64_t bytes,
                                 int64_t count, hri_place *places)
{
    for (int64_t i = 0; i < count && executor->whole != NULL; i++) {
        places[i] = hri_at(executor->whole, (size_t)executor->handed_out);
        executor->handed_out += bytes;
    }
    if (executor->whole != NULL) {
        return HR_OK;
    }
    uint64_t most =
        executor->accelerator->device->info.allocation_bytes / bytes;
    int64_t per_buffer = hri_max(hri_min(count, (int64_t)most), 1);
    for (int64_t first = 0; first < count; first += per_buffer) {
        int64_t here = hri_min(per_buffer, count - first);
        hri_buffer *buffer;
        HRI_TRY(allocate_buffer(executor, bytes * (uint64_t)here, &buffer));
        for (int64_t i = 0; i < here; i++) {
            places[first + i] = hri_at(buffer, (size_t)i * (size_t)bytes);
        }
    }
    return HR_OK;
}

static hr_status take_events(hri_executor *executor, hri_event **events,
                             int count)
{
    for (int i = 0; i < count; i++) {
        HRI_TRY(hri_accelerator_take_event(executor->accelerator, &events[i]));
    }
    return HR_OK;
}

/* Bytes of the only panel of A in its slot. */
static uint64_t only_panel(const hri_executor *executor)
{
    const hri_engine *g = &executor->run->engine;
    const hri_place place = {0};
    const hri_copy a =
        g->box(g->data, HRI_A, &executor->share->tasks[0], place);
    return a.depth > 1    ? a.depth * a.to_slice
           : a.height > 1 ? a.height * a.to_pitch
                          : a.width;
}

/* Whether the only panels of a brief flow lie in one buffer, B behind A, so
 * that the copy pool may carry both as one. */
static bool are_joined(const hri_executor *executor)
{
    enum { ALIGNMENT = 16 };
    const uint64_t *bytes = executor->run->flow->slot_bytes;
    return executor->alone && executor->staged.of[HRI_A] &&
           executor->staged.of[HRI_B] && executor->share->slots[HRI_A] > 0 &&
           executor->share->slots[HRI_B] > 0 &&
           only_panel(executor) % ALIGNMENT == 0 &&
           bytes[HRI_A] + bytes[HRI_B] <=
               executor->accelerator->device->info.allocation_bytes;
}

/* Allocate the share's slots of a side, and note which delivery each holds. */
static hr_status allocate_slots(hri_executor *executor, int side,
                                hri_place **places, int64_t **held)
{
    const size_t count = (size_t)executor->share->slots[side];
    *places = calloc(count + 1, sizeof **places);
    *held = malloc((count + 1) * sizeof **held);
    if (*places == NULL || *held == NULL) {
        return no_memory(executor);
    }
    for (size_t i = 0; i < count; i++) {
        (*held)[i] = -1;
    }
    if (count == 0) {
        return HR_OK;
    }
    const uint64_t *bytes = executor->run->flow->slot_bytes;
    const bool joined = side < HRI_C && places == &executor->places[side] &&
                        are_joined(executor);
    if (joined && side == HRI_B) {
        const hri_place from = executor->places[HRI_A][0];
        **places =
            hri_at(from.buffer, from.offset + (size_t)only_panel(executor));
        return HR_OK;
    }
    const uint64_t more = joined ? bytes[HRI_B] : 0;
    return allocate_places(executor, bytes[side] + more, (int64_t)count,
                           *places);
}

static hr_status allocate_tiles(hri_executor *executor)
{
    size_t count = (size_t)executor->share->slots[HRI_C];
    executor->tiles = calloc(count, sizeof *executor->tiles);
    if (executor->tiles == NULL) {
        return no_memory(executor);
    }
    HRI_TRY(allocate_slots(executor, HRI_C, &executor->places[HRI_C],
                           &executor->held[HRI_C]));
    for (size_t i = 0; i < count; i++) {
        hri_tile_slot *tile = &executor->tiles[i];
        tile->executor = executor;
        tile->pinned = hri_pinned_of(executor, HRI_C, (int32_t)i);
        HRI_TRY(take_events(executor, &tile->ready, 1));
        HRI_TRY(take_events(executor, &tile->fetched, 1));
    }
    return HR_OK;
}

/* A pinned place for each slot of a side that is gathered, and for the spare
 * one. */
static hr_status allocate_pinned(hri_executor *executor)
{
    const hri_flow_share *share = executor->share;
    const uint64_t *each = executor->run->flow->slot_bytes;
    size_t bytes = 0, offsets[3] = {0};
    void *host = NULL;
    for (int side = HRI_A; side <= HRI_C; side++) {
        const size_t slots =
            (size_t)share->slots[side] + (side < HRI_C && share->can_steal);
        offsets[side] = bytes;
        bytes += share->gathered[side] ? slots * (size_t)each[side] : 0;
    }
    if (bytes == 0) {
        return HR_OK;
    }
    HRI_TRY(
        hri_accelerator_allocate_pinned(executor->accelerator, bytes, &host));
    executor->pinned = host;
    for (int side = HRI_A; side <= HRI_C; side++) {
        executor->gathered[side] =
            share->gathered[side] ? executor->pinned + offsets[side] : NULL;
    }
    return HR_OK;
}

/* The slots of A or B, with a spare one. */
static hr_status allocate_panels(hri_executor *executor, int side)
{
    const hri_flow_share *share = executor->share;
    executor->loads[side] =
        calloc((size_t)share->slots[side] + 1, sizeof(hri_load));
    if (executor->loads[side] == NULL) {
        return no_memory(executor);
    }
    HRI_TRY(allocate_slots(executor, side, &executor->places[side],
                           &executor->held[side]));
    return share->can_steal && share->slots[side] > 0
               ? allocate_places(executor,
                                 executor->run->flow->slot_bytes[side], 1,
                                 &executor->spare[side])
               : HR_OK;
}

/* The slots of packed panels of A or B, with a spare one. */
static hr_status allocate_packed(hri_executor *executor, int side)
{
    const hri_flow *flow = executor->run->flow;
    const hri_flow_share *share = executor->share;
    const int64_t spare = flow->must_pack && share->can_steal;
    const int64_t slots = share->slots[side];
    executor->packed[side] = calloc((size_t)slots + 1, sizeof(hri_place));
    executor->packed_of[side] = malloc(((size_t)slots + 1) * sizeof(int64_t));
    if (executor->packed[side] == NULL || executor->packed_of[side] == NULL) {
        return no_memory(executor);
    }
    for (int64_t i = 0; i <= slots; i++) {
        executor->packed_of[side][i] = -1;
    }
    return allocate_places(executor, flow->packed_bytes[side], slots + spare,
                           executor->packed[side]);
}

static hr_status allocate_memory(hri_executor *executor)
{
    const hri_flow_share *share = executor->share;
    size_t buffers = 2; /* for the spare panels */
    buffers += 1;       /* for tasks */
    for (int side = HRI_A; side <= HRI_C; side++) {
        const bool packed = side < HRI_C && share->packed[side];
        buffers += (size_t)share->slots[side];
        buffers += packed ? (size_t)share->slots[side] + 1 : 0;
    }
    executor->buffers = calloc(buffers, sizeof(hri_buffer *));
    executor->delivery_states = calloc((size_t)share->delivery_count + 1,
                                       sizeof *executor->delivery_states);
    if (executor->buffers == NULL || executor->delivery_states == NULL) {
        return no_memory(executor);
    }
    HRI_TRY(allocate_pinned(executor));
    HRI_TRY(allocate_whole(executor));
    HRI_TRY(allocate_panels(executor, HRI_A));
    HRI_TRY(allocate_panels(executor, HRI_B));
    if (share->can_steal) {
        HRI_TRY(take_events(executor, executor->spare_ready, 2));
    }
    for (int side = HRI_A; side <= HRI_B && !share->in_place; side++) {
        HRI_TRY(share->packed[side] ? allocate_packed(executor, side) : HR_OK);
    }
    if (executor->run->flow->scratch_bytes > 0 && !share->in_place) {
        HRI_TRY(allocate_places(executor, executor->run->flow->scratch_bytes, 1,
                                &executor->scratch));
    }
    return allocate_tiles(executor);
}

/* ---- setting up */

static void fail_executor(void *executor, hr_status status)
{
    hri_executor_fail(executor, status);
}

/* The copy pool that brings tiles home, and one for panels if their memory
 * needs staging. */
static hr_status make_copy_pools(hri_executor *executor)
{
    const bool up =
        executor->staged.of[HRI_A] || executor->staged.of[HRI_B] ||
        (executor->staged.of[HRI_C] && executor->run->flow->reads_result);
    const hri_copy_pool copy_pool = {.accelerator = executor->accelerator,
                                     .queues = &executor->queues,
                                     .helped = executor->brief,
                                     .alone = executor->alone,
                                     .fail = fail_executor,
                                     .fail_data = executor};
    if (up) {
        executor->up_pool = copy_pool;
        executor->up_pool.up = true;
        executor->up_pool.bytes = executor->share->up;
        HRI_TRY(hri_copy_pool_init(&executor->up_pool));
    }
    executor->down_pool = copy_pool;
    executor->down_pool.queues = &executor->down_queue;
    executor->down_pool.bytes = executor->share->down;
    executor->down_pool.direct = !executor->staged.of[HRI_C];
    HRI_TRY(hri_copy_pool_init(&executor->down_pool));
    return executor->brief
               ? HR_OK
               : take_events(executor, executor->under_way, HRI_COPIES);
}

static hr_status take_queues(hri_executor *executor)
{
    hri_accelerator *a = executor->accelerator;
    hri_queue **const all[HRI_QUEUES] = {[HRI_QUEUE_COMPUTE] =
                                             &executor->compute,
                                         [HRI_QUEUE_UP] = &executor->up,
                                         [HRI_QUEUE_DOWN] = &executor->down,
                                         [HRI_QUEUE_PEER] = &executor->peer,
                                         [HRI_QUEUE_FETCH] = &executor->fetch};
    const int count =
        executor->share->in_place || executor->brief ? 1 : HRI_QUEUES;
    for (int i = 0; i < count; i++) {
        HRI_TRY(hri_accelerator_take_queue(a, (hri_queue_use)i, all[i]));
    }
    if (executor->brief) {
        executor->up = executor->fetch = executor->down = executor->compute;
    }
    if (executor->timed) {
        HRI_TRY(take_events(executor, executor->begun, HRI_WINDOW));
        HRI_TRY(take_events(executor, executor->done, HRI_WINDOW));
    }
    return HR_OK;
}

void hri_executor_init(hri_executor *executor, hri_run_state *run,
                       uint32_t share, hri_accelerator *const *accelerators,
                       const hri_run_call *call)
{
    const uint32_t index = run->flow->shares[share].accelerator;
    pthread_mutex_init(&executor->queues, NULL);
    pthread_mutex_init(&executor->down_queue, NULL);
    for (int c = 0; c < HRI_CHANGES; c++) {
        pthread_cond_init(&executor->changed[c], NULL);
    }
    executor->run = run;
    executor->share = &run->flow->shares[share];
    executor->accelerator = accelerators[index];
    executor->end = executor->share->task_count;
    executor->wanted = INT64_MAX;
    executor->brief = hri_flow_is_brief(run->flow);
    executor->alone = executor->brief && run->flow->few;
    executor->timed = call->timed || !executor->brief;
    executor->staged =
        call->staged != NULL ? call->staged[index] : (hri_staged){0};
}

/* The product itself brings few bytes home where it can: into pinned memory. */
static void place_result(hri_executor *executor)
{
    const hri_flow *flow = executor->run->flow;
    if (executor->alone && executor->staged.of[HRI_C] && !flow->reads_result &&
        flow->slot_bytes[HRI_C] <= HRI_CHUNK_BYTES &&
        executor->accelerator->device->info.reaches) {
        executor->places[HRI_C][0] = hri_copy_pool_pinned(&executor->down_pool);
    }
}

static hr_status set_up(hri_executor *executor)
{
    if (executor->share->in_place) {
        return take_queues(executor);
    }
    hri_accelerator_trim_to_limit(executor->accelerator);
    HRI_TRY(take_queues(executor));
    HRI_TRY(allocate_memory(executor));
    HRI_TRY(make_copy_pools(executor));
    place_result(executor);
    return HR_OK;
}

/* ---- the executor's life */

hr_status hri_executor_start(hri_executor *executor, hri_thread **thread,
                             void *(*function)(void *), bool apart)
{
    hri_accelerator *a = executor->accelerator;
    *thread = apart ? hri_threads_start_apart(&a->threads, function, executor)
                    : hri_threads_start(&a->threads, function, executor);
    return *thread != NULL ? HR_OK
                           : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                      "%s: the system refused a thread of %s",
                                      executor->run->engine.call, a->path);
}

static hr_status start_threads(hri_executor *executor)
{
    if (executor->share->in_place) {
        return HR_OK;
    }
    if (!executor->brief) {
        HRI_TRY(hri_executor_start(executor, &executor->feeder, hri_feeder_main,
                                   false));
    }
    HRI_TRY(hri_copy_pool_start(&executor->up_pool));
    return hri_copy_pool_start(&executor->down_pool);
}

/* Any thread, with the run's lock, or when no other one uses the run. */
static void give_back_copy_pools(hri_executor *executor)
{
    hri_copy_pool_finish(&executor->up_pool);
    hri_copy_pool_finish(&executor->down_pool);
}

/* The executor has come so far. */
static void reach_state(hri_executor *executor, hri_executor_state state)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    executor->state = state;
    executor->sign_ns = hri_clock_ns();
    if (state == HRI_DONE) {
        executor->idle_ns = executor->sign_ns;
    }
    if (state == HRI_SETTLED) {
        run->settled++;
    }
    if (state == HRI_SETTLED && run->left) { /* copies of arrays may wait */
        give_back_copy_pools(executor);
    }
    if (run->settled == run->flow->share_count) {
        run->over = true;
        pthread_cond_broadcast(&run->ended);
    }
    pthread_mutex_unlock(&run->lock);
}

/* Note that the executor is set up, or cannot be. */
static void note_set_up(hri_executor *executor)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    run->set_up++;
    if (run->set_up == run->flow->share_count && run->error.status == HR_OK &&
        !run->halted) {
        run->go = true;
        hri_run_wake_all(run);
    }
    pthread_mutex_unlock(&run->lock);
}

/* Call a function for each queue that the executor has taken. */
static void for_queues(hri_executor *executor,
                       void (*function)(hri_executor *executor,
                                        hri_queue *queue))
{
    enum { COMPUTE = 3 };
    hri_queue *all[] = {executor->up, executor->peer, executor->fetch,
                        executor->compute, executor->down};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != NULL && (!executor->brief || i == COMPUTE)) {
            function(executor, all[i]);
        }
    }
}

static void finish_queue(hri_executor *executor, hri_queue *queue)
{
    hri_executor_fail(executor, queue->ops->finish(queue));
}

static void destroy_queue(hri_executor *executor, hri_queue *queue)
{
    (void)executor;
    queue->ops->destroy(queue);
}

/* Whether its queue is known to be empty: its only tile is home, and nothing
 * comes after that. */
static bool has_run_dry(const hri_executor *executor)
{
    return executor->brief && executor->run->home[0] != 0;
}

/* Wait for the executor's threads, copy pools and queues. */
static void settle(hri_executor *executor)
{
    if (executor->feeder != NULL) {
        hri_thread_join(executor->feeder);
    }
    hri_copy_pool_join(&executor->up_pool);
    hri_copy_pool_join(&executor->down_pool);
    if (!has_run_dry(executor)) {
        for_queues(executor, finish_queue);
    }
}

void *hri_executor_main(void *argument)
{
    hri_executor *executor = argument;
    if (executor->brief) {
        hri_thread_stay_awake();
    }
    hr_status status = set_up(executor);
    reach_state(executor, HRI_WORKING);
    if (status == HR_OK && !hri_executor_stopped(executor)) {
        status = start_threads(executor);
    }
    hri_executor_fail(executor, status);
    note_set_up(executor);
    if (hri_executor_await_start(executor) && status == HR_OK) {
        hri_executor_fail(executor, hri_executor_compute(executor));
    }
    reach_state(executor, HRI_DONE);
    settle(executor);
    reach_state(executor, HRI_SETTLED);
    return NULL;
}

/* Whether the pools of the accelerator have parted with what it took. */
static bool has_parted(const hri_executor *executor)
{
    return executor->tied && executor->left_at > HRI_SETTING_UP;
}

void hri_executor_abandon(hri_executor *executor)
{
    hri_accelerator *a = executor->accelerator;
    a->setting_up = a->setting_up || executor->left_at == HRI_SETTING_UP;
    if (has_parted(executor)) {
        hri_accelerator_detach(a);
    }
    if (executor->left_at == HRI_SETTLED) {
        give_back_copy_pools(executor); /* others may have its pinned memory */
    }
}

void hri_executor_finish(hri_executor *executor)
{
    hri_accelerator *a = executor->accelerator;
    if (executor->left_at < HRI_SETTLED) { /* nothing else has it */
        a->setting_up = false;
    }
    give_back_copy_pools(executor);
    if (has_parted(executor)) {
        for_queues(executor, destroy_queue);
        hri_accelerator_end_detached(a);
    } else if (executor->failed == HR_OK) {
        hri_accelerator_reclaim(a);
    } else {
        hri_accelerator_discard(a);
    }
    for (uint32_t i = 0; i < executor->buffer_count; i++) {
        hri_accelerator_release(a, executor->buffers[i]);
    }
    hri_accelerator_release_pinned(a, executor->pinned);
    for (int side = HRI_A; side <= HRI_C; side++) {
        free(executor->places[side]);
        free(executor->held[side]);
    }
    free(executor->loads[HRI_A]);
    free(executor->loads[HRI_B]);
    for (int side = HRI_A; side <= HRI_B; side++) {
        free(executor->packed[side]);
        free(executor->packed_of[side]);
    }
    free(executor->buffers);
    free(executor->tiles);
    free(executor->delivery_states);
    pthread_mutex_destroy(&executor->queues);
    pthread_mutex_destroy(&executor->down_queue);
}
