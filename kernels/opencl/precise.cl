/* SPDX-License-Identifier: MIT */
/* The words of precise_steps.inc in OpenCL C. src/backends/opencl/precise.c
 * puts this text first, then precise.inc, precise_steps.inc and
 * precise_dots.cl. */
#if WIDE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef uchar u8;

#define FN                static inline __attribute__((always_inline))
#define CONSTANT          __constant
#define FORM              __constant precise_form *form
#define FORM_POINTER      (void)0
#define LEADING_ZEROS(x)  clz(x)
#define HIGH(x, y)        mul_hi(x, y)
#define KERNEL            __kernel
#define GLOBAL            __global
#define LOCAL             __local
#define GROUP(d)          get_group_id(d)
#define ITEM              get_local_id(0)
#define BARRIER           barrier(CLK_LOCAL_MEM_FENCE)
#define UNROLL
#define UNROLL_ALL
#define ADD(place, x)     atomic_add(place, x)
#define MAXIMUM(place, x) atomic_max(place, x)
#define FMA(x, y, z)      fma(x, y, z)

#define RESIDUE(m, lines, width, line, at)                                     \
    (((i64)(m) * (lines) + (line)) * (width) + (at))
