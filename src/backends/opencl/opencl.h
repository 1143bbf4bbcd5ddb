/* SPDX-License-Identifier: MIT */
/* What the files of the OpenCL backend share.
 *
 * A unit is a device of the machine as OpenCL lists it. It exists for the life
 * of the process. Everything opened on it shares its context, so virtual
 * accelerators of one unit are peers. */
#ifndef HRI_BACKENDS_OPENCL_OPENCL_H
#define HRI_BACKENDS_OPENCL_OPENCL_H

#include <pthread.h>

#include "backends/opencl/api.h"
#include "hal/backend.h"

/* The layout of the gemm kernel: see gemm.c. */
typedef enum hri_cl_layout {
    HRI_CL_CPU,   /* one item computes a whole tile, in wide vectors */
    HRI_CL_GPU,   /* many items, each with many sums */
    HRI_CL_SMALL, /* the same for devices that cannot take HRI_CL_GPU */
    HRI_CL_TUNED, /* for NVIDIA's GPUs, where measuring finds it the fastest */
    HRI_CL_TUNED_2,
    HRI_CL_LAYOUTS
} hri_cl_layout;

enum { HRI_CL_TYPES = HR_I8 + 1 }; /* types of A and B; index: hr_type */

typedef struct hri_cl_pinned hri_cl_pinned;

typedef struct hri_cl_unit {
    struct hri_cl_unit *next; /* of the list `sub_devices` */
    cl_device_id id;
    char path[32];        /* "opencl:0:1" */
    hri_cl_layout layout; /* constant; tests set it between queues */
    bool nvidia;          /* has NVIDIA's compiler */
    _Atomic uint32_t variants[HRI_CL_TYPES]; /* of gemm that are in use; 0:
                                                that of the layout */
    pthread_mutex_t lock; /* guards what follows; context is constant while
                             open */
    struct hri_cl_unit *sub_devices; /* list of those made of it so far */
    uint32_t opens;
    cl_context context;    /* NULL when opens is 0 */
    hri_cl_pinned *pinned; /* list of what allocate_pinned gave */
    /* built on first use; the last index: whether it is reproducible */
    cl_program programs[HRI_CL_LAYOUTS][HRI_CL_TYPES][2];
    cl_program precise[HRI_CL_TYPES]; /* likewise */
} hri_cl_unit;

typedef struct hri_cl_device {
    hri_device base;
    hri_cl_unit *unit;
    cl_command_queue setup; /* maps pinned memory, makes buffers real */
} hri_cl_device;

typedef struct hri_cl_buffer {
    hri_buffer base;
    cl_mem memory;
} hri_cl_buffer;

/* The gemm kernel for one type and one queue. Each queue has its own, since two
 * threads must not set arguments of one kernel object at the same time. */
typedef struct hri_cl_kernel {
    cl_kernel kernel; /* NULL: not made yet */
    hri_cl_layout layout;
    size_t items[2]; /* of a work-group: columns, rows */
    size_t tile[2];  /* of C that a work-group makes: columns, rows */
} hri_cl_kernel;

/* A queue's kernels for a type. */
typedef enum hri_cl_purpose {
    HRI_CL_PLAIN,
    HRI_CL_ORDERED, /* reproducible */
    HRI_CL_FASTEST, /* of the variant in use, for products that suit it */
    HRI_CL_PURPOSES
} hri_cl_purpose;

/* The kernels of a precise product. */
typedef enum hri_cl_step {
    HRI_CL_FIND_LINES,
    HRI_CL_CONVERT_LINES,
    HRI_CL_MULTIPLY_RESIDUES,
    HRI_CL_MAKE_NUMBERS,
    HRI_CL_STEPS
} hri_cl_step;

typedef struct hri_cl_queue {
    hri_queue base;
    cl_command_queue queue;
    hri_sticky_error *sticky;
    hri_cl_kernel kernels[HRI_CL_TYPES][HRI_CL_PURPOSES];
    cl_kernel precise[HRI_CL_TYPES][HRI_CL_STEPS]; /* NULL: not made yet */
} hri_cl_queue;

/* api.c: ask for a property of the device. False when the device does not tell
 * it, or it has more bytes. */
bool hri_cl_unit_ask(const hri_cl_unit *unit, cl_uint what, size_t bytes,
                     void *answer);
/* A property that is a number. 0 when the device does not tell. */
uint64_t hri_cl_unit_number(const hri_cl_unit *unit, cl_uint what);
/* A property that is a text. On false it is "". */
bool hri_cl_unit_text(const hri_cl_unit *unit, cl_uint what, char *text,
                      size_t bytes);
/* Whether floats are IEEE 754's: with subnormal numbers, infinities and NaN,
 * and rounded to nearest. OpenCL asks this of doubles anyway. */
bool hri_cl_unit_is_ieee(const hri_cl_unit *unit);
/* Whether division and square roots of floats can be correctly rounded. */
bool hri_cl_unit_divides(const hri_cl_unit *unit);
/* Whether this is PoCL. It keeps machine code, of each kernel for one size of
 * work-groups. To give it to others, it compiles all kernels once more, for any
 * size: minutes for those of sorts. */
bool hri_cl_unit_is_pocl(const hri_cl_unit *unit);
/* Whether the device's list of extensions has this name. */
bool hri_cl_unit_extension(const hri_cl_unit *unit, const char *name);

/* unit.c: count the units of this machine, once. HR_ERROR_UNAVAILABLE when
 * there is no OpenCL. Any thread. */
hr_status hri_cl_unit_count(uint32_t *count);
/* The unit `index`, which is below the count. */
hri_cl_unit *hri_cl_unit_at(uint32_t index);
/* The sub-device of the unit that has `threads` CPUs, if the device is the
 * host's CPUs and has more of them. Else, and where the driver cannot divide
 * it, it is the unit itself. Sub-devices exist for the life of the process. */
hri_cl_unit *hri_cl_unit_within(hri_cl_unit *unit, uint32_t threads);
/* Hold the unit's context. The first hold makes it. Each acquire needs a
 * release. */
hr_status hri_cl_unit_acquire(hri_cl_unit *unit);
void hri_cl_unit_release(hri_cl_unit *unit);

/* queue.c: functions of hri_device_ops. */
hr_status hri_cl_event_create(hri_device *device, bool timed,
                              hri_event **event);
hr_status hri_cl_queue_create(hri_device *device, bool urgent,
                              hri_queue **queue);

/* gemm.c: the layout of our kernel that suits a device, and the unit's programs
 * for it. */
hri_cl_layout hri_cl_layout_for(const hri_cl_unit *unit);
/* Whether the kernel has this layout for a type, and the device's compiler
 * takes it. */
bool hri_cl_has_layout(const hri_cl_unit *unit, hri_cl_layout layout,
                       hr_type type);
void hri_cl_programs_release(hri_cl_unit *unit);
bool hri_cl_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute);
/* The variants are the unit's layout and the tuned ones. */
uint32_t hri_cl_gemm_variants(hri_device *device, hr_type type,
                              hr_compute compute);
void hri_cl_choose_variant(hri_device *device, hr_type type, uint32_t variant);
/* Enqueue a product. The queue does not keep the error. */
hr_status hri_cl_gemm(hri_cl_queue *queue, const hri_gemm *gemm);

/* precise.c: enqueue packing and products of HR_COMPUTE_PRECISE. ordered
 * enqueues a reproducible product of the elements that a mask of bytes chooses:
 * see kernels/opencl/gemm.cl. */
typedef hr_status hri_cl_ordered_function(hri_cl_queue *queue,
                                          const hri_gemm *gemm,
                                          const hri_place *mask);
hr_status hri_cl_pack_precise(hri_cl_queue *queue, const hri_pack *pack);
hr_status hri_cl_gemm_precise(hri_cl_queue *queue, const hri_gemm *gemm,
                              hri_cl_ordered_function *ordered);
void hri_cl_precise_release(hri_cl_queue *queue);

/* launch.c: compile. HR_ERROR_BUILD with the first error of the log. kernel is
 * the caller's, for messages, or NULL. */
hr_status hri_cl_program_build(const hri_cl_unit *unit, const hr_kernel *kernel,
                               const char *source, const char *options,
                               cl_program *program);
/* Functions for the caller's kernels. The queue does not keep the error of a
 * launch. */
hr_status hri_cl_module_build(hri_device *device, const hr_kernel *kernel,
                              const char *source, hri_image *image,
                              hri_module **module);
hr_status hri_cl_module_load(hri_device *device, const hr_kernel *kernel,
                             const hri_image *image, hri_module **module);
void hri_cl_module_unload(hri_module *module);
hr_status hri_cl_launch(const hri_cl_queue *queue, const hri_launch *launch);
/* The compiler options of these kernels. */
const char *hri_cl_module_options(const hri_cl_unit *unit);

/* clblast.c: CLBlast, where HEADRACE_CLBLAST asks for it. The first function
 * is HR_ERROR_UNAVAILABLE, each time, where it asks for one that cannot be
 * used. The second tells whether it is asked for and is there, the third names
 * what multiplies. Any thread. */
hr_status hri_cl_clblast_load(void);
bool hri_cl_clblast_wanted(void);
const char *hri_cl_arithmetic_name(void);
/* Whether CLBlast is wanted and can do this product without memory of its own.
 * m, n and k are positive, and alpha is not 0. */
bool hri_cl_clblast_suits(hri_cl_queue *queue, const hri_gemm *gemm);
/* Enqueue a product that suits CLBlast. */
hr_status hri_cl_clblast_gemm(hri_cl_queue *queue, const hri_gemm *gemm);
/* Make CLBlast forget the programs that it keeps for contexts, because a
 * context ends. */
void hri_cl_clblast_forget(void);

static inline cl_mem hri_cl_memory(const hri_buffer *buffer)
{
    return ((const hri_cl_buffer *)buffer)->memory;
}

#endif
