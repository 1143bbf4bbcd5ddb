/* SPDX-License-Identifier: MIT */
/** @file headrace.h
 *  All of Headrace. Read status.h, matrix.h, context.h, gemm.h, npy.h, in that
 *  order, as its manual. */
#ifndef HEADRACE_H
#define HEADRACE_H

#include <headrace/context.h>
#include <headrace/gemm.h>
#include <headrace/matrix.h>
#include <headrace/npy.h>
#include <headrace/status.h>

#endif
