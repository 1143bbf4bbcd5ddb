/* SPDX-License-Identifier: MIT */
/** @file headrace.h
 *  All of Headrace. Read status.h, matrix.h, context.h, gemm.h, filter.h,
 *  npy.h, and for kernels of your own queue.h, array.h, view.h, kernel.h,
 *  split.h, half.h, check.h, in that order, as its manual; dialect.h is the
 *  language of kernels.
 */
#ifndef HEADRACE_H
#define HEADRACE_H

#include <headrace/array.h>
#include <headrace/check.h>
#include <headrace/context.h>
#include <headrace/filter.h>
#include <headrace/gemm.h>
#include <headrace/grid.h>
#include <headrace/half.h>
#include <headrace/kernel.h>
#include <headrace/matrix.h>
#include <headrace/npy.h>
#include <headrace/queue.h>
#include <headrace/split.h>
#include <headrace/status.h>
#include <headrace/view.h>

#endif
