/* SPDX-License-Identifier: MIT */
/* What the files of the OpenCL backend share.
 *
 * A unit is a device of the machine as OpenCL lists it; there is one for the
 * life of the process. Its context is shared by all that is opened on it, so
 * that virtual accelerators of one unit are peers. */
#ifndef HRI_BACKENDS_OPENCL_OPENCL_H
#define HRI_BACKENDS_OPENCL_OPENCL_H

#include <pthread.h>

#include "backends/opencl/api.h"
#include "hal/backend.h"

extern const hri_backend hri_backend_opencl;

/* How the gemm kernel is laid out, see gemm.c. */
typedef enum hri_cl_layout {
    HRI_CL_CPU,   /* one item works on a whole tile, in wide vectors */
    HRI_CL_GPU,   /* many items, each with many sums */
    HRI_CL_SMALL, /* the same for devices that cannot take that */
    HRI_CL_LAYOUTS
} hri_cl_layout;

enum { HRI_CL_TYPES = HR_I8 + 1 }; /* of A and B; by hr_type */

typedef struct hri_cl_unit {
    cl_device_id id;
    char path[32];        /* "opencl:0:1" */
    hri_cl_layout layout; /* constant; tests set it between queues */
    pthread_mutex_t lock; /* guards what follows, but context while open */
    uint32_t opens;
    cl_context context; /* NULL when opens is 0 */
    cl_program programs[HRI_CL_LAYOUTS][HRI_CL_TYPES]; /* built when needed */
} hri_cl_unit;

typedef struct hri_cl_pinned hri_cl_pinned;

typedef struct hri_cl_device {
    hri_device base;
    hri_cl_unit *unit;
    cl_command_queue setup; /* maps pinned memory, makes buffers real */
    hri_cl_pinned *pinned;  /* list of what allocate_pinned gave */
} hri_cl_device;

typedef struct hri_cl_buffer {
    hri_buffer base;
    cl_mem memory;
} hri_cl_buffer;

/* The gemm kernel for one type, as one queue has it: setting arguments of one
 * kernel object in two threads is not allowed. */
typedef struct hri_cl_kernel {
    cl_kernel kernel; /* NULL: not made yet */
    size_t items[2];  /* of a work-group: columns, rows */
    size_t tile[2];   /* of C that a work-group makes: columns, rows */
} hri_cl_kernel;

typedef struct hri_cl_queue {
    hri_queue base;
    cl_command_queue queue;
    hri_sticky_error *sticky;
    hri_cl_kernel kernels[HRI_CL_TYPES];
} hri_cl_queue;

/* unit.c: the units of this machine, found once. HR_ERROR_UNAVAILABLE when
 * there is no OpenCL. Any thread. */
hr_status hri_cl_unit_count(uint32_t *count);
/* index < count. */
hri_cl_unit *hri_cl_unit_at(uint32_t index);
/* Hold the unit's context, made for the first who asks; each acquire wants a
 * release. */
hr_status hri_cl_unit_acquire(hri_cl_unit *unit);
void hri_cl_unit_release(hri_cl_unit *unit);
/* What the device tells of itself; false when it does not, or has more. */
bool hri_cl_unit_ask(const hri_cl_unit *unit, cl_uint what, size_t bytes,
                     void *answer);
/* A number of bytes, threads, ...; 0 when the device does not tell. */
uint64_t hri_cl_unit_number(const hri_cl_unit *unit, cl_uint what);
/* A text; "" when it is false. */
bool hri_cl_unit_text(const hri_cl_unit *unit, cl_uint what, char *text,
                      size_t bytes);
/* Whether the device's list of extensions has this name. */
bool hri_cl_unit_extension(const hri_cl_unit *unit, const char *name);

/* queue.c: slots of the device. */
hr_status hri_cl_event_create(hri_device *device, hri_event **event);
hr_status hri_cl_queue_create(hri_device *device, bool urgent,
                              hri_queue **queue);

/* gemm.c: the layout of our kernel that suits a device, and the unit's programs
 * of it. */
hri_cl_layout hri_cl_layout_for(const hri_cl_unit *unit);
void hri_cl_programs_release(hri_cl_unit *unit);
bool hri_cl_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute);
/* Enqueue a product; the error is not kept in the queue. */
hr_status hri_cl_gemm(hri_cl_queue *queue, const hri_gemm *gemm);

/* launch.c: compile; HR_ERROR_BUILD with the first error of the log. */
hr_status hri_cl_program_build(const hri_cl_unit *unit, const char *source,
                               const char *options, cl_program *program);
/* The slots for kernels of the caller's; the error of a launch is not kept in
 * the queue. */
hr_status hri_cl_module_build(hri_device *device, const hr_kernel *kernel,
                              const char *source, hri_image *image,
                              hri_module **module);
hr_status hri_cl_module_load(hri_device *device, const hr_kernel *kernel,
                             const hri_image *image, hri_module **module);
void hri_cl_module_unload(hri_module *module);
hr_status hri_cl_launch(const hri_cl_queue *queue, const hri_launch *launch);
/* What they are compiled with. */
const char *hri_cl_module_options(const hri_cl_unit *unit);

/* clblast.c: CLBlast, where HEADRACE_CLBLAST asks for it. Whether it is asked
 * for and is there, and what multiplies, in words. Any thread. */
bool hri_cl_clblast_wanted(void);
const char *hri_cl_arithmetic_name(void);
/* Whether it is wanted and can do this product, whose m, n and k are positive
 * and whose alpha is not 0, without memory of its own. */
bool hri_cl_clblast_suits(hri_cl_queue *queue, const hri_gemm *gemm);
/* Enqueue a product that suits. */
hr_status hri_cl_clblast_gemm(hri_cl_queue *queue, const hri_gemm *gemm);
/* Forget the programs that it keeps for contexts: one of them ends. */
void hri_cl_clblast_forget(void);

static inline cl_mem hri_cl_memory(const hri_buffer *buffer)
{
    return ((const hri_cl_buffer *)buffer)->memory;
}

#endif
