/* SPDX-License-Identifier: MIT */
/* The figures of a context: what its accelerators do a second, by kind. All
 * accelerators of one device share theirs. Those that name nothing of this
 * process are also kept for later ones (tuning.h). */
#ifndef HRI_MODEL_FIGURES_H
#define HRI_MODEL_FIGURES_H

#include "model/learn.h"
#include "model/model.h"

/* Of whom a figure is. */
typedef struct hri_subject {
    hri_model *model;
    uint32_t device; /* HRI_ALL_DEVICES: those that stage memory, together */
    const char *key; /* in the tuning cache; "": not kept */
} hri_subject;

#define HRI_ALL_DEVICES UINT32_MAX

static inline hri_subject hri_subject_of(const hri_accelerator *a)
{
    return (hri_subject){a->model, a->device_index, a->key};
}

/* Of what: a word, and what changes it, such as the edge of tiles; 0: nothing
 * does. */
typedef struct hri_kind {
    const char *name; /* stays as long as the context */
    int64_t shape;
    const void *what; /* of this process, such as a kernel; NULL: nothing */
} hri_kind;

typedef struct hri_figure {
    uint32_t device;
    hri_kind kind;
    bool looked;         /* the tuning cache was asked */
    double rate;         /* units a second, measured; 0: not known */
    hri_learned seconds; /* for a unit, where runs alone tell */
} hri_figure;

struct hri_model {
    pthread_mutex_t lock; /* guards what follows */
    hri_figure *figures;
    uint32_t count, capacity;
    bool links_known;
    hr_predictions outcomes[HRI_ENGINES]; /* of this process */
};

/* What is known, also from the tuning cache; 0: nothing. */
double hri_figure_find(hri_subject of, hri_kind kind);

/* Let it be known; and for later processes, too. */
void hri_figure_set(hri_subject of, hri_kind kind, double value);
void hri_figure_keep(hri_subject of, hri_kind kind, double value);

/* Either: it is kept when it is settled. */
void hri_figure_note(hri_subject of, hri_kind kind, bool settled, double value);

/* Learn from a run that took `seconds` for a unit (learn.h), and what is known
 * by runs: seconds for a unit, or 0. */
void hri_figure_learn(hri_subject of, hri_kind kind, double seconds);
double hri_figure_learned(hri_subject of, hri_kind kind);

#endif
