/* SPDX-License-Identifier: MIT */
/* The pipeline of all products: panels come into slots of accelerators, tasks
 * compute there, and results go home.
 *
 * An engine says where every byte goes (hri_flow): each accelerator has a share
 * with slots, a list of deliveries, which bring panels, and a list of tasks. A
 * task reads a panel of each operand and writes a result. The lists of all
 * shares are cuts of one sequence in which everything depends on earlier
 * entries alone. So no order in which shares run can cause a deadlock.
 *
 * hri_flow_run carries the lists out. It has the threads, queues, events and
 * pinned memory. It overlaps copies with work, and reports progress. At the end
 * shares take tasks from others that are behind. When an accelerator hangs,
 * fails or is far too slow, the run goes on without it, and tells which results
 * are home: the engine plans the others again.
 *
 * hri_tiles_engine in gemm/tiles.c makes an engine; gemm/batch_run.c has
 * another. docs/architecture.md shows a short one. */
#ifndef HRI_FLOW_FLOW_H
#define HRI_FLOW_FLOW_H

#include <headrace/gemm.h>

#include "base/progress.h"
#include "runtime/runtime.h"
#include "runtime/staging.h"

/* ---- where every byte goes */

/* The operands of a task: two that it reads, and its result. An engine may do
 * without either of the first two. */
enum { HRI_A = 0, HRI_B = 1, HRI_C = 2, HRI_SIDES = 3 };

/* The most tasks that an accelerator has under way: enough to keep its queue
 * busy, few enough to cancel and steal promptly. */
enum { HRI_WINDOW = 3 };

/* The arrival of a panel in a slot of one share. */
typedef struct hri_delivery {
    int64_t after;   /* the share's task that must have run before the slot is
                        overwritten; -1: none */
    int64_t pullers; /* the first in flow->pullers of the shares that copy the
                        panel from this slot */
    int32_t puller_count;
    int32_t index, chunk; /* which panel */
    int32_t slot;
    int64_t only;   /* the share's only task that needs it, if nobody copies the
                       panel; -1: others may, too */
    int32_t source; /* the share that it is copied from; -1: the host */
    int32_t side;   /* HRI_A or HRI_B */
    int64_t origin; /* the source's delivery of the panel */
} hri_delivery;

/* A share that copies a panel from the slot of another one. */
typedef struct hri_puller {
    int32_t share;
    int64_t delivery; /* of that share */
} hri_puller;

/* A task reads panel (row, chunk) of A and panel (col, chunk) of B, and writes
 * result `unit`. The tasks of a result are in one share, in order of chunks. */
typedef struct hri_task {
    int64_t a, b; /* deliveries to this share; -1: it needs none */
    int64_t unit;
    int32_t row, col, chunk;
    int32_t slot; /* of the result where it stays for several tasks; -1: any */
} hri_task;

/* One accelerator's share of the work. */
typedef struct hri_flow_share {
    uint32_t accelerator;     /* index in the list of hri_flow_run */
    int32_t slots[HRI_SIDES]; /* how many it has; 0: none */
    bool in_place;            /* tasks work in the caller's memory */
    bool can_steal; /* it has room for one more panel of A and of B, and can
                   take tasks of others at the end */
    bool packed[2]; /* each panel is packed before its first task, into a
                       second set of slots */
    bool gathered[HRI_SIDES]; /* the operand travels through pinned memory
                                 beside its slot, which threads of the host
                                 fill and empty */
    hri_delivery *deliveries;
    int64_t delivery_count;
    hri_task *tasks;
    int64_t task_count;
    int64_t steady; /* from this task on panels stay in their slots, so others
                       may take tasks */
    uint64_t memory, up, down, peer; /* bytes, for reports; up and down also
                                        tell how many threads copy */
    double flops, seconds;           /* seconds of arithmetic, predicted */
} hri_flow_share;

typedef struct hri_flow {
    uint64_t slot_bytes[HRI_SIDES], packed_bytes[2];
    uint64_t
        scratch_bytes; /* of each share with memory of its own, for tasks */
    bool must_pack;    /* tasks need packed panels, also when they are
                          stolen */
    hri_flow_share *shares;
    uint32_t share_count;
    hri_puller *pullers; /* of all deliveries */
    int64_t unit_count;  /* results */
    int64_t chunks;      /* tasks of each result */
    bool reads_result;   /* first tasks need the old one */
    bool few;            /* one thread alone carries all bytes of a brief flow:
                            waking others takes longer */
    double seconds;      /* of the whole run, predicted */
} hri_flow;

/* Which panel, or result, a task has of a side. */
static inline int64_t hri_task_index(const hri_task *task, int side)
{
    return side == HRI_A ? task->row : side == HRI_B ? task->col : task->unit;
}

/* Whether the task is the first of its result, and whether it is the last. */
static inline bool hri_task_is_first(const hri_task *task)
{
    return task->chunk == 0;
}

static inline bool hri_task_is_last(const hri_flow *flow, const hri_task *task)
{
    return task->chunk == flow->chunks - 1;
}

/* Whether one thread carries it out: it has one task, not in place. Old results
 * must not wait on the only queue for a panel that is packed. */
static inline bool hri_flow_is_brief(const hri_flow *flow)
{
    const hri_flow_share *share = &flow->shares[0];
    return flow->share_count == 1 && share->task_count == 1 &&
           !share->in_place &&
           !((share->packed[HRI_A] || share->packed[HRI_B]) &&
             flow->reads_result);
}

/* What a task needs of a delivery's panel. */
static inline hri_task hri_delivery_reader(const hri_delivery *d)
{
    return (hri_task){
        .row = d->index, .col = d->index, .chunk = d->chunk, .unit = -1};
}

/* units.c: free the lists. */
void hri_flow_finish(hri_flow *flow);

/* Bytes that a share's slots take. */
uint64_t hri_flow_memory(const hri_flow *flow, const hri_flow_share *share);

/* Make shares with as many units each for accelerators. Those that are done
 * sooner take units of others. Set slot_bytes, unit_count and chunks before. A
 * share has `slots` slots of each operand, or fewer where there is no memory
 * for them. seconds: of a unit, about. There are no more shares than units, and
 * share i is that of accelerators[i]. Unit u has the panels as below, and none
 * is shared. HR_ERROR_OUT_OF_MEMORY; call hri_flow_finish also then. */
hr_status hri_flow_spread(hri_flow *flow, const char *call,
                          hri_accelerator *const *accelerators, uint32_t count,
                          int32_t slots, double seconds);

/* Give a share `count` results from unit `first` on, which need nothing of each
 * other. Unit u has one task. It reads panels u of A and B, or panel 0 where
 * all share one. The slots of the share, which are set before, are used one
 * after another. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_flow_add_units(hri_flow_share *share, const char *call,
                             int64_t first, int64_t count,
                             const bool shared[2]);

/* ---- what an engine gives */

/* A task on its accelerator. */
typedef struct hri_flow_task {
    const hri_task *task;
    uint32_t share;
    hri_accelerator *accelerator;
    hri_queue *queue;                   /* of it */
    const hri_place *places[HRI_SIDES]; /* slots; NULL: it has none, or works in
                                           the caller's memory */
    const hri_place *packed[2]; /* packed panels; NULL: it is not packed */
    hri_place scratch;          /* of the flow's scratch_bytes, if there are
                                   any */
} hri_flow_task;

/* Functions only read data, wait for nothing, and are called by any thread. */
typedef struct hri_engine {
    const char *call; /* messages begin with it: "gemm" */
    void *data; /* the run's, with all that the functions below need, until
                   drop: it outlives the call when an accelerator hangs */
    /* The box of an operand of a task: from the caller's memory (place `from`)
     * into a slot, where lines begin to_pitch bytes apart. from.host is NULL
     * where it is no one box. For A row and chunk of the task are set, for B
     * col and chunk, for C all. */
    hri_copy (*box)(const void *data, int side, const hri_task *task,
                    hri_place slot);
    /* The same bytes where threads gather them. NULL: all are boxes. */
    hri_gather (*gather)(const void *data, int side, const hri_task *task);
    /* Enqueue the packing of a panel. NULL: no share is packed. */
    hr_status (*pack)(const void *data, int side, const hri_task *task,
                      hri_queue *queue, hri_place from, hri_place to);
    /* Enqueue a task. */
    hr_status (*run)(const void *data, const hri_flow_task *task);
    /* Operations of a task, for progress and reports. NULL: not counted. */
    double (*flops)(const void *data, const hri_task *task);
    /* Products that a task has, for reports. NULL: each is one. */
    int64_t (*count)(const void *data, const hri_task *task);
    void (*drop)(void *data);
} hri_engine;

/* units.c: find or build the modules of a kernel for accelerators. With the
 * context's lock. */
hr_status hri_run_modules(const hr_kernel *kernel,
                          hri_accelerator *const *accelerators, uint32_t count,
                          hri_module **modules);

/* Launch a kernel for a task, over all points of a domain. module is that of
 * the task's accelerator. Arguments are values, and places in slots or in the
 * caller's memory. */
hr_status hri_task_launch(const hri_flow_task *task, const hr_kernel *kernel,
                          hri_module *module, hr_extent domain,
                          const hri_kernel_argument *arguments);

/* A view of a place, whose elements lie without gaps. */
hri_kernel_argument hri_place_argument(hri_place place, hr_extent extent);

/* ---- a run */

typedef struct hri_run_state hri_run_state;

/* Whether copies of A, B and C, in the caller's memory, are staged for an
 * accelerator (hri_is_staged). */
typedef struct hri_staged {
    bool of[HRI_SIDES];
} hri_staged;

/* What one share did. */
typedef struct hri_run_report {
    double seconds_busy, flops;
    uint64_t tiles, tiles_stolen;
    uint64_t up, down, peer, stolen; /* bytes; stolen: those of them for tiles
                                        stolen from other executors */
    bool lost; /* the accelerator failed, or took too long */
    bool late; /* it took too long */
} hri_run_report;

/* Chunks that come one after another: the terms of a sum of products. */
typedef struct hri_run_terms {
    int64_t count;
    hr_await_function await;     /* NULL: they are there */
    hr_release_function release; /* or NULL */
    void *data;
} hri_run_terms;

/* terms.c: wait until the program has a term. HR_ERROR_CANCELLED when it does
 * not want to go on. */
hr_status hri_terms_await(const hri_run_terms *terms, const char *call,
                          int64_t term);

/* What the caller wants. */
typedef struct hri_run_call {
    hri_progress *progress;     /* NULL: nobody wants to hear */
    const hri_staged *staged;   /* for each accelerator; NULL: nothing is */
    bool timed;                 /* seconds_busy is wanted */
    double flops_before;        /* of the whole product: done before */
    const hri_run_terms *terms; /* NULL: all chunks are there */
} hri_run_call;

/* What came of it. */
typedef struct hri_run_outcome {
    hri_run_report
        *reports;    /* the caller's, one for each share; NULL: not wanted */
    uint8_t *home;   /* [unit_count] the caller's: 1: the result is complete in
                        the caller's memory, 0: it is as it was. NULL: results
                        that are missing are an error */
    bool unfinished; /* results are missing since an accelerator was lost */
    hri_error lost;  /* why the first one was */
} hri_run_outcome;

/* The accelerators of a context that a run may have: not lost, and not held by
 * an earlier run. Returns how many there are, at most `most`. With the
 * context's lock. */
uint32_t hri_run_accelerators(hr_context *context, uint32_t most,
                              hri_accelerator **accelerators);

/* Carry out a flow on accelerators[share->accelerator]. Flow and engine's data
 * stay until drop, which is called in any case. Returns when all results are
 * home, or when nothing is under way any more after an error or on accelerators
 * that are not lost. The context keeps what an accelerator that does not answer
 * has of the run. The caller holds the context's lock, and has called
 * hri_runs_collect. progress is called on the calling thread, without a
 * lock of the run. Errors: HR_ERROR_CANCELLED, HR_ERROR_LOST when others cannot
 * complete the results, and those of backends. */
hr_status hri_flow_run(hr_context *context, const hri_flow *flow,
                       const hri_engine *engine,
                       hri_accelerator *const *accelerators,
                       const hri_run_call *call, hri_run_outcome *outcome);

/* Whether an abandoned run has not let go of the accelerator: its work there
 * had not ended when the call returned. Others leave it out. With the context's
 * lock. */
bool hri_runs_hold(const hr_context *context,
                   const hri_accelerator *accelerator);
/* Take back accelerators that abandoned runs have let go of by now. With the
 * context's lock. */
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
