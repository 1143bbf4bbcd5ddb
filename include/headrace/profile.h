/* SPDX-License-Identifier: MIT */
/** @file profile.h
 *  What launches of a kernel take: time, bytes and operations.
 *
 *      hr_profile profile = HR_PROFILE_INIT;
 *
 *      status = hr_profile_kernel(context, &heat, 4.0);
 *      ...                                   launches, and a wait for them
 *      status = hr_profile_read(context, &heat, 0, &profile);
 *      printf("%g GB/s\n", profile.bytes / profile.seconds * 1e-9); */
#ifndef HEADRACE_PROFILE_H
#define HEADRACE_PROFILE_H

#include <stdint.h>

#include <headrace/kernel.h>
#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the launches of a kernel did on one accelerator. */
typedef struct hr_profile {
    uint32_t size;     /**< sizeof(hr_profile) */
    uint32_t unused;   /**< room for later fields */
    uint64_t launches; /**< those that have ended without an error */
    uint64_t running;  /**< launches that have not ended, which count nowhere
                            else */
    double seconds;    /**< from the start of a launch to its end, by the
                            accelerator's clock; the sum of all */
    double points;     /**< of the domain */
    double bytes;      /**< of views: each element that a launch reads counts
                            once, and each that it writes */
    double flops;      /**< operations: points times what the caller told */
} hr_profile;

/** The initial value: its size is set, everything else is 0. */
#define HR_PROFILE_INIT                                                        \
    {                                                                          \
        sizeof(hr_profile), 0, 0, 0, 0, 0, 0, 0                                \
    }

/** Profile a kernel from now on: all its launches in this context, by
 *  hr_launch, hr_launch_split, hr_run and the phases of grids. A second call
 *  sets all sums to 0. Each launch is timed by two events. Steps of a grid run
 *  one by one then, not as a graph.
 *
 * @units    flops: floating-point operations of one point of the domain; 0: not
 *           known.
 * @owner    The profile stays until the context is destroyed.
 * @errors   HR_ERROR_INVALID for NULL, and for flops that are negative or not
 *           finite. HR_ERROR_OUT_OF_MEMORY.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_profile_kernel(hr_context *context,
                                                const hr_kernel *kernel,
                                                double flops);

/** What launches of a kernel did on an accelerator since hr_profile_kernel. It
 *  waits for nothing: launches that have not ended are in `running`.
 *
 * @owner    *profile is written only on success. Set its size first, as
 *           HR_PROFILE_INIT does.
 * @errors   HR_ERROR_INVALID for NULL, an index out of range, a kernel that is
 *           not profiled, and a size out of range.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_profile_read(hr_context *context,
                                              const hr_kernel *kernel,
                                              uint32_t accelerator,
                                              hr_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
