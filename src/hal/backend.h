/* SPDX-License-Identifier: MIT */
/* What backends share. */
#ifndef HRI_HAL_BACKEND_H
#define HRI_HAL_BACKEND_H

#include <pthread.h>

#include "hal/hal.h"

/* For backends that have no modules, no graphs, no packing, no addresses, and
 * one kernel for a product. */
void hri_no_unload(hri_module *module);
hr_status hri_no_begin_graph(hri_queue *queue);
void hri_no_destroy_graph(hri_graph *graph);
hr_status hri_no_pack(hri_queue *queue, const hri_pack *pack);
hr_status hri_no_lend(hri_buffer *buffer, void **address);
hr_status hri_no_take_back(hri_buffer *buffer, bool written);
uint32_t hri_one_variant(hri_device *device, hr_type type, hr_compute compute);

/* For devices of which nothing tells that they are lost: HR_OK. */
hr_status hri_not_lost(hri_device *device);

/* HR_ERROR_INVALID when a backend has no device of that index. The status of
 * probe when it has no devices at all. */
hr_status hri_check_index(const hri_backend *backend, uint32_t index);

/* HR_ERROR_OUT_OF_MEMORY with the message "path: out of host memory". */
hr_status hri_no_memory(const char *path);

/* The same with "path: no memory for what". */
hr_status hri_no_memory_for(const char *path, const char *what);

/* hri_event_ops.elapsed for events that know their own time. */
hr_status hri_elapsed(hr_status (*time_of)(hri_event *event, uint64_t *ns),
                      hri_event *from, hri_event *to, uint64_t *ns);

/* ---- sticky errors */

/* The first error of a queue. Events recorded on the queue outlive it and
 * report its error. So the queue and its events hold the struct. */
typedef struct hri_sticky_error {
    _Atomic uint32_t users;
    pthread_mutex_t lock; /* guards the error */
    hri_error error;
} hri_sticky_error;

hr_status hri_sticky_create(const char *path, hri_sticky_error **sticky);
/* Hold and release it. Both accept NULL. */
void hri_sticky_hold(hri_sticky_error *sticky);
void hri_sticky_drop(hri_sticky_error *sticky);
/* Keep status and this thread's message unless an error is kept already.
 * Returns status. */
hr_status hri_sticky_keep(hri_sticky_error *sticky, hr_status status);
/* Raise the kept error. NULL has none: HR_OK. */
hr_status hri_sticky_raise(hri_sticky_error *sticky);

/* ---- copies */

/* Describe the same bytes as fewer and longer rows. Slices that follow each
 * other like rows become rows, and rows without gaps become one row. A box of
 * height 1 has depth 1, and its pitches have no meaning. */
hri_copy hri_copy_flatten(const hri_copy *copy);

/* Copy between two boxes in host memory, on the calling thread. */
void hri_copy_rows(const hri_copy *copy);

/* A driver's commands for copies. They return the driver's errors. 0 is no
 * error. */
typedef struct hri_copy_commands {
    /* Whether one command can copy a box of height 2 or more. Its rows do not
     * overlap, and its slices are whole numbers of rows. */
    bool (*takes)(const void *queue, const hri_copy *box);
    int32_t (*row)(void *queue, const hri_copy *row);
    int32_t (*box)(void *queue, const hri_copy *box);
} hri_copy_commands;

/* Enqueue a copy that has elements, in as few commands as possible: one, else
 * one for each slice, else one for each row. */
int32_t hri_copy_enqueue(const hri_copy_commands *commands, void *queue,
                         const hri_copy *copy);

static inline bool hri_copy_is_empty(const hri_copy *copy)
{
    return copy->width == 0 || copy->height == 0 || copy->depth == 0;
}

/* ---- products */

/* A factor (alpha or beta) in the type that products are summed in. */
typedef union hri_factor {
    float f[2];
    double d[2];
    uint32_t u[2]; /* integers are modulo 2^32 */
} hri_factor;

hri_factor hri_factor_of(hr_type type, hr_scalar x);

/* Tell whether a product only scales C. Then A and B are not read and may be
 * missing. m and n must be positive. */
bool hri_gemm_only_scales(const hri_gemm *gemm);
/* Such a product in a form that kernels accept: k is 0, and A and B exist. */
hri_gemm hri_gemm_scaling(const hri_gemm *gemm);

/* Product `index` of a batch, alone. */
hri_gemm hri_gemm_at(const hri_gemm *gemm, int64_t index);

/* Enqueue the products of a batch one by one, where the device has no command
 * for all of them. */
hr_status hri_gemm_each(void *queue, const hri_gemm *gemm,
                        hr_status (*one)(void *queue, const hri_gemm *gemm));

/* Whether both operands are packed. */
static inline bool hri_gemm_is_packed(const hri_gemm *gemm)
{
    const hri_place *p = gemm->packed;
    return (p[0].buffer != NULL || p[0].host != NULL) &&
           (p[1].buffer != NULL || p[1].host != NULL);
}

/* The flags of kernels/opencl/gemm.cl and kernels/cuda/gemm.cu. */
int32_t hri_gemm_flags(const hri_gemm *gemm);

/* HR_ERROR_UNSUPPORTED unless the queue's device offers the product. */
hr_status hri_gemm_check_offered(const hri_queue *queue, const hri_gemm *gemm);

/* ---- kernels */

/* The name of the function that a device's compiler makes of a kernel
 * (HR_DEFINE_ in headrace/dialect): its own name behind a prefix, because
 * compilers have functions and types of their own. The caller frees it. NULL
 * when there is no memory. */
#define HRI_KERNEL_PREFIX "hr_kernel_"
char *hri_kernel_function(const char *prefix, const hr_kernel *kernel);

/* HR_ERROR_BUILD with the first line of the compiler's log that has an error.
 * The log may be NULL. So may the kernel: then it is one of Headrace's own. */
hr_status hri_build_failed(const char *path, const hr_kernel *kernel,
                           const char *reason, const char *log,
                           const char *source);
/* HR_ERROR_BUILD: what was compiled does not have the kernel's function. */
hr_status hri_build_lacks(const char *path, const hr_kernel *kernel,
                          const char *reason);
/* Copy a line of such a log. NVIDIA's OpenCL ignores #line and gives the line
 * in the whole source: "<kernel>:812:5: error: ...". The copy has the file and
 * line that the source's #line directives say. */
void hri_log_line(const char *from, const char *source, char *to, size_t bytes);

/* What a kernel's function for the host expects: a struct of its arguments,
 * followed by tile memory. */
enum { HRI_ARGUMENTS_ALIGNMENT = 64 };

/* The bytes of both, a multiple of the alignment. */
size_t hri_arguments_bytes(const hr_kernel *kernel,
                           const hri_kernel_argument *arguments);
/* Fill the struct at `to`. views[i] is the address of element `start` 0 of view
 * i. */
void hri_arguments_fill(const hr_kernel *kernel,
                        const hri_kernel_argument *arguments,
                        void *const *views, unsigned char *to);

#endif
