/* SPDX-License-Identifier: MIT */
/* Launches in bands over several accelerators.
 *
 * Bands come from src/distribute, and coherence brings what a band lacks. No
 * band is larger than fits into its accelerator's memory, as long as some set
 * of accelerators can hold all bands (room.c). If no set can, bands
 * that do not fit stream (stream.c). Sets are tried from the fastest
 * accelerator alone upwards, each with two kinds of weights: as if all data lay
 * there already, and as if it had to come (choose.c). The time of a band is
 * that of the bytes that it would move, and of its rows as the kernel took them
 * in earlier launches. Before a kernel's second launch the speed of memory
 * stands for that time (predict.c).
 *
 * hr_run gives bands of memory that is read only if the kernel's text shows
 * that points use nothing but their own row of it (src/kernels/indexing.c). */
#ifndef HRI_SPLIT_SPLIT_H
#define HRI_SPLIT_SPLIT_H

#include <headrace/split.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/progress.h"
#include "distribute/distribute.h"
#include "model/model.h"

/* What a band costs its accelerator, in seconds. */
typedef struct hri_cost {
    hr_traffic traffic;
    double link[HRI_LINKS]; /* copying what it lacks, and results home, with
                               pinned and with ordinary memory */
    double home[HRI_LINKS]; /* the part of link that takes results home */
    double whole; /* the part of link for views that are given whole */
    double run;   /* the kernel, with the device to itself */
    double fold; /* bringing its copies of combined views to the first band, and
                    folding them there */
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
    hri_link_use flows[HRI_LINKS]; /* its link with nothing else at work */
    double slower[HRI_LINKS];      /* how many times slower its link is beside
                                      others */
    hri_cost cost;                 /* of its present band */
    int64_t chunk; /* rows at a time that its band streams in; 0: it fits into
                      memory */
    hr_array *copies[HR_MAX_PARAMETERS]; /* of combined views; NULL: none */
} hri_participant;

enum { HRI_NO_CHUNK = -1 }; /* memory does not hold the least chunk */

/* A split launch: the arguments of hr_launch_split, and what only Headrace's
 * own calls set. */
typedef struct hri_splitting {
    hr_context *context;
    const hr_kernel *kernel;
    hr_extent domain;
    const hr_argument *arguments;
    /* Headrace's own call, which brings its own kernel and tile. NULL: the
     * kernel is the program's. */
    const char *call;
    /* Rows of argument i for each row of the domain. The last may have fewer.
     * NULL: 1 of each argument. */
    const int64_t *rows;
    const hr_extent *tile; /* of such a call; NULL: the default */
    bool fresh; /* combined views, of rank 1, begin with the neutral element in
                   the first band, too */
    /* Whether an accelerator can take part. NULL: all can. */
    hr_status (*usable)(const hri_accelerator *a);
    /* Bands are planned for so many launches, by the bytes that a launch
     * touches. 0: for one launch, by what was measured. */
    double times;
    bool at_once; /* no band streams: each accelerator holds all of its own */
    /* Bytes of accelerator i's memory that a band takes beside its arguments.
     * NULL: none. */
    uint64_t (*extra_bytes)(const struct hri_splitting *s, uint32_t i,
                            const hr_band *band);
    /* Does the work of the bands that were planned. NULL: the kernel is
     * launched. */
    hr_status (*carry_out)(void *data, const struct hri_splitting *s);
    void *data; /* for these two functions */
    bool waits; /* the caller waits for results, and then writes the call into
                   the timeline */
    /* The progress of a call that does more than the launch. NULL: the launch
     * tells its own. */
    hri_progress *progress;
    const hr_parameter *parameters;
    hri_chunks *chunks;            /* for the checker; NULL: there is none */
    hr_split_options options;      /* read */
    hr_extent band_tile;           /* of a launch in several bands or chunks;
                                      rank 0: the default */
    hr_split_report report;        /* the caller's, or as many bytes of it as
                                      are known */
    bool predicted;                /* the report has seconds, bound, traffic */
    hri_indices accelerators;      /* that the caller allows */
    uint32_t count;                /* of accelerators that may take part */
    hr_band *bands;                /* [count] in their order */
    hri_share *shares;             /* [count]: for making bands */
    hri_participant *participants; /* [count] */
    hri_link_use *flows;           /* [count] */
} hri_splitting;

/* launch.c: read what the options say of progress, for hri_splitting.progress:
 * nothing in a dry run. The caller ends it. */
hr_status hri_split_read_progress(const hr_split_options *options,
                                  const char *call, double total,
                                  hri_progress *progress);

/* launch.c: carry out a splitting whose fields before `parameters` are set,
 * with `count` arguments. The caller does not hold the context's lock. */
hr_status hri_split_run(hri_splitting *s, size_t count,
                        const hr_split_options *options);

/* launch.c: write the call, which began then, into the timeline, if there is
 * one. */
void hri_split_trace(const hri_splitting *s, uint64_t start_ns);

/* Set the rows that a band of `size` rows reads. A band without rows reads
 * none. */
void hri_band_set_reach(int64_t size, int64_t before, int64_t after,
                        hr_band *band);

/* What messages begin with. */
static inline const char *hri_split_name(const hri_splitting *s)
{
    return s->call != NULL ? s->call : s->kernel->name;
}

/* Rows of argument i for each row of the domain. */
static inline int64_t hri_split_rows(const hri_splitting *s, uint32_t i)
{
    return s->rows != NULL ? s->rows[i] : 1;
}

/* Bands and chunks are so many rows, or a multiple. */
static inline int64_t hri_split_grain(const hri_splitting *s)
{
    return s->band_tile.rank > 0 ? s->band_tile.size[0] : 1;
}

/* The dimension of argument i that has its rows. */
static inline uint32_t hri_split_dimension(const hri_splitting *s, uint32_t i)
{
    return s->parameters[i].list ? 1 : 0;
}

static inline bool hri_split_is_view(const hri_splitting *s, uint32_t i)
{
    return s->arguments[i].kind == HR_PARAMETER_VIEW;
}

static inline bool hri_split_is_combined(const hri_splitting *s, uint32_t k)
{
    return hri_split_is_view(s, k) && s->arguments[k].combine != 0;
}

/* Whether bands get all of argument k. */
static inline bool hri_split_is_whole(const hri_splitting *s, uint32_t k)
{
    return s->arguments[k].whole || hri_split_is_combined(s, k);
}

/* Whether a band works on a copy of argument k. The first band works on the
 * view itself. A chunk is no band here. */
static inline bool hri_split_is_copied(const hri_splitting *s, uint32_t k,
                                       const hr_band *band)
{
    return hri_split_is_combined(s, k) && band->first > 0;
}

/* Bytes of a copy of argument k. */
static inline uint64_t hri_split_copy_bytes(const hri_splitting *s, uint32_t k)
{
    const hr_view *v = &s->arguments[k].view;
    return (uint64_t)hr_extent_count(v->extent) * v->element_bytes;
}

/* bands.c: the participant whose band is the first one. */
uint32_t hri_split_first(const hri_splitting *s);
/* bands.c: make the bands for these weights (NULL: equal ones). If not *held,
 * the bands stay as they were. */
hr_status hri_bands_cut(const hri_distribution *d, const double *weights,
                        int64_t before, int64_t after, hr_band *bands,
                        bool *held);

/* Points of a row of the domain. */
int64_t hri_split_row_points(const hri_splitting *s);

/* How many of the accelerators with rows are of the same kind as that of band
 * i. It counts, too. */
uint32_t hri_split_count_siblings(const hri_splitting *s, uint32_t i);

/* The rows of argument i that a band needs, as a view. *first is the first
 * row. */
hr_status hri_split_view_rows(const hri_splitting *s, uint32_t i,
                              const hr_band *band, hr_view *view,
                              int64_t *first);

/* ---- room.c: memory for bands */

/* Give accelerator i memory for a band that it holds, before chunks of the band
 * ask for theirs one by one. */
hr_status hri_split_hold(const hri_splitting *s, uint32_t i,
                         const hr_band *band);
/* Whether argument k streams when the band does. Else accelerator i has memory
 * for it, or gets it: for whole views, and for other views of their arrays. */
hr_status hri_split_streams(const hri_splitting *s, uint32_t i,
                            const hr_band *band, uint32_t k, bool *streams);
/* How many buffers the chunks of an argument use, one after the other: one goes
 * up while the kernel uses another, and a third may go home. */
uint32_t hri_split_slots(hr_access access);
/* The rows that each of these has, for argument k. */
int64_t hri_split_slot_rows(const hri_splitting *s, uint32_t k,
                            const hr_band *band, int64_t chunk);

/* What an accelerator must have memory for. */
typedef enum hri_hold {
    HRI_HOLD_ANY,   /* nothing: it gets what its weight says */
    HRI_HOLD_ALL,   /* its whole band */
    HRI_HOLD_CHUNKS /* its band, or the least chunks of it */
} hri_hold;

/* Cut the domain's rows into s->bands by these weights (NULL: equal ones),
 * between tiles. Fills in the accelerators, and the rows that bands read of
 * views. An accelerator gets at most what it can hold, and others get the rest.
 * not *held: the accelerators with a weight cannot hold all views together, and
 * the bands stay as they were. */
hr_status hri_split_cut(hri_splitting *s, const double *weights, hri_hold hold,
                        bool *held);

/* The rows of the chunks in which accelerator i streams a band. 0: it holds all
 * of it. HRI_NO_CHUNK: it cannot hold the least chunk, or nothing streams.
 * Chunks are whole tiles, and the last may be short. */
hr_status hri_split_find_chunk(const hri_splitting *s, uint32_t i,
                               const hr_band *band, int64_t *chunk);
/* Set the chunks of all participants, for s->bands. */
hr_status hri_split_find_chunks(const hri_splitting *s);
/* The same. HR_ERROR_OUT_OF_MEMORY, with the numbers, when an accelerator
 * cannot hold the least chunk. */
hr_status hri_split_require_chunks(const hri_splitting *s);

/* ---- bands.c: rows of the domain on accelerator i. The context's lock is
 * held. */

/* Make their arguments, and the windows of these in the whole views. If the
 * participant has a copy of an argument, the argument is that copy. */
hr_status hri_split_make_arguments(const hri_splitting *s, uint32_t i,
                                   const hr_band *rows, hr_argument *arguments,
                                   hri_window *windows);
/* Say what the checker has to know of the chunks of a launch. */
void hri_split_describe_chunks(const hri_splitting *s, hri_chunks *chunks);
/* Launch them on the accelerator's default queue, and time the kernel. */
hr_status hri_split_launch_rows(const hri_splitting *s, uint32_t i,
                                const hr_band *rows, hri_stream *stream,
                                const hr_argument *arguments,
                                const hri_window *windows);

/* Rows of argument k have no values anywhere. */
hr_status hri_split_forget(const hri_splitting *s, uint32_t k,
                           const hr_band *rows);

/* ---- combine.c: views that bands combine. The caller does not hold the
 * context's lock, but for the first function. */

/* Check that argument k, which is to be combined, can be. */
hr_status hri_split_check_combined(const hri_splitting *s, uint32_t k);
/* Make the copies of all bands, and enqueue setting them to the neutral
 * element. Fresh views are set, too. */
hr_status hri_split_begin_combined(const hri_splitting *s);
/* Fold all copies into their views, and wait, unless the launches have failed.
 * Destroys the copies. After an error, also of the launches, combined views
 * have no values. */
hr_status hri_split_end_combined(const hri_splitting *s, hr_status launched);

/* stream.c: run band i in chunks, and wait for the last one. A band that its
 * accelerator holds runs in chunks where it is, since its progress is told. The
 * caller does not hold the context's lock. After a failure, the rows that may
 * not have been written have no values. */
hr_status hri_split_stream(const hri_splitting *s, uint32_t i);

/* predict.c: fill in row_seconds and memory of the participants, from
 * measurements. */
hr_status hri_split_learn(const hri_splitting *s);
/* Predict the costs of s->bands, the seconds until the last result is home, and
 * what takes longest. */
hr_status hri_split_predict(const hri_splitting *s, double *seconds,
                            hr_bound *bound);
/* The seconds of a band with these times for copies up, copies home and the
 * kernel. If the band streams, they overlap, but for the first and last
 * chunk. */
double hri_split_seconds(const hri_participant *p, const hr_band *band,
                         double up, double home, double run);
/* Compute the cost of a band for accelerator i. */
hr_status hri_split_cost(const hri_splitting *s, uint32_t i,
                         const hr_band *band, hri_cost *cost);

/* choose.c: choose the accelerators and bands with the least predicted time,
 * and store them in s->bands. Called after hri_split_learn. */
hr_status hri_split_choose(hri_splitting *s);

#endif
