/* SPDX-License-Identifier: MIT */
/* Graphs of steps. On a small grid, enqueueing the launches of a step takes
 * longer than running them. So several steps are enqueued as one graph. */
#include "grid/step.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "runtime/stream.h"

enum {
    MIN_STEPS = 16,      /* of a graph: with fewer steps it gains nothing */
    MAX_PERIOD = 256,    /* of a graph */
    MAX_CELLS = 1 << 22, /* larger grids run longer than launches take */
};

/* ---- phases as bytes */

static bool add_bytes(hri_replay *r, const void *bytes, size_t count)
{
    if (count > HRI_MAX_KEY_BYTES - r->key_bytes) {
        return false;
    }
    if (count > 0) {
        memcpy(r->key + r->key_bytes, bytes, count);
    }
    r->key_bytes += count;
    return true;
}

static bool add_argument(hri_replay *r, const hr_argument *a)
{
    const uint64_t kind[] = {(uint64_t)a->kind, (uint64_t)a->access, a->field,
                             a->near, a->bytes};
    if (a->kind == HR_PARAMETER_VIEW && a->field == 0) {
        return false; /* the graph would not note that it reads the view */
    }
    return add_bytes(r, kind, sizeof kind) &&
           (a->kind != HR_PARAMETER_VALUE || add_bytes(r, a->value, a->bytes));
}

static bool add_phase(hri_replay *r, const hr_phase *s)
{
    bool fits = add_bytes(r, &s->kernel, sizeof s->kernel) &&
                add_bytes(r, s->swap, sizeof s->swap) &&
                add_bytes(r, s->origin, sizeof s->origin) &&
                add_bytes(r, s->step, sizeof s->step) &&
                add_bytes(r, &s->extent.rank, sizeof s->extent.rank) &&
                add_bytes(r, s->extent.size, sizeof s->extent.size) &&
                add_bytes(r, &s->tile.rank, sizeof s->tile.rank) &&
                add_bytes(r, s->tile.size, sizeof s->tile.size);
    for (size_t i = 0; i < s->argument_count && s->kernel != NULL && fits;
         i++) {
        fits = add_argument(r, &s->arguments[i]);
    }
    return fits;
}

/* ---- whether graphs are possible */

/* The number of steps after which swaps have brought every field back to its
 * place. */
static int64_t period_of(const hr_grid *grid, const hr_phase *phases,
                         size_t count)
{
    uint32_t at[HR_MAX_FIELDS];
    for (uint32_t f = 0; f < grid->field_count; f++) {
        at[f] = f;
    }
    for (int64_t steps = 1; steps <= MAX_PERIOD; steps++) {
        bool home = true;
        for (size_t i = 0; i < count; i++) {
            const uint32_t *s = phases[i].swap;
            if (phases[i].kernel == NULL) {
                const uint32_t old = at[s[0]];
                at[s[0]] = at[s[1]];
                at[s[1]] = old;
            }
        }
        for (uint32_t f = 0; f < grid->field_count; f++) {
            home = home && at[f] == f;
        }
        if (home) {
            return steps;
        }
    }
    return 0;
}

/* Whether the grid can have graphs: it is small, and one band has all rows, so
 * that one queue does all work. */
static bool is_offered(const hr_grid *grid)
{
    return grid->context->checker == NULL && grid->context->profiles == NULL &&
           !hri_grid_has_far(grid) && hri_grid_busy_bands(grid) == 1 &&
           hr_extent_count(grid->extent) <= MAX_CELLS &&
           !hri_grid_first_queue(grid)->accelerator->device->info.host;
}

/* ---- making a graph */

/* Make the queue wait for everything that uses the storage. With a fence, note
 * instead that all storage is written until the fence. */
static hr_status use_storage(const hr_grid *grid, hri_fence *fence)
{
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (uint32_t b = 0; b < grid->band_count; b++) {
            hr_array *a = grid->fields[f].storage[b].array;
            if (a == NULL) {
                continue;
            }
            const hri_box all = hri_array_box(a);
            const hri_boxes boxes = hri_boxes_of(&all);
            HRI_TRY(fence != NULL
                        ? hri_array_end_use(a, a->home, &boxes, HR_OUT, fence)
                        : hri_uses_order(a, a->home, &boxes, true,
                                         hri_grid_first_queue(grid)->stream));
        }
    }
    return HR_OK;
}

/* Whether the fields are stored as before, with the same rows valid. */
static bool is_as_before(const hr_grid *grid, const hri_field *before)
{
    bool same = true;
    for (uint32_t f = 0; f < grid->field_count; f++) {
        const hri_field *x = &grid->fields[f], *y = &before[f];
        same = same && x->storage == y->storage &&
               x->ends_stale == y->ends_stale &&
               memcmp(&x->valid, &y->valid, sizeof x->valid) == 0;
    }
    return same;
}

static hr_status run_steps(hr_grid *grid, const hr_phase *phases, size_t count,
                           int64_t steps)
{
    for (int64_t n = 0; n < steps; n++) {
        HRI_TRY(hri_grid_run_step(grid, phases, count, HR_OK));
    }
    return HR_OK;
}

/* Record the steps of r. The caller holds the context's lock. */
static hr_status keep_steps(hr_grid *grid, const hr_phase *phases, size_t count,
                            hri_replay *r)
{
    hri_stream *stream = hri_grid_first_queue(grid)->stream;
    const uint64_t steps = grid->state.steps;
    HRI_TRY(hri_stream_record_pending(stream));
    HRI_TRY(hri_stream_begin_graph(stream));
    grid->keeping = true;
    hr_status status = run_steps(grid, phases, count, r->steps);
    grid->keeping = false;
    const hr_status ended = hri_stream_end_graph(stream, &r->graph);
    status = status == HR_OK ? ended : status;
    grid->state.steps = steps;
    if (status == HR_OK && !is_as_before(grid, r->fields)) {
        status = hri_fail(HR_ERROR_UNSUPPORTED, "grid: steps are not alike");
    }
    memcpy(grid->fields, r->fields, grid->field_count * sizeof *grid->fields);
    return status;
}

/* Make a graph of a suitable number of steps. Without success r->graph is
 * NULL. */
static void make_graph(hr_grid *grid, const hr_phase *phases, size_t count,
                       hri_replay *r)
{
    hri_grid_drop_graph(grid, r);
    r->period = period_of(grid, phases, count);
    if (r->period == 0) {
        return;
    }
    r->steps = hri_round_up(MIN_STEPS, r->period);
    memcpy(r->fields, grid->fields, grid->field_count * sizeof *r->fields);
    pthread_mutex_lock(&grid->context->lock);
    if (keep_steps(grid, phases, count, r) != HR_OK) {
        hri_grid_drop_graph(grid, r);
    }
    pthread_mutex_unlock(&grid->context->lock);
}

/* What is kept for these phases. NULL: nothing can be kept. */
static hri_replay *find_replay(hr_grid *grid, const hr_phase *phases,
                               size_t count)
{
    const hri_replay *old = grid->replay;
    hri_replay *r = calloc(1, sizeof *r);
    bool fits = r != NULL;
    for (size_t i = 0; i < count && fits; i++) {
        fits = add_phase(r, &phases[i]);
    }
    if (!fits || (old != NULL && old->key_bytes == r->key_bytes &&
                  memcmp(old->key, r->key, r->key_bytes) == 0)) {
        free(r);
        return fits ? grid->replay : NULL;
    }
    hri_grid_forget_graph(grid);
    grid->replay = r;
    make_graph(grid, phases, count, r);
    return r;
}

/* ---- running */

/* Run single steps until swaps have brought the fields to where the graph needs
 * them, for less than a period. The context's lock is held. */
static hr_status step_to_graph(hr_grid *grid, const hr_phase *phases,
                               size_t count, const hri_replay *r, int64_t *done)
{
    for (; *done + 1 < r->period && !is_as_before(grid, r->fields); ++*done) {
        HRI_TRY(hri_grid_run_step(grid, phases, count, HR_OK));
    }
    return HR_OK;
}

/* Step to where the graph can run. If the fields do not get there in a period,
 * make a new graph. */
static hr_status align_fields(hr_grid *grid, const hr_phase *phases,
                              size_t count, hri_replay *r, int64_t *done)
{
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = step_to_graph(grid, phases, count, r, done);
    pthread_mutex_unlock(&grid->context->lock);
    HRI_TRY(status);
    if (!is_as_before(grid, r->fields)) {
        make_graph(grid, phases, count, r);
    }
    return HR_OK;
}

static hr_status run_graph(hr_grid *grid, const hri_replay *r)
{
    hri_stream *stream = hri_grid_first_queue(grid)->stream;
    hri_fence *fence = NULL;
    HRI_TRY(use_storage(grid, NULL));
    HRI_TRY(hri_stream_record_pending(stream));
    HRI_TRY(hri_stream_run_graph(stream, r->graph));
    HRI_TRY(hri_fence_create(stream, &fence));
    const hr_status status = use_storage(grid, fence);
    hri_fence_drop(fence);
    HRI_TRY(status);
    grid->state.steps += (uint64_t)r->steps;
    return HR_OK;
}

hr_status hri_replay_steps(hr_grid *grid, const hr_phase *phases, size_t count,
                           int64_t steps, int64_t *done)
{
    *done = 0;
    if (steps < 2 * (int64_t)MIN_STEPS || !is_offered(grid)) {
        return HR_OK;
    }
    hri_replay *r = find_replay(grid, phases, count);
    if (r == NULL || r->graph == NULL) {
        return HR_OK; /* there is no graph */
    }
    HRI_TRY(align_fields(grid, phases, count, r, done));
    while (r->graph != NULL && steps - *done >= r->steps) {
        pthread_mutex_lock(&grid->context->lock);
        const hr_status status = run_graph(grid, r);
        pthread_mutex_unlock(&grid->context->lock);
        HRI_TRY(status);
        *done += r->steps;
    }
    return HR_OK;
}
