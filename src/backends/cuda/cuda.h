/* SPDX-License-Identifier: MIT */
/* What the files of the CUDA backend share.
 *
 * A unit is a GPU of the machine. It exists for the life of the process.
 * Everything opened on it shares its primary context, with other users of CUDA
 * in this process. So virtual accelerators of one unit are peers, and vendor
 * libraries work in the same context. Our calls make the context current only
 * while they run: the calling thread keeps the context that it had. */
#ifndef HRI_BACKENDS_CUDA_CUDA_H
#define HRI_BACKENDS_CUDA_CUDA_H

#include <pthread.h>

#include "backends/cuda/api.h"
#include "hal/backend.h"

enum { HRI_CUDA_TYPES = HR_I8 + 1 }; /* types of A and B; index: hr_type */

/* What our kernel does: products; those with the roundings of
 * HR_COMPUTE_REPRODUCIBLE; or it adds sums of floats to halves. */
typedef enum hri_cuda_form {
    HRI_CUDA_PLAIN,
    HRI_CUDA_ORDERED,
    HRI_CUDA_ADD,
    HRI_CUDA_FORMS
} hri_cuda_form;

/* Our kernel for one type and form, loaded into a unit's context. */
typedef struct hri_cuda_kernel {
    cu_module module; /* NULL: not loaded */
    cu_function function;
} hri_cuda_kernel;

/* The kernels of a precise product (kernels/precise_steps.inc). */
typedef enum hri_cuda_step {
    HRI_CUDA_FIND_LINES,
    HRI_CUDA_CONVERT_LINES,
    HRI_CUDA_MULTIPLY_RESIDUES,
    HRI_CUDA_MAKE_NUMBERS,
    HRI_CUDA_STEPS
} hri_cuda_step;

/* Those for one type. */
typedef struct hri_cuda_precise {
    cu_module module; /* NULL: not loaded */
    cu_function steps[HRI_CUDA_STEPS];
} hri_cuda_precise;

/* Whether two units copy from each other. Found out when first asked. */
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
    pthread_mutex_t lock; /* guards what follows; context is constant while
                             open */
    uint32_t opens;
    cu_context context; /* the primary one; NULL when opens is 0 */
    hri_cuda_kernel kernels[HRI_CUDA_TYPES][HRI_CUDA_FORMS];
    hri_cuda_precise precise[HRI_CUDA_TYPES];
    hri_device_info described; /* what the driver said last; path "": nothing */
    hri_cuda_peering *peers; /* by index; guarded by another lock, in unit.c */
    /* of fault.c, whose lock guards what follows */
    struct hri_cuda_unit *next;
    uint64_t launches; /* the number of the last launch of a kernel of the
                          caller's; 0: none */
    char launched[48]; /* that kernel; a longer name is cut */
} hri_cuda_unit;

/* Floats that a handle has room for. */
enum { HRI_CUBLAS_SUMS = 4 << 20 };

/* A handle of cuBLAS with its workspace. One queue has it at a time. */
typedef struct hri_cublas_object *hri_cublas_handle;
typedef struct hri_cublas {
    struct hri_cublas *next;
    hri_cublas_handle handle;
    cu_address workspace;
    cu_address sums; /* HRI_CUBLAS_SUMS floats, behind the workspace */
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
    hri_error graph_error; /* an error meanwhile; it ends with the graph */
    hri_cublas *blas;      /* set by the first product that needs it */
} hri_cuda_queue;

/* unit.c: count the GPUs of this machine, once. HR_ERROR_UNAVAILABLE when there
 * is no driver, no GPU, or no library to multiply with. Any thread. */
hr_status hri_cuda_unit_count(uint32_t *count);
/* The unit `index`, which is below the count. */
hri_cuda_unit *hri_cuda_unit_at(uint32_t index);
/* Hold the unit's primary context. Each acquire needs a release. */
hr_status hri_cuda_unit_acquire(hri_cuda_unit *unit);
void hri_cuda_unit_release(hri_cuda_unit *unit);
/* An attribute of the device. 0 when the driver does not tell. */
int hri_cuda_unit_number(const hri_cuda_unit *unit, int what);
/* Whether two open units copy from each other's memory. Enables it. */
bool hri_cuda_units_are_peers(hri_cuda_unit *a, hri_cuda_unit *b);
/* Make the unit's context current. Each enter that succeeds needs a leave. */
cu_result hri_cuda_enter(const hri_cuda_unit *unit);
void hri_cuda_leave(void);

/* fault.c: note that a kernel of the caller's is launched. Any thread. */
void hri_cuda_note_launch(hri_cuda_unit *unit, const char *kernel);
/* Keep the error if it is the first after which no GPU works any more in this
 * process. Returns whether it is. */
bool hri_cuda_keep_fault(const char *path, cu_result error);
/* What that fault was: "a kernel on cuda:0 (the last was "x") failed". NULL:
 * none is known. It never changes. */
const char *hri_cuda_fault_cause(void);
/* HR_OK, or after a fault HR_ERROR_LOST with a sentence that names it. */
hr_status hri_cuda_fault_check(const char *path);

/* queue.c: functions of hri_device_ops. */
hr_status hri_cuda_event_create(hri_device *device, bool timed,
                                hri_event **event);
hr_status hri_cuda_queue_create(hri_device *device, bool urgent,
                                hri_queue **queue);
void hri_cuda_graph_destroy(hri_graph *graph);

/* launch.c: functions for the caller's kernels. The queue does not keep the
 * error of a launch. */
hr_status hri_cuda_module_build(hri_device *device, const hr_kernel *kernel,
                                const char *source, hri_image *image,
                                hri_module **module);
hr_status hri_cuda_module_load(hri_device *device, const hr_kernel *kernel,
                               const hri_image *image, hri_module **module);
void hri_cuda_module_unload(hri_module *module);
/* Load the function of a kernel of the caller's from an image. If kernel is
 * NULL, it is the function of ours with this name. The unit's context is
 * current. */
hr_status hri_cuda_function_load(const hri_cuda_unit *unit, const void *image,
                                 const hr_kernel *kernel, const char *ours,
                                 cu_module *module, cu_function *function);
hr_status hri_cuda_launch(const hri_cuda_queue *queue,
                          const hri_launch *launch);
/* Write hri_device_info.target. */
void hri_cuda_module_target(const hri_cuda_unit *unit, char *text,
                            size_t bytes);

/* gemm.c */
bool hri_cuda_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                           hr_compute compute);
/* Enqueue a product. The unit's context is current. The queue does not keep the
 * error. */
hr_status hri_cuda_gemm(hri_cuda_queue *queue, const void *gemm);
/* "cuBLAS 13.1, NVRTC 13.0". It also tells what is missing and was asked
 * for. */
void hri_cuda_arithmetic_name(char *text, size_t bytes);

/* precise.c: enqueue packing and products of HR_COMPUTE_PRECISE. ordered
 * enqueues a reproducible product of the elements that a mask of bytes chooses:
 * see kernels/cuda/gemm.cu. The unit's context is current. */
typedef hr_status hri_cuda_ordered_function(hri_cuda_queue *queue,
                                            const hri_gemm *gemm,
                                            cu_address mask);
hr_status hri_cuda_pack_precise(hri_cuda_queue *queue, const hri_pack *pack);
hr_status hri_cuda_gemm_precise(hri_cuda_queue *queue, const hri_gemm *gemm,
                                hri_cuda_ordered_function *ordered);
/* Whether NVRTC compiles its kernels for a capability. */
bool hri_cuda_precise_compiles(int capability);
/* Machine code of its kernels. The caller frees it. */
hr_status hri_cuda_precise_compile(const char *path, int capability,
                                   hr_type type, char **image);
/* Unload the kernels. The unit's context is current. */
void hri_cuda_precise_unload(hri_cuda_unit *unit);

/* Machine code of our kernel for a type of A and B. The process keeps it. Any
 * capability such as 90 will do, and no GPU is needed. */
hr_status hri_cuda_kernel_compile(const char *path, int capability,
                                  hr_type type, hri_cuda_form form,
                                  const char **image);

/* cublas.c: load cuBLAS, once in the life of the process. HR_ERROR_UNAVAILABLE
 * when there is none or HEADRACE_CUBLAS is "off". Any thread. */
hr_status hri_cublas_load(void);
/* "cuBLAS 13.1", or "" without it. */
const char *hri_cublas_name(void);
/* The device memory that cuBLAS takes for each queue that multiplies. 0 without
 * cuBLAS. */
uint64_t hri_cublas_bytes(int capability);
/* Enqueue a product, or a batch, with m, n, k > 0 and alpha not 0. When there
 * is no cuBLAS or it does not offer the product or the batch, *done is false
 * and nothing is enqueued. The unit's context is current. */
hr_status hri_cublas_gemm(hri_cuda_queue *queue, const hri_gemm *gemm,
                          bool *done);
/* Room for sums, until the queue gives its handle back. The unit's context is
 * current. */
hr_status hri_cublas_sums(hri_cuda_queue *queue, cu_address *sums);
/* The types that are faster with A packed by columns (hri_device_info.packed),
 * as bits. */
uint32_t hri_cublas_packed(int capability);
/* Enqueue hri_queue_ops.pack. The unit's context is current. */
hr_status hri_cublas_pack(hri_cuda_queue *queue, const void *pack);
/* Give a queue's handle back to the device. The handle has no work left. */
void hri_cublas_give_back(hri_cuda_queue *queue);
/* Destroy the handles of a device. The unit's context is current. */
void hri_cublas_destroy(hri_cuda_device *device);

/* nvrtc.c: load NVRTC, NVIDIA's run-time compiler, once in the life of the
 * process. HR_ERROR_UNAVAILABLE when there is none or HEADRACE_NVRTC is "off".
 * Any thread. */
hr_status hri_nvrtc_load(void);
/* "NVRTC 13.0", or "" without it. */
const char *hri_nvrtc_name(void);
/* 13, or 0 without it. */
int hri_nvrtc_major(void);
/* Compile source for devices of a capability (90 for 9.0). The list of options
 * ends with NULL; the first may be --gpu-architecture=sm_90a or so instead of
 * the usual one. *image is machine code, or PTX where the compiler is older
 * than the device. It has *bytes bytes (unless bytes is NULL), and the caller
 * frees it. HR_ERROR_BUILD with the compiler's first error.
 * HR_ERROR_UNSUPPORTED for a device that the compiler no longer supports. For
 * messages, path is the device's, and kernel the caller's or NULL. */
hr_status hri_nvrtc_compile(const char *path, const hr_kernel *kernel,
                            const char *source, int capability,
                            const char *const *options, char **image,
                            size_t *bytes);

/* Kernels reach pinned memory by the host's address. */
static inline cu_address hri_cuda_address(const hri_place *place)
{
    const hri_cuda_buffer *buffer = (const hri_cuda_buffer *)place->buffer;
    return place->offset + (buffer != NULL
                                ? buffer->memory
                                : (cu_address)(uintptr_t)place->host);
}

#endif
