/* SPDX-License-Identifier: MIT */
/** @file headrace.h
 *  All of Headrace. Read the headers in this order, as its manual: status.h,
 *  matrix.h, context.h, gemm.h, batch.h, filter.h and file.h. For kernels of
 *  your own, go on with run.h, queue.h, array.h, view.h, kernel.h, split.h,
 *  reduce.h, scan.h, sort.h, histogram.h, fill.h, random.h, transform.h,
 *  grid.h, profile.h, trace.h, half.h and check.h. dialect.h is the language of
 *  kernels. */
#ifndef HEADRACE_H
#define HEADRACE_H

#include <headrace/array.h>
#include <headrace/batch.h>
#include <headrace/check.h>
#include <headrace/context.h>
#include <headrace/file.h>
#include <headrace/fill.h>
#include <headrace/filter.h>
#include <headrace/gemm.h>
#include <headrace/grid.h>
#include <headrace/half.h>
#include <headrace/histogram.h>
#include <headrace/kernel.h>
#include <headrace/matrix.h>
#include <headrace/profile.h>
#include <headrace/queue.h>
#include <headrace/random.h>
#include <headrace/reduce.h>
#include <headrace/run.h>
#include <headrace/scan.h>
#include <headrace/sort.h>
#include <headrace/split.h>
#include <headrace/status.h>
#include <headrace/trace.h>
#include <headrace/transform.h>
#include <headrace/view.h>

#endif
