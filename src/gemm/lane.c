/* SPDX-License-Identifier: MIT */
#include "gemm/lane.h"

#include <stdlib.h>

#include "base/size.h"

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory to run the plan");
}

void hri_run_fail(hri_run_state *run, hr_status status)
{
    pthread_mutex_lock(&run->lock);
    hri_error_keep(&run->error, status);
    bool failed = run->error.status != HR_OK;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    for (uint32_t i = 0; failed && i < run->plan->part_count; i++) {
        hri_crew_stop(&run->lanes[i].up_crew);
        hri_crew_stop(&run->lanes[i].down_crew);
    }
}

void hri_lane_thread_ends(hri_lane *lane, hr_status status)
{
    hri_run_state *run = lane->run;
    hri_run_fail(run, status);
    pthread_mutex_lock(&run->lock);
    run->threads_running--;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

bool hri_run_stopped(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    bool stopped = run->error.status != HR_OK;
    pthread_mutex_unlock(&run->lock);
    return stopped;
}

bool hri_is_staged(hri_device *device, const hr_matrix *m)
{
    int64_t last =
        (m->rows - 1) * m->row_stride + (m->cols - 1) * m->col_stride;
    size_t bytes = (size_t)(last + 1) * hr_type_size(m->type);
    return device->info.staged &&
           (m->data == NULL || !device->ops->is_pinned(device, m->data, bytes));
}

/* ---- slots */

/* Memory for `count` slots of `bytes` bytes, in as few buffers as the device
 * allows; places[i] is where slot i starts. */
static hr_status allocate_places(hri_lane *lane, uint64_t bytes, int64_t count,
                                 hri_place *places)
{
    uint64_t most = lane->accelerator->device->info.allocation_bytes / bytes;
    int64_t per_buffer = hri_max(hri_min(count, (int64_t)most), 1);
    for (int64_t first = 0; first < count; first += per_buffer) {
        int64_t here = hri_min(per_buffer, count - first);
        hri_buffer *buffer;
        hr_status status = hri_accelerator_allocate(
            lane->accelerator, bytes * (uint64_t)here, &buffer);
        if (status != HR_OK) {
            return status;
        }
        lane->buffers[lane->buffer_count++] = buffer;
        for (int64_t i = 0; i < here; i++) {
            places[first + i] = hri_at(buffer, (size_t)i * (size_t)bytes);
        }
    }
    return HR_OK;
}

static hr_status take_events(hri_lane *lane, hri_event **events, int count)
{
    hr_status status = HR_OK;
    for (int i = 0; i < count && status == HR_OK; i++) {
        status = hri_accelerator_take_event(lane->accelerator, &events[i]);
    }
    return status;
}

/* As many slots of a side as the part has, and which delivery each holds. */
static hr_status allocate_slots(hri_lane *lane, int side, hri_place **places,
                                int64_t **held)
{
    size_t count = (size_t)lane->part->slots[side];
    *places = calloc(count, sizeof **places);
    *held = malloc(count * sizeof **held);
    if (*places == NULL || *held == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        (*held)[i] = -1;
    }
    return allocate_places(lane, lane->run->plan->slot_bytes[side],
                           (int64_t)count, *places);
}

static hr_status allocate_tiles(hri_lane *lane)
{
    size_t count = (size_t)lane->part->slots[HRI_C];
    lane->tiles = calloc(count, sizeof *lane->tiles);
    hr_status status = lane->tiles != NULL
                           ? allocate_slots(lane, HRI_C, &lane->places[HRI_C],
                                            &lane->held[HRI_C])
                           : no_memory();
    for (size_t i = 0; i < count && status == HR_OK; i++) {
        hri_tile_slot *tile = &lane->tiles[i];
        hri_event **events[] = {&tile->ready, &tile->fetched};
        tile->lane = lane;
        for (int e = 0; e < 2 && status == HR_OK; e++) {
            status = hri_accelerator_take_event(lane->accelerator, events[e]);
        }
    }
    return status;
}

static hr_status allocate_memory(hri_lane *lane)
{
    size_t buffers = 2; /* of the spare panels */
    buffers += lane->part->turned ? (size_t)lane->part->slots[HRI_A] : 0;
    for (int side = HRI_A; side <= HRI_C; side++) {
        buffers += (size_t)lane->part->slots[side];
    }
    lane->buffers = calloc(buffers, sizeof(hri_buffer *));
    lane->arrivals =
        calloc((size_t)lane->part->delivery_count + 1, sizeof *lane->arrivals);
    if (lane->buffers == NULL || lane->arrivals == NULL) {
        return no_memory();
    }
    hr_status status = HR_OK;
    for (int side = HRI_A; side <= HRI_B && status == HR_OK; side++) {
        lane->loads[side] =
            calloc((size_t)lane->part->slots[side], sizeof(hri_load));
        status = lane->loads[side] != NULL
                     ? allocate_slots(lane, side, &lane->places[side],
                                      &lane->held[side])
                     : no_memory();
        if (status == HR_OK && lane->part->spare) {
            status = allocate_places(lane, lane->run->plan->slot_bytes[side], 1,
                                     &lane->spare[side]);
        }
    }
    if (status == HR_OK && lane->part->spare) {
        status = take_events(lane, lane->spare_ready, 2);
    }
    if (status == HR_OK && lane->part->turned) {
        status = allocate_slots(lane, HRI_A, &lane->turned, &lane->turned_of);
    }
    return status == HR_OK ? allocate_tiles(lane) : status;
}

static void fail_run(void *run, hr_status status)
{
    hri_run_fail(run, status);
}

/* The crew that brings tiles home; one for panels, when their memory wants it.
 */
static hr_status gather_crews(hri_lane *lane)
{
    hri_run_state *run = lane->run;
    bool up = lane->staged[HRI_A] || lane->staged[HRI_B] ||
              (lane->staged[HRI_C] && run->plan->shape.read_c);
    hri_crew crew = {.accelerator = lane->accelerator,
                     .queues = &lane->queues,
                     .fail = fail_run,
                     .fail_data = run};
    hr_status status = HR_OK;
    if (up) {
        lane->up_crew = crew;
        lane->up_crew.up = true;
        status = hri_crew_init(&lane->up_crew);
    }
    if (status == HR_OK) {
        lane->down_crew = crew;
        lane->down_crew.queues = &lane->down_queue;
        lane->down_crew.direct = !lane->staged[HRI_C];
        status = hri_crew_init(&lane->down_crew);
    }
    return status == HR_OK ? take_events(lane, lane->under_way, HRI_COPIES)
                           : status;
}

static hr_status take_queues(hri_lane *lane)
{
    hri_accelerator *a = lane->accelerator;
    hri_queue **all[] = {&lane->compute, &lane->up, &lane->peer, &lane->fetch,
                         &lane->down};
    size_t count = lane->part->in_place ? 1 : sizeof all / sizeof all[0];
    hr_status status = HR_OK;
    for (size_t i = 0; i < count && status == HR_OK; i++) {
        status = hri_accelerator_take_queue(a, all[i]);
    }
    if (status == HR_OK) {
        status = take_events(lane, lane->begun, HRI_WINDOW);
    }
    return status == HR_OK ? take_events(lane, lane->done, HRI_WINDOW) : status;
}

hr_status hri_lane_init(hri_lane *lane, hri_run_state *run, uint32_t part,
                        hri_accelerator *accelerator, hri_run_share *share)
{
    pthread_mutex_init(&lane->queues, NULL);
    pthread_mutex_init(&lane->down_queue, NULL);
    lane->run = run;
    lane->part = &run->plan->parts[part];
    lane->accelerator = accelerator;
    lane->share = share;
    lane->end = lane->part->task_count;
    hr_status status = take_queues(lane);
    if (status == HR_OK && !lane->part->in_place) {
        const hri_product *p = run->product;
        lane->staged[HRI_A] = hri_is_staged(accelerator->device, &p->a);
        lane->staged[HRI_B] = hri_is_staged(accelerator->device, &p->b);
        lane->staged[HRI_C] = hri_is_staged(accelerator->device, &p->c);
        status = allocate_memory(lane);
        if (status == HR_OK) {
            status = gather_crews(lane);
        }
    }
    return status;
}

void hri_lane_settle(hri_lane *lane)
{
    hri_queue *all[] = {lane->up, lane->peer, lane->fetch, lane->compute,
                        lane->down};
    hri_crew_join(&lane->up_crew);
    hri_crew_join(&lane->down_crew);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != NULL) {
            hri_run_fail(lane->run, all[i]->ops->finish(all[i]));
        }
    }
}

void hri_lane_finish(hri_lane *lane)
{
    hri_crew_finish(&lane->up_crew);
    hri_crew_finish(&lane->down_crew);
    if (lane->run->error.status == HR_OK) {
        hri_accelerator_recall(lane->accelerator);
    } else {
        hri_accelerator_forget(lane->accelerator);
    }
    for (uint32_t i = 0; i < lane->buffer_count; i++) {
        hri_accelerator_release(lane->accelerator, lane->buffers[i]);
    }
    for (int side = HRI_A; side <= HRI_C; side++) {
        free(lane->places[side]);
        free(lane->held[side]);
    }
    free(lane->loads[HRI_A]);
    free(lane->loads[HRI_B]);
    free(lane->turned);
    free(lane->turned_of);
    free(lane->buffers);
    free(lane->tiles);
    free(lane->arrivals);
    pthread_mutex_destroy(&lane->queues);
    pthread_mutex_destroy(&lane->down_queue);
}

/* ---- where things are */

/* A window of the caller's memory, and how it lies in a slot. */
typedef struct window {
    const hr_matrix *matrix;
    int64_t row, col, rows, cols;
} window;

static window window_of(const hri_run_state *run, int side,
                        const hri_task *task)
{
    const hri_product *p = run->product;
    const hri_plan *plan = run->plan;
    const hr_matrix *const matrices[] = {&p->a, &p->b, &p->c};
    hri_plan_start *down = side == HRI_B ? hri_plan_chunk : hri_plan_row;
    hri_plan_start *across = side == HRI_A ? hri_plan_chunk : hri_plan_col;
    int32_t i = side == HRI_B ? task->chunk : task->row;
    int32_t j = side == HRI_A ? task->chunk : task->col;
    return (window){matrices[side], down(plan, i), across(plan, j),
                    hri_plan_length(plan, down, i),
                    hri_plan_length(plan, across, j)};
}

static hri_place window_place(const window *w)
{
    const hr_matrix *m = w->matrix;
    int64_t first = w->row * m->row_stride + w->col * m->col_stride;
    return hri_at_host(m->data, (size_t)first * hr_type_size(m->type));
}

hri_copy hri_copy_of(const hri_run_state *run, int side, const hri_task *task,
                     hri_place slot, bool home)
{
    const window w = window_of(run, side, task);
    const hr_matrix *m = w.matrix;
    size_t size = hr_type_size(m->type);
    bool row_major = m->col_stride == 1;
    int64_t lines = row_major ? w.rows : w.cols;
    int64_t width = row_major ? w.cols : w.rows;
    size_t pitch = (size_t)hri_slot_pitch(width) * size;
    size_t stride = (size_t)(row_major ? m->row_stride : m->col_stride) * size;
    hri_place host = window_place(&w);
    return (hri_copy){
        .to = home ? host : slot,
        .from = home ? slot : host,
        .to_pitch = home ? stride : pitch,
        .from_pitch = home ? pitch : stride,
        .width = (size_t)width * size,
        .height = (size_t)lines,
        .depth = 1,
    };
}

hri_operand hri_operand_of(const hri_run_state *run, int side,
                           const hri_task *task, const hri_place *slot,
                           bool turned)
{
    const window w = window_of(run, side, task);
    const hr_matrix *m = w.matrix;
    hri_operand o = {.place = slot != NULL ? *slot : window_place(&w),
                     .row_stride = m->row_stride,
                     .col_stride = m->col_stride,
                     .conjugate = m->conjugate};
    if (turned) {
        o.row_stride = 1;
        o.col_stride = hri_slot_pitch(w.rows);
    } else if (slot != NULL && m->col_stride == 1) {
        o.row_stride = hri_slot_pitch(w.cols);
    } else if (slot != NULL) {
        o.col_stride = hri_slot_pitch(w.rows);
    }
    return o;
}

hri_turn hri_panel_turn(const hri_run_state *run, const hri_task *task,
                        hri_place from, hri_place to)
{
    window w = window_of(run, HRI_A, task);
    return (hri_turn){.type = w.matrix->type,
                      .to = to,
                      .from = from,
                      .rows = w.rows,
                      .cols = w.cols,
                      .to_stride = hri_slot_pitch(w.rows),
                      .from_stride = hri_slot_pitch(w.cols)};
}
