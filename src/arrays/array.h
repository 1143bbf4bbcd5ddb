/* SPDX-License-Identifier: MIT */
/* Arrays inside the library: what each place holds of an array, which part of
 * it is valid, and what works on it.
 *
 * Boxes count slices, rows and bytes of a row, whatever the rank: all
 * dimensions before the last two are slices. So views with other element sizes
 * need no case of their own. A place is the host (0) or an accelerator with
 * memory of its own (1 + its index). Plain "host" is the host. The caller of
 * each function holds the context's lock, unless the function says otherwise.
 *
 * Reading fetches what is missing, box by box, from the nearest place that
 * has it: another accelerator on the same device, a peer, the host. What lies
 * with an accelerator that is no peer comes to the host first, and stays valid
 * there. Writing makes the boxes valid there and invalid everywhere else.
 * Elements that nobody wrote are fetched by nobody.
 *
 * Each place keeps the work that was enqueued on its boxes as uses. A copy or
 * kernel waits for the uses that it must not overtake: a read for the writes
 * that it touches, a write for both. Disjoint boxes wait for nothing. Queues
 * wait through events; the caller waits only where two accelerators cannot wait
 * for each other's events. */
#ifndef HRI_ARRAYS_ARRAY_H
#define HRI_ARRAYS_ARRAY_H

#include <headrace/kernel.h>
#include <headrace/queue.h>
#include <headrace/view.h>

#include "arrays/boxes.h"
#include "runtime/stream.h"

/* ---- event.c: the caller's queues and events */

struct hr_queue {
    hr_context *context; /* NULL: it was destroyed before the queue */
    hri_accelerator *accelerator;
    hri_stream *stream;     /* of a default queue: see hri_queue_enter */
    bool is_default;        /* one of context->default_queues */
    hr_queue *next, **self; /* in the context's list, with its lock */
};

/* Wait for the queues that the program has not destroyed, and close them.
 * hr_queue_destroy then frees them. Default queues are freed here. The caller
 * has the context to itself. */
void hri_queues_close(hr_context *context);

/* Begin a call on the caller's queue, with the context's lock: the stream of a
 * default queue is that of its accelerator now. `enqueues`: the call enqueues
 * work, so a stream that has failed is replaced. */
hr_status hri_queue_enter(hr_queue *queue, bool enqueues);

/* hr_queue_create with a choice of priority, and a name for timelines, a
 * constant or NULL. Kernels of an urgent queue start before those of others,
 * where the device has priorities. The caller does not hold the lock. */
hr_status hri_queue_open(hr_context *context, uint32_t index, bool urgent,
                         const char *name, hr_queue **queue);

/* A list of fences that it holds, at most one of each stream. {0} is the empty
 * list. The list is finished and waited for without the lock. */
typedef struct hri_fences {
    hri_fence **of;
    size_t count, capacity;
} hri_fences;

/* Add a fence and record it, so that any thread can wait for it at any time. Of
 * the fences of a stream, the list keeps the one recorded last. */
hr_status hri_fences_add(hri_fences *fences, hri_fence *fence);
void hri_fences_finish(hri_fences *fences);
/* Wait for all of them. Returns the first error. */
hr_status hri_fences_wait(const hri_fences *fences);

/* An hr_event for these fences, which now belong to it. On failure they are
 * dropped. */
hr_status hri_fences_to_event(hr_context *context, hri_fences *fences,
                              hr_event **event);

/* ---- arrays */

enum { HRI_HOST = 0, HRI_NOWHERE = -1 };

/* Work that reads or writes a box of what a place holds. The fence marks its
 * end. */
typedef struct hri_use {
    hri_box box;
    hri_fence *fence;
    bool writes;
} hri_use;

/* What a place holds of an array. */
typedef struct hri_store {
    hri_buffer *buffer;  /* NULL: nothing is held, or this is the host */
    void *host;          /* the host's memory; NULL: none yet, or this is not
                            the host */
    hri_box held;        /* the box that the memory has room for */
    size_t pitch, slice; /* bytes from row to row, and from slice to slice */
    hri_boxes valid;     /* have current values (coherence.c) */
    hri_use *uses;
    size_t use_count, use_capacity;
} hri_store;

/* How the host memory was allocated. */
typedef enum hri_memory {
    HRI_MEMORY_NONE,
    HRI_MEMORY_BORROWED,
    HRI_MEMORY_PAGES,
    HRI_MEMORY_PINNED,
    HRI_MEMORY_SMALL /* of an accelerator's small pinned areas */
} hri_memory;

/* The caller's memory, where its elements are not adjacent. The host's memory
 * is a packed copy then. */
typedef struct hri_strided {
    char *data; /* its first element; NULL: there is no such memory */
    int64_t stride_bytes[HR_MAX_RANK];
} hri_strided;

struct hr_array {
    hr_context *context;
    hr_extent extent;
    size_t element_bytes;
    const char *type;             /* of the elements, as in hr_view */
    int64_t size[HRI_DIMENSIONS]; /* slices, rows, bytes of a row */
    hri_memory memory;
    hri_device *pinned_by;
    hri_accelerator *lender; /* of small areas */
    bool results;            /* see hri_array_create_results */
    int home;                /* a place, or HRI_NOWHERE */
    hri_store *stores;       /* [1 + accelerators] */
    hri_strided strided;
    hri_error error; /* of work that nothing has waited for */
};

/* The rows of a view that points may use. */
typedef struct hri_reach {
    bool any;              /* points may use all rows */
    int64_t before, after; /* so many rows near their own ones, unless any */
    int64_t rows;          /* of the view for each row of the domain */
} hri_reach;

/* What the checker has to know of a call that launches a kernel in chunks of
 * rows. */
typedef struct hri_chunks {
    int64_t grain; /* chunks are so many rows, or a multiple */
    hri_reach reach[HR_MAX_PARAMETERS];
    struct hri_kept *kept; /* of the chunks so far; NULL: nothing */
} hri_chunks;

/* The hooks of HEADRACE_CHECK=1 between the caller and the work
 * (src/checker). */
typedef struct hri_checker {
    /* Tell what was found since the last call. HR_OK: nothing. */
    hr_status (*tell)(hr_context *context);
    /* Run a launch on the host now, instead of enqueueing it. It first waits
     * until the queue has done its work. The views lie where the arguments say.
     * It is one of these chunks (NULL: points may use all of the views). HR_OK
     * also when something is found. */
    hr_status (*launch)(hr_context *context, hri_stream *stream,
                        const hri_launch *launch, hri_chunks *chunks);
    /* Free what is kept of the chunks. */
    void (*forget)(hri_chunks *chunks);
    /* Make a mapping of host memory point to a copy of it. */
    hr_status (*map)(hr_mapping *mapping, const char *file, int line);
    /* Copy what was written back to `home`, which is the mapping of the memory
     * itself. Report wrong uses. */
    hr_status (*unmap)(const hr_mapping *mapping, const hr_mapping *home);
} hri_checker;

/* HR_OK also when there is no checker. */
static inline hr_status hri_check_tell(hr_context *context)
{
    return context->checker != NULL ? context->checker->tell(context) : HR_OK;
}

/* The place where an accelerator's work finds and leaves its data. */
int hri_place_of(const hr_context *context, const hri_accelerator *accelerator);

/* The accelerator of a place that is not the host. */
static inline hri_accelerator *hri_accelerator_at(const hr_context *context,
                                                  int place)
{
    return &context->accelerators[place - 1];
}

/* array.c: an array for results that the program reads next. Kernels write it
 * in small pinned memory, if there is some. The caller does not hold the lock.
 */
hr_status hri_array_create_results(hr_context *context, size_t element_bytes,
                                   hr_extent extent, hr_array **array);
/* store.c: where a kernel finds and leaves the elements of an array. */
int hri_place_for(const hr_array *array, const hri_accelerator *accelerator,
                  hr_access access);

/* store.c: the box of all elements, and its size in bytes. */
hri_box hri_array_box(const hr_array *array);
size_t hri_array_bytes(const hr_array *array);

/* view.c */

/* Whether its elements lie next to each other, so that it can be reshaped. */
bool hri_view_is_packed(const hr_view *view);
/* The byte strides of an extent with all elements next to each other. Returns
 * the bytes of all elements. */
int64_t hri_packed_strides(hr_extent extent, size_t element_bytes,
                           int64_t stride[HR_MAX_RANK]);
/* The same elements in the same order as a view of this rank, or of a lower one
 * that the view has: dimensions from `from` on are joined as far as needed.
 * False: their elements are not at equal distances. */
bool hri_view_flatten(hr_view *view, uint32_t from, uint32_t rank);
/* Rank 2 becomes rank 3. */
hr_view hri_view_in_space(hr_view view);

/* strided.c: copy elements of boxes from the caller's memory to the host's
 * memory, or back. An array without such memory stays as it is. */
void hri_strided_gather(const hr_array *array, const hri_boxes *boxes);
void hri_strided_scatter(const hr_array *array, const hri_boxes *boxes);

/* view.c: the boxes of a view. */
hr_status hri_view_boxes(const hr_view *view, hri_boxes *boxes);

/* store.c: give a place the memory for all of these boxes. */
hr_status hri_store_hold(hr_array *array, int place, const hri_boxes *boxes);
/* The bytes of the buffer that hri_store_hold would allocate, and of the one
 * that it would free afterwards. 0: none. */
uint64_t hri_store_lack(const hr_array *array, int place,
                        const hri_boxes *boxes, uint64_t *freed);
void hri_store_release(hr_array *array, int place);
/* The copy of a box of what one place holds to a box of what another place
 * holds. Both boxes have the same size. The other place may belong to another
 * array. */
hri_copy hri_store_copy(const hri_store *from, const hri_box *box,
                        const hri_store *to, const hri_box *to_box);
/* The address of a view's first element at a place that holds it, and the byte
 * strides of its dimensions there. */
hri_place hri_view_at(const hr_view *view, bool linear, int place,
                      int64_t stride[HR_MAX_RANK]);

/* uses.c: make a stream wait for everything that a read or write of the boxes
 * must not overtake; note a use that ends at a fence; and collect the fences of
 * work in the boxes. That is of writes only or of all uses, at one place or at
 * all places (HRI_NOWHERE). */
hr_status hri_uses_order(hr_array *array, int place, const hri_boxes *boxes,
                         bool writes, hri_stream *stream);
hr_status hri_uses_add(hr_array *array, int place, const hri_boxes *boxes,
                       hri_fence *fence, bool writes);
/* How many of the uses that end at fence become superfluous when the same queue
 * uses the boxes again. */
uint32_t hri_uses_covered(const hr_array *array, int place,
                          const hri_boxes *boxes, bool writes,
                          const hri_fence *fence);
hr_status hri_uses_collect(const hr_array *array, int place,
                           const hri_boxes *boxes, bool writes_alone,
                           hri_fences *fences);
/* Forget work that has ended. If it failed, the array keeps the error until the
 * program waits for the array or reads it. */
void hri_uses_prune(hr_array *array, int place);
void hri_uses_drop(hr_array *array, int place);
/* Forget work that is known to have failed, once its error has been told. */
void hri_uses_forget_failed(hr_array *array);

/* coherence.c: prepare work on boxes at a place: get memory for it, fetch what
 * it reads and is missing, and wait for other work. The work will be enqueued
 * on queue, of the place's accelerator. NULL: the program itself works on the
 * host. */
hr_status hri_array_begin_use(hr_array *array, int place,
                              const hri_boxes *boxes, hr_access access,
                              hr_queue *queue);
/* Note the work afterwards. It is under way until fence (NULL: it is done).
 * What it wrote is valid at this place alone. */
hr_status hri_array_end_use(hr_array *array, int place, const hri_boxes *boxes,
                            hr_access access, hri_fence *fence);
/* Wait for the fences, and let other threads use the context meanwhile. Returns
 * their error, or one of earlier work on the array that nothing has waited for.
 * What failed is forgotten then, also for `other` (NULL: none). */
hr_status hri_array_wait(hr_array *array, hr_array *other,
                         const hri_fences *fences);
/* Make boxes valid at a place. The source may be any place that has them. */
hr_status hri_array_fetch(hr_array *array, int place, const hri_boxes *boxes,
                          hr_queue *queue);
/* The boxes have no values anywhere from now on. */
hr_status hri_array_forget(hr_array *array, const hri_boxes *boxes);
/* Add the bytes that hri_array_fetch would move. */
hr_status hri_array_predict(hr_array *array, int place, const hri_boxes *boxes,
                            hr_traffic *traffic);
/* Add the bytes that move when so many of an array go from one place to
 * another. */
void hri_traffic_predict(const hr_context *context, int from, int to,
                         uint64_t bytes, hr_traffic *traffic);
/* Copy a box of one array to a box of the same size, of the same or another
 * array, at a place that holds it. The sources are the nearest places with
 * valid elements. The elements written are valid at that place alone. */
hr_status hri_array_copy(hr_array *from, const hri_box *box, hr_array *to,
                         int place, const hri_box *to_box, hr_queue *queue);
/* copy.c: copy a view to another one of the same extent, which gets memory at
 * `place`. Elements come from the nearest places that have them. Views whose
 * rows lie differently in their arrays cannot be copied like that: then all
 * elements come to `source` first. The elements written are valid at `place`
 * alone. */
hr_status hri_view_copy(const hr_view *from, int source, const hr_view *to,
                        int place, hr_queue *queue);

/* coherence.c: enqueue a copy between two places: the host and an accelerator,
 * two peers, or within host memory. It goes to queue when queue belongs to one
 * of the places. A few bytes go home on the default queue that has just written
 * them, if nothing was enqueued there since. Other copies go to a copy queue.
 * The caller has made both places hold the boxes. The copy reads at most `read`
 * and writes at most `written`. */
hr_status hri_transfer(hr_array *from, int from_place, const hri_boxes *read,
                       hr_array *to, int to_place, const hri_boxes *written,
                       const hri_copy *copy, hr_queue *queue);

#endif
