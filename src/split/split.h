/* SPDX-License-Identifier: MIT */
/* Bands of launches over several accelerators. */
#ifndef HRI_SPLIT_SPLIT_H
#define HRI_SPLIT_SPLIT_H

#include <headrace/split.h>

#include "distribute/distribute.h"
#include "model/model.h"

/* What a band costs its accelerator, in seconds. */
typedef struct hri_cost {
    hr_traffic traffic;
    double link[HRI_LINKS]; /* bringing what it lacks, and results home, from
                               and to pinned memory and ordinary one */
    double whole;           /* of that: views that are given whole */
    double run;             /* with the device to itself */
} hri_cost;

/* An accelerator that could be used. */
typedef struct hri_participant {
    hri_call call; /* that gives it its band; first (base/threads.h) */
    const struct hri_splitting *split;
    hri_accelerator *accelerator;
    double row_seconds; /* seconds for a row of this kernel */
    double memory;      /* and for what a row moves in its memory */
    double bandwidth;   /* of that, bytes/s */
    hri_overheads overheads;
    hri_flow flows[HRI_LINKS]; /* its own link, */
    double slower[HRI_LINKS];  /* and how much slower it is beside others */
    hri_cost cost;             /* of its band */
} hri_participant;

/* A launch that is split: what hr_launch_split was given. */
typedef struct hri_splitting {
    hr_context *context;
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    hr_extent domain;
    const hr_argument *arguments;
    hr_split_options options;
    hr_split_report report;        /* the caller's, as far as it is found */
    hri_indices accelerators;      /* that could be used */
    uint32_t count;                /* of them */
    hr_band *bands;                /* of each of them, in their order */
    hri_portion *portions;         /* likewise: what the bands are made from */
    hri_participant *participants; /* likewise */
    hri_flow *flows;               /* room for one of each */
} hri_splitting;

/* What a band of `size` rows reads. A band without rows reads none. */
void hri_band_reach(int64_t size, int64_t before, int64_t after, hr_band *band);

static inline bool hri_split_is_view(const hri_splitting *s, uint32_t i)
{
    return s->arguments[i].kind == HR_PARAMETER_VIEW;
}

/* bands.c: cut the domain's rows into s->bands by these weights (NULL: all
 * alike), between tiles, with the accelerators in their places and what they
 * read of any view. Limited: an accelerator gets no more than it has memory
 * for, and others the rest; not *held: those with a weight do not hold the
 * views together, and the bands stay as they were. */
hr_status hri_split_cut(hri_splitting *s, const double *weights, bool limited,
                        bool *held);

/* Points of a row of the domain. */
int64_t hri_split_points(const hri_splitting *s);

/* How many of the accelerators with rows are alike with that of band i, itself
 * among them. */
uint32_t hri_split_sharers(const hri_splitting *s, uint32_t i);

/* The rows of argument i that a band needs, as a view; *first is the first of
 * them. */
hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view,
                             int64_t *first);

/* predict.c: fill row_seconds and memory of the participants, from what was
 * measured.
 */
hr_status hri_split_learn(const hri_splitting *s);
/* The costs of s->bands, and when the last is done and home; what of it took
 * longest. */
hr_status hri_split_predict(const hri_splitting *s, double *seconds,
                            hr_bound *bound);
/* The cost of a band for accelerator i. */
hr_status hri_split_cost(const hri_splitting *s, uint32_t i,
                         const hr_band *band, hri_cost *cost);

/* choose.c: the accelerators and bands that promise to be done first, after
 * hri_split_learn; they are in s->bands then. */
hr_status hri_split_choose(hri_splitting *s);

#endif
