/* SPDX-License-Identifier: MIT */
/* The state of a running plan, with one executor for each part.
 *
 * An executor has these threads. The feeder brings panels, and the forwarder
 * sends them on (feed.c). The compute thread multiplies, and brings old tiles
 * of C (work.c). One copy pool brings finished tiles home. Another one copies
 * panels that lie in ordinary memory, where such copies are slow (staging.c).
 * The threads only enqueue work, and events order the work of different queues.
 * An event must be recorded before anything waits for it. So a thread that
 * depends on another one's commands waits on run->changed until they are
 * enqueued. */
#ifndef HRI_GEMM_EXECUTOR_H
#define HRI_GEMM_EXECUTOR_H

#include "gemm/run.h"
#include "runtime/staging.h"

typedef struct hri_executor hri_executor;

/* A delivery at run time. Its events are recycled when its slot is given to the
 * next one. By then every command that waits for them has been enqueued. */
typedef struct hri_arrival {
    hri_event *ready; /* the panel is in its slot */
    hri_event *sent;  /* it has been forwarded to all parts that need it */
    bool issued, forwarded;
} hri_arrival;

/* A slot for a tile of C. */
typedef struct hri_tile_slot {
    hri_event *fetched; /* old C is in it */
    hri_event *ready;   /* the tile is complete */
    bool draining;      /* the copy pool is still bringing it home */
    hri_job home;       /* for the copy pool */
    hri_executor *executor;
} hri_tile_slot;

/* A panel that the up copy pool brings. Each slot has one. It is filled again
 * only after all products that read the old panel have run. */
typedef struct hri_load {
    hri_job job;
    hri_executor *executor;
    int64_t number; /* of the delivery */
} hri_load;

typedef struct hri_run_state {
    const hri_product *product;
    const hri_plan *plan;
    pthread_mutex_t lock; /* guards everything that several threads look at */
    pthread_cond_t changed;
    hri_error error; /* the first one; all threads stop */
    uint32_t threads_running;
    bool go; /* all threads have started; C is not written before */
    double flops_done;
    hri_executor *executors;
    hr_progress_function progress; /* NULL: the caller does not want it */
    void *progress_data;
} hri_run_state;

struct hri_executor {
    hri_run_state *run;
    const hri_plan_part *part;
    hri_accelerator *accelerator;
    hri_run_share *share;

    hri_queue *up;          /* panels from the host: the feeder's */
    hri_queue *peer;        /* panels to other executors: the forwarder's */
    hri_queue *fetch;       /* old C and stolen panels: the compute thread's */
    hri_queue *compute;     /* products: the compute thread's */
    hri_queue *down;        /* finished tiles: the down copy pool's */
    pthread_mutex_t queues; /* held around calls on up and fetch; locked before
                               run->lock where both are held */
    pthread_mutex_t down_queue; /* the same for down */
    bool staged[3]; /* whether HRI_A, HRI_B, HRI_C go through the copy pools */
    hri_copy_pool up_pool, down_pool;
    hri_load *loads[2];               /* for up_pool: [slot] of A and B */
    hri_event *under_way[HRI_COPIES]; /* the last copies from pinned memory */
    int64_t loaded;                   /* how many of them the feeder has
                                         enqueued */

    hri_buffer **buffers; /* the memory of the slots */
    uint32_t buffer_count;
    hri_place *places[3]; /* [slot] of HRI_A, HRI_B and HRI_C */
    hri_place spare[2];   /* for the panels of stolen tiles */
    hri_place *packed;    /* [slot] of HRI_A, where part->packed */
    int64_t *packed_of;   /* [slot] the delivery it holds; -1: none */
    hri_event *spare_ready[2];
    hri_tile_slot *tiles; /* [slots[HRI_C]] */
    int64_t *held[3]; /* [slot] the delivery it holds; -1: none, as always for
                         HRI_C */

    hri_arrival *arrivals; /* [delivery_count] */

    int64_t next, end; /* own tasks not yet issued or stolen */
    int64_t issued;    /* tasks issued; the last HRI_WINDOW of them have
                          events */
    int64_t collected; /* tasks that have run and whose times are added up */
    hri_event *begun[HRI_WINDOW], *done[HRI_WINDOW];
    double flops[HRI_WINDOW];
    int64_t stores; /* tiles finished when k is whole; decides the tile slot */
    bool forwarded; /* the forwarder has ended */
};

/* ---- executor.c */

/* Set up an executor, which is zero before. hri_executor_finish accepts what a
 * failed init left. The caller holds the context's lock for both. */
hr_status hri_executor_init(hri_executor *executor, hri_run_state *run,
                            uint32_t part, hri_accelerator *accelerator,
                            hri_run_share *share);
/* Wait for the executor's copy pools and queues. Their first error goes to
 * run->error. */
void hri_executor_settle(hri_executor *executor);
void hri_executor_finish(hri_executor *executor);

/* A thread of the executor ends, with an error or HR_OK. */
void hri_executor_thread_ends(hri_executor *executor, hr_status status);

/* Keep the error, if it is one, for the caller of hr_gemm, and stop all
 * threads. */
void hri_run_fail(hri_run_state *run, hr_status status);

/* Whether the run has been stopped. */
bool hri_run_stopped(hri_run_state *run);

/* The copy between the caller's memory and a slot for a task: of its panel of A
 * or B into the slot, or of its tile of C (by `side`), home or into the
 * slot. */
hri_copy hri_copy_of(const hri_run_state *run, int side, const hri_task *task,
                     hri_place slot, bool home);
static inline uint64_t hri_copy_bytes(const hri_copy *copy)
{
    return (uint64_t)copy->width * copy->height;
}

/* An operand of the product. It is in a slot, or in the caller's memory when
 * slot is NULL. packed: a panel of A that lies by columns. */
hri_operand hri_operand_of(const hri_run_state *run, int side,
                           const hri_task *task, const hri_place *slot,
                           bool packed);
/* The packing of a panel of A from the slot where it arrived. */
hri_pack hri_panel_pack(const hri_run_state *run, const hri_task *task,
                        hri_place from, hri_place to);

/* ---- the threads. Each takes a hri_executor * and returns NULL */
void *hri_feeder_main(void *executor);
void *hri_forwarder_main(void *executor);
void *hri_compute_main(void *executor);

#endif
