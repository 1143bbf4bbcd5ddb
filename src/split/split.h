/* SPDX-License-Identifier: MIT */
/* Launches in bands over several accelerators. */
#ifndef HRI_SPLIT_SPLIT_H
#define HRI_SPLIT_SPLIT_H

#include <headrace/split.h>

#include "distribute/distribute.h"
#include "model/model.h"

/* What a band costs its accelerator, in seconds. */
typedef struct hri_cost {
    hr_traffic traffic;
    double link[HRI_LINKS]; /* copying what it lacks, and results home, with
                               pinned and with ordinary memory */
    double whole;           /* of that: for views that are given whole */
    double run;             /* the kernel, with the device to itself */
} hri_cost;

/* An accelerator that may take part. */
typedef struct hri_participant {
    hri_call call; /* the call that launches its band; first (base/threads.h) */
    const struct hri_splitting *split;
    hri_accelerator *accelerator;
    double row_seconds; /* seconds for a row of this kernel */
    double memory;      /* seconds for what a row reads and writes in its
                           memory */
    double bandwidth;   /* of its memory, in bytes/s */
    hri_overheads overheads;
    hri_flow flows[HRI_LINKS]; /* its link with nothing else at work, */
    double slower[HRI_LINKS];  /* and how many times slower it is beside
                                  others */
    hri_cost cost;             /* of its present band */
} hri_participant;

/* A split launch: the arguments of hr_launch_split. */
typedef struct hri_splitting {
    hr_context *context;
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    hr_extent domain;
    const hr_argument *arguments;
    hr_split_options options;
    hr_split_report report;        /* the caller's, or as many bytes of it as
                                      are known */
    hri_indices accelerators;      /* that the caller allows */
    uint32_t count;                /* of them that may take part */
    hr_band *bands;                /* [count] in their order */
    hri_portion *portions;         /* [count]: for making bands */
    hri_participant *participants; /* [count] */
    hri_flow *flows;               /* [count] */
} hri_splitting;

/* Set the rows that a band of `size` rows reads. A band without rows reads
 * none. */
void hri_band_reach(int64_t size, int64_t before, int64_t after, hr_band *band);

static inline bool hri_split_is_view(const hri_splitting *s, uint32_t i)
{
    return s->arguments[i].kind == HR_PARAMETER_VIEW;
}

/* bands.c: cut the domain's rows into s->bands by these weights (NULL: equal
 * ones), between tiles. Fills in the accelerators, and the rows that bands read
 * of views. limited: an accelerator gets at most what it has memory for, and
 * others get the rest. not *held: the accelerators with a weight cannot hold
 * all views together, and the bands stay as they were. */
hr_status hri_split_cut(hri_splitting *s, const double *weights, bool limited,
                        bool *held);

/* Points of a row of the domain. */
int64_t hri_split_points(const hri_splitting *s);

/* How many of the accelerators with rows are of the same kind as that of band
 * i. It counts, too. */
uint32_t hri_split_sharers(const hri_splitting *s, uint32_t i);

/* The rows of argument i that a band needs, as a view. *first is the first
 * row. */
hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view,
                             int64_t *first);

/* The memory limit that accelerator i needs for a band. The context's lock is
 * held. */
hr_status hri_split_limit(const hri_splitting *s, uint32_t i,
                          const hr_band *band, uint64_t *limit);

/* predict.c: fill in row_seconds and memory of the participants, from
 * measurements. */
hr_status hri_split_learn(const hri_splitting *s);
/* Predict the costs of s->bands, the seconds until the last result is home, and
 * what takes longest. */
hr_status hri_split_predict(const hri_splitting *s, double *seconds,
                            hr_bound *bound);
/* Compute the cost of a band for accelerator i. */
hr_status hri_split_cost(const hri_splitting *s, uint32_t i,
                         const hr_band *band, hri_cost *cost);

/* choose.c: choose the accelerators and bands with the least predicted time,
 * and store them in s->bands. Called after hri_split_learn. */
hr_status hri_split_choose(hri_splitting *s);

#endif
