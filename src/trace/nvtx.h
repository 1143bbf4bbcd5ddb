/* SPDX-License-Identifier: MIT */
/* Ranges of NVTX 3, in which profilers such as Nsight Systems show what a
 * thread does. The profiler is a library that the variable
 * NVTX_INJECTION64_PATH names. It is loaded with the first range. Without one,
 * or where it cannot be loaded or refuses, there are no ranges. */
#ifndef HRI_TRACE_NVTX_H
#define HRI_TRACE_NVTX_H

/* The calling thread begins something, and ends what it began last. Calls are
 * paired on every path. The first one may load the profiler, and so change
 * hr_last_error(). Any thread. */
void hri_range_begin(const char *name);
void hri_range_end(void);

#endif
