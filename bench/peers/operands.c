/* SPDX-License-Identifier: MIT */
/* The peer's matrices, and multiplying them. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cublasxt.h"

enum { MOST_THREADS = 64, ALIGNMENT = 4096 };

static bool is_complex(xt_type type)
{
    return type == XT_C32 || type == XT_C64;
}

static bool is_double(xt_type type)
{
    return type == XT_F64 || type == XT_C64;
}

static size_t element_bytes(xt_type type)
{
    return (is_double(type) ? 8u : 4u) * (is_complex(type) ? 2u : 1u);
}

bool xt_find_type(const char *name, xt_type *type)
{
    static const char *const names[] = {"f32", "f64", "c32", "c64"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) == 0) {
            *type = (xt_type)i;
            return true;
        }
    }
    return false;
}

/* ---- filling */

typedef struct fill {
    pthread_t thread;
    bool wide; /* doubles */
    void *numbers;
    size_t begin, end;
    uint64_t seed;
} fill;

/* Uniform in [-1, 1). The generator is Steele, Lea and Flood's SplitMix64. */
static void *fill_part(void *data)
{
    const fill *f = data;
    uint64_t state = f->seed + f->begin;
    for (size_t i = f->begin; i < f->end; i++) {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        if (f->wide) {
            ((double *)f->numbers)[i] = (double)(int64_t)z * 0x1p-63;
        } else {
            ((float *)f->numbers)[i] = (float)(z >> 40) * 0x1p-23f - 1.0f;
        }
    }
    return NULL;
}

static void fill_random(void *numbers, size_t count, bool wide, uint64_t seed)
{
    fill parts[MOST_THREADS];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = cpus < 1              ? 1
                     : cpus > MOST_THREADS ? MOST_THREADS
                                           : (size_t)cpus;
    bool started[MOST_THREADS];
    for (size_t i = 0; i < threads; i++) {
        parts[i] =
            (fill){.wide = wide,
                   .numbers = numbers,
                   .begin = count / threads * i,
                   .end = i + 1 == threads ? count : count / threads * (i + 1),
                   .seed = seed << 56};
        started[i] =
            pthread_create(&parts[i].thread, NULL, fill_part, &parts[i]) == 0;
        if (!started[i]) {
            fill_part(&parts[i]);
        }
    }
    for (size_t i = 0; i < threads; i++) {
        if (started[i]) {
            pthread_join(parts[i].thread, NULL);
        }
    }
}

/* ---- operands */

static void *allocate(size_t elements, const xt_problem *p)
{
    size_t bytes = elements * element_bytes(p->type);
    void *memory = NULL;
    if (p->pinned) {
        return xt_allocate_pinned(bytes);
    }
    return posix_memalign(&memory, ALIGNMENT, bytes) == 0 ? memory : NULL;
}

static void release(void *memory, bool pinned)
{
    if (pinned) {
        xt_free_pinned(memory);
    } else {
        free(memory);
    }
}

void xt_operands_free(xt_operands *operands)
{
    release(operands->a, operands->problem.pinned);
    release(operands->b, operands->problem.pinned);
    release(operands->c, operands->problem.pinned);
    memset(operands, 0, sizeof *operands);
}

static bool is_same(const xt_problem *one, const xt_problem *other)
{
    return one->m == other->m && one->n == other->n && one->k == other->k &&
           one->type == other->type && one->pinned == other->pinned;
}

static void fill_operand(void *memory, size_t elements, const xt_problem *p,
                         uint64_t seed)
{
    fill_random(memory, elements * (is_complex(p->type) ? 2 : 1),
                is_double(p->type), seed);
}

bool xt_operands_prepare(xt_operands *operands, const xt_problem *p)
{
    if (operands->a == NULL || !is_same(&operands->problem, p)) {
        xt_operands_free(operands);
        operands->problem = *p;
        operands->a = allocate(p->m * p->k, p);
        operands->b = allocate(p->k * p->n, p);
        operands->c = allocate(p->m * p->n, p);
        if (operands->a == NULL || operands->b == NULL || operands->c == NULL) {
            xt_operands_free(operands);
            return false;
        }
        fill_operand(operands->a, p->m * p->k, p, 1);
        fill_operand(operands->b, p->k * p->n, p, 2);
    }
    /* A result of before is not to be taken for this one's. */
    fill_operand(operands->c, p->m * p->n, p, 3);
    return true;
}

/* Number `part` (0: real) of an element. */
static double number(const void *matrix, size_t at, xt_type type, int part)
{
    size_t i = is_complex(type) ? 2 * at + (size_t)part : at;
    if (part == 1 && !is_complex(type)) {
        return 0.0;
    }
    return is_double(type) ? ((const double *)matrix)[i]
                           : (double)((const float *)matrix)[i];
}

/* |C - exact| <= gamma |A||B|, generously: this finds blunders. */
static bool check_element(const xt_operands *o, size_t row, size_t col)
{
    const xt_problem *p = &o->problem;
    const xt_type t = p->type;
    double re = 0.0, im = 0.0, size = 0.0;
    for (size_t l = 0; l < p->k; l++) {
        size_t i = row * p->k + l, j = l * p->n + col;
        double ar = number(o->a, i, t, 0), ai = number(o->a, i, t, 1);
        double br = number(o->b, j, t, 0), bi = number(o->b, j, t, 1);
        re += ar * br - ai * bi;
        im += ar * bi + ai * br;
        size += hypot(ar, ai) * hypot(br, bi);
    }
    double eps = is_double(t) ? 0x1p-52 : 0x1p-23;
    double bound = (double)(2 * p->k + 4) * eps * size;
    size_t at = row * p->n + col;
    return fabs(number(o->c, at, t, 0) - re) <= bound &&
           fabs(number(o->c, at, t, 1) - im) <= bound;
}

bool xt_operands_check(const xt_operands *operands, const xt_problem *p,
                       int samples)
{
    for (int i = 0; i < samples; i++) {
        double at = samples > 1 ? (double)i / (samples - 1) : 0.0;
        if (!check_element(operands, (size_t)(at * (double)(p->m - 1)),
                           (size_t)((1.0 - at) * (double)(p->n - 1)))) {
            return false;
        }
    }
    return true;
}

/* Row-major C = A B is column-major C' = B' A'. */
int xt_multiply(xt_handle handle, const xt_problem *p, const xt_operands *o)
{
    static const double one[] = {1.0, 0.0}, zero[] = {0.0, 0.0};
    static const float onef[] = {1.0f, 0.0f}, zerof[] = {0.0f, 0.0f};
    int (*const gemm[])(xt_handle, int, int, size_t, size_t, size_t,
                        const void *, const void *, size_t, const void *,
                        size_t, const void *, void *, size_t) = {
        [XT_F32] = xt.cublasXtSgemm,
        [XT_F64] = xt.cublasXtDgemm,
        [XT_C32] = xt.cublasXtCgemm,
        [XT_C64] = xt.cublasXtZgemm,
    };
    bool wide = is_double(p->type);
    return gemm[p->type](handle, 0, 0, p->n, p->m, p->k,
                         wide ? (const void *)one : onef, o->b, p->n, o->a,
                         p->k, wide ? (const void *)zero : zerof, o->c, p->n);
}
