/* SPDX-License-Identifier: MIT */
/* The figures of a context: what its accelerators do in a second, by kind of
 * work. All accelerators of one device share figures. Figures that do not refer
 * to this process are also kept for later processes (tuning.h). */
#ifndef HRI_MODEL_FIGURES_H
#define HRI_MODEL_FIGURES_H

#include "model/learn.h"
#include "model/model.h"

/* Which device a figure is about. */
typedef struct hri_subject {
    hri_model *model;
    uint32_t device; /* HRI_ALL_DEVICES: all that stage memory, together */
    const char *key; /* its key in the tuning cache; "": not kept */
} hri_subject;

#define HRI_ALL_DEVICES UINT32_MAX

static inline hri_subject hri_subject_of(const hri_accelerator *a)
{
    return (hri_subject){a->model, a->device_index, a->key};
}

/* Which work a figure is about: a word, and a number that matters for it, such
 * as the edge of tiles. 0: no number does. */
typedef struct hri_kind {
    const char *name; /* must stay as long as the context */
    int64_t shape;
    const void *what; /* an object of this process, such as a kernel; NULL:
                         none */
} hri_kind;

typedef struct hri_figure {
    uint32_t device;
    hri_kind kind;
    bool looked;         /* the tuning cache was searched */
    double rate;         /* units in a second, measured; 0: not known */
    hri_learned seconds; /* for a unit, if only runs tell */
} hri_figure;

struct hri_model {
    _Atomic uint64_t version; /* how often figures were set */
    pthread_mutex_t lock;     /* guards what follows */
    hri_figure *figures;
    uint32_t count, capacity;
    bool links_known;
    hr_predictions outcomes[HRI_ENGINES]; /* of predictions of this process */
};

/* The value of a figure, if need be from the tuning cache. 0: not known. */
double hri_figure_find(hri_subject of, hri_kind kind);

/* Set a figure, for this process alone. */
void hri_figure_set(hri_subject of, hri_kind kind, double value);
/* The same, and keep it in the tuning cache for later processes. */
void hri_figure_keep(hri_subject of, hri_kind kind, double value);

/* Set a figure, and keep it if it is settled. */
void hri_figure_note(hri_subject of, hri_kind kind, bool settled, double value);

/* Learn a figure from a run that took `seconds` for a unit (learn.h). The
 * second function gives what was learned: seconds for a unit, or 0. */
void hri_figure_learn(hri_subject of, hri_kind kind, double seconds);
double hri_figure_learned(hri_subject of, hri_kind kind);

/* ---- links */

/* Find the rates of the context's links to accelerators that stage memory: from
 * the tuning cache, else by measuring once. */
hr_status hri_links_know(hr_context *context);

/* Measure them in any case. */
hr_status hri_links_learn(hr_context *context);

/* Whether this is the accelerator that links are measured with: the first that
 * stages memory. */
bool hri_links_lead(const hr_context *context, const hri_accelerator *a);

/* The link of one accelerator that stages, and of all of them together, from
 * pinned memory or through copy pools (HRI_PINNED, HRI_STAGED). 0: not
 * known. */
hri_link hri_links_of(const hri_accelerator *accelerator, int kind);
hri_link hri_links_together(const hr_context *context, int kind);

/* Measure copies from and to pinned memory, or, if staged, through copy pools
 * from and to ordinary memory. Rates are bytes/s summed over the accelerators,
 * or 0 where there is no room. The accelerators hold no memory afterwards. */
hr_status hri_links_measure(hri_accelerator *const *accelerators,
                            uint32_t count, bool staged, hri_link *link);

/* Measure the link of one accelerator from and to pinned memory, also if it
 * does not stage, and keep it. */
hr_status hri_link_measure(hri_accelerator *accelerator);

/* Measure again what is known of its products, and the rates of float and
 * double in any case: *f32 and *f64, 0 where it does not multiply them. */
hr_status hri_products_measure(hri_accelerator *accelerator, double *f32,
                               double *f64);

/* Time copies within the accelerator's memory, of `bytes` bytes or as many as
 * there is room for. */
hr_status hri_memory_measure(hri_accelerator *accelerator, int64_t bytes,
                             hri_probed *found);

/* The known rates of its link. 0: not known, or it works in place. */
hri_link hri_link_alone(const hri_accelerator *accelerator);

#endif
