/* SPDX-License-Identifier: MIT */
/* Steps: what phases need, running a step, timing it, and balancing the
 * bands. */
#ifndef HRI_GRID_STEP_H
#define HRI_GRID_STEP_H

#include "grid/grid.h"
#include "model/learn.h"
#include "model/model.h"

/* ---- phase.c */

hr_status hri_phases_check(const hr_grid *grid, const hr_phase *phases,
                           size_t count);

/* The cells that a phase runs for. */
hri_cells hri_phase_cells(const hr_grid *grid, const hr_phase *phase);

/* The rows of other bands that `steps` steps from one exchange need of each
 * field, from phase `first` on. room also counts rows that bands compute
 * themselves in between. */
void hri_phases_need(const hr_grid *grid, const hr_phase *phases, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room);

/* ---- step.c */

/* Enqueue a step. The caller holds the context's lock. After an error a part of
 * a larger grid does only what the other parts wait for, and returns it. */
hr_status hri_grid_run_step(hr_grid *grid, const hr_phase *phases, size_t count,
                            hr_status status);

/* ---- timing.c: how fast bands are, as measured by fences during steps */

enum { HRI_TIMED_KERNELS = 4 }; /* the first ones of a step */

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
    bool on, pending;        /* on: this step is timed; pending: a timed step is
                                not done */
    int64_t next;            /* the next step to time */
    hri_overheads overheads; /* the largest of all accelerators */
    uint32_t count;          /* of bands */
    hri_band_timing bands[];
} hri_timing;

/* Make grid->timing, unless only one band could be timed. It must be destroyed
 * in any case. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_timing_create(hr_grid *grid);
void hri_timing_destroy(hri_timing *timing); /* NULL is accepted */

/* Seconds for a row of a band, as known so far. 0: not known. */
static inline double hri_timing_row_seconds(const hri_timing *timing,
                                            uint32_t band)
{
    return hri_learned_by_now(&timing->bands[band].row);
}

/* Before a step: decide whether it is timed. */
void hri_timing_begin(hr_grid *grid);
/* In a timed step, where to put the fence right before a kernel on `rows` inner
 * rows of a band. NULL: the kernel is not timed. Only kernels that run for all
 * rows are counted and timed, so that each band has measurements. */
hri_fence **hri_timing_start(hr_grid *grid, size_t kernel, uint32_t band,
                             int64_t rows);
/* After such a kernel: record the fence behind it. */
hr_status hri_timing_end(hr_grid *grid, size_t kernel, uint32_t band);
/* Forget the timed step, since it has failed. NULL is accepted. */
void hri_timing_forget(hri_timing *timing);

/* Whether everything that was timed has run. The first time this waits, since
 * bands laid out by guesses may be far off. */
bool hri_timing_is_done(const hri_timing *timing);
/* Seconds for a row of all timed kernels of a band. 0: none was timed. */
double hri_timing_row(const hri_timing *timing, uint32_t band);

/* ---- replay.c */

/* Enqueue steps by graphs, at most `steps` of them. *done counts them, and the
 * single steps that bring the fields to where the graph needs them. It is 0
 * where there are no graphs, or they gain nothing. The grid must have stepped
 * with these phases before, so that everything is compiled. */
hr_status hri_replay_steps(hr_grid *grid, const hr_phase *phases, size_t count,
                           int64_t steps, int64_t *done);

/* ---- balance.c */

/* After a step that `left` steps follow: move the bands, or change the number
 * of steps from one exchange, if this pays by what is known so far. The caller
 * does not hold the context's lock. */
hr_status hri_balance_settle(hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t left);

#endif
