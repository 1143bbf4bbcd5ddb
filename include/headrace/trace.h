/* SPDX-License-Identifier: MIT */
/** @file trace.h
 *  Timelines: what each queue of each accelerator did when, in a file that
 *  Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open.
 *
 *  A program needs no new line: the variable HEADRACE_TRACE names the file for
 *  every context that is created. In the name, %p stands for the number of the
 *  process. */
#ifndef HEADRACE_TRACE_H
#define HEADRACE_TRACE_H

#include <headrace/context.h>
#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Write to a file what the context does from now on, in the Trace Event
 *  Format. NULL: end that, and complete the file.
 *
 *  A process of the timeline is an accelerator, and a thread is one of its
 *  queues, called by what it is for. Its bars are kernels and products
 *  ("compute"), copies from and to host memory ("up", "down"), to other
 *  accelerators ("peer") and inside one ("inside"), and waits for other queues
 *  ("wait"). They have bytes, rates and operations. Process 0 is the host:
 *  calls of the program ("call"), with what was predicted, products on the
 *  caller's thread, and threads that copy from and to pinned memory ("pack").
 *  Whatever the library measures is "measure", and part of no call.
 *
 *  Times are those of the accelerators' own clocks. Those of two queues are
 *  brought together once, to some tens of microseconds.
 *
 *  Contexts of one process that name the same path write to one file. A child
 *  of fork() adds its process number to a name without %p. The file gets its
 *  name when it is complete: all contexts have ended, or the process exits.
 *  Until then an earlier file of that name stays, and after a failure, too. In
 *  a folder that must not be written, an earlier file is overwritten instead,
 *  from the start on. A later context that names the same path goes on in the
 *  complete file.
 *
 * @owner   path may go after the call.
 * @errors  HR_ERROR_INVALID for a context that is NULL and an empty path.
 *          HR_ERROR_IO when the file cannot be written, or was not before.
 *          HR_ERROR_OUT_OF_MEMORY. There is no trace then. HR_ERROR_LOST when
 *          an accelerator still has not answered since an earlier product:
 *          whatever trace there is goes on.
 * @threads One at a time, when no other call on the context is running. It
 *          waits for all work. */
HR_API HR_NODISCARD hr_status hr_context_trace(hr_context *context,
                                               const char *path);

#ifdef __cplusplus
}
#endif
#endif
