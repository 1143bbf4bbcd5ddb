/* SPDX-License-Identifier: MIT */
/* How fast accelerators filter. */
#ifndef HRI_FILTER_RATE_H
#define HRI_FILTER_RATE_H

#include "filter/job.h"
#include "model/model.h"

/* Multiplications and additions a second by job's method and type: measured on
 * first use with a small picture, and kept, also for later processes. Guessed,
 * and not kept for those, where measuring would take longer than the job or
 * finds no memory. Takes the context's lock. */
hr_status hri_filter_rate(const hri_filter_job *job,
                          hri_accelerator *accelerator, double *rate);

/* Weights times elements: whether it is small (hri_model_is_small). */
double hri_filter_work(const hri_filter_job *job);

#endif
