/* SPDX-License-Identifier: MIT */
#include "grid/step.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/stream.h"

static void drop_fences(hri_timed *t)
{
    hri_fence_drop(t->start);
    hri_fence_drop(t->end);
    t->start = t->end = NULL;
}

void hri_timing_destroy(hri_timing *timing)
{
    if (timing == NULL) {
        return;
    }
    for (uint32_t i = 0; i < timing->count; i++) {
        for (size_t k = 0; k < HRI_TIMED_KERNELS; k++) {
            drop_fences(&timing->bands[i].kernels[k]);
        }
    }
    free(timing);
}

/* Find the largest overheads of the bands' accelerators. The context's lock is
 * held. */
static hr_status find_overheads(const hr_grid *grid, hri_overheads *most)
{
    for (uint32_t i = 0; i < grid->band_count; i++) {
        hri_overheads o;
        HRI_TRY(hri_model_overheads(
            &grid->context->accelerators[grid->bands[i].accelerator], true,
            &o));
        most->launch = fmax(most->launch, o.launch);
        most->copy = fmax(most->copy, o.copy);
    }
    return HR_OK;
}

hr_status hri_timing_create(hr_grid *grid)
{
    const uint32_t count = grid->band_count;
    if (hri_grid_busy_bands(grid) < 2) {
        return HR_OK;
    }
    hri_timing *b = calloc(1, sizeof *b + count * sizeof b->bands[0]);
    if (b == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    grid->timing = b;
    b->next = 1;
    b->count = count;
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = find_overheads(grid, &b->overheads);
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* ---- during steps */

void hri_timing_begin(hr_grid *grid)
{
    hri_timing *b = grid->timing;
    if (b == NULL) {
        return;
    }
    b->on = !b->pending && (int64_t)grid->state.steps >= b->next;
    for (uint32_t i = 0; b->on && i < b->count; i++) {
        for (size_t k = 0; k < HRI_TIMED_KERNELS; k++) {
            b->bands[i].kernels[k].rows = 0;
        }
    }
}

void hri_timing_forget(hri_timing *timing)
{
    if (timing != NULL) {
        timing->on = timing->pending = false;
    }
}

hri_fence **hri_timing_start(hr_grid *grid, size_t kernel, uint32_t band,
                             int64_t rows)
{
    hri_timing *b = grid->timing;
    if (b == NULL || !b->on || kernel >= HRI_TIMED_KERNELS || rows < 1) {
        return NULL;
    }
    hri_timed *t = &b->bands[band].kernels[kernel];
    t->rows = (double)rows;
    drop_fences(t);
    return &t->start;
}

hr_status hri_timing_end(hr_grid *grid, size_t kernel, uint32_t band)
{
    hri_timing *b = grid->timing;
    b->pending = true;
    return hri_fence_create_recorded(grid->bands[band].inner->stream,
                                     &b->bands[band].kernels[kernel].end);
}

bool hri_timing_is_done(const hri_timing *b)
{
    bool done = true;
    for (uint32_t i = 0; i < b->count; i++) {
        for (size_t k = 0; k < HRI_TIMED_KERNELS && done; k++) {
            const hri_timed *t = &b->bands[i].kernels[k];
            hr_status status = HR_OK;
            if (t->rows > 0) {
                status = b->next == 1 ? hri_fence_wait(t->end)
                                      : hri_fence_query(t->end, &done);
            }
            done = done && status == HR_OK;
        }
    }
    return done;
}

double hri_timing_row(const hri_timing *b, uint32_t band)
{
    double row_seconds = 0;
    for (size_t k = 0; k < HRI_TIMED_KERNELS; k++) {
        const hri_timed *t = &b->bands[band].kernels[k];
        uint64_t ns = 0;
        if (t->rows > 0 && hri_fence_elapsed(t->start, t->end, &ns) == HR_OK) {
            row_seconds += (double)ns * 1e-9 / t->rows;
        }
    }
    return row_seconds;
}
