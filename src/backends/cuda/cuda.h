/* SPDX-License-Identifier: MIT */
/* What the files of the CUDA backend share.
 *
 * A unit is a GPU of the machine; there is one for the life of the process. Its
 * primary context is shared by all that is opened on it, and with whoever else
 * uses CUDA in this process, so that virtual accelerators of one unit are peers
 * and vendor libraries work in the same context as we. The context is made
 * current for the time of each call of ours and no longer: the calling thread
 * keeps the one that it had. */
#ifndef HRI_BACKENDS_CUDA_CUDA_H
#define HRI_BACKENDS_CUDA_CUDA_H

#include <pthread.h>

#include "backends/cuda/api.h"
#include "hal/backend.h"

extern const hri_backend hri_backend_cuda;

enum { HRI_CUDA_TYPES = HR_I8 + 1 }; /* of A and B; by hr_type */

/* The gemm kernel for one type, loaded into a unit's context. */
typedef struct hri_cuda_kernel {
    cu_module module; /* NULL: not loaded */
    cu_function function;
} hri_cuda_kernel;

/* Whether two units copy from each other; found out when first asked. */
typedef enum hri_cuda_peering {
    HRI_CUDA_UNASKED,
    HRI_CUDA_PEERS,
    HRI_CUDA_STRANGERS
} hri_cuda_peering;

typedef struct hri_cuda_unit {
    cu_device id;
    uint32_t index;
    int capability;       /* 90 for 9.0 */
    size_t most_pitch;    /* of 2-D and 3-D copies */
    char path[32];        /* "cuda:0" */
    pthread_mutex_t lock; /* guards what follows, but context while open */
    uint32_t opens;
    cu_context context; /* the primary one; NULL when opens is 0 */
    hri_cuda_kernel kernels[HRI_CUDA_TYPES];
    hri_cuda_peering *peers; /* by index; guarded by a lock of unit.c */
} hri_cuda_unit;

/* A handle of cuBLAS with its workspace; one queue has it at a time. */
typedef struct hri_cublas_object *hri_cublas_handle;
typedef struct hri_cublas {
    struct hri_cublas *next;
    hri_cublas_handle handle;
    cu_address workspace;
} hri_cublas;

typedef struct hri_cuda_device {
    hri_device base;
    hri_cuda_unit *unit;
    pthread_mutex_t lock; /* guards what follows */
    hri_cublas *idle;     /* handles that no queue has now */
} hri_cuda_device;

typedef struct hri_cuda_buffer {
    hri_buffer base;
    cu_address memory;
} hri_cuda_buffer;

typedef struct hri_cuda_queue {
    hri_queue base;
    hri_cuda_unit *unit;
    cu_stream stream;
    hri_sticky_error *sticky;
    bool capturing;        /* between begin_graph and end_graph */
    hri_error graph_error; /* then: what ends with the graph */
    hri_cublas *blas;      /* from the first product that wants it on */
} hri_cuda_queue;

/* unit.c: the GPUs of this machine, found once. HR_ERROR_UNAVAILABLE when there
 * is no driver, no GPU, or nothing to multiply with. Any thread. */
hr_status hri_cuda_unit_count(uint32_t *count);
/* index < count. */
hri_cuda_unit *hri_cuda_unit_at(uint32_t index);
/* Hold the unit's primary context; each acquire wants a release. */
hr_status hri_cuda_unit_acquire(hri_cuda_unit *unit);
void hri_cuda_unit_release(hri_cuda_unit *unit);
/* A number of the device; 0 when it does not tell. */
int hri_cuda_unit_number(const hri_cuda_unit *unit, int what);
/* Whether two open units copy from each other's memory; lets them. */
bool hri_cuda_units_are_peers(hri_cuda_unit *a, hri_cuda_unit *b);
/* Make the unit's context current. Each enter that succeeds wants a leave. */
cu_result hri_cuda_enter(const hri_cuda_unit *unit);
void hri_cuda_leave(void);

/* event.c: slots of the device and of queues. */
hr_status hri_cuda_event_create(hri_device *device, hri_event **event);
hr_status hri_cuda_event_record(hri_queue *queue, hri_event *event);
hr_status hri_cuda_event_await(hri_queue *queue, hri_event *event);

/* queue.c: slots of the device. */
hr_status hri_cuda_queue_create(hri_device *device, bool urgent,
                                hri_queue **queue);
void hri_cuda_graph_destroy(hri_graph *graph);
/* The first error of what is enqueued now, the graph's while one is made, until
 * whose end it stays apart from the queue's. outside is in words what no graph
 * takes: HR_ERROR_INVALID, which is kept, while one is made; else NULL. */
hr_status hri_cuda_queue_error(hri_cuda_queue *queue, const char *outside);

/* launch.c: the slots for kernels of the caller's; the error of a launch is not
 * kept in the queue. */
hr_status hri_cuda_module_build(hri_device *device, const hr_kernel *kernel,
                                const char *source, hri_image *image,
                                hri_module **module);
hr_status hri_cuda_module_load(hri_device *device, const hr_kernel *kernel,
                               const hri_image *image, hri_module **module);
void hri_cuda_module_unload(hri_module *module);
/* A function of an image. The unit's context is current. */
hr_status hri_cuda_function_load(const hri_cuda_unit *unit, const void *image,
                                 const char *name, cu_module *module,
                                 cu_function *function);
hr_status hri_cuda_launch(const hri_cuda_queue *queue,
                          const hri_launch *launch);
/* hri_device_info.target. */
void hri_cuda_module_target(const hri_cuda_unit *unit, char *text,
                            size_t bytes);

/* gemm.c */
bool hri_cuda_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                           hr_compute compute);
/* Enqueue a product. The unit's context is current; the error is not kept in
 * the queue. */
hr_status hri_cuda_gemm(hri_cuda_queue *queue, const void *gemm);
/* "cuBLAS 13.1, NVRTC 13.0"; what is missing and was asked for is told too. */
void hri_cuda_arithmetic_name(char *text, size_t bytes);

/* Machine code of our kernel for a type of A and B, which the process keeps;
 * any capability such as 90, and no GPU needed. */
hr_status hri_cuda_kernel_compile(const char *path, int capability,
                                  hr_type type, const char **image);
void hri_cuda_kernels_release(hri_cuda_unit *unit);

/* cublas.c: load cuBLAS, once in the life of the process; HR_ERROR_UNAVAILABLE
 * when it is not there or HEADRACE_CUBLAS is "off". Any thread. */
hr_status hri_cublas_load(void);
/* "cuBLAS 13.1", or "" without it. */
const char *hri_cublas_name(void);
/* The device memory that each queue which multiplies takes for itself; 0
 * without cuBLAS. */
uint64_t hri_cublas_bytes(int capability);
/* Enqueue a product with m, n, k > 0 and alpha not 0. *done is false, and
 * nothing has happened, where there is no cuBLAS or it does not offer that. The
 * unit's context is current. */
hr_status hri_cublas_gemm(hri_cuda_queue *queue, const hri_gemm *gemm,
                          bool *done);
/* The types whose products hri_device_info.packed means, as bits. */
uint32_t hri_cublas_packed(int capability);
/* Enqueue hri_queue_ops.pack in the same way. */
hr_status hri_cublas_pack(hri_cuda_queue *queue, const void *pack);
/* Give a queue's handle, which has nothing to do any more, back to its device.
 */
void hri_cublas_give_back(hri_cuda_queue *queue);
/* Destroy those of a device. The unit's context is current. */
void hri_cublas_destroy(hri_cuda_device *device);

/* nvrtc.c: load NVRTC, NVIDIA's run-time compiler, once in the life of the
 * process; HR_ERROR_UNAVAILABLE when it is not there or HEADRACE_NVRTC is
 * "off". Any thread. */
hr_status hri_nvrtc_load(void);
/* "NVRTC 13.0", or "" without it. */
const char *hri_nvrtc_name(void);
/* Compile source for devices of a capability (90 for 9.0) with the options
 * given, ended by NULL. *image is machine code, or PTX where the compiler is
 * older than the device, of *bytes bytes (unless bytes is NULL), to be freed.
 * HR_ERROR_BUILD with the first error of the compiler; HR_ERROR_UNSUPPORTED for
 * a device that it knows no more. path is the device's, for the sentence. */
hr_status hri_nvrtc_compile(const char *path, const char *source,
                            int capability, const char *const *options,
                            char **image, size_t *bytes);

static inline cu_address hri_cuda_address(const hri_place *place)
{
    return ((const hri_cuda_buffer *)place->buffer)->memory + place->offset;
}

#endif
