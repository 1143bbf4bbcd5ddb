/* SPDX-License-Identifier: MIT */
/* Plain C loops with OpenMP, as a user would write them, compiled for the
 * processor that runs them. */
#ifndef BENCH_OPENMP_H
#define BENCH_OPENMP_H

#include <stdbool.h>
#include <stdint.h>

/* What the calls of one run read and write. Elements are of `f64` or else of
 * f32, keys are 32-bit integers. */
typedef struct bench_loops_data {
    int64_t count;
    int64_t edge;   /* rows and columns of squares, and bodies */
    int64_t pixels; /* rows and columns of a picture */
    bool f64;
    const void *x, *y; /* count elements; for the blur, a margin more */
    void *out;         /* count elements */
    const int32_t *keys;
    int32_t *values;            /* count elements: keys in the order of x */
    const unsigned char *bytes; /* count */
    int64_t *bins; /* BENCH_BINS of them, for elements of x from 0 to 1 */
    uint64_t seed, stream; /* of random numbers */
    double result;         /* of a reduction */
} bench_loops_data;

enum { BENCH_BINS = 256, BENCH_REACH = 2 /* of the 5x5 blur */ };

/* What n-body forces are made of. */
typedef struct bench_body {
    float x, y, z, mass;
} bench_body;

typedef struct bench_force {
    float x, y, z;
} bench_force;

#define BENCH_SOFTENING 1e-3f

/* Seconds of rest before a loop, and before what is measured beside it. GNU's
 * threads look for work 300,000 times before they sleep. That takes 16 ms where
 * a pause takes 140 cycles. */
#define BENCH_LOOP_REST 0.05

typedef void (*bench_loop)(bench_loops_data *data);

/* Loops compiled for any processor, and for those of x86-64 with AVX2 and FMA
 * or AVX-512: of calls, and of kernels (openmp_run.c). */
bench_loop bench_loop_plain(const char *name);
bench_loop bench_loop_avx2(const char *name);
bench_loop bench_loop_avx512(const char *name);
bench_loop bench_run_loop_plain(const char *name);
bench_loop bench_run_loop_avx2(const char *name);
bench_loop bench_run_loop_avx512(const char *name);

/* The loop that does what a call or kernel of this name does, in the form for
 * this processor. NULL: there is none. */
static inline bench_loop bench_loop_find(const char *name)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? bench_loop_avx512(name)
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? bench_loop_avx2(name)
               : bench_loop_plain(name);
#else
    return bench_loop_plain(name);
#endif
}

#endif
