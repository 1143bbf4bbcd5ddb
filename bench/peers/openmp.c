/* SPDX-License-Identifier: MIT */
/* The build compiles this file once for each form of x86-64, FORM. */
#include "bench/peers/openmp.h"

#include <math.h>
#include <stdlib.h>
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

/* Stable sorts. Chunks that fit into caches are sorted by merging. Then pairs
 * of sorted parts are merged, each merge by many threads: a piece of the result
 * finds by bisection where it begins in both parts. */
enum { FEW = 32, CHUNK = 8192, PIECE = 65536 };

static int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

#define KEY_OF(x)  (x)
#define PAIR_OF(x) ((x).key)

#define SORT(name, element, OF)                                                \
    /* y[k ..] := where x[i .. middle - 1] and x[j .. end - 1] are merged */   \
    static void name##_merge(const element *x, int64_t i, int64_t middle,      \
                             int64_t j, int64_t end, element *y, int64_t k,    \
                             int64_t last)                                     \
    {                                                                          \
        for (; k < last; k++) {                                                \
            const bool left =                                                  \
                i < middle && (j >= end || OF(x[i]) <= OF(x[j]));              \
            y[k] = left ? x[i++] : x[j++];                                     \
        }                                                                      \
    }                                                                          \
    static void name##_insert(element *x, int64_t count)                       \
    {                                                                          \
        for (int64_t k = 1; k < count; k++) {                                  \
            const element own = x[k];                                          \
            int64_t at = k;                                                    \
            for (; at > 0 && OF(x[at - 1]) > OF(own); at--) {                  \
                x[at] = x[at - 1];                                             \
            }                                                                  \
            x[at] = own;                                                       \
        }                                                                      \
    }                                                                          \
    static void name##_chunk(element *x, element *y, int64_t n)                \
    {                                                                          \
        for (int64_t at = 0; at < n; at += FEW) {                              \
            name##_insert(x + at, smaller(n - at, FEW));                       \
        }                                                                      \
        /* an even number of turns */                                          \
        for (int64_t part = FEW; part < CHUNK; part *= 2) {                    \
            for (int64_t at = 0; at < n; at += 2 * part) {                     \
                const int64_t middle = smaller(at + part, n);                  \
                const int64_t end = smaller(middle + part, n);                 \
                name##_merge(x, at, middle, middle, end, y, at, end);          \
            }                                                                  \
            element *z = x;                                                    \
            x = y;                                                             \
            y = z;                                                             \
        }                                                                      \
    }                                                                          \
    static void name##_piece(const element *x, element *y, int64_t part,       \
                             int64_t n, int64_t first)                         \
    {                                                                          \
        const int64_t at = first / (2 * part) * (2 * part);                    \
        const int64_t middle = smaller(at + part, n);                          \
        const int64_t end = smaller(middle + part, n), before = first - at;    \
        int64_t low = before > end - middle ? before - (end - middle) : 0;     \
        int64_t high = smaller(before, middle - at);                           \
        while (low < high) {                                                   \
            const int64_t i = low + (high - low) / 2;                          \
            if (OF(x[at + i]) <= OF(x[middle + before - 1 - i])) {             \
                low = i + 1;                                                   \
            } else {                                                           \
                high = i;                                                      \
            }                                                                  \
        }                                                                      \
        name##_merge(x, at + low, middle, middle + before - low, end, y,       \
                     first, smaller(first + smaller(part, PIECE), end));       \
    }                                                                          \
    /* Returns the one of the two that has the result. */                      \
    static element *name(element *x, element *y, int64_t n)                    \
    {                                                                          \
        _Pragma("omp parallel for") for (int64_t at = 0; at < n; at += CHUNK)  \
        {                                                                      \
            name##_chunk(x + at, y + at, smaller(n - at, CHUNK));              \
        }                                                                      \
        for (int64_t part = CHUNK; part < n; part *= 2) {                      \
            const int64_t piece = smaller(part, PIECE);                        \
            _Pragma("omp parallel for") for (int64_t at = 0; at < n;           \
                                             at += piece)                      \
            {                                                                  \
                name##_piece(x, y, part, n, at);                               \
            }                                                                  \
            element *z = x;                                                    \
            x = y;                                                             \
            y = z;                                                             \
        }                                                                      \
        return x;                                                              \
    }

typedef struct pair_f32 {
    float key;
    int32_t value;
} pair_f32;

typedef struct pair_f64 {
    double key;
    int32_t value;
} pair_f64;

SORT(sort_f32, float, KEY_OF)
SORT(sort_f64, double, KEY_OF)
SORT(sort_pairs_f32, pair_f32, PAIR_OF)
SORT(sort_pairs_f64, pair_f64, PAIR_OF)

static void sort(bench_loops_data *d)
{
    const size_t bytes = (size_t)d->count * (d->f64 ? 8 : 4);
    void *more = malloc(bytes);
    if (more == NULL) {
        return;
    }
    memcpy(d->out, d->x, bytes);
    const void *sorted = d->f64 ? (void *)sort_f64(d->out, more, d->count)
                                : (void *)sort_f32(d->out, more, d->count);
    if (sorted == more) {
        memcpy(d->out, more, bytes);
    }
    free(more);
}

#define SORT_PAIRS(name, sorter, pair, number)                                 \
    static void name(const bench_loops_data *d, pair *x, pair *y)              \
    {                                                                          \
        const int64_t n = d->count;                                            \
        const number *keys = d->x;                                             \
        number *out = d->out;                                                  \
        _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++)            \
        {                                                                      \
            x[i] = (pair){keys[i], d->keys[i]};                                \
        }                                                                      \
        const pair *sorted = sorter(x, y, n);                                  \
        _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++)            \
        {                                                                      \
            out[i] = sorted[i].key;                                            \
            d->values[i] = sorted[i].value;                                    \
        }                                                                      \
    }
SORT_PAIRS(by_key_f32, sort_pairs_f32, pair_f32, float)
SORT_PAIRS(by_key_f64, sort_pairs_f64, pair_f64, double)

static void sort_by_key(bench_loops_data *d)
{
    const size_t bytes = (size_t)d->count * sizeof(pair_f64);
    void *x = malloc(bytes), *y = malloc(bytes);
    if (x != NULL && y != NULL && d->f64) {
        by_key_f64(d, x, y);
    } else if (x != NULL && y != NULL) {
        by_key_f32(d, x, y);
    }
    free(x);
    free(y);
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
static void philox(uint64_t seed, uint64_t stream, uint64_t counter,
                   uint32_t out[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
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
    const uint64_t seed = d->seed, stream = d->stream;
    const int width = d->f64 ? 2 : 4;
#pragma omp parallel for simd
    for (int64_t i = 0; i < n / width; i++) {
        uint32_t r[4];
        philox(seed, stream, (uint64_t)i, r);
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
                 {"scan", scan},
                 {"sort", sort},
                 {"sort_by_key", sort_by_key},
                 {"histogram", histogram},
                 {"uniform", uniform}};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(loops[i].name, name) == 0) {
            return loops[i].loop;
        }
    }
    return GLUE(bench_run_loop_, FORM)(name);
}
