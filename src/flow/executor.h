/* SPDX-License-Identifier: MIT */
/* The state of a run, with one executor for each share of the flow.
 *
 * An executor has these threads. The feeder brings panels (feed.c). The compute
 * thread multiplies, and brings old tiles of C (work.c). One copy pool brings
 * finished tiles home. Another one copies panels that lie in ordinary memory,
 * where such copies are slow (staging.c). What is gathered at once, its threads
 * and others of the accelerator copy. The threads only enqueue work, and events
 * order the work of different queues. An event must be recorded before anything
 * waits for it. So a thread that depends on another one's commands waits until
 * they are enqueued. It waits on a condition of the executor whose state it
 * needs. So a change wakes the few threads that it may concern, however many
 * executors there are.
 *
 * A device may fail to answer. So only threads of executors call one, and
 * never with the run's lock. The thread that called hri_flow_run watches
 * (watch.c). When it goes on without an executor, that executor's threads keep
 * the run.
 *
 * An executor has five in-order queues of its accelerator: up, peer, fetch,
 * compute, down. Copies of pinned memory are enqueued a few at a time: with
 * some twenty of them under way NVIDIA's driver holds up every thread that
 * enqueues anything. What only the watching caller needs wakes nobody.
 *
 * A brief flow has one task, not in place. The executor's thread does all of it
 * with one queue, and where bytes are not few (hri_flow) copy threads help. It
 * and the caller wait awake for each other for a moment (hri_linger), since
 * being woken takes longer than many a product. Nothing is recorded that
 * nothing waits for. Few bytes of ordinary memory travel in one of two ways
 * (hri_run_call.staged): the driver copies larger matrices itself; smaller ones
 * go through pinned memory, A and B in one copy where their rows are alike, and
 * the product writes C there where the device can (hri_device_info.reaches).
 *
 * The first error, or the caller's wish to cancel, stops every thread at its
 * next step. Queues are settled, memory goes back to the pool, and the context
 * stays usable. */
#ifndef HRI_FLOW_EXECUTOR_H
#define HRI_FLOW_EXECUTOR_H

#include "flow/flow.h"

typedef struct hri_executor hri_executor;

/* A delivery at run time. Its events are recycled when its slot is given to the
 * next one. By then every command that waits for them has been enqueued. */
typedef struct hri_delivery_state {
    hri_event *ready;  /* the panel is in its slot */
    hri_event *pulled; /* the slot that it was copied from has been read */
    atomic_bool issued;
    int32_t pulls; /* by other executors, that are not enqueued yet */
} hri_delivery_state;

/* A slot for a tile of C. */
typedef struct hri_tile_slot {
    hri_event *fetched; /* old C is in it */
    hri_event *ready;   /* the tile is complete */
    bool draining;      /* the copy pool is still bringing it home */
    int64_t count;      /* of products, for reports */
    int64_t unit;       /* the result */
    void *pinned;       /* where it is gathered at once, else NULL */
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

/* What threads wait for of an executor. Each kind has a condition, so that a
 * change wakes no other thread. */
typedef enum hri_change {
    HRI_ENQUEUED, /* what a compute thread needs, its own or a thief's */
    HRI_FREED,    /* a slot, or a panel of another executor, for the feeder */
    HRI_CHANGES
} hri_change;

struct hri_run_state {
    hri_run_state *next;  /* of abandoned runs */
    const hri_flow *flow; /* the engine's */
    hri_engine engine;
    pthread_mutex_t lock; /* guards everything that several threads look at */
    pthread_cond_t ended; /* all executors have settled */
    hri_error error;      /* the first one; all threads stop */
    hri_error lost;       /* why the first executor was lost */
    bool halted; /* an executor was lost: the others end what they began */
    bool left;   /* the call goes on without executors that have not
                    settled */
    bool go;     /* all executors are set up; nothing is written before */
    uint32_t set_up, settled; /* executors */
    atomic_bool over;         /* all have settled */
    double flops_done;
    uint8_t *home; /* [unit_count] 1: the result is in the caller's memory */
    hr_release_function release; /* of terms; NULL: none */
    void *release_data;
    int64_t come;     /* terms that have come; INT64_MAX: all are there */
    int64_t released; /* terms that have been released */
    hri_executor *executors;
};

/* How far an executor has come. */
typedef enum hri_executor_state {
    HRI_SETTING_UP,
    HRI_WORKING,
    HRI_DONE,   /* it has no product to issue or to wait for */
    HRI_SETTLED /* none of its threads uses the run any more */
} hri_executor_state;

/* A task that was issued. */
typedef struct hri_issued {
    double flops;
    int64_t count; /* as in hri_tile_slot */
    int64_t unit;
    bool last; /* of the result */
} hri_issued;

struct hri_executor {
    hri_run_state *run;
    pthread_cond_t changed[HRI_CHANGES]; /* with run->lock; all of them when the
                                            run goes or stops */
    const hri_flow_share *share;
    hri_accelerator *accelerator;
    hri_run_report report;
    hri_thread *compute_thread, *feeder; /* NULL: not started */
    hri_executor_state state;
    hri_executor_state left_at; /* its state when hri_flow_run returned */
    bool brief;       /* it has one task and no peers: its compute thread does
                         all by itself, with one queue */
    bool alone;       /* it is brief, and no copy thread helps it */
    bool timed;       /* its tasks have events; false: it is brief, and nobody
                         wants its time */
    bool tied;        /* its queues and memory stay with the run when the call
                         returns, and are given back with the run */
    hr_status failed; /* HR_OK, or how its queues ended */
    bool lost;        /* it failed or is late: others do its tiles */
    bool late;        /* it was lost because it took too long */
    bool idle;        /* its compute thread waits for other executors */
    bool awaits;      /* its compute thread waits for a term */
    uint64_t sign_ns; /* when its work went on last */
    uint64_t idle_ns; /* when it became idle or done */
    uint64_t cpu_ns;  /* CPU time that it may have had since cpu_sign_ns */
    uint64_t cpu_sign_ns; /* sign_ns when watch.c looked last */
    uint64_t awaited_ns;  /* for which the others waited for it, a moment at a
                             time or at once */

    hri_queue *up;          /* panels from the host: the feeder's */
    hri_queue *peer;        /* panels of other executors: the feeder's */
    hri_queue *fetch;       /* old C and stolen panels: the compute thread's */
    hri_queue *compute;     /* products: the compute thread's */
    hri_queue *down;        /* finished tiles: the down copy pool's */
    pthread_mutex_t queues; /* held around calls on up and fetch; locked before
                               run->lock where both are held */
    pthread_mutex_t down_queue; /* the same for down */
    hri_staged staged;          /* what goes through the copy pools */
    hri_copy_pool up_pool, down_pool;
    hri_load *loads[2];               /* for up_pool: [slot] of A and B */
    hri_event *under_way[HRI_COPIES]; /* the last copies from pinned memory */
    int64_t loaded;                   /* how many of them the feeder has
                                         enqueued */

    hri_buffer **buffers; /* the memory of the slots */
    uint32_t buffer_count;
    hri_buffer *whole;    /* the only one, where the device allows; else NULL */
    uint64_t handed_out;  /* bytes of it */
    hri_place *places[3]; /* [slot] of HRI_A, HRI_B and HRI_C */
    hri_place spare[2];   /* for the panels of stolen tiles */
    char *pinned;         /* memory for what is gathered at once */
    char *gathered[3];    /* slots of each side in it, spare ones last; NULL:
                             the side is not gathered */
    hri_place *packed[2]; /* [slot] of packed panels, where share->packed; the
                             spare one is the last */
    int64_t *packed_of[2]; /* [slot] the delivery it holds; -1: none */
    hri_place scratch;     /* for tasks */
    hri_event *spare_ready[2];
    hri_tile_slot *tiles; /* [slots[HRI_C]] */
    int64_t *held[3]; /* [slot] the delivery it holds; -1: none, as always for
                         HRI_C */

    hri_delivery_state *delivery_states; /* [delivery_count] */

    int64_t next, end; /* own tasks not yet issued or stolen */
    int64_t issued;    /* tasks issued; the last HRI_WINDOW of them have
                          events */
    int64_t wanted;    /* how many issued tasks the threads that wait for
                          HRI_FREED need at least; INT64_MAX: none waits for
                          tasks */
    int64_t collected; /* tasks that have run and whose times are added up */
    hri_event *begun[HRI_WINDOW], *done[HRI_WINDOW];
    hri_issued window[HRI_WINDOW];
    int64_t stores; /* tiles finished when k is whole; decides the tile slot */
    bool loading;   /* the feeder enqueues a copy of the caller's memory */
    uint32_t gathering; /* threads that fill pinned memory from the caller's */
    bool feeds;         /* its feeder uses slots and events of others, or they
                           may still be in use */
    bool steals;        /* it copies panels of others for tasks of theirs */
};

/* ---- executor.c */

/* An executor before its thread starts. */
void hri_executor_init(hri_executor *executor, hri_run_state *run,
                       uint32_t share, hri_accelerator *const *accelerators,
                       const hri_run_call *call);
/* Start one of its threads. apart: on a CPU away from the caller's, since both
 * will wait awake. HR_ERROR_OUT_OF_MEMORY when the system refuses. */
hr_status hri_executor_start(hri_executor *executor, hri_thread **thread,
                             void *(*function)(void *), bool apart);
/* Everything that an executor does, from setting up to settling, on its compute
 * thread. Takes a hri_executor * and returns NULL. The caller of hri_flow_run
 * holds the context's lock while the executor is set up, or has left the run.
 */
void *hri_executor_main(void *executor);
/* Leave the executor to its run, which outlives hri_flow_run: it has not
 * settled, or one that has not may still use what this one holds. With the
 * context's lock. */
void hri_executor_abandon(hri_executor *executor);
/* Give back what a settled executor holds. With the context's lock. */
void hri_executor_finish(hri_executor *executor);

/* Keep the executor's error, if it is one. HR_ERROR_LOST makes others do its
 * tiles. Any other error is for the caller of hri_flow_run, and stops all
 * threads. */
void hri_executor_fail(hri_executor *executor, hr_status status);

/* The same for an error that is no executor's. */
void hri_run_fail(hri_run_state *run, hr_status status);

/* Halt the run, since an executor is lost: none begins anything, and copies
 * that are not needed stop. The engine plans the rest in another run (watch.c).
 * The run's lock is held. */
void hri_run_halt_without(hri_executor *executor, const hri_error *why);

/* Wake every thread that waits for an executor. The run's lock is held. */
void hri_run_wake_all(hri_run_state *run);

/* Whether executors must not begin anything. Those in place end their tasks
 * when the run is halted: they need nobody, and C holds half of their sums. The
 * run's lock is held. */
static inline bool hri_is_stopped(const hri_executor *executor)
{
    const hri_run_state *run = executor->run;
    return run->error.status != HR_OK ||
           (run->halted && !executor->share->in_place);
}

/* Wait until every executor is set up. So C stays as it was when one cannot be,
 * or when the system refuses a thread. False when the run has stopped. */
bool hri_executor_await_start(hri_executor *executor);

/* The same as hri_is_stopped, without the lock. */
bool hri_executor_stopped(hri_executor *executor);

/* Note that the executor's work went on. The run's lock is held. */
void hri_executor_note_work(hri_executor *executor);
/* Note whether its compute thread waits for others. The run's lock is held. */
void hri_executor_set_idle(hri_executor *executor, bool idle);
/* For how many seconds it has shown no sign of work. The run's lock is held. */
double hri_executor_silence(const hri_executor *executor, uint64_t now_ns);

static inline uint64_t hri_copy_bytes(const hri_copy *copy)
{
    return (uint64_t)copy->width * copy->height * copy->depth;
}

/* ---- passage.c */

/* How an operand of a task travels between the caller's memory and a slot. */
typedef struct hri_passage {
    int side;
    const hri_task *task;
    hri_place slot;
    void *pinned; /* beside the slot, from hri_pinned_of */
    bool home;
    /* set by hri_passage_find */
    hri_copy copy;
    hri_gather gather;
} hri_passage;
void hri_passage_find(const hri_executor *executor, hri_passage *passage);
/* NULL: the side is not gathered at once. Behind all slots is the spare one. */
void *hri_pinned_of(const hri_executor *executor, int side, int32_t slot);
/* Fill the pinned memory, if there is any. *done: the executor was not stopped
 * before. */
hr_status hri_executor_gather(hri_executor *executor,
                              const hri_passage *passage, bool *done);

/* Whether the panel can come: from the host, or from an executor that has
 * it. The run's lock is held. */
static inline bool hri_panel_can_come(const hri_executor *executor,
                                      const hri_delivery *d)
{
    return d->source < 0 || executor->run->executors[d->source]
                                .delivery_states[d->origin]
                                .issued;
}

/* Bring the executor's panels: enqueue their copies, or put them to the up copy
 * pool. */
hr_status hri_executor_feed(hri_executor *executor);

/* ---- the threads. Each takes a hri_executor * and returns NULL */
void *hri_feeder_main(void *executor);

/* Issue the executor's own tasks, then those that it steals, and wait for
 * them. */
hr_status hri_executor_compute(hri_executor *executor);

/* ---- terms.c: operands that come while others are multiplied */

/* NULL: all chunks are there. */
void hri_terms_init(hri_run_state *run, const hri_run_terms *terms);

/* Who asks the program for terms, on a thread of its own. */
typedef struct hri_terms_asker {
    hri_run_state *run;
    const hri_run_terms *terms; /* NULL: there are none */
    hri_thread *thread;         /* NULL: it was not started */
} hri_terms_asker;

void hri_terms_ask(hri_terms_asker *asker, hri_accelerator *accelerator);
/* Nobody reads terms any more: all are released, and the asker ends. */
void hri_terms_end(const hri_terms_asker *asker);

/* Wait on the compute thread until a term has come, or the executor is
 * stopped. */
void hri_terms_wait(hri_executor *executor, int64_t term);

/* Release the terms whose tasks have all run. The run's lock is held. */
void hri_terms_release(hri_run_state *run);

/* ---- watch.c: what the caller of hri_flow_run does meanwhile */

/* Report progress and look for executors that are late, until all have settled
 * or those that have not are to be left. */
void hri_run_watch(hri_run_state *run, const hri_run_call *call,
                   double patience);

#endif
