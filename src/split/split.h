/* SPDX-License-Identifier: MIT */
/* Bands of launches over several accelerators. */
#ifndef HRI_SPLIT_SPLIT_H
#define HRI_SPLIT_SPLIT_H

#include <headrace/split.h>

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
typedef struct hri_runner {
    hri_accelerator *accelerator;
    double pace;      /* seconds for a row of this kernel */
    double memory;    /* and for what a row moves in its memory */
    double bandwidth; /* of that, bytes/s */
    hri_overheads overheads;
    hri_flow flows[HRI_LINKS]; /* its own link, */
    double slower[HRI_LINKS];  /* and how much slower it is beside others */
    hri_cost cost;             /* of its band */
    double weight;
    int64_t most; /* tiles of rows, when its memory is full; else -1 */
} hri_runner;

/* A launch that is split: what hr_launch_split was given. */
typedef struct hri_splitting {
    hr_context *context;
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    hr_extent domain;
    const hr_argument *arguments;
    hr_split_options options;
    uint32_t count;      /* accelerators that could be used */
    hr_band *bands;      /* of each of them, in their order */
    hri_runner *runners; /* likewise */
    hri_flow *flows;     /* room for one of each */
} hri_splitting;

/* What a band of `size` rows reads. A band without rows reads none. */
void hri_band_reach(int64_t size, int64_t before, int64_t after, hr_band *band);

/* The index in the context of accelerator i. */
static inline uint32_t hri_split_index(const hri_splitting *s, uint32_t i)
{
    return s->options.accelerators != NULL ? s->options.accelerators[i] : i;
}

static inline bool hri_split_is_view(const hri_splitting *s, uint32_t i)
{
    return s->arguments[i].kind == HR_PARAMETER_VIEW;
}

/* split_rules.c: the caller's options, which may be NULL, into *read, which
 * holds the defaults. */
hr_status hri_split_read(const hr_split_options *options,
                         hr_split_options *read);
/* Whether accelerators, kernel, domain and `count` arguments go together. */
hr_status hri_split_check(const hri_splitting *s, size_t count);
/* Cut the domain's rows into s->bands by these weights, between tiles, with the
 * accelerators in their places and what they read of any view. */
hr_status hri_split_cut(hri_splitting *s, const double *weights);

/* The rows of argument i that a band needs, as a view; *first is the first of
 * them. */
hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view,
                             int64_t *first);

/* Points of a row of the domain. */
int64_t hri_split_points(const hri_splitting *s);

/* How many of the accelerators with rows are alike with that of band i, itself
 * among them. */
uint32_t hri_split_sharers(const hri_splitting *s, uint32_t i);

/* foresee.c: fill pace and memory of the runners, from what was measured. */
hr_status hri_split_learn(const hri_splitting *s);
/* The costs of s->bands, and when the last is done and home; what of it took
 * longest. */
hr_status hri_split_foresee(const hri_splitting *s, double *seconds,
                            hr_bound *bound);
/* The cost of a band for accelerator i. */
hr_status hri_split_cost(const hri_splitting *s, uint32_t i,
                         const hr_band *band, hri_cost *cost);

/* fit.c: cut by these weights, where an accelerator gets no more than it has
 * memory for, and others the rest; the weights are those bands' then. Not
 * *fits: those with a weight do not hold the views together. */
hr_status hri_split_fit(hri_splitting *s, double *weights, bool *fits);

/* choose.c: the accelerators and weights whose bands promise to be done first,
 * after hri_split_learn; they are in s->bands then. */
hr_status hri_split_choose(hri_splitting *s);

#endif
