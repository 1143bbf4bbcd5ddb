/* SPDX-License-Identifier: MIT */
/* What filters cost, and who does which part. */
#ifndef HRI_FILTER_COST_H
#define HRI_FILTER_COST_H

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

/* Rows of out that an accelerator does, `height` at a time; of the first piece
 * and the last one, which come and go while nothing is worked on, `ends`. */
typedef struct hri_share {
    hri_accelerator *accelerator;
    double siblings; /* of those that were asked for, on its device */
    uint64_t room;   /* bytes of its memory */
    double rate;     /* multiplications and additions a second, alone */
    double memory;   /* bytes/s of the host's, where it works in place; 0: it is
                        no limit */
    hri_flow flow;   /* its link alone */
    hri_overheads overheads;
    double row;     /* seconds for a row beside the others, of the next two */
    double compute; /* arithmetic */
    double link;    /* bringing it, and taking it home */
    int64_t first, last, height, ends;
} hri_share;

/* The row that ends the piece which begins at row `next`. */
int64_t hri_share_piece(const hri_filter_job *job, const hri_share *share,
                        int64_t next);

/* The first `count` of shares do the job in so many seconds. */
typedef struct hri_filter_plan {
    hri_share *shares; /* [count]; the first ones take part, the others cannot
                          make it faster */
    uint32_t count;
    double seconds;
    hr_bound bound;
} hri_filter_plan;

/* Plan job's method on these accelerators: shares has room for all of them,
 * whose memory limits count. HR_ERROR_OUT_OF_MEMORY, with the numbers, when
 * none has enough; HR_ERROR_UNSUPPORTED when the window is too much for all. */
hr_status hri_filter_plan_make(const hri_filter_job *job,
                               hri_accelerator *const *accelerators,
                               uint32_t count, hri_filter_plan *plan);

#endif
