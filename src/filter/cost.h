/* SPDX-License-Identifier: MIT */
/* What filters cost, and which accelerator does which part. */
#ifndef HRI_FILTER_COST_H
#define HRI_FILTER_COST_H

#include "filter/job.h"
#include "model/model.h"

/* Multiplications and additions a second for job's method and type. On first
 * use this is measured with a small picture, and kept for later processes, too.
 * If measuring would take longer than the job, or there is no memory for it,
 * the rate is guessed and not kept. Takes the context's lock. */
hr_status hri_filter_rate(const hri_filter_job *job,
                          hri_accelerator *accelerator, double *rate);

/* Weights times elements. It decides whether the job is small
 * (hri_model_skips_measuring). */
double hri_filter_work(const hri_filter_job *job);

/* An accelerator's rows of out. It does `height` of them at a time. The first
 * and last chunk have `ends` rows, since they are copied while nothing is
 * worked on. */
typedef struct hri_filter_band {
    hri_accelerator *accelerator;
    double siblings;  /* accelerators on its device that were asked for */
    uint64_t room;    /* bytes of its memory that it may use */
    double rate;      /* multiplications and additions a second, alone */
    double memory;    /* bytes/s of the host's memory, if it works in place; 0:
                         no limit */
    hri_link_use use; /* its link when others are idle */
    hri_overheads overheads;
    double row;     /* seconds for a row beside the others: the larger of
                       compute and link, or both where CPUs copy */
    double compute; /* seconds of arithmetic for a row */
    double link;    /* seconds to copy a row in and out */
    int64_t first, last, height, ends;
} hri_filter_band;

/* A plan: the first `count` of bands do the job in so many seconds. */
typedef struct hri_filter_plan {
    hri_filter_band *bands; /* those after the first count would not make it
                          faster */
    uint32_t count;
    double seconds;
    hr_bound bound;
} hri_filter_plan;

/* Plan job's method for these accelerators and their memory limits. bands has
 * room for all of them. HR_ERROR_OUT_OF_MEMORY, with the numbers, when none has
 * enough memory. HR_ERROR_UNSUPPORTED when the window is too large for all. */
hr_status hri_filter_plan_make(const hri_filter_job *job,
                               hri_accelerator *const *accelerators,
                               uint32_t count, hri_filter_plan *plan);

#endif
