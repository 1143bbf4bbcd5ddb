/* SPDX-License-Identifier: MIT */
/* Copies by copy pools of threads. Ordinary memory, which accelerators copy
 * slowly, goes through pinned pieces: threads copy some while others travel.
 * Pinned memory goes as it is; a copy pool of one thread then sees to it that
 * only a few copies are under way, as drivers hold up all that enqueue anything
 * when there are too many. */
#ifndef HRI_RUNTIME_STAGING_H
#define HRI_RUNTIME_STAGING_H

#include "runtime/runtime.h"

enum {
    HRI_PIECE_BYTES = 2 << 20,
    HRI_MIN_PIECE_BYTES = 512 << 10,
    HRI_PAGE_BYTES = 4 << 10 /* pieces are whole pages */
};

_Static_assert(HRI_THREAD_PIECES <= HRI_COPIES,
               "copy threads have too few events");

/* Where a job's next piece starts, and its size. */
typedef struct hri_piece {
    size_t row, rows;    /* of the box */
    size_t start, width; /* bytes of each row */
} hri_piece;

/* A box (depth 1) to be copied between host memory and a buffer. The caller
 * keeps it until it is finished, or its copy pool has been joined. */
typedef struct hri_job {
    hri_copy copy;
    hri_queue *queue;
    hri_event *after;         /* NULL, or what its copies wait for */
    void (*done)(void *data); /* NULL, or called once when finished, by a thread
                                 of the copy pool that holds no lock */
    void *data;
    /* the copy pool's */
    struct hri_job *next;
    hri_piece cursor;
    size_t piece_bytes; /* at most */
    uint32_t out;       /* pieces that threads work on */
    bool failed, finished;
} hri_job;

typedef struct hri_copy_pool hri_copy_pool;

/* One thread of a copy pool, its pinned memory and the last copies of each
 * piece. */
typedef struct hri_copy_thread {
    hri_copy_pool *pool;
    hri_thread *thread;
    void *pinned[HRI_COPIES];      /* HRI_THREAD_PIECES of them, or none */
    hri_event *events[HRI_COPIES]; /* as many as it may have under way */
} hri_copy_thread;

/* A copy pool serves one direction of one accelerator. Jobs to the accelerator
 * are finished when their last copy is enqueued, jobs from it when all is in
 * host memory. */
struct hri_copy_pool {
    /* set by the caller before hri_copy_pool_init */
    hri_accelerator *accelerator; /* NULL: there is no copy pool */
    bool up;                      /* to the accelerator */
    bool direct;                  /* its jobs go down, into memory that needs no
                                     pieces; up, whoever has such a copy enqueues
                                     it */
    pthread_mutex_t *queues; /* held around calls on the queues of its jobs */
    void (*fail)(void *data, hr_status status); /* gets the first error, on a
                                                   thread of the copy pool */
    void *fail_data;
    /* its own */
    uint32_t thread_count; /* threads */
    uint32_t depth;        /* copies that each may have under way */
    hri_copy_thread threads[HRI_MAX_COPY_THREADS];
    uint32_t started;
    pthread_mutex_t
        lock; /* guards what follows, and the copy pool's part of jobs */
    pthread_cond_t changed;
    hri_job *first, *last; /* not handed out yet; urgent ones go first */
    bool closed, stopped;
};

/* Decide how many threads copy pools of each of `accelerators` accelerators
 * have and where they run. */
void hri_staging_plan(hri_accelerator *accelerator, uint32_t accelerators);

/* Page-lock their memory, which the accelerator keeps: that takes longer than
 * many a product. HR_ERROR_OUT_OF_MEMORY. close accepts what was not planned.
 */
hr_status hri_staging_open(hri_accelerator *accelerator);
void hri_staging_close(hri_accelerator *accelerator);

/* Make it ready; threads have not started. HR_ERROR_OUT_OF_MEMORY. Waits for
 * another copy pool of the accelerator and direction, unless it is direct: then
 * it wants the context's lock. Who has several takes them in the order of the
 * context's accelerators, and up before down. hri_copy_pool_finish, on the same
 * thread and when no copies are under way, also takes what a failed init left,
 * and one that is all zero. */
hr_status hri_copy_pool_init(hri_copy_pool *pool);
void hri_copy_pool_finish(hri_copy_pool *pool);

/* HR_ERROR_OUT_OF_MEMORY when the system refuses a thread. */
hr_status hri_copy_pool_start(hri_copy_pool *pool);

/* Have a job done: after those put before, or before all others. */
void hri_copy_pool_put(hri_copy_pool *pool, hri_job *job, bool urgent);
/* Wait until a job is finished; false when the copy pool was stopped before,
 * and will not touch the job any more. */
bool hri_copy_pool_wait(hri_copy_pool *pool, hri_job *job);

/* Copy a box between ordinary memory and a buffer by a copy pool, behind all
 * that the queue has; returns when it has arrived. Wants no lock of the
 * context's, and waits for none. */
hr_status hri_staging_copy(hri_accelerator *accelerator, hri_queue *queue,
                           const hri_copy *copy);

/* Do no more. Any thread; both accept a copy pool that is all zero. */
void hri_copy_pool_stop(hri_copy_pool *pool);
/* Wait until all jobs are finished, or it was stopped, and its threads ended.
 * No job is put any more. */
void hri_copy_pool_join(hri_copy_pool *pool);

#endif
