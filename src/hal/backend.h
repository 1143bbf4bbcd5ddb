/* SPDX-License-Identifier: MIT */
/* What backends have in common. */
#ifndef HRI_HAL_BACKEND_H
#define HRI_HAL_BACKEND_H

#include <pthread.h>

#include "hal/hal.h"

/* Slots of backends that have no modules, no graphs, and no turn. */
void hri_no_unload(hri_module *module);
hr_status hri_no_begin_graph(hri_queue *queue);
void hri_no_destroy_graph(hri_graph *graph);
hr_status hri_no_pack(hri_queue *queue, const hri_pack *pack);

/* HR_ERROR_INVALID when a backend has no device of that index; what probe says
 * when it has none at all. */
hr_status hri_check_index(const hri_backend *backend, uint32_t index);

/* "path: out of host memory" */
hr_status hri_no_memory(const char *path);

/* hri_event_ops.elapsed for those whose events have a time of their own. */
hr_status hri_elapsed(hr_status (*time_of)(hri_event *event, uint64_t *ns),
                      hri_event *from, hri_event *to, uint64_t *ns);

/* ---- sticky errors */

/* The first error of a queue. Events recorded there outlive the queue and
 * answer for it, so it is counted: by the queue and by its events. */
typedef struct hri_sticky_error {
    _Atomic uint32_t users;
    pthread_mutex_t lock; /* guards the error */
    hri_error error;
} hri_sticky_error;

hr_status hri_sticky_create(const char *path, hri_sticky_error **sticky);
/* One more user, and one less. Both accept NULL. */
void hri_sticky_hold(hri_sticky_error *sticky);
void hri_sticky_drop(hri_sticky_error *sticky);
/* Keep status and this thread's sentence unless there is an error; forwards
 * status. */
hr_status hri_sticky_keep(hri_sticky_error *sticky, hr_status status);
/* Raise the error that was kept; accepts NULL, which is HR_OK. */
hr_status hri_sticky_raise(hri_sticky_error *sticky);

/* ---- copies */

/* The same bytes as fewer and longer rows: slices that follow each other like
 * rows are rows, and rows without gaps are one. A box of height 1 has depth 1,
 * and its pitches are not to be looked at. */
hri_copy hri_copy_flatten(const hri_copy *copy);

/* Copy between two boxes in host memory, on the calling thread. */
void hri_copy_rows(const hri_copy *copy);

/* The commands of a driver for copies. They return its errors, of which 0 is
 * none. */
typedef struct hri_copy_commands {
    /* Whether one command takes a box of height 2 or more whose rows do not
     * overlap and whose slices are whole numbers of rows. */
    bool (*takes)(const void *queue, const hri_copy *box);
    int32_t (*row)(void *queue, const hri_copy *row);
    int32_t (*box)(void *queue, const hri_copy *box);
} hri_copy_commands;

/* Enqueue a copy that has elements, in the fewest commands: one, else one for
 * each slice, else one for each row. */
int32_t hri_copy_enqueue(const hri_copy_commands *commands, void *queue,
                         const hri_copy *copy);

static inline bool hri_copy_is_empty(const hri_copy *copy)
{
    return copy->width == 0 || copy->height == 0 || copy->depth == 0;
}

/* ---- products */

/* A factor in the type that products are summed in. */
typedef union hri_factor {
    float f[2];
    double d[2];
    uint32_t u[2]; /* integers are modulo 2^32 */
} hri_factor;

hri_factor hri_factor_of(hr_type type, hr_scalar x);

/* Whether a product, with m and n positive, only scales C: A and B are not
 * read, and may be nowhere. */
bool hri_gemm_only_scales(const hri_gemm *gemm);
/* Such a product as kernels like it: k is 0, and A and B are somewhere. */
hri_gemm hri_gemm_scaling(const hri_gemm *gemm);

/* What kernels/opencl/gemm.cl and kernels/cuda/gemm.cu know as flags. */
int32_t hri_gemm_flags(const hri_gemm *gemm);

/* HR_ERROR_UNSUPPORTED unless the queue's device offers the product. */
hr_status hri_gemm_check_offered(const hri_queue *queue, const hri_gemm *gemm);

/* ---- kernels */

/* HR_ERROR_BUILD with the line of a compiler's log, which may be NULL, that
 * first speaks of an error. */
hr_status hri_build_failed(const char *path, const char *reason,
                           const char *log, const char *source);
/* Copy a line of such a log. NVIDIA's OpenCL knows nothing of #line, and tells
 * the line of the whole source, "<kernel>:812:5: error: ...", for which the
 * copy has the file and line that the source says by #line. */
void hri_log_line(const char *from, const char *source, char *to, size_t bytes);

/* What a kernel's own function for the host expects: a struct of its arguments,
 * and memory of the tile behind it. */
enum { HRI_ARGUMENTS_ALIGNMENT = 64 };

/* The bytes of both, a multiple of the alignment. */
size_t hri_arguments_bytes(const hr_kernel *kernel,
                           const hri_kernel_argument *arguments);
/* Fill the struct at `to`; views has where element `start` 0 of each view is.
 */
void hri_arguments_fill(const hr_kernel *kernel,
                        const hri_kernel_argument *arguments,
                        void *const *views, unsigned char *to);

#endif
