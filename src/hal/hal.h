/* SPDX-License-Identifier: MIT */
/* The hardware abstraction: what the engines ask of an accelerator.
 *
 * A backend is a table of functions in the registry; it opens devices. A device
 * has memory (buffers), queues and events. Everything enqueued on a queue runs
 * in order and asynchronously; order between queues comes from events alone.
 *
 * Contract of every slot, unless it says otherwise: required and never NULL;
 * called from any thread; an engine may hold a lock of its own around slots
 * that do not block. Calls on one queue come one at a time (the engines see to
 * it); device and event slots may be called by several threads at once, and an
 * event may be waited for in queues while it is queried or waited for by
 * threads. Outputs are written only on success. Errors are recorded with
 * hri_fail.
 *
 * After an operation on a queue has failed, later ones may be skipped, events
 * recorded there still complete, and finish (and hri_event wait) return the
 * error: nobody waits for ever. */
#ifndef HRI_HAL_H
#define HRI_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/gemm.h>
#include <headrace/kernel.h>

#include "base/status.h"

enum { HRI_TILE_ALIGNMENT = 16 }; /* of each memory of a tile */
enum { HRI_HAL_ABI = 8 };         /* bumped on any change below */

typedef struct hri_backend hri_backend;
typedef struct hri_device hri_device;
typedef struct hri_buffer hri_buffer;
typedef struct hri_queue hri_queue;
typedef struct hri_event hri_event;
typedef struct hri_module hri_module;
typedef struct hri_graph hri_graph; /* work that is enqueued as one */

typedef struct hri_device_info {
    char path[32];         /* "host", "opencl:0:1" */
    char name[128];        /* the device's own name */
    char arithmetic[128];  /* what multiplies: "OpenBLAS 0.3.21 SkylakeX" */
    char target[512];      /* what machine code of a kernel depends on beside
                              its source: for what, by what and with which
                              options it is compiled, and the driver; "":
                              it cannot be kept */
    char physical_id[64];  /* equal for one device seen twice, such as
                              "pci:0000:01:00.0"; "" when not known */
    uint64_t memory_bytes; /* all of it; for the host: physical memory */
    uint64_t free_bytes;   /* what may be used now */
    uint64_t allocation_bytes; /* largest buffer; never 0 */
    uint64_t gemm_bytes;       /* what gemm takes of memory_bytes beside its
                                  operands, for each queue that multiplies */
    uint32_t compute_units;
    bool emulated;   /* a CPU behind a GPU's interface */
    bool host;       /* its buffers are host memory, and gemm takes host memory
                        as operands: it can work in place */
    uint32_t packed; /* bit 1 << type: products of this type (HR_COMPUTE_NATIVE)
                        are faster when A lies by columns and B by rows, and
                        turn is there to bring A about */
    bool staged;     /* copies between ordinary memory and buffers are slow:
                        go through allocate_pinned */
} hri_device_info;

/* An area of memory: inside a buffer, or host memory when buffer is NULL. */
typedef struct hri_place {
    hri_buffer *buffer;
    void *host;    /* used when buffer is NULL */
    size_t offset; /* bytes from the start of the buffer, or from host */
} hri_place;

/* A box of bytes: depth slices of height rows of width bytes. Pitches count
 * bytes from row to row and from slice to slice; those of a single row or
 * slice are not looked at. */
typedef struct hri_copy {
    hri_place to, from;
    size_t to_pitch, to_slice;
    size_t from_pitch, from_slice;
    size_t width, height, depth; /* any may be 0: nothing happens */
} hri_copy;

/* An operand of gemm: element (r, c) is at
 * place + (r * row_stride + c * col_stride) * hr_type_size. One stride is 1. */
typedef struct hri_operand {
    hri_place place;
    int64_t row_stride, col_stride;
    bool conjugate; /* a and b only */
} hri_operand;

/* C := alpha A B + beta C; A[m,k], B[k,n], C[m,n]. C has col_stride 1. The type
 * pairs are those of headrace/gemm.h. beta = 0 never reads C; k = 0 scales C.
 * m, n, k >= 0; when m or n is 0 nothing happens. */
typedef struct hri_gemm {
    hr_type type; /* of a and b */
    hr_type c_type;
    hr_compute compute;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hri_operand a, b, c;
} hri_gemm;

/* A matrix by rows becomes one by columns: element (r, c) of type, rows x cols,
 * goes from `from` + (r * from_stride + c) elements to `to` + (c * to_stride +
 * r). The two do not overlap; rows, cols >= 1. */
typedef struct hri_pack {
    hr_type type;
    hri_place to, from;
    int64_t rows, cols, to_stride, from_stride;
} hri_pack;

/* An argument of a kernel, for the parameter of its place. */
typedef struct hri_kernel_argument {
    hri_place place; /* of a view: where its buffer starts, or host memory; its
                        offset is that of element `start` 0 */
    hr_shape shape;  /* of a view */
    /* of a view: those of its elements that are there, whatever extent the
     * kernel is told; start is that of the first of them, held_first, so that
     * indices are those of the whole */
    int64_t held_first[HR_MAX_RANK], held[HR_MAX_RANK];
    const void *value; /* of a value; copied when the launch is enqueued */
    size_t bytes;      /* of a value, or of memory of the tile */
} hri_kernel_argument;

/* Machine code of all kernels of a source. */
typedef struct hri_image {
    void *bytes; /* to be freed */
    size_t count;
} hri_image;

/* Run a kernel over a domain of so many dimensions. */
typedef struct hri_launch {
    const hr_kernel *kernel;
    hri_module *module; /* of kernel; NULL where info.host */
    uint32_t rank;
    hr_domain domain; /* dimensions from rank on have extent and step 1, the
                         last one of all step 1; number is the backend's own */
    const hri_kernel_argument *arguments; /* as many as the kernel has */
} hri_launch;

typedef struct hri_event_ops {
    void (*destroy)(hri_event *event); /* accepts NULL; must be complete or
                                          never recorded */
    /* *done: everything before the last record has run. An event that was
     * never recorded is done. Returns the queue's error, if it failed. */
    hr_status (*query)(hri_event *event, bool *done);
    /* Block the calling thread until done. May be called by several threads. */
    hr_status (*wait)(hri_event *event);
    /* Nanoseconds of the device's clock from the last record of from to that of
     * to; 0 when to was passed first. Both are done and of one device.
     * HR_ERROR_INVALID when one was never recorded. */
    hr_status (*elapsed)(hri_event *from, hri_event *to, uint64_t *ns);
} hri_event_ops;

typedef struct hri_queue_ops {
    /* Waits for everything enqueued. Accepts NULL. */
    void (*destroy)(hri_queue *queue);
    /* Enqueue a copy. One place is a buffer of the queue's device; the other a
     * buffer of the same device or of a peer, or host memory, which must stay
     * until the copy has run. The boxes must not overlap. */
    hr_status (*copy)(hri_queue *queue, const hri_copy *copy);
    /* Enqueue setting bytes [offset, offset + bytes) to value. */
    hr_status (*fill)(hri_queue *queue, hri_buffer *buffer, size_t offset,
                      size_t bytes, uint8_t value);
    /* Enqueue a product. Operands are buffers of the queue's device, or host
     * memory when info.host. Only what gemm_offered says yes to. */
    hr_status (*gemm)(hri_queue *queue, const hri_gemm *gemm);
    /* Enqueue turning a matrix about, between buffers of the queue's device.
     * Required where info.packed has the type's bit, else
     * HR_ERROR_UNSUPPORTED. */
    hr_status (*pack)(hri_queue *queue, const hri_pack *pack);
    /* Enqueue a kernel, whose module takes its tiles, of which there are at
     * most INT32_MAX, and start it. Views lie in buffers of the queue's device,
     * or in host memory where info.host. Launches of one module come one at a
     * time. */
    hr_status (*launch)(hri_queue *queue, const hri_launch *launch);
    /* Let event mark this point of the queue; starts the work before it. An
     * event may be recorded again, also while threads wait for it, who then
     * wait for either: earlier waits of queues keep their old meaning. The
     * event belongs to the queue's device. */
    hr_status (*record)(hri_queue *queue, hri_event *event);
    /* Enqueue waiting for the last record of event, which is of the same device
     * or of a peer. Never recorded: no wait. Does not block the caller. When
     * the work before that record failed, this queue may take over its error.
     */
    hr_status (*wait)(hri_queue *queue, hri_event *event);
    /* Block the calling thread until everything enqueued has run. */
    hr_status (*finish)(hri_queue *queue);
    /* hri_no_begin_graph where there are no graphs; then the next two are NULL.
     * Begin a graph: what is enqueued on this queue from now on is kept and
     * does not run. That is copies between buffers of its device, fills, and
     * launches, with their arguments as they are now. Whatever else is asked of
     * the queue meanwhile fails with HR_ERROR_INVALID: nothing is recorded on
     * it, it waits for nothing, and is not finished. Other queues, and events,
     * go on as always. HR_ERROR_UNSUPPORTED where there are no graphs. */
    hr_status (*begin_graph)(hri_queue *queue);
    /* End what was begun. The queue goes on as if nothing had been enqueued. An
     * error of any call between is this one's too, and then there is no graph.
     */
    hr_status (*end_graph)(hri_queue *queue, hri_graph **graph);
    /* Enqueue all of a graph once, on any queue of its device: behind what is
     * there already, and before what comes next. Runs of one graph follow each
     * other. Its buffers and modules are still there; the queue that it was
     * begun on may be gone. */
    hr_status (*run_graph)(hri_queue *queue, hri_graph *graph);
} hri_queue_ops;

typedef struct hri_device_ops {
    /* All its objects are gone. Accepts NULL. */
    void (*close)(hri_device *device);
    /* Contents are unspecified. HR_ERROR_OUT_OF_MEMORY when it does not fit. */
    hr_status (*allocate)(hri_device *device, size_t bytes,
                          hri_buffer **buffer);
    void (*release)(hri_buffer *buffer); /* accepts NULL */
    /* Host memory from and to which this device copies at full speed. */
    hr_status (*allocate_pinned)(hri_device *device, size_t bytes, void **host);
    void (*release_pinned)(hri_device *device, void *host); /* accepts NULL */
    /* Whether this device copies from and to this host memory, of whoever, at
     * full speed and without going through memory of the driver's. */
    bool (*is_pinned)(hri_device *device, const void *host, size_t bytes);
    /* Kernels of an urgent queue start before those of others that have not
     * started yet, where the device knows priorities; else it is as any. */
    hr_status (*create_queue)(hri_device *device, bool urgent,
                              hri_queue **queue);
    hr_status (*create_event)(hri_device *device, hri_event **event);
    /* NULL where info.host, as is load: neither is called there.
     * Compile a kernel's whole source, dialect included; HR_ERROR_BUILD with
     * the compiler's first error, HR_ERROR_UNSUPPORTED where there is no
     * compiler. *image, unless it is NULL, becomes what load takes, also in a
     * later process, on devices with the same info.target; its bytes are NULL
     * where the device gives none. */
    hr_status (*build)(hri_device *device, const hr_kernel *kernel,
                       const char *source, hri_image *image,
                       hri_module **module);
    /* The module of a kernel from the image of its source, without a compiler.
     * Any error when the device does not take it. */
    hr_status (*load)(hri_device *device, const hr_kernel *kernel,
                      const hri_image *image, hri_module **module);
    void (*unload)(hri_module *module); /* accepts NULL; nothing runs it */
    /* Accepts NULL; nothing runs it. hri_no_destroy_graph where there are
     * none. */
    void (*destroy_graph)(hri_graph *graph);
    /* Whether queues of device may copy from and to buffers of other, and wait
     * for its events. Symmetric. other may be of any backend. */
    bool (*is_peer)(hri_device *device, hri_device *other);
    /* Whether gemm takes these types and this compute mode. */
    bool (*gemm_offered)(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute);
} hri_device_ops;

/* Base structs: backends put them first in their own. */
struct hri_device {
    const hri_device_ops *ops;
    const hri_backend *backend;
    hri_device_info info; /* constant after open, free_bytes as of then */
};

struct hri_buffer {
    hri_device *device;
    size_t bytes;
};

struct hri_module {
    hri_device *device;
    int64_t most_items;             /* of a tile; at least 1 */
    int64_t most_tile[HR_MAX_RANK]; /* of them in each dimension, from the last
                                        dimension to the first */
    uint64_t most_bytes; /* memory of a tile that may be asked for at launch */
};

struct hri_queue {
    const hri_queue_ops *ops;
    hri_device *device;
};

struct hri_event {
    const hri_event_ops *ops;
    hri_device *device;
};

struct hri_graph {
    hri_device *device; /* of the queue that it was begun on */
};

struct hri_backend {
    uint32_t abi;     /* HRI_HAL_ABI */
    const char *name; /* also the first word of its paths */
    /* How many devices there are. HR_ERROR_UNAVAILABLE with a sentence when the
     * driver is not there, which is a normal answer. */
    hr_status (*probe)(uint32_t *count);
    /* Describe device index < count without opening it. */
    hr_status (*describe)(uint32_t index, hri_device_info *info);
    /* Open it; may be called several times, for virtual accelerators: each has
     * its own buffers and queues, and all of one index are peers if they can.
     */
    hr_status (*open)(uint32_t index, hri_device **device);
};

/* Every backend, ended by NULL, in order of preference (registry.c). */
extern const hri_backend *const hri_backends[];

/* Let a call of a kernel do tile `index` of the domain's, the last dimension
 * first. */
static inline void hri_domain_go(hr_domain *domain, int64_t index)
{
    const int64_t *tiles = domain->tiles;
    domain->number[2] = index % tiles[2];
    domain->number[1] = index / tiles[2] % tiles[1];
    domain->number[0] = index / tiles[2] / tiles[1];
}

/* A place in a buffer, and a place in host memory. */
static inline hri_place hri_at(hri_buffer *buffer, size_t offset)
{
    return (hri_place){.buffer = buffer, .offset = offset};
}

static inline hri_place hri_at_host(const void *host, size_t offset)
{
    return (hri_place){.host = (void *)(uintptr_t)host, .offset = offset};
}

#endif
