/* SPDX-License-Identifier: MIT */
/* Steps: what phases ask for, a step, how long it takes, and what is made of
 * many. */
#ifndef HRI_GRID_STEP_H
#define HRI_GRID_STEP_H

#include "grid/grid.h"
#include "model/learn.h"
#include "model/model.h"

/* ---- phase.c */

hr_status hri_phases_check(const hr_grid *grid, const hr_phase *phases,
                           size_t count);

/* Rows of other bands that so many steps, from phase `first` on, ask for of
 * each field when they are made from one exchange, and those that they work out
 * as well, for which there must be room. */
void hri_phases_need(const hr_grid *grid, const hr_phase *phases, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room);

/* ---- step.c */

/* Enqueue a step. The context's lock is held. */
hr_status hri_grid_run_step(hr_grid *grid, const hr_phase *phases,
                            size_t count);

/* ---- timing.c: how fast bands are, as measured by fences while they step */

enum { HRI_TIMED_KERNELS = 4 }; /* from the first on */

/* A kernel on the inner rows of a band. */
typedef struct hri_timed {
    hri_fence *start, *end; /* held; NULL: none yet */
    double rows;            /* 0: it was not timed */
} hri_timed;

typedef struct hri_band_timing {
    hri_learned row; /* seconds for a row */
    hri_timed kernels[HRI_TIMED_KERNELS];
} hri_band_timing;

typedef struct hri_timing {
    bool on, pending;        /* this step is timed; one is that is not done */
    int64_t next;            /* the step to be timed */
    hri_overheads overheads; /* the most of any */
    uint32_t count;          /* of bands */
    hri_band_timing bands[];
} hri_timing;

/* Make grid->timing, unless there is but one band to time. To be destroyed in
 * any case. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_timing_create(hr_grid *grid);
void hri_timing_destroy(hri_timing *timing); /* NULL is accepted */

/* Seconds for a row of a band, as known by now; 0: not known. */
static inline double hri_timing_row_seconds(const hri_timing *timing,
                                            uint32_t band)
{
    return hri_learned_by_now(&timing->bands[band].row);
}

/* Before a step: whether it is one that is timed. */
void hri_timing_begin(hr_grid *grid);
/* In such a step, where the fence right before a kernel on a band's inner rows
 * goes, of which there are so many; NULL: it is not timed. Kernels are
 * numbered that run for all rows, so that all bands say something. */
hri_fence **hri_timing_start(hr_grid *grid, size_t kernel, uint32_t band,
                             int64_t rows);
/* And behind a kernel that is. */
hr_status hri_timing_end(hr_grid *grid, size_t kernel, uint32_t band);
/* What was timed has failed. NULL is accepted. */
void hri_timing_forget(hri_timing *timing);

/* Whether all that was timed has run; the first time it is waited for, since
 * bands that were guessed may be far off. */
bool hri_timing_is_done(const hri_timing *timing);
/* Seconds for a row of all kernels of a band that were timed; 0: none was. */
double hri_timing_row(const hri_timing *timing, uint32_t band);

/* ---- replay.c */

/* Enqueue as many of `steps` steps as graphs do, *done of them, and those that
 * bring the fields to where a graph wants them: none where there are no graphs,
 * or where launches are in time. The grid has stepped before with these phases,
 * so that all it needs is compiled. */
hr_status hri_replay_steps(hr_grid *grid, const hr_phase *phases, size_t count,
                           int64_t steps, int64_t *done);

/* ---- balance.c */

/* After a step, of which so many follow: move the bands and change the steps
 * of an exchange if that pays, by what is known by now. The context's lock is
 * not held. */
hr_status hri_balance_settle(hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t left);

#endif
