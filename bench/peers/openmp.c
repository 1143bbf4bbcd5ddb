/* SPDX-License-Identifier: MIT */
/* The build compiles this file once for each form of x86-64, FORM. */
#include "bench/peers/openmp.h"

#include <math.h>
#include <string.h>

/* A loop over x (and y) of either type: SUM += TERM or the like. */
#define REDUCE(name, start, clauses, step, finish)                             \
    static double name##_f32(const float *x, const float *y, int64_t n)        \
    {                                                                          \
        double r = start;                                                      \
        (void)y;                                                               \
        _Pragma(clauses) for (int64_t i = 0; i < n; i++)                       \
        {                                                                      \
            step;                                                              \
        }                                                                      \
        return finish;                                                         \
    }                                                                          \
    static double name##_f64(const double *x, const double *y, int64_t n)      \
    {                                                                          \
        double r = start;                                                      \
        (void)y;                                                               \
        _Pragma(clauses) for (int64_t i = 0; i < n; i++)                       \
        {                                                                      \
            step;                                                              \
        }                                                                      \
        return finish;                                                         \
    }                                                                          \
    static void name(bench_loops_data *d)                                      \
    {                                                                          \
        d->result = d->f64 ? name##_f64(d->x, d->y, d->count)                  \
                           : name##_f32(d->x, d->y, d->count);                 \
    }

REDUCE(sum, 0, "omp parallel for simd reduction(+ : r)", r += (double)x[i], r)
REDUCE(dot, 0, "omp parallel for simd reduction(+ : r)",
       r += (double)x[i] * (double)y[i], r)
REDUCE(norm, 0, "omp parallel for simd reduction(+ : r)",
       r += (double)x[i] * (double)x[i], sqrt(r))
REDUCE(most, -INFINITY, "omp parallel for simd reduction(max : r)",
       r = (double)x[i] > r ? (double)x[i] : r, r)

/* The least element of a part, and where it is. */
typedef struct least {
    double value;
    int64_t at;
} least;

#define FIRST(a, b)                                                            \
    ((b).value < (a).value || ((b).value == (a).value && (b).at < (a).at)      \
         ? (b)                                                                 \
         : (a))

/* Each thread finds the least element of blocks, and looks once more. */
static void argmin(bench_loops_data *d)
{
    enum { BLOCK = 4096 };
    const int64_t n = d->count;
    const float *x32 = d->x;
    const double *x64 = d->x;
    least all = {INFINITY, 0};
#pragma omp parallel
    {
        least own = {INFINITY, 0};
#pragma omp for
        for (int64_t b = 0; b < n; b += BLOCK) {
            const int64_t end = b + BLOCK < n ? b + BLOCK : n;
            double value = INFINITY;
            if (d->f64) {
#pragma omp simd reduction(min : value)
                for (int64_t i = b; i < end; i++) {
                    value = x64[i] < value ? x64[i] : value;
                }
            } else {
                float f = INFINITY;
#pragma omp simd reduction(min : f)
                for (int64_t i = b; i < end; i++) {
                    f = x32[i] < f ? x32[i] : f;
                }
                value = (double)f;
            }
            if (value < own.value) {
                own = (least){value, b};
            }
        }
#pragma omp critical
        all = FIRST(all, own);
    }
    while (all.at + 1 < n &&
           (d->f64 ? x64[all.at] : (double)x32[all.at]) != all.value) {
        all.at++;
    }
    d->result = (double)all.at;
}

static void fill(bench_loops_data *d)
{
    float *out = d->out;
    const int64_t n = d->f64 ? 2 * d->count : d->count;
#pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = 1.5f;
    }
}

static void transform(bench_loops_data *d)
{
    const int64_t n = d->count;
    if (d->f64) {
        const double *x = d->x, *y = d->y;
        double *out = d->out;
#pragma omp parallel for simd
        for (int64_t i = 0; i < n; i++) {
            out[i] = 2.0 * x[i] + y[i];
        }
    } else {
        const float *x = d->x, *y = d->y;
        float *out = d->out;
#pragma omp parallel for simd
        for (int64_t i = 0; i < n; i++) {
            out[i] = 2.0f * x[i] + y[i];
        }
    }
}

/* Blocks are summed, then scanned from where they start. */
static void scan(bench_loops_data *d)
{
    enum { PARTS = 1024 };
    static double before[PARTS + 1];
    const int64_t n = d->count, block = (n + PARTS - 1) / PARTS;
    const float *x32 = d->x;
    const double *x64 = d->x;
    float *out32 = d->out;
    double *out64 = d->out;
#pragma omp parallel
    {
#pragma omp for
        for (int64_t p = 0; p < PARTS; p++) {
            const int64_t end = (p + 1) * block < n ? (p + 1) * block : n;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t i = p * block; i < end; i++) {
                sum += d->f64 ? x64[i] : (double)x32[i];
            }
            before[p + 1] = sum;
        }
#pragma omp single
        for (int64_t p = 0; p < PARTS; p++) {
            before[p + 1] += before[p];
        }
#pragma omp for
        for (int64_t p = 0; p < PARTS; p++) {
            const int64_t end = (p + 1) * block < n ? (p + 1) * block : n;
            double sum = before[p];
            for (int64_t i = p * block; i < end; i++) {
                if (d->f64) {
                    out64[i] = sum += x64[i];
                } else {
                    out32[i] = (float)(sum += (double)x32[i]);
                }
            }
        }
    }
}

/* Each thread counts into bins of its own. */
static void histogram(bench_loops_data *d)
{
    const int64_t n = d->count;
    const float *x32 = d->x;
    const double *x64 = d->x;
    memset(d->bins, 0, BENCH_BINS * sizeof *d->bins);
#pragma omp parallel
    {
        int64_t own[BENCH_BINS] = {0};
#pragma omp for
        for (int64_t i = 0; i < n; i++) {
            const double x = d->f64 ? x64[i] : (double)x32[i];
            if (x >= 0.0 && x <= 1.0) {
                const int bin = (int)(x * BENCH_BINS);
                own[bin < BENCH_BINS ? bin : BENCH_BINS - 1]++;
            }
        }
#pragma omp critical
        for (int i = 0; i < BENCH_BINS; i++) {
            d->bins[i] += own[i];
        }
    }
}

/* Philox4x32-10 [Salmon2011], four words of each counter. */
static void philox(uint64_t counter, uint32_t out[4])
{
    uint32_t k0 = 42, k1 = 0;
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = 0, c3 = 0;
    for (int r = 0; r < 10; r++) {
        const uint64_t a = (uint64_t)0xD2511F53U * c0;
        const uint64_t b = (uint64_t)0xCD9E8D57U * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void uniform(bench_loops_data *d)
{
    const int64_t n = d->count;
    float *out32 = d->out;
    double *out64 = d->out;
    const int width = d->f64 ? 2 : 4;
#pragma omp parallel for simd
    for (int64_t i = 0; i < n / width; i++) {
        uint32_t r[4];
        philox((uint64_t)i, r);
        if (d->f64) {
            for (int w = 0; w < 2; w++) {
                const uint64_t bits = (uint64_t)r[2 * w + 1] << 32 | r[2 * w];
                out64[2 * i + w] = (double)(bits >> 11) * 0x1p-53;
            }
        } else {
            for (int w = 0; w < 4; w++) {
                out32[4 * i + w] = (float)(r[w] >> 8) * 0x1p-24f;
            }
        }
    }
}

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)

bench_loop GLUE(bench_loop_, FORM)(const char *name)
{
    static const struct {
        const char *name;
        bench_loop loop;
    } loops[] = {{"sum", sum},
                 {"dot", dot},
                 {"norm", norm},
                 {"max", most},
                 {"argmin", argmin},
                 {"fill", fill},
                 {"transform", transform},
                 {"scan", scan},
                 {"histogram", histogram},
                 {"uniform", uniform}};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(loops[i].name, name) == 0) {
            return loops[i].loop;
        }
    }
    return NULL;
}
