/* SPDX-License-Identifier: MIT */
/** @file context.h
 *  Contexts: what the library found on this machine, and what it chose of it.
 *
 *  An accelerator has a path: "host", or "opencl:0:1" (platform 0, device 1). A
 *  list of accelerators is paths with commas between them. A path without all
 *  of its numbers names everything below it ("opencl"). "2xopencl:0:0" or
 *  "4xhost" means that many virtual accelerators on one device, each with
 *  memory of its own. Plain "host" works in place on the caller's memory.
 *
 *  These environment variables count here; an empty one counts as not set:
 *
 *  - HEADRACE_ACCELERATORS, a list;
 *
 *  - HEADRACE_MEMORY_LIMIT;
 *
 *  - HEADRACE_THREADS, how many threads work on the host, 1 to 1024
 *    (hr_thread_count);
 *
 *  - HEADRACE_CHECK, 1 or 0 (check.h);
 *
 *  - HEADRACE_TRACE, the file of a timeline (trace.h). */
#ifndef HEADRACE_CONTEXT_H
#define HEADRACE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The accelerators that hr_context_create opened, and what they share. */
typedef struct hr_context hr_context;

/** Receives one line of what the library does, without a line end.
 * @threads Called from any of the library's threads, one call at a time. */
typedef void (*hr_log_function)(void *data, const char *line);

/** Options of hr_context_create; zero is the default of each. */
typedef struct hr_context_options {
    uint32_t size;            /**< sizeof(hr_context_options) */
    const char *accelerators; /**< list; NULL: HEADRACE_ACCELERATORS, else every
                                   accelerator that is not emulated */
    uint64_t memory_limit;    /**< bytes, for each accelerator; 0:
                                   HEADRACE_MEMORY_LIMIT, else nine tenths of
                                   what is free, of host memory half. Plain
                                   "host" holds nothing */
    hr_log_function log;      /**< NULL: no log */
    void *log_data;           /**< handed to log */
    bool may_be_empty;        /**< it is no error when none of "all" opens: the
                                   context then only describes the machine */
    bool reproducible;        /**< the same call gives the same bits on any
                                   accelerators: docs/several-gpus.md */
    uint8_t unused[2];        /**< room for later fields */
    uint32_t threads;         /**< how many threads work on the host, 1 to 1024;
                                   0: HEADRACE_THREADS, else the CPUs that the
                                   process may use (hr_thread_count) */
} hr_context_options;

/** Options with their size set and every default. */
#define HR_CONTEXT_OPTIONS_INIT                                                \
    {                                                                          \
        sizeof(hr_context_options), NULL, 0, NULL, NULL, false, false, {0}, 0  \
    }

/** What is known of one accelerator. */
typedef struct hr_accelerator_info {
    uint32_t size;        /**< sizeof(hr_accelerator_info), set by the caller */
    char path[48];        /**< "host", "host#2" (virtual), "opencl:0:1" */
    char name[128];       /**< the device's name */
    char arithmetic[128]; /**< what multiplies there: library and version */
    uint64_t memory_bytes;  /**< the device's memory */
    uint64_t memory_limit;  /**< what Headrace may use of it; 0 if not chosen */
    uint32_t compute_units; /**< of the host: the threads that work there, in
                                 this context if chosen */
    bool emulated;    /**< a CPU behind a GPU's interface: only on request */
    bool in_place;    /**< multiplies in the caller's memory, copies nothing */
    bool chosen;      /**< part of this context */
    char reason[160]; /**< if not chosen: why, in words */
    char compiler[128]; /**< of the host: the C compiler that compiles kernels
                             of text, or why there is none; else "" */
    uint8_t unused;     /**< room for later fields */
} hr_accelerator_info;

/** The initial value: its size is set, everything else is 0. */
#define HR_ACCELERATOR_INFO_INIT                                               \
    {                                                                          \
        sizeof(hr_accelerator_info), "", "", "", 0, 0, 0, false, false, false, \
            "", "", 0                                                          \
    }

/** Look for accelerators, open those chosen and get ready to work on them.
 *
 * @units   memory_limit in bytes.
 * @owner   *context is the caller's, to be given to hr_context_destroy; written
 *          only on success. options may be NULL and is not kept. log_data must
 *          outlive the context.
 * @errors  HR_ERROR_INVALID for a malformed or empty list or limit, a
 *          HEADRACE_CHECK that is neither 1 nor 0, or too many threads.
 *          HR_ERROR_UNAVAILABLE when a named accelerator is not there,
 *          or when there is none. It is also returned when the list names the
 *          host and HEADRACE_CBLAS is no usable library, or OpenCL devices and
 *          HEADRACE_CLBLAST is none.
 *          HR_ERROR_LOST when a kernel's fault has ended CUDA in this process,
 *          and the list names a GPU by its number, or names nothing else.
 *          Other lists leave such GPUs out. HR_ERROR_OUT_OF_MEMORY;
 *          HR_ERROR_BACKEND.
 * @threads Any thread. The first call may load vendor libraries. While it does,
 *          it may replace `environ` by another array with a variable that
 *          OpenBLAS reads. The new array stays, without the variable. */
HR_API HR_NODISCARD hr_status
hr_context_create(const hr_context_options *options, hr_context **context);

/** The default context of this process, made by the first call with no options.
 *  A child of fork() gets one of its own.
 *
 * @owner   *context is the library's and stays until the process ends:
 *          hr_context_destroy leaves it alone. Written only on success.
 * @errors  HR_ERROR_INVALID for NULL; those of hr_context_create. After one the
 *          next call tries again.
 * @threads As hr_context_create. */
HR_API HR_NODISCARD hr_status hr_context_default(hr_context **context);

/** Close the accelerators and free everything. NULL is accepted. Waits for the
 *  work of queues that were not destroyed before. Such a queue can only be
 *  destroyed then. When an accelerator has not let go of a product after ten
 *  seconds, the context stays in memory until the process ends.
 * @threads Any thread, when no other call on the context is running. */
HR_API void hr_context_destroy(hr_context *context);

/** How many accelerators the context works on. At least 1, unless it was made
 *  with may_be_empty.
 * @threads Any thread. */
HR_API uint32_t hr_accelerator_count(const hr_context *context);

/** How many threads do the context's work on the host at once: the caller's
 *  among them, and with NULL those of a context that asks for no number. That
 *  is HEADRACE_THREADS, if it is a number from 1 to 1024, else the number of
 *  CPUs. These are what the calling thread's affinity allows, and the CPU quota
 *  of the process's control groups (versions 1 and 2), rounded up.
 *
 *  The number bounds the library's loops, kernels on the host, verification,
 *  filters and grids; the threads of OpenBLAS, BLIS and MKL in Headrace's
 *  products; and OpenCL devices that are the host's CPUs, where their driver
 *  can divide them. Of those that copy to an accelerator through page-locked
 *  memory, each direction has half the number divided by the accelerators, and
 *  at least one. Threads that issue work and wait for it come beside them, some
 *  for each accelerator.
 *
 *  Contexts of one process share threads. Each uses at most its own number, and
 *  their loops take turns. docs/contracts/threads.md has the details.
 * @threads Any thread, while nobody changes the environment. */
HR_API uint32_t hr_thread_count(const hr_context *context);

/** Describe accelerator index, 0 <= index < hr_accelerator_count.
 *
 * @owner   *info is the caller's; its size field must be set.
 * @errors  HR_ERROR_INVALID for an index or size out of range.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_accelerator_describe(
    const hr_context *context, uint32_t index, hr_accelerator_info *info);

/** Walk over every accelerator found on the machine, chosen or not. The walk
 *  also covers every backend without accelerators, and every backend that was
 *  not asked because the list names none of its devices. info->reason then
 *  gives the reason.
 *
 * @owner   *info is the caller's; its size field must be set.
 * @errors  HR_ERROR_INVALID when index is past the last entry.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_machine_describe(const hr_context *context,
                                                  uint32_t index,
                                                  hr_accelerator_info *info);

/** How many entries hr_machine_describe has.
 * @threads Any thread. */
HR_API uint32_t hr_machine_count(const hr_context *context);

/** Whether the library made the calling thread, or computes on it. A BLAS
 *  replacement calls this to avoid recursion: Headrace's own threads, and small
 *  products, call the host's BLAS, and those calls must not come back to
 *  Headrace.
 * @threads Any thread. */
HR_API bool hr_thread_is_own(void);

/** Wait until accelerators that products have left behind are done with the
 *  memory of those products. A product leaves accelerators behind that are late
 *  or do not answer, and may when it is cancelled. It then returns, but what it
 *  left may still read A and B, and end copies to C. So the memory of operands
 *  is the caller's again when this call returns HR_OK after the product. If no
 *  product left anything, it does so at once, without waiting for other work.
 *
 * @units   at most so many seconds; 0 only asks, INFINITY waits for as long as
 *          it takes.
 * @errors  HR_ERROR_INVALID when context is NULL, or seconds is below 0 or not
 *          a number. HR_ERROR_LOST when an accelerator is not done, with its
 *          name.
 * @threads Any thread; where something was left, it waits for other work on the
 *          context. */
HR_API HR_NODISCARD hr_status hr_context_settle(hr_context *context,
                                                double seconds);

/** Allocate host memory that accelerators copy from and to at full speed
 *  (page-locked). The memory is ordinary if the context has no accelerator for
 *  which that makes a difference. Its content is not specified. Page-locking
 *  takes about as long as a product of such matrices, so keep the memory. The
 *  whole of it is resident and never swapped.
 *
 * @units   bytes; 0 gives NULL. The start is aligned to 4096 bytes.
 * @owner   *memory is the caller's, to be given to hr_free_pinned with the same
 *          context. Destroying the context frees what is left. Written only on
 *          success. It is at full speed for every accelerator of the process
 *          and of the same kind (with OpenCL, of the same device), also of
 *          other contexts.
 * @errors  HR_ERROR_INVALID when context or memory is NULL;
 *          HR_ERROR_OUT_OF_MEMORY; HR_ERROR_BACKEND.
 * @threads Any thread; waits for other work on the context. */
HR_API HR_NODISCARD hr_status hr_allocate_pinned(hr_context *context,
                                                 size_t bytes, void **memory);

/** Free memory of hr_allocate_pinned, when no call works on it. NULL is
 *  accepted. Memory that is not of this context stays as it is.
 * @threads Any thread; waits for other work on the context. */
HR_API void hr_free_pinned(hr_context *context, void *memory);

/** Rates of one accelerator, as measured by hr_accelerator_measure. */
typedef struct hr_accelerator_rates {
    uint32_t size;   /**< sizeof(hr_accelerator_rates) */
    double up, down; /**< host to accelerator and back, bytes/second;
                          0 where nothing is copied */
    double f32, f64; /**< multiplication, floating-point operations/second */
} hr_accelerator_rates;

/** The initial value: its size is set, everything else is 0. */
#define HR_ACCELERATOR_RATES_INIT                                              \
    {                                                                          \
        sizeof(hr_accelerator_rates), 0, 0, 0, 0                               \
    }

/** Measure the link and the arithmetic of accelerator index now. Plans use the
 *  result. It replaces what earlier processes found, and later processes use
 *  it. The library stores it in the file `rates` of the folder HEADRACE_CACHE,
 *  by default headrace in the user's cache folder.
 *
 * @owner   *rates is the caller's; its size field must be set.
 * @errors  HR_ERROR_INVALID for an index or size out of range; whatever the
 *          accelerator's backend reports.
 * @threads Any thread; waits for other work on the context. Takes about a
 *          second on most devices. */
HR_API HR_NODISCARD hr_status hr_accelerator_measure(
    hr_context *context, uint32_t index, hr_accelerator_rates *rates);

/** A part of the library that predicts how long its work takes, and plans by
 *  that. */
typedef enum hr_engine {
    HR_ENGINE_GEMM,   /**< products: hr_gemm, and the drop-in BLAS's */
    HR_ENGINE_FILTER, /**< hr_filter and hr_filter_views */
    HR_ENGINE_SPLIT,  /**< kernels of a band, by hr_launch_split */
    HR_ENGINE_GRID    /**< kernels of a band of a grid */
} hr_engine;

/** How good an engine's predictions have been. A run is within a factor f when
 *  it took at most f times as long as predicted, and at least 1/f of that. */
typedef struct hr_predictions {
    uint32_t size; /**< sizeof(hr_predictions) */
    uint64_t runs; /**< that were predicted and timed */
    uint64_t within_1_1, within_1_3, within_2; /**< of those */
    double predicted, seen; /**< the last run, in seconds; 0: there was none */
} hr_predictions;

/** The initial value: its size is set, everything else is 0. */
#define HR_PREDICTIONS_INIT                                                    \
    {                                                                          \
        sizeof(hr_predictions), 0, 0, 0, 0, 0, 0                               \
    }

/** How the predictions of an engine's work compare with its runs on this
 *  context's accelerators. Earlier contexts with the same accelerators count
 *  too. Each context stores its runs when it is destroyed, beside what
 *  hr_accelerator_measure stores. Of kernels, only those count that the library
 *  times for later plans. Of split launches, that is the last finished one on
 *  each accelerator; of grids, some steps.
 *
 * @owner   *predictions is the caller's; its size field must be set.
 * @errors  HR_ERROR_INVALID for an engine or size out of range.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_predictions_describe(
    hr_context *context, hr_engine engine, hr_predictions *predictions);

#ifdef __cplusplus
}
#endif
#endif
