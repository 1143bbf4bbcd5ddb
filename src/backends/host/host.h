/* SPDX-License-Identifier: MIT */
/* The host as a device: what its files share.
 *
 * Buffers are ordinary memory. A queue is a list of commands. Some threads, and
 * those that wait for a queue, run the commands. A queue that waits for a
 * record of another one, or in the line, keeps no thread meanwhile. So any
 * number of queues needs only so many threads. A queue numbers its records and
 * knows which of them it has passed. An event is its last record: a queue and a
 * number. A command that waits for an event copies the record. So it does not
 * matter when the event is recorded again or destroyed.
 *
 * One product runs at a time, with all CPUs. A copy beside it would take one of
 * them away, and all threads of the product would wait for that one: on 16 CPUs
 * a product of 2048 x 2048 x 1024 had 364 GFLOP/s beside one thread that
 * copied, and 1086 alone. So copies of 256 KiB and more take turns with
 * products (the line below). A thread that waits for a queue runs its commands
 * itself if no other one has begun and its stack has 1 MiB. That saves two
 * wakeups. */
#ifndef HRI_BACKENDS_HOST_HOST_H
#define HRI_BACKENDS_HOST_HOST_H

#include "base/pool.h"
#include "hal/backend.h"

typedef struct host_device {
    hri_device base; /* first: see hri_device */
    hri_pool *pool;  /* the process's pool: all devices share the CPUs */
} host_device;

static inline hri_pool *hri_host_pool(const hri_device *device)
{
    return ((const host_device *)device)->pool;
}

typedef struct host_buffer {
    hri_buffer base; /* first: see hri_buffer */
    unsigned char *data;
} host_buffer;

typedef struct host_launch host_launch;

/* The address of a place in host memory or in a buffer of the host. */
static inline unsigned char *hri_host_address(const hri_place *place)
{
    unsigned char *start = place->buffer != NULL
                               ? ((host_buffer *)place->buffer)->data
                               : place->host;
    return start != NULL ? start + place->offset : NULL;
}

/* threads.c: the line of those that want to multiply, or to copy much. In the
 * whole process one at a time has its turn, with all threads, in the order in
 * which they came. */
typedef struct host_place {
    struct host_place *next; /* behind it */
    /* The one in front of it calls this: the turn has come. Others hold
     * locks. */
    void (*serve)(struct host_place *place);
} host_place;

/* Get into the line. True when the turn has come already. False when serve will
 * be called. */
bool hri_host_line_enter(host_place *place);
/* Get into the line, and block until the turn has come. */
void hri_host_line_wait(void);
/* The turn is over. */
void hri_host_line_leave(void);
/* From now on fork() waits in the line, too. It is called once. */
void hri_host_line_watch_forks(void);

/* copy.c: copy or transpose now. For a long copy the caller has its turn, and
 * the pool's threads share it where each gets a chunk. */
bool hri_host_copy_is_long(const hri_copy *copy);
void hri_host_copy(hri_pool *pool, const hri_copy *copy);
void hri_host_pack(const hri_pack *pack);

/* launch.c: a kernel with its arguments, which a pool will run once. */
hr_status hri_host_launch_create(hri_pool *pool, const hri_launch *launch,
                                 host_launch **out);
void hri_host_launch_run(host_launch *launch);
void hri_host_launch_destroy(host_launch *launch);

/* module.c: functions of hri_device_ops for kernels of text. */
hr_status hri_host_module_build(hri_device *device, const hr_kernel *kernel,
                                const char *source, hri_image *image,
                                hri_module **module);
hr_status hri_host_module_load(hri_device *device, const hr_kernel *kernel,
                               const hri_image *image, hri_module **module);
void hri_host_module_unload(hri_module *module);

/* threads.c: something that threads of the backend are to run. It is in at most
 * one list. */
typedef struct host_runnable {
    struct host_runnable *next;
    void (*run)(struct host_runnable *r);
} host_runnable;

/* Let a thread run it, before all others if `first`. */
void hri_host_run_soon(host_runnable *r, bool first);
/* Take it, to run it on this thread. False: no thread is to run it, or one has
 * begun to. */
bool hri_host_take_runnable(host_runnable *r);
/* Put it behind the others, which waited for longer. False: there are none. */
bool hri_host_give_way(host_runnable *r);
/* Count one more queue, or one less. There are as many threads as queues, but
 * at most two for each thread of hri_thread_count or eight. They end with the
 * last queue. HR_ERROR_OUT_OF_MEMORY when the system refuses the first
 * thread. */
hr_status hri_host_threads_hold(void);
void hri_host_threads_drop(void);

/* queue.c: functions of hri_device_ops. */
hr_status hri_host_queue_create(hri_device *device, bool urgent,
                                hri_queue **queue);
hr_status hri_host_event_create(hri_device *device, bool timed,
                                hri_event **event);

#endif
