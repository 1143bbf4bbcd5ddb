/* SPDX-License-Identifier: MIT */
/* Copies by copy pools of threads. Accelerators copy ordinary memory slowly, so
 * it goes through pinned chunks: threads copy some chunks while others are on
 * the link. Pinned memory needs no chunks. A copy pool of one thread then
 * limits how many copies are under way, since drivers block every caller when
 * there are too many. */
#ifndef HRI_RUNTIME_STAGING_H
#define HRI_RUNTIME_STAGING_H

#include "runtime/runtime.h"

enum {
    HRI_CHUNK_BYTES = 2 << 20,
    HRI_MIN_CHUNK_BYTES = 512 << 10,
    HRI_PAGE_BYTES = 4 << 10 /* chunks are whole pages */
};

_Static_assert((int)HRI_THREAD_CHUNKS <= (int)HRI_COPIES &&
                   (int)HRI_STREAM_CHUNKS <= (int)HRI_COPIES,
               "copy threads have too few events");

/* Whether copies between memory of the caller's and a device are staged. */
static inline bool hri_is_staged(hri_device *device, const void *memory,
                                 size_t bytes)
{
    return device->info.staged &&
           (memory == NULL || !device->ops->is_pinned(device, memory, bytes));
}

/* What a program has in several places, as it lies in a slot without gaps. */
typedef struct hri_gather {
    /* Copy bytes from `first` on to pinned memory, or home from there. Any
     * thread. NULL: nothing is gathered. */
    void (*copy)(const void *data, int side, int64_t item, void *pinned,
                 size_t first, size_t bytes, bool home);
    const void *data;
    int side;
    int64_t item;
    void *pinned; /* where all of it is gathered at once; NULL: in chunks */
} hri_gather;

/* The start of a chunk in its box, and its size. */
typedef struct hri_chunk {
    size_t row, rows;    /* of the box */
    size_t start, width; /* bytes of each row */
} hri_chunk;

/* A box (depth 1) to copy between host memory and a buffer. The caller keeps
 * the struct until the job is finished or its copy pool has been joined. */
typedef struct hri_job {
    hri_copy copy;
    hri_gather gather; /* in the place of the box's host memory; then it has one
                          row */
    hri_queue *queue;
    hri_event *after; /* an event that its copies wait for, or NULL */
    bool held;        /* its copies wait for hri_copy_pool_release, while
                         threads bring it to pinned memory */
    void (*done)(void *data); /* NULL, or called once when the job is finished,
                                 by a thread of the copy pool that holds no
                                 lock */
    void *data;
    /* the copy pool's own fields */
    struct hri_job *next;
    hri_chunk cursor;
    size_t chunk_bytes; /* the largest chunk */
    uint32_t out;       /* chunks that threads work on */
    bool failed, finished;
    bool torn;   /* part of it has come to host memory, or may have */
    bool waited; /* its queue waits for `after`: once is enough */
} hri_job;

typedef struct hri_copy_pool hri_copy_pool;

/* One thread of a copy pool, its pinned memory, and the last copy of each
 * chunk. */
typedef struct hri_copy_thread {
    hri_copy_pool *pool;
    hri_thread *thread;
    void *pinned[HRI_COPIES];      /* `depth` of the pool, or none */
    hri_event *events[HRI_COPIES]; /* as many as the copies that it may have
                                      under way */
    uint64_t sent;                 /* chunks to the accelerator so far */
} hri_copy_thread;

/* A copy pool serves one direction of one accelerator. Jobs to the accelerator
 * are finished when their last copy is enqueued, jobs from it when all bytes
 * are in host memory. */
struct hri_copy_pool {
    /* the caller sets these before hri_copy_pool_init */
    hri_accelerator *accelerator; /* NULL: there is no copy pool */
    bool up;                      /* to the accelerator */
    bool direct;                  /* jobs from the accelerator go into memory
                                     that needs no chunks, as that where all is
                                     gathered; jobs to it from such memory need
                                     no copy pool */
    bool helped;                  /* its first thread is the one that calls
                                     hri_copy_pool_help */
    bool alone;                   /* it is helped, and has no other thread */
    uint64_t bytes;  /* of all jobs: few bytes need few threads; 0: not known */
    uint64_t stream; /* the serial number of the only stream that the pool
                        copies for; 0: none. Such a pool has fewer threads,
                        since those of both directions share the processors.
                        When it is finished, copies to the accelerator may be
                        under way from pinned memory, if only the link holds
                        them up */
    pthread_mutex_t *queues; /* held around calls on the queues of jobs */
    void (*fail)(void *data, hr_status status); /* is told the first error, on a
                                                   thread of the copy pool */
    void *fail_data;
    /* the copy pool's own fields */
    uint32_t thread_count; /* threads */
    uint32_t depth;        /* copies that each thread may have under way */
    hri_copy_thread threads[HRI_MAX_STREAM_THREADS];
    uint32_t started;
    pthread_mutex_t
        lock; /* guards what follows, and the copy pool's part of jobs */
    pthread_cond_t changed;
    hri_job *first, *last; /* jobs with chunks left; urgent ones are first */
    uint32_t touching;     /* threads that copy memory of the caller's; of a
                              direct pool, those that enqueue such copies */
    uint32_t landing;      /* threads of a direct pool that bring home what is
                              gathered */
    uint32_t torn;         /* jobs to host memory that have begun to arrive */
    bool closed, leaving, stopped;
};

/* Make a copy pool ready. Its threads do not start yet. HR_ERROR_OUT_OF_MEMORY.
 * A pool that is not direct waits for the accelerator's other copy pool of this
 * direction. A direct one needs the context's lock. To avoid deadlock, take
 * several in the order of the context's accelerators, and up before down. Call
 * hri_copy_pool_finish when no copies are under way. It accepts a pool after a
 * failed init, and one that is all zero. */
hr_status hri_copy_pool_init(hri_copy_pool *pool);
void hri_copy_pool_finish(hri_copy_pool *pool);

/* HR_ERROR_OUT_OF_MEMORY when the system refuses a thread. */
hr_status hri_copy_pool_start(hri_copy_pool *pool);

/* Pinned memory of HRI_CHUNK_BYTES for the box of the only job of a pool that
 * is alone. A product may write it there: the job copies from there. */
static inline hri_place hri_copy_pool_pinned(const hri_copy_pool *pool)
{
    return hri_at_host(pool->threads[0].pinned[0], 0);
}

/* Gather all bytes at once, or bring them home, on the accelerator's threads.
 */
hr_status hri_gather_all(hri_accelerator *accelerator, const hri_gather *gather,
                         size_t bytes, bool home);

/* Add a job: behind all others, or before them if urgent. */
void hri_copy_pool_put(hri_copy_pool *pool, hri_job *job, bool urgent);
/* Wait until a job is finished. False when the copy pool was stopped before
 * that. It will not touch the job any more. */
bool hri_copy_pool_wait(hri_copy_pool *pool, hri_job *job);
/* Let the copies of a job that is held go. */
void hri_copy_pool_release(hri_copy_pool *pool, hri_job *job);
/* Whether another pool waits for the pinned memory of this one. */
bool hri_copy_pool_is_wanted(const hri_copy_pool *pool);

/* ---- deferred.c: copies of a stream by a copy pool. They neither need nor
 * take the context's lock */

typedef struct hri_stager {
    hri_copy_pool copy_pool;
    hri_queue *queue;
    pthread_mutex_t lock; /* held around calls on the queue; guards error */
    hri_error error;
} hri_stager;

/* The jobs of one copy. */
typedef struct hri_slices {
    hri_job *jobs; /* one for each slice */
    size_t count;
} hri_slices;

/* Make a copy pool ready, and start it. What fails here is told by
 * hri_stager_end. */
void hri_stager_begin(hri_stager *stager, hri_accelerator *accelerator,
                      uint64_t stream, hri_queue *queue, bool up);
/* Put a copy between ordinary memory and a buffer, which is held until
 * hri_stager_release or not. */
hr_status hri_stager_put(hri_stager *stager, const hri_copy *copy, bool held,
                         hri_slices *slices);
void hri_stager_release(hri_stager *stager, const hri_slices *slices);
/* Wait until a copy is done, or to the accelerator: until all of it is
 * enqueued. False after an error. */
bool hri_stager_wait(hri_stager *stager, const hri_slices *slices);
/* Wait for all copies in the same way, or drop those that are held. No jobs are
 * used any more. */
hr_status hri_stager_end(hri_stager *stager, bool drop);

/* Work on the jobs that were put so far, as the first thread of a pool that is
 * helped. Returns when no chunk is left to begin, and chunks that this thread
 * has begun are done as far as jobs are. Accepts a copy pool that is all
 * zero. */
void hri_copy_pool_help(hri_copy_pool *pool);

/* Stop: do no more work. Any thread. Both functions accept a copy pool that is
 * all zero. */
void hri_copy_pool_stop(hri_copy_pool *pool);
/* Begin nothing in memory of the caller's, but end what has begun to arrive
 * there. True when nothing is left of it. Any thread. */
bool hri_copy_pool_wind_down(hri_copy_pool *pool);
/* Stop, and wait until no thread copies memory of the caller's. A direct copy
 * that is under way may still arrive, when the device pleases. */
void hri_copy_pool_release_memory(hri_copy_pool *pool);
/* Wait until all jobs are finished, or the pool was stopped, and its threads
 * have ended. No job may be added any more. */
void hri_copy_pool_join(hri_copy_pool *pool);

/* ---- staging_memory.c: the pinned memory of an accelerator */

/* Decide how many threads the copy pools of each of `accelerators` accelerators
 * have, of the context's `threads`, and on which CPUs they run. */
void hri_staging_plan(hri_accelerator *accelerator, uint32_t accelerators,
                      uint32_t threads);

/* Allocate and page-lock the memory of copy pools. The accelerator keeps it,
 * since page-locking takes longer than many a product. HR_ERROR_OUT_OF_MEMORY.
 * The second function frees it, and accepts an accelerator without a plan. */
hr_status hri_staging_open(hri_accelerator *accelerator);
void hri_staging_close(hri_accelerator *accelerator);

/* Take the memory of the pool's direction for its threads, when no other pool
 * has it any more, and give it back. */
void hri_staging_take(hri_copy_pool *pool);
void hri_staging_give(const hri_copy_pool *pool);

#endif
