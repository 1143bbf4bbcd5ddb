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

/* ---- links */

/* Know the links of the context and of its accelerators that stage memory: from
 * what earlier processes kept, else by measuring, once. */
hr_status hri_links_know(hr_context *context);

/* Measure them in any case. */
hr_status hri_links_learn(hr_context *context);

/* Whether they are measured with this accelerator: the first that stages. */
bool hri_links_lead(const hr_context *context, const hri_accelerator *a);

/* What is known of one that stages alone, and of all of them together, from
 * pinned memory or through copy pools (HRI_PINNED, HRI_STAGED); 0: nothing. */
hri_link hri_links_of(const hri_accelerator *accelerator, int kind);
hri_link hri_links_together(const hr_context *context, int kind);

/* Measure, in bytes/s summed over the accelerators, copies from and to pinned
 * memory, or through copy pools from and to ordinary memory when staged. 0
 * where there is no room. They hold nothing afterwards. */
hr_status hri_links_measure(hri_accelerator *const *accelerators,
                            uint32_t count, bool staged, hri_link *link);

/* Measure what the link of one accelerator carries from and to pinned memory,
 * also where nothing is staged, and keep it. */
hr_status hri_link_measure(hri_accelerator *accelerator);

/* Time copies of so many bytes, or as many as there is room for, within its
 * memory. */
hr_status hri_memory_measure(hri_accelerator *accelerator, int64_t bytes,
                             hri_probed *found);

/* What is known of its link; 0: nothing, or it is in place. */
hri_link hri_link_alone(const hri_accelerator *accelerator);

#endif
