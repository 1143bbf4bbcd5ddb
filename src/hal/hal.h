/* SPDX-License-Identifier: MIT */
/* The hardware abstraction: what the engines need from an accelerator.
 *
 * A backend is a table of functions in the registry. It opens devices. A device
 * has memory (buffers), queues and events. Everything enqueued on a queue runs
 * in order and asynchronously. Only events order work of different queues.
 *
 * Contract of every function in the tables, unless it says otherwise. It is
 * required and never NULL. It may be called from any thread. An engine may hold
 * a lock of its own while it calls a function that does not block. Calls on one
 * queue come one at a time: the engines see to it. Functions of devices and
 * events may be called by several threads at once. Queues may wait for an event
 * while threads query it or wait for it. Outputs are written only on success.
 * Errors are recorded with hri_fail.
 *
 * After an operation on a queue has failed, later ones may be skipped. Events
 * recorded there still complete, so nothing waits for ever. finish and
 * hri_event wait return the error. */
#ifndef HRI_HAL_H
#define HRI_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/gemm.h>
#include <headrace/kernel.h>

#include "base/status.h"

enum { HRI_TILE_ALIGNMENT = 16 }; /* of each tile memory */
enum { HRI_HAL_ABI = 18 };        /* increased by any change below */

/* HR_COMPUTE_REPRODUCIBLE cuts k into slices of this depth. A product that goes
 * on from an earlier one, with beta = 1, does so behind a multiple of it. */
enum { HRI_ORDERED_DEPTH = 256 };

typedef struct hri_backend hri_backend;
typedef struct hri_device hri_device;
typedef struct hri_buffer hri_buffer;
typedef struct hri_queue hri_queue;
typedef struct hri_event hri_event;
typedef struct hri_module hri_module;
typedef struct hri_graph hri_graph;   /* recorded commands, enqueued as one */
typedef struct hri_traced hri_traced; /* trace/track.h */
typedef struct hri_track hri_track;   /* likewise */

typedef struct hri_device_info {
    char path[32];             /* "host", "opencl:0:1" */
    char name[128];            /* the device's own name */
    char arithmetic[128];      /* the library that multiplies: "OpenBLAS 0.3.21
                                  SkylakeX" */
    char compiler[128];        /* where info.host is set: the C compiler that
                                  compiles kernels, or why there is none */
    char target[512];          /* what the machine code of a kernel depends on
                                  beside its source: device, compiler, options and
                                  driver; "": it cannot be kept */
    char physical_id[64];      /* the same for one device known to two backends,
                                  such as "pci:0000:01:00.0"; "": not known */
    uint64_t memory_bytes;     /* all of it; for the host: physical memory */
    uint64_t free_bytes;       /* what may be used now */
    uint64_t allocation_bytes; /* largest buffer; never 0 */
    uint64_t gemm_bytes;       /* memory that each queue which multiplies takes
                                  beside its operands */
    uint32_t compute_units;
    bool emulated; /* a CPU behind a GPU's interface */
    bool caches;   /* its driver keeps machine code from process to process, so
                      that nobody else need */
    bool host;     /* its buffers are host memory, and gemm also takes other
                      host memory: it can work in place */
    bool ieee;     /* kernels round floats as IEEE 754 says, also those of
                      division and square roots, and keep subnormal ones */
    uint32_t packed; /* bit 1 << type: products of this type (HR_COMPUTE_NATIVE)
                        are faster with A by columns and B by rows, and `pack`
                        can bring A into this order */
    bool packs_precise; /* HR_COMPUTE_PRECISE needs packed operands and scratch
                           memory; else gemm takes them if they are there */
    bool staged;   /* it copies ordinary memory slowly: use allocate_pinned */
    bool reaches;  /* kernels also write to memory of allocate_pinned; so does
                      gemm, to C where beta is 0 */
    bool lends;    /* buffers have addresses: see lend */
    bool proceeds; /* tiles that have started go on while others wait for
                      them */
} hri_device_info;

/* A place in memory: inside a buffer, or in host memory when buffer is NULL. */
typedef struct hri_place {
    hri_buffer *buffer;
    void *host;    /* used when buffer is NULL */
    size_t offset; /* bytes from the start of the buffer, or from host */
} hri_place;

/* A box of bytes: depth slices of height rows of width bytes. Pitches count
 * bytes from row to row and from slice to slice. A single row or slice needs
 * none. */
typedef struct hri_copy {
    hri_place to, from;
    size_t to_pitch, to_slice;
    size_t from_pitch, from_slice;
    size_t width, height, depth; /* if one is 0, nothing happens */
} hri_copy;

/* An operand of gemm: element (r, c) is at
 * place + (r * row_stride + c * col_stride) * hr_type_size. One stride is 1. */
typedef struct hri_operand {
    hri_place place;
    int64_t row_stride, col_stride;
    bool conjugate; /* a and b only */
} hri_operand;

/* Several products of one shape in one command. The operands of product i are
 * i steps behind those of the first one. No C overlaps another operand. */
typedef struct hri_batch {
    int64_t count;    /* products; 0 counts as 1 */
    int64_t steps[3]; /* bytes, of A, B and C; 0: all use the same A or B */
    void *const *lists[3]; /* in host memory only: where the operand of each
                              product is; NULL: steps tell. The lists stay until
                              the command has run */
} hri_batch;

/* C := alpha A B + beta C; A[m,k], B[k,n], C[m,n]. C has col_stride 1. The type
 * pairs are those of headrace/gemm.h. beta = 0 never reads C; k = 0 scales C.
 * m, n, k >= 0; when m or n is 0 nothing happens.
 *
 * HR_COMPUTE_REPRODUCIBLE fixes each rounding, in the type that is accumulated
 * in. Each line with fma rounds once:
 *
 *     t = beta == 0 ? 0 : beta c
 *     for each HRI_ORDERED_DEPTH indices of k, in order:
 *         s = 0; for each p of these, in order: s = fma(a[p], b[p], s)
 *         t = fma(alpha, s, t)
 *     c = t
 *
 * Complex types, with (x, y) for a pair:
 *
 *     beta c: (x re, x im), then if y != 0: (fma(-y, im, .), fma(y, re, .))
 *     s: re = fma(-a.y, b.y, fma(a.x, b.x, re))
 *        im = fma(a.y, b.x, fma(a.x, b.y, im))
 *     t: re = fma(x, s.re, re); im = fma(x, s.im, im), then if y != 0:
 *        re = fma(-y, s.im, re); im = fma(y, s.re, im)
 *
 * HR_COMPUTE_PRECISE makes t in the same way, from slices of hri_precise_depth
 * indices of k: s is the sum of products of integers that the slice's rows of A
 * and columns of B are rounded to, rounded once (src/hal/precise.inc). Where
 * that could be less accurate than HR_COMPUTE_REPRODUCIBLE, which depends on
 * the row and the column alone, the slice is added as there. */
typedef struct hri_gemm {
    hr_type type; /* of a and b */
    hr_type c_type;
    hr_compute compute;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hri_operand a, b, c;
    hri_batch batch;     /* all zero: one product */
    hri_place packed[2]; /* HR_COMPUTE_PRECISE: what pack has made of all of A
                            and of B; see info.packs_precise */
    hri_place scratch; /* with them: hri_precise_scratch bytes for the device's
                          own use */
} hri_gemm;

/* Packing of a panel for products. It has rows x cols elements of type, and
 * rows, cols >= 1. Source and destination do not overlap.
 *
 * HR_COMPUTE_NATIVE: a matrix by rows becomes one by columns. Element (r, c)
 * goes to `to` + (c * to_stride + r) elements.
 *
 * HR_COMPUTE_PRECISE: a panel of A, or of B with its columns as rows, becomes
 * residues. `to` has hri_precise_bytes. */
typedef struct hri_pack {
    hr_type type;
    hr_compute compute;
    int side; /* 0: of A, 1: of B */
    hri_operand from;
    hri_place to;
    int64_t rows, cols, to_stride;
} hri_pack;

/* The argument for a kernel's parameter of the same index. */
typedef struct hri_kernel_argument {
    hri_place place; /* of a view: where its buffer starts, or host memory; the
                        offset is that of element `start` 0 */
    hr_list_shape shape; /* of a view: the hr_shape that it begins with, and
                            for a list all of it */
    /* of a view: the elements that exist, whatever extent the kernel is told.
     * held_first is the first one, and `start` is its place. Indices count in
     * the whole. */
    int64_t held_first[HR_MAX_KERNEL_RANK], held[HR_MAX_KERNEL_RANK];
    const void *value; /* of a value; copied when the launch is enqueued */
    size_t bytes;      /* of a value, or of tile memory */
} hri_kernel_argument;

_Static_assert(offsetof(hr_list_shape, count) == sizeof(hr_shape),
               "it begins with an hr_shape");

/* The bytes of the shape that a kernel gets of a view. */
static inline size_t hri_shape_bytes(const hr_parameter *parameter)
{
    return parameter->list ? sizeof(hr_list_shape) : sizeof(hr_shape);
}

/* The machine code of all kernels of a source. */
typedef struct hri_image {
    void *bytes; /* the owner frees them */
    size_t count;
} hri_image;

/* What the host runs behind each tile of a launch, on the tile's thread. */
typedef struct hri_epilogue {
    /* The kernel's own arguments, and the tile's place in the domain. */
    void (*run)(const void *data, const hr_domain *domain,
                const void *arguments);
    const void *data; /* copied with the launch */
    size_t data_bytes;
} hri_epilogue;

/* A kernel to run over a domain. */
typedef struct hri_launch {
    const hr_kernel *kernel; /* that of the module, where it has one */
    hri_module *module; /* of kernel; NULL where the program has the machine
                           code (hr_kernel.host) and info.host is set */
    uint32_t rank;
    hr_domain domain; /* dimensions from rank on have extent and step 1; the
                         last dimension's step is 1; number is the backend's
                         own */
    const hri_kernel_argument *arguments; /* one for each parameter */
    const hri_epilogue *epilogue; /* NULL: none; only where info.host is set */
} hri_launch;

typedef struct hri_event_ops {
    void (*destroy)(hri_event *event); /* accepts NULL; the event must be
                                          complete or never recorded */
    /* *done: everything before the last record has run. An event that was never
     * recorded is done. Returns the queue's error, if it failed. */
    hr_status (*query)(hri_event *event, bool *done);
    /* Block the calling thread until the event is done. Several threads may
     * call this. */
    hr_status (*wait)(hri_event *event);
    /* Nanoseconds of the device's clock from the last record of `from` to that
     * of `to`. 0 when `to` was passed first. Both are done and of one device.
     * HR_ERROR_INVALID when one was never recorded. */
    hr_status (*elapsed)(hri_event *from, hri_event *to, uint64_t *ns);
} hri_event_ops;

typedef struct hri_queue_ops {
    /* Wait for everything enqueued, then destroy the queue. Accepts NULL. */
    void (*destroy)(hri_queue *queue);
    /* Enqueue a copy. One place is a buffer of the queue's device. The other is
     * a buffer of the same device or of a peer, or host memory, which must stay
     * until the copy has run. The boxes must not overlap. */
    hr_status (*copy)(hri_queue *queue, const hri_copy *copy);
    /* Enqueue setting bytes [offset, offset + bytes) to value. */
    hr_status (*fill)(hri_queue *queue, hri_buffer *buffer, size_t offset,
                      size_t bytes, uint8_t value);
    /* Enqueue a product. Operands are buffers of the queue's device, or host
     * memory where info.host is set; for C see info.reaches. gemm_offered must
     * have accepted it. */
    hr_status (*gemm)(hri_queue *queue, const hri_gemm *gemm);
    /* Enqueue the packing of a matrix, between buffers of the queue's device.
     * Required where info.packed has the type's bit or gemm_offered accepts
     * HR_COMPUTE_PRECISE, else HR_ERROR_UNSUPPORTED. */
    hr_status (*pack)(hri_queue *queue, const hri_pack *pack);
    /* Enqueue a kernel and start it. Its module accepts the tiles, and there
     * are at most INT32_MAX of them. Views lie in buffers of the queue's
     * device, or in host memory where info.host is set. Launches of one module
     * come one at a time. */
    hr_status (*launch)(hri_queue *queue, const hri_launch *launch);
    /* Make event mark this point of the queue, and start the work before it. An
     * event may be recorded again, even while threads wait for it: they may
     * then wait for any of them. Queues that wait already keep waiting for
     * the old record. The event belongs to the queue's device. */
    hr_status (*record)(hri_queue *queue, hri_event *event);
    /* Enqueue waiting for the last record of event, which is of the same device
     * or of a peer. If it was never recorded, there is no wait. Does not block
     * the caller. When the work before that record failed, this queue may take
     * over its error. */
    hr_status (*wait)(hri_queue *queue, hri_event *event);
    /* Block the calling thread until everything enqueued has run. */
    hr_status (*finish)(hri_queue *queue);
    /* Begin a graph. hri_no_begin_graph where there are no graphs: end_graph
     * and run_graph are NULL then. From now on commands on this queue are kept
     * and do not run. They may be copies between buffers of its device, fills,
     * and launches with their present arguments. Any other call on the queue
     * fails with HR_ERROR_INVALID: no event is recorded on it, it waits for
     * nothing, and is not finished. Other queues and events are not affected.
     * HR_ERROR_UNSUPPORTED where there are no graphs. */
    hr_status (*begin_graph)(hri_queue *queue);
    /* End the graph that was begun. The queue goes on as if nothing had been
     * enqueued. If any call in between failed, this fails with its error, and
     * there is no graph. */
    hr_status (*end_graph)(hri_queue *queue, hri_graph **graph);
    /* Enqueue all of a graph once, on any queue of its device, in order with
     * the queue's other work. Runs of one graph do not overlap. Its buffers and
     * modules must still exist. The queue that it was begun on may be gone. */
    hr_status (*run_graph)(hri_queue *queue, hri_graph *graph);
} hri_queue_ops;

typedef struct hri_device_ops {
    /* Close the device. All its objects are gone. Accepts NULL. */
    void (*close)(hri_device *device);
    /* HR_OK, or HR_ERROR_LOST once the backend knows that the device no longer
     * works. Does not wait, and asks no driver. hri_not_lost where a backend
     * cannot know. */
    hr_status (*check)(hri_device *device);
    /* Contents are unspecified. HR_ERROR_OUT_OF_MEMORY when it does not fit. */
    hr_status (*allocate)(hri_device *device, size_t bytes,
                          hri_buffer **buffer);
    void (*release)(hri_buffer *buffer); /* accepts NULL */
    /* Let other libraries that the calling thread calls use a buffer, from
     * *address on, until the same thread calls take_back. On CUDA the context
     * is current on the thread meanwhile. Only where info.lends is set. */
    hr_status (*lend)(hri_buffer *buffer, void **address);
    /* Once after each lend that has succeeded. The buffer is back also after an
     * error. If it was written, CUDA's default stream is waited for, and its
     * error returned. May block. */
    hr_status (*take_back)(hri_buffer *buffer, bool written);
    /* Host memory that this device copies at full speed. */
    hr_status (*allocate_pinned)(hri_device *device, size_t bytes, void **host);
    void (*release_pinned)(hri_device *device, void *host); /* accepts NULL */
    /* Whether this device copies this host memory at full speed, without a copy
     * in memory of the driver's. It need not be the device's own. */
    bool (*is_pinned)(hri_device *device, const void *host, size_t bytes);
    /* Kernels of an urgent queue start before waiting ones of others, where the
     * device has priorities. */
    hr_status (*create_queue)(hri_device *device, bool urgent,
                              hri_queue **queue);
    /* timed: `elapsed` may be asked of it. Others may be recorded faster. */
    hr_status (*create_event)(hri_device *device, bool timed,
                              hri_event **event);
    /* A device with info.host builds and loads only kernels without machine
     * code in the program (hr_kernel.host is NULL).
     * Compile a kernel's whole source, with the dialect. HR_ERROR_BUILD with
     * the compiler's first error, HR_ERROR_UNSUPPORTED where there is no
     * compiler. *image, unless image is NULL, becomes what load accepts, also
     * in a later process, on devices with the same info.target. Its bytes are
     * NULL where the device gives none. */
    hr_status (*build)(hri_device *device, const hr_kernel *kernel,
                       const char *source, hri_image *image,
                       hri_module **module);
    /* Make the module of a kernel from the image of its source, without a
     * compiler. Any error when the device does not accept it. */
    hr_status (*load)(hri_device *device, const hr_kernel *kernel,
                      const hri_image *image, hri_module **module);
    void (*unload)(hri_module *module); /* accepts NULL; no launch of it is
                                           left */
    /* Accepts NULL. No run of it is left. hri_no_destroy_graph where there are
     * no graphs. */
    void (*destroy_graph)(hri_graph *graph);
    /* Whether queues of device may copy from and to buffers of other, and wait
     * for its events. The relation is symmetric. other may be of any
     * backend. */
    bool (*is_peer)(hri_device *device, hri_device *other);
    /* Whether gemm accepts these types and this compute mode. Products of
     * integers are exact, so none is offered as reproducible. */
    bool (*gemm_offered)(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute);
    /* How many kernels gemm can choose from for a type and a compute mode; at
     * least 1. Which is the fastest differs from device to device. A device
     * may lack what one needs. gemm with that one then fails, except with
     * number 0. hri_one_variant where there is no choice. */
    uint32_t (*gemm_variants)(hri_device *device, hr_type type,
                              hr_compute compute);
    /* Let gemm use this one from now on, wherever the device is open. It is 0
     * at first. Any thread. NULL where there is no choice. */
    void (*choose_variant)(hri_device *device, hr_type type, uint32_t variant);
    /* Multiply on the calling thread, in host memory. Returns when C is
     * complete. gemm_offered must have accepted the product. NULL where
     * info.host is not set, or where the thread's settings would change. */
    hr_status (*gemm_now)(hri_device *device, const hri_gemm *gemm);
} hri_device_ops;

/* Base structs. Backends put them first in their own structs. */
struct hri_device {
    const hri_device_ops *ops;
    const hri_backend *backend;
    hri_device_info info; /* constant after open; free_bytes is as of then */
    hri_traced *traced;   /* the runtime's; NULL: it is not traced */
};

struct hri_buffer {
    hri_device *device;
    size_t bytes;
};

struct hri_module {
    hri_device *device;
    const hr_kernel *kernel; /* as it was compiled, where info.host is set,
                                which has no limits then; else NULL */
    int64_t most_items;      /* of a tile; at least 1 */
    int64_t most_tile[HR_MAX_KERNEL_RANK]; /* items of a tile in each dimension,
                                       from the last dimension to the first */
    uint64_t most_bytes; /* tile memory that a launch may ask for */
};

struct hri_queue {
    const hri_queue_ops *ops;
    hri_device *device;
    hri_track *track; /* the runtime's; NULL: it is not traced */
    const char *name; /* likewise: what it is for, a constant; NULL: the
                         caller's own work */
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
    /* The number of devices. HR_ERROR_UNAVAILABLE with a message when there is
     * no driver, which is a normal answer. */
    hr_status (*probe)(uint32_t *count);
    /* Describe device index < count without opening it. */
    hr_status (*describe)(uint32_t index, hri_device_info *info);
    /* Open device index. It may be opened several times, for virtual
     * accelerators. Each has its own buffers and queues, and all of one index
     * are peers if the backend can do it. If the device is the host's CPUs,
     * `threads` of them work on it, and compute_units says how many. */
    hr_status (*open)(uint32_t index, uint32_t threads, hri_device **device);
};

/* Every backend, ended by NULL, in order of preference (registry.c). */
extern const hri_backend *const hri_backends[];
extern const hri_backend hri_backend_cuda, hri_backend_opencl, hri_backend_host;

/* Set the domain to tile `index` for a kernel's call. The last dimension runs
 * fastest. */
static inline void hri_domain_set_tile(hr_domain *domain, int64_t index)
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
