/* SPDX-License-Identifier: MIT */
/* Carrying out a plan. */
#ifndef HRI_GEMM_RUN_H
#define HRI_GEMM_RUN_H

#include <headrace/gemm.h>

#include "base/progress.h"
#include "gemm/check.h"
#include "gemm/plan.h"
#include "runtime/runtime.h"
#include "runtime/staging.h"

typedef struct hri_run_state hri_run_state;

/* Whether copies of A, B and C, in the caller's memory, are staged for an
 * accelerator. C of at most HRI_TINY_BYTES always is where any may be: nothing
 * need wait before it goes home. So are A and B of at most HRI_TINIEST_BYTES,
 * for which it takes longer to ask. */
enum { HRI_TINY_BYTES = 128 << 10, HRI_TINIEST_BYTES = 16 << 10 };
typedef struct hri_staged {
    bool of[3]; /* HRI_A, HRI_B, HRI_C */
} hri_staged;

/* What one part of the plan did. */
typedef struct hri_run_share {
    double seconds_busy, flops;
    uint64_t tiles, tiles_stolen;
    uint64_t up, down, peer, stolen; /* bytes; stolen: those of them for tiles
                                        stolen from other executors */
    bool lost;                       /* the accelerator failed, or */
    bool late;                       /* was lost because it took too long */
} hri_run_share;

/* The terms of a sum of products: pieces of k that have matrices of their own,
 * and that come one after another. */
typedef struct hri_terms {
    int64_t count;
    hr_matrix *a, *b;            /* [count] in normal form */
    int64_t *bounds;             /* [count + 1] where they begin in k, and k */
    hr_await_function await;     /* NULL: they are there */
    hr_release_function release; /* or NULL */
    void *data;
} hri_terms;

/* terms.c: wait until the program has a term. HR_ERROR_CANCELLED when it does
 * not want to go on. */
hr_status hri_terms_await(const hri_terms *terms, int64_t term);

/* Tasks that are not tiles of one product, but some products of a batch, say.
 * Rows of C count them; there is one column, and k is whole. The functions only
 * read data. */
typedef struct hri_run_engine {
    void *data;     /* the run's, which outlives the call, until drop; NULL: the
                       tasks are tiles */
    int64_t most;   /* units of a task for which slots have room */
    bool shared[2]; /* all tasks have one panel of A, or of B */
    int64_t (*units)(const void *data, const hri_task *task);
    /* Into a slot, where it lies without gaps, from the caller's memory, which
     * is NULL where there is no one box. */
    hri_copy (*box)(const void *data, int side, const hri_task *task,
                    hri_place slot);
    /* The same bytes, where threads gather them. */
    hri_gather (*gather)(const void *data, int side, const hri_task *task);
    /* In slots; NULL: in the caller's memory. */
    hri_gemm (*multiply)(const void *data, const hri_task *task,
                         const hri_place *const places[3]);
    void (*drop)(void *data);
} hri_run_engine;

/* What the caller wants. */
typedef struct hri_run_call {
    hri_run_engine engine; /* hri_run drops it */

    hri_progress *progress;
    const hri_staged *staged; /* for each accelerator */
    bool timed;               /* seconds_busy is wanted */
    double flops_before;      /* of the whole product: done before */
    const hri_terms *terms;   /* NULL: A and B are those of the product */
    double patience; /* seconds for which others are idle before they do the
                        tiles of a late accelerator; hr_context has it */
} hri_run_call;

/* What came of it. */
typedef struct hri_run_outcome {
    hri_run_share *shares; /* the caller's, one for each part */
    uint8_t *home;   /* [tile_rows * tile_cols] the caller's: 1: the tile is
                        complete in C, 0: it is as it was */
    bool unfinished; /* tiles are missing since an accelerator was lost; */
    hri_error lost;  /* why */
} hri_run_outcome;

/* Run the plan of a product on accelerators[part->accelerator]. Returns when C
 * is complete, or when nothing is under way any more after an error or on
 * accelerators that are not lost. What an accelerator that does not answer has
 * of the run stays in context->abandoned. The caller holds the context's lock.
 * progress is called on the calling thread, without a lock of the run. Errors:
 * HR_ERROR_CANCELLED, HR_ERROR_LOST when C cannot be completed by others, and
 * those of backends. */
hr_status hri_run(hr_context *context, const hri_product *product,
                  hri_plan *plan, hri_accelerator *const *accelerators,
                  const hri_run_call *call, hri_run_outcome *outcome);

/* Take back accelerators that abandoned products have let go of by now. With
 * the context's lock. */
void hri_runs_collect(hr_context *context);
/* Wait for them, and for measuring that was left (hri_measure), at most so many
 * seconds. False when one has not. */
bool hri_runs_await(hr_context *context, double seconds);
/* The same. HR_ERROR_LOST, in the name of a call, when one has not. */
hr_status hri_runs_settle(hr_context *context, const char *call,
                          double seconds);
/* Whether one of them was cancelled: then its accelerators need not hang. */
bool hri_runs_cancelled(const hr_context *context);
/* How long calls wait that need all of the context: times its patience. */
enum { HRI_RUNS_PATIENCE = 100 };

#endif
