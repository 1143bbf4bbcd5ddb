/* SPDX-License-Identifier: MIT */
/* Contexts and their accelerators, as the engines see them. */
#ifndef HRI_RUNTIME_RUNTIME_H
#define HRI_RUNTIME_RUNTIME_H

#include <pthread.h>

#include <headrace/array.h>
#include <headrace/context.h>

#include "base/pool.h"
#include "base/threads.h"
#include "hal/hal.h"

typedef struct hri_block hri_block;   /* a buffer kept for reuse */
typedef struct hri_fence hri_fence;   /* stream.h */
typedef struct hri_loaded hri_loaded; /* module.c */
typedef struct hri_stream hri_stream; /* stream.h */
typedef struct hri_model hri_model;   /* src/model */

/* From the host, and to it. */
enum { HRI_UP, HRI_DOWN, HRI_WAYS };

enum { HRI_MAX_QUEUES = 8 }; /* that engines may take */

/* What the streams of an accelerator share for deferred commands. */
typedef struct hri_deferral {
    pthread_mutex_t lock; /* guards their lists */
    pthread_cond_t changed;
    pthread_mutex_t launches; /* held around one: modules take them one at a
                                 time */
} hri_deferral;

typedef enum hri_event_list {
    HRI_EVENTS_FREE,
    HRI_EVENTS_LENT,     /* all that an engine's call has taken */
    HRI_EVENTS_RETURNED, /* those of them that it does not need any more */
    HRI_EVENT_LISTS
} hri_event_list;

enum {
    HRI_THREAD_PIECES =
        2,          /* of a thread: one travels while it copies another */
    HRI_COPIES = 4, /* of pinned memory under way in one direction */
    HRI_MAX_COPY_THREADS = 8
};

/* The pinned memory of copy pools (staging.h) of one direction, whose copies
 * leave an event behind each piece. One copy pool has it at a time. */
typedef struct hri_staging {
    pthread_mutex_t lock; /* held by whose it is */
    void *pinned;
    hri_event *events[HRI_MAX_COPY_THREADS * HRI_THREAD_PIECES];
} hri_staging;

/* The events of an accelerator that no fence has (pools.c). */
typedef struct hri_event_pool {
    pthread_mutex_t lock; /* guards what follows */
    hri_event **of[HRI_EVENT_LISTS];
    uint32_t count[HRI_EVENT_LISTS];
    uint32_t made, capacity; /* that exist, those of fences too; of each list */
} hri_event_pool;

/* The queue of an accelerator for kernels that the library spreads over several
 * accelerators, so that such work of successive calls is in order; and which of
 * it is being timed. */
typedef struct hri_default_queue {
    hri_stream *stream; /* NULL until it is needed; a recorded fence is behind
                           all that it was given */
    hri_fence *start;   /* right before the kernel that is timed, up to that
                           fence; held; NULL: none is */
    const hr_kernel *kernel; /* that is timed (src/model); NULL: none is */
    int64_t points;          /* of its rows, */
    double rows;             /* and how many */
} hri_default_queue;

/* An accelerator of a context: a device, or a virtual share of one. */
typedef struct hri_accelerator {
    hri_device *device;
    char path[48];         /* "host", "host#2", "opencl:0:1#0" */
    uint32_t physical;     /* equal for those on one device */
    uint32_t device_index; /* and for those that one backend opened on it */
    hri_model *model;      /* the context's */
    bool in_place;         /* plain "host": multiplies in the caller's memory */
    uint64_t memory_limit; /* bytes of buffers it may hold; 0 when in_place */
    uint64_t memory_used;  /* bytes of buffers that exist, cached ones too */
    uint64_t memory_peak;  /* the most memory_used has been */
    uint64_t pinned_used;  /* bytes of pinned memory that exist */
    hri_threads threads;   /* that work for it, near it */
    uint32_t copy_threads; /* threads of a copy pool (staging.h); 0: none are
                              staged */
    hri_staging staging[HRI_WAYS]; /* of its copy pools */
    uint64_t allocations; /* of memory, and of queues and events for engines,
                             made so far */
    char key[384];        /* names the device in the tuning cache; "": what is
                             known of it is not kept */
    hri_block *blocks;    /* buffers and pinned areas, in use or cached */
    hri_queue *queues[HRI_MAX_QUEUES]; /* the first queues_taken are in use */
    uint32_t queues_taken;
    hri_event_pool events;
    hri_deferral deferral;
    hri_stream *copy_queue;          /* stream.h; NULL until it is needed */
    hri_default_queue default_queue; /* stream.h */
    hri_loaded *loaded;              /* kernels of the caller's */
} hri_accelerator;

struct hr_context {
    pthread_mutex_t lock;    /* one engine call at a time */
    pthread_mutex_t filters; /* one of hr_filter; before lock */
    hri_accelerator *accelerators;
    uint32_t accelerator_count; /* at least 1, unless: */
    bool may_be_empty;
    hr_accelerator_info *machine; /* what hr_machine_describe tells */
    uint32_t machine_count;
    hri_model *model;                  /* what is known of the machine */
    struct hri_area *areas;            /* of hr_allocate_pinned */
    struct hri_text *texts;            /* of hr_kernel_create */
    const struct hri_checker *checker; /* arrays/array.h; NULL: nothing is
                                          checked */
    struct hri_findings *findings;     /* the checker's, and the next */
    struct hri_guard *guards;          /* of hr_map */
    hr_traffic moved;                  /* by arrays */
    hri_pool *pool; /* the process's threads for work on the host, held */
    hr_log_function log;
    void *log_data;
    pthread_mutex_t log_lock;
};

/* Free what hr_allocate_pinned gave and nobody freed. */
void hri_areas_free(hr_context *context);

/* hr_context_create over a given list of backends, for tests; it neither uses
 * nor keeps what was measured. */
hr_status hri_context_create_from(const hri_backend *const *backends,
                                  const hr_context_options *options,
                                  hr_context **context);

/* One line to the context's log, if it has one. Any thread. */
void hri_log(hr_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A buffer of exactly `bytes` bytes: a cached one, else a new one. Cached
 * buffers of other sizes are freed first when the limit or the device would
 * not take it. HR_ERROR_OUT_OF_MEMORY with the numbers when it does not fit.
 * The caller holds the context's lock. */
hr_status hri_accelerator_allocate(hri_accelerator *accelerator, uint64_t bytes,
                                   hri_buffer **buffer);
/* Bytes of buffers that are in use: between engines' calls, those of arrays. */
uint64_t hri_accelerator_held(const hri_accelerator *accelerator);
/* How many bytes of buffers could be allocated now, in buffers of any size:
 * the limit less what is in use and what gemm takes. Cached blocks do not
 * count, they give way. */
uint64_t hri_accelerator_room(const hri_accelerator *accelerator);
/* Back to the cache; NULL is accepted. */
void hri_accelerator_release(hri_accelerator *accelerator, hri_buffer *buffer);

/* The same for pinned host memory, which no limit counts. */
hr_status hri_accelerator_allocate_pinned(hri_accelerator *accelerator,
                                          uint64_t bytes, void **host);
void hri_accelerator_release_pinned(hri_accelerator *accelerator, void *host);

/* Free every cached block, pinned ones too; or every block, in use or not:
 * before the device is closed. */
void hri_accelerator_trim(hri_accelerator *accelerator);
void hri_accelerator_drop(hri_accelerator *accelerator);

/* For an engine: a queue, and an event that nobody waits for.
 * They are those of earlier calls, else new ones. An earlier record of the
 * event may not be done yet. One engine at a time. */
hr_status hri_accelerator_take_queue(hri_accelerator *accelerator,
                                     hri_queue **queue);
hr_status hri_accelerator_take_event(hri_accelerator *accelerator,
                                     hri_event **event);
/* One event back, when all that waits for it has been issued. NULL is
 * accepted. */
void hri_accelerator_recycle_event(hri_accelerator *accelerator,
                                   hri_event *event);
/* All that the engine took back, when nothing is under way: to be used again;
 * or, after an error, to be destroyed. */
void hri_accelerator_recall(hri_accelerator *accelerator);
void hri_accelerator_forget(hri_accelerator *accelerator);

/* For fences: an event of the pool, or a new one; and back, when all that waits
 * for it has been enqueued. Any thread. */
hr_status hri_events_take(hri_accelerator *accelerator, hri_event **event);
void hri_events_give(hri_accelerator *accelerator, hri_event *event);

/* The pools of queues and events. They are closed when no fence is left. */
void hri_pools_init(hri_accelerator *accelerator);
void hri_pools_close(hri_accelerator *accelerator);

/* ---- indices.c: a caller's list of accelerators: indices into the context,
 * each once */

typedef struct hri_indices {
    const uint32_t *list; /* the caller's; NULL: all, in the context's order */
    uint32_t count;       /* at least 1 */
} hri_indices;

/* Check and read a list. `who` begins the sentence when it cannot be: it has no
 * entry, one twice or one that is not there, or it is NULL with a count.
 * Nothing can be listed of a context without accelerators. */
hr_status hri_indices_read(const hr_context *context, const char *who,
                           const uint32_t *list, uint32_t count,
                           hri_indices *indices);

/* Entry i, i < count. */
static inline uint32_t hri_indices_at(const hri_indices *indices, uint32_t i)
{
    return indices->list != NULL ? indices->list[i] : i;
}

/* Whether an accelerator of the context is among them. */
bool hri_indices_have(const hri_indices *indices, uint32_t index);

#endif
