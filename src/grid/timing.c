/* SPDX-License-Identifier: MIT */
#include "grid/timing.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/stream.h"

enum { KERNELS = 4 }; /* that are timed, from the first on */

/* A kernel on the inner rows of a band. */
struct hri_timed {
    hri_fence *start, *end; /* held; NULL: none yet */
    double rows;            /* 0: it was not timed */
};

static hri_timed *timed_of(const hri_timing *b, uint32_t band, size_t kernel)
{
    return &b->timings[band * KERNELS + kernel];
}

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
    for (uint32_t i = 0; timing->timings != NULL && i < timing->bands * KERNELS;
         i++) {
        drop_fences(&timing->timings[i]);
    }
    free(timing->timings);
    free(timing->pace);
    free(timing->learned);
    free(timing);
}

/* What enqueueing takes, the most of any band's accelerator. */
static hr_status know_overheads(const hr_grid *grid, hri_timing *b)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&grid->context->lock);
    for (uint32_t i = 0; i < b->bands && status == HR_OK; i++) {
        hri_overheads o;
        status = hri_model_overheads(
            &grid->context->accelerators[grid->bands[i].accelerator], true, &o);
        b->overheads.launch = fmax(b->overheads.launch, o.launch);
        b->overheads.copy = fmax(b->overheads.copy, o.copy);
    }
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

hr_status hri_timing_create(const hr_grid *grid, hri_timing **timing)
{
    const uint32_t bands = grid->band_count;
    *timing = NULL;
    if (grid->fixed || hri_grid_busy(grid) < 2) {
        return HR_OK;
    }
    hri_timing *b = calloc(1, sizeof *b);
    if (b != NULL) {
        *b = (hri_timing){
            .bands = bands,
            .next = 1,
            .pace = calloc(bands, sizeof *b->pace),
            .learned = calloc(bands, sizeof *b->learned),
            .timings = calloc((size_t)bands * KERNELS, sizeof *b->timings)};
    }
    hr_status status = HR_OK;
    if (b == NULL || b->pace == NULL || b->learned == NULL ||
        b->timings == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    } else {
        status = know_overheads(grid, b);
    }
    if (status != HR_OK) {
        hri_timing_destroy(b);
        return status;
    }
    *timing = b;
    return HR_OK;
}

/* ---- while it steps */

void hri_timing_begin(hr_grid *grid)
{
    hri_timing *b = grid->timing;
    if (b == NULL) {
        return;
    }
    b->on = !b->pending && (int64_t)grid->state.steps >= b->next;
    for (uint32_t i = 0; b->on && i < b->bands * KERNELS; i++) {
        b->timings[i].rows = 0;
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
    const hri_timing *b = grid->timing;
    if (b == NULL || !b->on || kernel >= KERNELS || rows < 1) {
        return NULL;
    }
    hri_timed *t = timed_of(b, band, kernel);
    t->rows = (double)rows;
    drop_fences(t);
    return &t->start;
}

hr_status hri_timing_end(hr_grid *grid, size_t kernel, uint32_t band)
{
    hri_timing *b = grid->timing;
    b->pending = true;
    return hri_fence_create_recorded(grid->bands[band].inner->stream,
                                     &timed_of(b, band, kernel)->end);
}

bool hri_timing_is_done(const hri_timing *b)
{
    bool done = true;
    for (uint32_t i = 0; i < b->bands * KERNELS && done; i++) {
        hri_fence *end = b->timings[i].end;
        if (b->timings[i].rows == 0) {
            continue;
        }
        hr_status status =
            b->next == 1 ? hri_fence_wait(end) : hri_fence_query(end, &done);
        done = done && status == HR_OK;
    }
    return done;
}

double hri_timing_row(const hri_timing *b, uint32_t band)
{
    double pace = 0;
    for (size_t k = 0; k < KERNELS; k++) {
        const hri_timed *t = timed_of(b, band, k);
        uint64_t ns = 0;
        if (t->rows > 0 && hri_fence_elapsed(t->start, t->end, &ns) == HR_OK) {
            pace += (double)ns * 1e-9 / t->rows;
        }
    }
    return pace;
}
