/* SPDX-License-Identifier: MIT */
/* Contexts and their accelerators, as the engines see them. */
#ifndef HRI_RUNTIME_RUNTIME_H
#define HRI_RUNTIME_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include <headrace/array.h>
#include <headrace/context.h>

#include "base/pool.h"
#include "base/threads.h"
#include "hal/hal.h"

typedef struct hri_block hri_block; /* a buffer kept for reuse */
typedef struct hri_fence hri_fence; /* stream.h */
typedef struct hri_loaded_kernel hri_loaded_kernel; /* kernels/module.c */
typedef struct hri_stream hri_stream;               /* stream.h */
typedef struct hri_model hri_model;                 /* src/model */

/* From the host, and to the host. */
enum { HRI_UP, HRI_DOWN, HRI_WAYS };

/* What engines take queues for. */
typedef enum hri_queue_use {
    HRI_QUEUE_COMPUTE, /* a small product's only queue, too */
    HRI_QUEUE_UP,
    HRI_QUEUE_DOWN,
    HRI_QUEUE_PEER,  /* panels to other accelerators */
    HRI_QUEUE_FETCH, /* what is fetched late: old C, and stolen panels */
    HRI_QUEUES
} hri_queue_use;

/* What the streams of an accelerator share for deferred commands. */
typedef struct hri_deferral {
    pthread_mutex_t lock; /* guards the lists of deferred commands */
    pthread_cond_t changed;
    pthread_mutex_t launches; /* held during a launch: a module runs one launch
                                 at a time */
} hri_deferral;

typedef enum hri_event_list {
    HRI_EVENTS_FREE,
    HRI_EVENTS_LENT,     /* all that the engine's call has taken */
    HRI_EVENTS_RETURNED, /* events of HRI_EVENTS_LENT that the engine has given
                            back */
    HRI_EVENTS_PARTED,   /* kept for calls that have returned */
    HRI_EVENT_LISTS
} hri_event_list;

enum {
    HRI_THREAD_CHUNKS = 2, /* chunks of a copy thread: one is copied while
                              another is on the link */
    HRI_STREAM_CHUNKS = 3, /* the same where an array's copy goes up: one is
                              copied, and two wait for the link */
    HRI_COPIES = 4, /* copies of pinned memory on the link in one direction */
    HRI_MAX_COPY_THREADS = 8,   /* copy threads for products, one way */
    HRI_MAX_STREAM_THREADS = 9, /* copy threads for an array's copy */
    HRI_EXECUTOR_THREADS = 3    /* threads of an executor of products, beside
                                   its copy threads */
};

/* The pinned memory of copy pools (staging.h) for one direction. The copies of
 * each chunk end in an event. One copy pool has it at a time. */
typedef struct hri_staging {
    uint32_t threads;     /* of a copy pool for copies of arrays */
    uint32_t chunks;      /* of pinned memory */
    pthread_mutex_t lock; /* guards taken and wanted */
    pthread_cond_t changed;
    uint32_t taken;  /* copy pools that use the memory: 0 or 1 */
    uint32_t wanted; /* copy pools that wait for it */
    void *pinned;
    hri_event *events[HRI_MAX_STREAM_THREADS * HRI_STREAM_CHUNKS];
    /* fields of the pool that has it: */
    uint64_t owner; /* the stream whose uploads may still be on their way from
                       it; 0: none are */
    uint64_t sent[HRI_MAX_STREAM_THREADS]; /* by the owner's threads */
} hri_staging;

/* The events of an accelerator that no fence has (pools.c). */
typedef struct hri_event_pool {
    pthread_mutex_t lock; /* guards what follows */
    hri_event **of[HRI_EVENT_LISTS];
    uint32_t count[HRI_EVENT_LISTS];
    uint32_t made;     /* events that exist, with those of fences */
    uint32_t capacity; /* events that each list has room for */
} hri_event_pool;

/* The default queue of an accelerator. It takes kernels that the library
 * spreads over several accelerators, so that the work of successive calls is in
 * order. The struct also says which of the kernels is being timed. */
typedef struct hri_default_queue {
    hri_stream *stream; /* NULL until it is needed; a recorded fence follows all
                           of its work */
    hri_fence *start;   /* right before the kernel that is timed; held; NULL:
                           none is timed */
    hri_fence *end;     /* right behind the kernel that is timed; held; NULL:
                           none is timed */
    const hr_kernel *kernel; /* the kernel that is timed (src/model); NULL:
                                none */
    uint32_t untimed;        /* launches that need not have been timed */
    int64_t points;          /* points of a row of that kernel */
    double rows;             /* rows of that kernel */
} hri_default_queue;

/* Why an accelerator no longer works (check.c). */
typedef struct hri_loss {
    atomic_bool known; /* then the error never changes */
    hri_error error;
} hri_loss;

/* An accelerator of a context: a device, or a virtual share of one. */
typedef struct hri_accelerator {
    hri_device *device;
    char path[48];         /* "host", "host#2", "opencl:0:1#0" */
    uint32_t physical;     /* the same number for all on one device */
    uint32_t device_index; /* the same for all that one backend opened on it */
    hri_model *model;      /* the context's */
    bool in_place;         /* plain "host": works in the caller's memory */
    bool reproducible;     /* the context is */
    bool checked;          /* the context has a checker */
    hri_loss loss;
    uint64_t memory_limit; /* bytes of buffers it may hold; 0 when in_place */
    pthread_mutex_t memory_lock; /* guards the next five fields and blocks */
    uint64_t call_limit;         /* bytes that the running call may hold; 0:
                                    memory_limit */
    uint64_t memory_used;  /* bytes of buffers that exist, with cached ones */
    uint64_t memory_peak;  /* the most memory_used has been */
    uint64_t pinned_used;  /* bytes of pinned memory in large areas */
    uint64_t small_used;   /* bytes of pinned memory in small areas */
    hri_threads threads;   /* threads that work for it, on CPUs near it */
    uint32_t copy_threads; /* threads of a copy pool (staging.h); 0: its copies
                              are not staged */
    hri_staging staging[HRI_WAYS]; /* of its copy pools */
    _Atomic uint64_t allocations;  /* allocations of memory, queues and events
                                      for engines so far */
    char key[384];     /* names the device in the tuning cache; "": its
                          tuning data is not kept */
    hri_block *blocks; /* buffers and pinned areas, in use or cached */
    hri_queue *queues[HRI_QUEUES]; /* NULL: not made yet */
    bool lent[HRI_QUEUES];         /* to an engine's call */
    uint32_t parted; /* runs that keep queues and events (pools.c); guarded by
                        the context's lock */
    _Atomic bool setting_up; /* an abandoned product may still be taking
                                queues */
    hri_event_pool events;
    hri_deferral deferral;
    hri_stream *copy_queue;          /* stream.h; NULL until it is needed */
    hri_default_queue default_queue; /* stream.h */
    hri_loaded_kernel *loaded;       /* the caller's kernels, loaded */
} hri_accelerator;

/* Engines that keep something in a context, in the order in which they destroy
 * it. */
typedef enum hri_state_of {
    HRI_STATE_FILTER,
    HRI_STATE_SCAN,
    HRI_STATE_GEMM,
    HRI_STATE_FLOW,
    HRI_STATE_CHECKER, /* after the accelerators are closed: their copies may
                          use mapped memory until then */
    HRI_STATES
} hri_state_of;

/* What an engine keeps in a context. Its type is the engine's own. The data
 * begins as zeros, and init sets up what must not be zero. destroy gives back
 * what the data holds. Both may be NULL. */
typedef struct hri_state_kind {
    size_t bytes;
    void (*init)(void *data);
    void (*destroy)(hr_context *context);
} hri_state_kind;

typedef struct hri_state {
    _Atomic(void *) data; /* NULL: the engine has not needed it yet */
    const hri_state_kind *kind;
} hri_state;

struct hr_context {
    pthread_mutex_t lock; /* one engine call at a time */
    hri_accelerator *accelerators;
    uint32_t accelerator_count;   /* at least 1, unless may_be_empty */
    bool may_be_empty;            /* there may be no accelerator */
    bool is_default;              /* stays until the process ends */
    bool reproducible;            /* see headrace/context.h */
    bool precise;                 /* native products are (HEADRACE_COMPUTE) */
    hr_accelerator_info *machine; /* what hr_machine_describe returns */
    uint32_t machine_count;
    hri_model *model;                  /* tuning data of the machine */
    struct hri_area *areas;            /* of hr_allocate_pinned */
    struct hr_queue *queues;           /* of hr_queue_create */
    struct hr_queue *default_queues;   /* [accelerator_count], of
                                          hr_queue_default; NULL: none yet */
    struct hri_text *texts;            /* of hr_kernel_create */
    struct hri_read_kernel *kernels;   /* that were read (kernels/module.c) */
    struct hri_profile *profiles;      /* of hr_profile_kernel */
    const struct hri_checker *checker; /* arrays/array.h; NULL: nothing is
                                          checked */
    hri_state states[HRI_STATES];      /* of engines */
    struct hr_context *next;           /* of those that an accelerator keeps */
    double patience;  /* seconds that accelerators wait for a late one before
                         they do its tiles */
    hr_traffic moved; /* bytes that arrays have moved */
    struct hri_trace *trace; /* of hr_context_trace; NULL: none */
    hri_pool *pool;          /* the process's thread pool, held */
    hr_log_function log;
    void *log_data;
    pthread_mutex_t log_lock;
};

/* Free what hr_allocate_pinned gave and the program has not freed. */
void hri_areas_free(hr_context *context);

/* hr_context_create over a given list of backends, for tests. It neither uses
 * nor keeps tuning data. */
hr_status hri_context_create_from(const hri_backend *const *backends,
                                  const hr_context_options *options,
                                  hr_context **context);

/* The state of an engine. NULL: it has none yet. Any thread. */
static inline void *hri_state_find(const hr_context *context, hri_state_of of)
{
    return atomic_load(&context->states[of].data);
}
/* The same. The first time it is made. NULL: no memory. With the context's
 * lock. */
void *hri_state_make(hr_context *context, hri_state_of of,
                     const hri_state_kind *kind);
/* Destroy the states from `first` on that come before `end`. */
void hri_states_destroy(hr_context *context, hri_state_of first,
                        hri_state_of end);

/* Write one line to the context's log, if it has one. Any thread. */
void hri_log(hr_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A buffer of exactly `bytes` bytes: a cached one, else a new one. If the limit
 * or the device has no room for a new one, cached buffers are freed first.
 * HR_ERROR_OUT_OF_MEMORY, with the numbers, when the buffer still does not fit.
 * The caller holds the context's lock. */
hr_status hri_accelerator_allocate(hri_accelerator *accelerator, uint64_t bytes,
                                   hri_buffer **buffer);
/* Bytes of buffers that are in use. Between calls of engines these are buffers
 * of arrays. */
uint64_t hri_accelerator_held(hri_accelerator *accelerator);
/* How many bytes of buffers could be allocated now, in any sizes: the limit
 * less what is in use and what gemm takes. Cached blocks do not count, since
 * they are freed when needed. */
uint64_t hri_accelerator_room(hri_accelerator *accelerator);
/* Put a buffer back into the cache. NULL is accepted. */
void hri_accelerator_release(hri_accelerator *accelerator, hri_buffer *buffer);

/* The same for pinned host memory. No limit counts it. */
hr_status hri_accelerator_allocate_pinned(hri_accelerator *accelerator,
                                          uint64_t bytes, void **host);
void hri_accelerator_release_pinned(hri_accelerator *accelerator, void *host);

/* Pinned memory for an array's few bytes on the host, where copies are staged:
 * so no thread has to carry them. It starts within its page like operands do
 * (base/pages.h). NULL: the accelerator stages no copies, there are too many
 * bytes, or arrays have all that may exist.
 * hri_accelerator_release_pinned puts it back. */
enum { HRI_SMALL_BYTES = 128 << 10 };
void *hri_accelerator_take_small(hri_accelerator *accelerator, size_t bytes);

/* Set the limit for the running call; 0: there is no other again. */
void hri_accelerator_limit(hri_accelerator *accelerator, uint64_t bytes);
/* Free the cache where it exceeds the limit, less what gemm takes. */
void hri_accelerator_trim_to_limit(hri_accelerator *accelerator);
/* Free every cached block, with pinned ones. */
void hri_accelerator_trim(hri_accelerator *accelerator);
/* Set up the list of blocks. Free all of them, before the device is closed. */
void hri_memory_init(hri_accelerator *accelerator);
void hri_memory_finish(hri_accelerator *accelerator);

/* A queue for an engine, and an event that nothing waits for. They come from
 * the pools, or are new. An earlier record of the event may not be done yet.
 * One engine at a time, and each queue once. */
hr_status hri_accelerator_take_queue(hri_accelerator *accelerator,
                                     hri_queue_use use, hri_queue **queue);
hr_status hri_accelerator_take_event(hri_accelerator *accelerator,
                                     hri_event **event);
/* Give one event back, once all commands that wait for it have been enqueued.
 * NULL is accepted. */
void hri_accelerator_recycle_event(hri_accelerator *accelerator,
                                   hri_event *event);
/* Wait for an event that will be done soon. The thread stays awake for so many
 * seconds at most. */
hr_status hri_event_wait_awake(hri_event *event, double seconds);
/* Take back all that the engine took, once none of its work is under way. The
 * first function keeps it for later calls. The second one, after an error,
 * destroys it. */
void hri_accelerator_reclaim(hri_accelerator *accelerator);
void hri_accelerator_discard(hri_accelerator *accelerator);

/* The call returns while work may be under way. It keeps the queues that it
 * took, and will destroy them itself; the events are kept for it until the
 * second function. With the context's lock. */
void hri_accelerator_detach(hri_accelerator *accelerator);
void hri_accelerator_end_detached(hri_accelerator *accelerator);

/* An event for a fence, from the pool or new. The second function puts it back,
 * once all commands that wait for it have been enqueued. Any thread. */
hr_status hri_events_take(hri_accelerator *accelerator, hri_event **event);
void hri_events_give(hri_accelerator *accelerator, hri_event *event);

/* Set up and close the pools of queues and events. No fence is left when they
 * are closed. */
void hri_pools_init(hri_accelerator *accelerator);
void hri_pools_close(hri_accelerator *accelerator);

/* ---- indices.c: a caller's list of accelerators: indices into the context,
 * each at most once */

typedef struct hri_indices {
    const uint32_t *list; /* the caller's; NULL: all, in the context's order */
    uint32_t count;       /* at least 1 */
} hri_indices;

/* Check and read a list. `caller` begins the message when the list is wrong: it
 * has no entry, has one twice, names an accelerator that does not exist, or is
 * NULL with a count. Every list of a context without accelerators is wrong. */
hr_status hri_indices_read(const hr_context *context, const char *caller,
                           const uint32_t *list, uint32_t count,
                           hri_indices *indices);

/* Entry i, i < count. */
static inline uint32_t hri_indices_at(const hri_indices *indices, uint32_t i)
{
    return indices->list != NULL ? indices->list[i] : i;
}

/* Whether an accelerator of the context is among them. */
bool hri_indices_have(const hri_indices *indices, uint32_t index);

/* ---- check.c: accelerators that no longer work */

/* Take note of what the caller found out about this accelerator. HR_ERROR_LOST
 * means that it is lost for as long as its context exists. The first such
 * error, with this thread's message, is kept. Returns status. Any thread. The
 * status of a queue may be that of another device, for which the queue
 * waited. */
hr_status hri_accelerator_note_status(hri_accelerator *accelerator,
                                      hr_status status);
/* HR_OK, or HR_ERROR_LOST with a sentence: somebody saw it, or the backend
 * knows it. Waits for nothing. Any thread. */
hr_status hri_accelerator_check(const hri_accelerator *accelerator);
/* Whether it is lost, likewise. */
bool hri_accelerator_is_lost(const hri_accelerator *accelerator);

/* Check that a context can be used: it is not NULL, nor of a parent process,
 * whose threads and locks a child of fork() does not have. Messages begin with
 * the call. HR_ERROR_INVALID. */
hr_status hri_context_check(const hr_context *context, const char *call);
/* Check that kernels can compute in double. */
hr_status hri_accelerator_check_double(const hri_accelerator *accelerator);
/* HR_OK, or HR_ERROR_LOST with the sentence of the first one that is lost. */
hr_status hri_indices_check(const hr_context *context,
                            const hri_indices *indices);

#endif
