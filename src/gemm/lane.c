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

/* ---- events */

static hr_status create_event(hri_lane *lane, hri_event **event)
{
    if (lane->all_count == lane->all_capacity) {
        int64_t capacity = lane->all_capacity * 2 + 64;
        hri_event **all =
            realloc(lane->all_events, (size_t)capacity * sizeof(hri_event *));
        if (all == NULL) {
            return no_memory();
        }
        lane->all_events = all;
        hri_event **free_events =
            realloc(lane->free_events, (size_t)capacity * sizeof(hri_event *));
        if (free_events == NULL) {
            return no_memory();
        }
        lane->free_events = free_events;
        lane->all_capacity = capacity;
    }
    hr_status status = lane->device->ops->create_event(lane->device, event);
    if (status == HR_OK) {
        lane->all_events[lane->all_count++] = *event;
    }
    return status;
}

hr_status hri_lane_take_event(hri_lane *lane, hri_event **event)
{
    if (lane->free_count > 0) {
        *event = lane->free_events[--lane->free_count];
        return HR_OK;
    }
    return create_event(lane, event);
}

void hri_lane_recycle_event(hri_lane *lane, hri_event *event)
{
    if (event != NULL) {
        lane->free_events[lane->free_count++] = event;
    }
}

/* ---- slots */

/* Memory for `count` slots of `bytes` bytes, in as few buffers as the device
 * allows; places[i] is where slot i starts. */
static hr_status allocate_slots(hri_lane *lane, uint64_t bytes, int64_t count,
                                hri_place *places)
{
    uint64_t most = lane->device->info.allocation_bytes / bytes;
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

static hr_status allocate_panels(hri_lane *lane, int side)
{
    const hri_plan *plan = lane->run->plan;
    size_t count = (size_t)lane->part->slots[side];
    lane->panels[side] = calloc(count, sizeof(hri_place));
    lane->held[side] = malloc(count * sizeof(int64_t));
    if (lane->panels[side] == NULL || lane->held[side] == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        lane->held[side][i] = -1;
    }
    hr_status status = allocate_slots(lane, plan->slot_bytes[side],
                                      (int64_t)count, lane->panels[side]);
    if (status == HR_OK && lane->part->spare) {
        status =
            allocate_slots(lane, plan->slot_bytes[side], 1, &lane->spare[side]);
        if (status == HR_OK) {
            status = create_event(lane, &lane->spare_ready[side]);
        }
    }
    return status;
}

static hr_status allocate_tiles(hri_lane *lane)
{
    size_t count = (size_t)lane->part->slots[HRI_C];
    lane->tiles = calloc(count, sizeof *lane->tiles);
    lane->drain_list = calloc(count, sizeof *lane->drain_list);
    hri_place *places = calloc(count, sizeof *places);
    hr_status status =
        lane->tiles != NULL && lane->drain_list != NULL && places != NULL
            ? allocate_slots(lane, lane->run->plan->slot_bytes[HRI_C],
                             (int64_t)count, places)
            : no_memory();
    for (size_t i = 0; i < count && status == HR_OK; i++) {
        hri_tile_slot *tile = &lane->tiles[i];
        tile->place = places[i];
        status = create_event(lane, &tile->stored);
        if (status == HR_OK && lane->run->plan->shape.read_c) {
            status = create_event(lane, &tile->fetched);
        }
        if (status == HR_OK && lane->device->info.staged) {
            status = create_event(lane, &tile->final);
        }
    }
    free(places);
    return status;
}

static hr_status allocate_memory(hri_lane *lane)
{
    size_t buffers = 2; /* of the spare panels */
    for (int side = HRI_A; side <= HRI_C; side++) {
        buffers += (size_t)lane->part->slots[side];
    }
    lane->buffers = calloc(buffers, sizeof(hri_buffer *));
    lane->arrivals =
        calloc((size_t)lane->part->delivery_count + 1, sizeof *lane->arrivals);
    if (lane->buffers == NULL || lane->arrivals == NULL) {
        return no_memory();
    }
    hr_status status = allocate_panels(lane, HRI_A);
    if (status == HR_OK) {
        status = allocate_panels(lane, HRI_B);
    }
    return status == HR_OK ? allocate_tiles(lane) : status;
}

static hr_status create_rings(hri_lane *lane)
{
    hr_status status = hri_ring_init(&lane->up_ring, lane->accelerator);
    if (status == HR_OK) {
        status = hri_ring_init(&lane->down_ring, lane->accelerator);
    }
    if (status == HR_OK &&
        (lane->run->plan->shape.read_c || lane->part->spare)) {
        status = hri_ring_init(&lane->fetch_ring, lane->accelerator);
    }
    return status;
}

static hr_status create_queues(hri_lane *lane)
{
    hri_device *d = lane->device;
    hri_queue **all[] = {&lane->compute, &lane->up, &lane->peer, &lane->fetch,
                         &lane->down};
    size_t count = lane->part->in_place ? 1 : sizeof all / sizeof all[0];
    hr_status status = HR_OK;
    for (size_t i = 0; i < count && status == HR_OK; i++) {
        status = d->ops->create_queue(d, all[i]);
    }
    for (int i = 0; i < HRI_WINDOW && status == HR_OK; i++) {
        status = create_event(lane, &lane->begun[i]);
        if (status == HR_OK) {
            status = create_event(lane, &lane->done[i]);
        }
    }
    return status;
}

hr_status hri_lane_init(hri_lane *lane, hri_run_state *run, uint32_t part,
                        hri_accelerator *accelerator, hri_run_share *share)
{
    lane->run = run;
    lane->part = &run->plan->parts[part];
    lane->accelerator = accelerator;
    lane->device = accelerator->device;
    lane->share = share;
    lane->end = lane->part->task_count;
    hr_status status = create_queues(lane);
    if (status == HR_OK && !lane->part->in_place) {
        status = allocate_memory(lane);
        if (status == HR_OK && lane->device->info.staged) {
            status = create_rings(lane);
        }
    }
    return status;
}

void hri_lane_settle(hri_lane *lane)
{
    hri_queue *all[] = {lane->up, lane->peer, lane->fetch, lane->compute,
                        lane->down};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != NULL) {
            hri_run_fail(lane->run, all[i]->ops->finish(all[i]));
        }
    }
}

void hri_lane_finish(hri_lane *lane)
{
    hri_queue *all[] = {lane->up, lane->peer, lane->fetch, lane->compute,
                        lane->down};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != NULL) {
            all[i]->ops->destroy(all[i]);
        }
    }
    hri_ring_finish(&lane->up_ring);
    hri_ring_finish(&lane->fetch_ring);
    hri_ring_finish(&lane->down_ring);
    for (int64_t i = 0; i < lane->all_count; i++) {
        lane->all_events[i]->ops->destroy(lane->all_events[i]);
    }
    for (uint32_t i = 0; i < lane->buffer_count; i++) {
        hri_accelerator_release(lane->accelerator, lane->buffers[i]);
    }
    for (int side = HRI_A; side <= HRI_B; side++) {
        free(lane->panels[side]);
        free(lane->held[side]);
    }
    free(lane->all_events);
    free(lane->free_events);
    free(lane->buffers);
    free(lane->tiles);
    free(lane->arrivals);
    free(lane->drain_list);
}

/* ---- where things are */

/* A window of the caller's memory, and how it lies in a slot. */
typedef struct window {
    const hr_matrix *matrix;
    int64_t row, col, rows, cols;
} window;

static window panel_window(const hri_run_state *run, int side, int32_t index,
                           int32_t chunk)
{
    const hri_plan *p = run->plan;
    int64_t k = hri_plan_chunk(p, chunk);
    int64_t depth = hri_plan_chunk(p, chunk + 1) - k;
    if (side == HRI_A) {
        int64_t row = hri_plan_row(p, index);
        return (window){&run->product->a, row, k,
                        hri_plan_row(p, index + 1) - row, depth};
    }
    int64_t col = hri_plan_col(p, index);
    return (window){&run->product->b, k, col, depth,
                    hri_plan_col(p, index + 1) - col};
}

static window tile_window(const hri_run_state *run, int32_t row, int32_t col)
{
    const hri_plan *p = run->plan;
    int64_t r = hri_plan_row(p, row), c = hri_plan_col(p, col);
    return (window){&run->product->c, r, c, hri_plan_row(p, row + 1) - r,
                    hri_plan_col(p, col + 1) - c};
}

static hri_place window_place(const window *w)
{
    const hr_matrix *m = w->matrix;
    int64_t first = w->row * m->row_stride + w->col * m->col_stride;
    return hri_at_host(m->data, (size_t)first * hr_type_size(m->type));
}

static hri_copy window_copy(const window *w, hri_place slot, bool home)
{
    const hr_matrix *m = w->matrix;
    size_t size = hr_type_size(m->type);
    bool row_major = m->col_stride == 1;
    int64_t lines = row_major ? w->rows : w->cols;
    int64_t width = row_major ? w->cols : w->rows;
    size_t pitch = (size_t)hri_slot_pitch(width) * size;
    size_t stride = (size_t)(row_major ? m->row_stride : m->col_stride) * size;
    hri_place host = window_place(w);
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

static hri_operand window_operand(const window *w, const hri_place *slot)
{
    const hr_matrix *m = w->matrix;
    hri_operand o = {.place = slot != NULL ? *slot : window_place(w),
                     .row_stride = m->row_stride,
                     .col_stride = m->col_stride,
                     .conjugate = m->conjugate};
    if (slot != NULL && m->col_stride == 1) {
        o.row_stride = hri_slot_pitch(w->cols);
    } else if (slot != NULL) {
        o.col_stride = hri_slot_pitch(w->rows);
    }
    return o;
}

hri_copy hri_panel_copy(const hri_run_state *run, int side, int32_t index,
                        int32_t chunk, hri_place slot)
{
    window w = panel_window(run, side, index, chunk);
    return window_copy(&w, slot, false);
}

hri_copy hri_tile_copy(const hri_run_state *run, int32_t row, int32_t col,
                       hri_place slot, bool home)
{
    window w = tile_window(run, row, col);
    return window_copy(&w, slot, home);
}

hri_operand hri_panel_operand(const hri_run_state *run, int side,
                              const hri_task *task, const hri_place *slot)
{
    window w = panel_window(run, side, side == HRI_A ? task->row : task->col,
                            task->chunk);
    return window_operand(&w, slot);
}

hri_operand hri_tile_operand(const hri_run_state *run, const hri_task *task,
                             const hri_place *slot)
{
    window w = tile_window(run, task->row, task->col);
    return window_operand(&w, slot);
}
