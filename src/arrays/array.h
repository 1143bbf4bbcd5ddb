/* SPDX-License-Identifier: MIT */
/* Arrays as the library sees them: what each place holds of them, which of it
 * is valid, and who works on it.
 *
 * Boxes count slices, rows and bytes of a row, whatever the rank, so views of
 * other element sizes need nothing of their own. A place is the host (0) or an
 * accelerator with memory of its own (1 + its index); plain "host" is the host.
 * All functions want the context's lock, unless they say that they do not. */
#ifndef HRI_ARRAYS_ARRAY_H
#define HRI_ARRAYS_ARRAY_H

#include <headrace/queue.h>
#include <headrace/view.h>

#include "arrays/boxes.h"
#include "runtime/stream.h"

/* ---- event.c: queues and events of the caller's */

struct hr_queue {
    hr_context *context;
    hri_accelerator *accelerator;
    hri_stream *stream;
};

/* hr_queue_create, and its queue may be urgent: kernels there start before
 * those of others, where the device knows priorities. Without the lock. */
hr_status hri_queue_open(hr_context *context, uint32_t index, bool urgent,
                         hr_queue **queue);

/* Fences, each held once. {0} has none. They are finished and waited for
 * without the lock. */
typedef struct hri_fences {
    hri_fence **of;
    size_t count, capacity;
} hri_fences;

/* The fence is recorded: it may be waited for, any time. */
hr_status hri_fences_add(hri_fences *fences, hri_fence *fence);
void hri_fences_finish(hri_fences *fences);
/* Wait for all; the first error. */
hr_status hri_fences_wait(const hri_fences *fences);

/* An event for these fences, which it takes over; on failure they are dropped.
 */
hr_status hri_event_create(hr_context *context, hri_fences *fences,
                           hr_event **event);

/* ---- arrays */

enum { HRI_HOST = 0, HRI_NOWHERE = -1 };

/* Work that reads or writes a box of what a place holds, until the fence. */
typedef struct hri_use {
    hri_box box;
    hri_fence *fence;
    bool writes;
} hri_use;

/* What a place holds of an array. */
typedef struct hri_store {
    hri_buffer *buffer;  /* NULL: nothing, or the host */
    void *host;          /* the host's memory; NULL: none yet, or no host */
    hri_box held;        /* what there is room for */
    size_t pitch, slice; /* bytes from row to row, and slice to slice */
    hri_boxes valid;
    hri_use *uses;
    size_t use_count, use_capacity;
} hri_store;

/* Whose the host memory is. */
typedef enum hri_memory {
    HRI_MEMORY_NONE,
    HRI_MEMORY_BORROWED,
    HRI_MEMORY_PAGES,
    HRI_MEMORY_PINNED
} hri_memory;

struct hr_array {
    hr_context *context;
    hr_extent extent;
    size_t element_bytes;
    int64_t size[HRI_DIMENSIONS]; /* slices, rows, bytes of a row */
    hri_memory memory;
    hri_device *pinned_by;
    int home;          /* a place, or HRI_NOWHERE */
    hri_store *stores; /* [1 + accelerators] */
    hri_error error;   /* of work that nobody has waited for */
};

/* What HEADRACE_CHECK=1 puts between callers and their work (src/checker). */
typedef struct hri_checker {
    /* Tell what was found and has not been told yet; HR_OK: nothing. */
    hr_status (*tell)(hr_context *context);
    /* Run a launch here and now, instead of enqueueing it: its views lie where
     * its arguments say, as soon as queue has done what it was given. HR_OK
     * also when something is found. */
    hr_status (*launch)(hr_context *context, hri_stream *stream,
                        const hri_launch *launch);
    /* Let a mapping of host memory be one of a copy. */
    hr_status (*map)(hr_mapping *mapping, const char *file, int line);
    /* Bring what was written back to `home`, the mapping without the copy, and
     * watch for uses of it. */
    hr_status (*unmap)(const hr_mapping *mapping, const hr_mapping *home);
    /* Before the context's accelerators are closed. */
    void (*close)(hr_context *context);
} hri_checker;

/* HR_OK also where nothing is checked. */
static inline hr_status hri_check_tell(hr_context *context)
{
    return context->checker != NULL ? context->checker->tell(context) : HR_OK;
}

/* Where work of an accelerator finds and leaves data. */
int hri_place_of(const hr_context *context, const hri_accelerator *accelerator);

/* Of a place that is not the host. */
static inline hri_accelerator *hri_accelerator_at(const hr_context *context,
                                                  int place)
{
    return &context->accelerators[place - 1];
}

/* The box of all elements, and the bytes of it. */
hri_box hri_array_box(const hr_array *array);
size_t hri_array_bytes(const hr_array *array);

/* view.c: the boxes of a view. */
hr_status hri_view_region(const hr_view *view, hri_boxes *region);
/* Bytes from element to element where all of an extent lie next to each other;
 * returns the bytes of them all. */
int64_t hri_packed_strides(hr_extent extent, size_t element_bytes,
                           int64_t stride[HR_MAX_RANK]);

/* store.c: let a place hold all of these boxes. */
hr_status hri_store_hold(hr_array *array, int place, const hri_boxes *region);
/* The bytes of a buffer that hri_store_hold would allocate for that, and of the
 * one that it would free afterwards; 0: none. */
uint64_t hri_store_lack(const hr_array *array, int place,
                        const hri_boxes *region, uint64_t *freed);
void hri_store_release(hr_array *array, int place);
/* The copy of a box of what a place holds to a box, of the same size, of what
 * another place holds, or that of another array. */
hri_copy hri_store_copy(const hri_store *from, const hri_box *box,
                        const hri_store *to, const hri_box *to_box);
/* Where a view's first element is at a place that holds it, and the bytes from
 * element to element in each of its dimensions. */
hri_place hri_view_at(const hr_view *view, bool linear, int place,
                      int64_t stride[HR_MAX_RANK]);

/* uses.c: let stream wait for all that a read or write of region must not
 * overtake; note one that ends at fence; and collect the fences of work in the
 * region, of writes alone or of all, at a place or at all (HRI_NOWHERE). */
hr_status hri_uses_order(hr_array *array, int place, const hri_boxes *region,
                         bool writes, hri_stream *stream);
hr_status hri_uses_add(hr_array *array, int place, const hri_boxes *region,
                       hri_fence *fence, bool writes);
/* How many uses that end at fence a later use of region by its queue makes
 * superfluous. */
uint32_t hri_uses_covered(const hr_array *array, int place,
                          const hri_boxes *region, bool writes,
                          const hri_fence *fence);
hr_status hri_uses_collect(const hr_array *array, int place,
                           const hri_boxes *region, bool writes_alone,
                           hri_fences *fences);
/* Forget work that has ended. An error of it is the array's, until somebody
 * waits for the array or reads it. */
void hri_uses_prune(hr_array *array, int place);
void hri_uses_drop(hr_array *array, int place);
/* Forget work that is known to have failed, when its error has been told. */
void hri_uses_forget_failed(hr_array *array);

/* coherence.c: before work on region at a place is enqueued on queue (of the
 * accelerator of that place; NULL: the caller of the library works on the
 * host): hold it, fetch what is read and missing, wait for others. */
hr_status hri_array_begin(hr_array *array, int place, const hri_boxes *region,
                          hr_access access, hr_queue *queue);
/* After it: until fence it is under way (NULL: it is done), and what was
 * written is valid at the place alone. */
hr_status hri_array_end(hr_array *array, int place, const hri_boxes *region,
                        hr_access access, hri_fence *fence);
/* Wait for the fences, while others may use the context, and tell their error,
 * or one of earlier work on the array that nobody has waited for. What failed
 * is forgotten then, also of `other` (NULL: there is none). */
hr_status hri_array_wait(hr_array *array, hr_array *other,
                         const hri_fences *fences);
/* Make region valid at a place, wherever it is. */
hr_status hri_array_fetch(hr_array *array, int place, const hri_boxes *region,
                          hr_queue *queue);
/* Add the bytes that hri_array_fetch would move. */
hr_status hri_array_predict(hr_array *array, int place, const hri_boxes *region,
                            hr_traffic *traffic);
/* Copy a box of an array to one of the same size, of it or another, at a place
 * that holds it: from the places nearest to that. The elements are valid there
 * alone. */
hr_status hri_array_copy(hr_array *from, const hri_box *box, hr_array *to,
                         int place, const hri_box *to_box, hr_queue *queue);

/* transfer.c: enqueue a copy between two places of which one is the host, or
 * both are peers, or copy in host memory; on queue if it is of one of them,
 * else on a copy queue. Both are held. The copy reads no more than one region,
 * and writes the other. */
hr_status hri_transfer(hr_array *from, int from_place, const hri_boxes *read,
                       hr_array *to, int to_place, const hri_boxes *written,
                       const hri_copy *copy, hr_queue *queue);
/* Bytes go from one place to another. */
void hri_traffic_add(hr_traffic *traffic, int from, int to, uint64_t bytes);

#endif
