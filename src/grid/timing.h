/* SPDX-License-Identifier: MIT */
/* How fast bands are, as measured by fences while they step. */
#ifndef HRI_GRID_TIMING_H
#define HRI_GRID_TIMING_H

#include "grid/grid.h"
#include "model/learn.h"
#include "model/model.h"

typedef struct hri_timed hri_timed;

typedef struct hri_timing {
    uint32_t bands;
    bool on, pending;        /* this step is timed; one is that is not done */
    int64_t next;            /* the step to be timed */
    double *pace;            /* seconds for a row, of each band; 0: not known */
    hri_learned *learned;    /* the same, as it is learned */
    hri_overheads overheads; /* the most of any */
    hri_timed *timings;      /* [band][kernel] */
} hri_timing;

/* NULL when there is nothing to balance. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_timing_create(const hr_grid *grid, hri_timing **timing);
void hri_timing_destroy(hri_timing *timing); /* NULL is accepted */

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

#endif
