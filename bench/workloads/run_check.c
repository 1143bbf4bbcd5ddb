/* SPDX-License-Identifier: MIT */
#include "bench/workloads/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 256 }; /* for bodies and bins, where n is small */

/* ---- data */

/* A number of 32 bits from another [github.com/skeeto/hash-prospector]. */
static uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7FEB352DU;
    x ^= x >> 15;
    x *= 0x846CA68BU;
    return x ^ (x >> 16);
}

/* 12 bits from 0 to 1: sums and averages of a few of them are exact. */
static float fraction(uint32_t x)
{
    return (float)(mixed(x) >> 20) / 4096.0f;
}

static int64_t root(int64_t n)
{
    int64_t r = (int64_t)sqrt((double)n);
    while (r * r > n) {
        r--;
    }
    return r;
}

static int64_t x_count(const run_data *d)
{
    const int64_t wide = d->edge + 2 * BENCH_REACH;
    return wide * wide > d->n + MARGIN ? wide * wide : d->n + MARGIN;
}

static bool allocate(run_data *d)
{
    const size_t count = (size_t)d->n + MARGIN;
    d->x = bench_allocate(NULL, (size_t)x_count(d) * sizeof *d->x);
    d->bodies = (bench_body *)d->x;
    d->indices = bench_allocate(NULL, count * sizeof *d->indices);
    d->bytes = bench_allocate(NULL, count);
    d->out = bench_allocate(NULL, count * sizeof(float));
    d->expected = bench_allocate(NULL, count * sizeof(float));
    d->y = d->out;
    d->counts = d->out;
    d->forces = d->out;
    return d->x != NULL && d->indices != NULL && d->bytes != NULL &&
           d->out != NULL && d->expected != NULL;
}

bool run_data_make(run_data *d, int64_t n)
{
    d->n = n;
    d->edge = root(n);
    d->pixels = d->edge / 4 > 0 ? d->edge / 4 : 1;
    if (!allocate(d)) {
        run_data_free(d);
        return false;
    }
    for (int64_t i = 0; i < x_count(d); i++) {
        d->x[i] = fraction((uint32_t)i);
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t random = mixed((uint32_t)i);
        d->indices[i] = (int)(random * (uint64_t)n >> 32);
        d->bytes[i] = (unsigned char)(random >> 24);
    }
    return true;
}

void run_data_free(run_data *d)
{
    bench_release(NULL, d->x);
    bench_release(NULL, d->indices);
    bench_release(NULL, d->bytes);
    bench_release(NULL, d->out);
    bench_release(NULL, d->expected);
    *d = (run_data){.n = 0};
}

void run_data_prepare(const run_data *d, void *out, run_kind kind)
{
    float *y = out;
    memset(out, kind == RUN_COUNTS ? 0 : 0xFF, /* NaN, or -1 */
           ((size_t)d->n + MARGIN) * sizeof *y);
    for (int64_t i = 0; i < d->n && kind == RUN_UPDATED; i++) {
        y[i] = fraction((uint32_t)i ^ 0x80000000U);
    }
}

/* ---- results */

double run_element(const void *out, run_kind kind, int64_t index)
{
    return kind == RUN_PICTURE || kind == RUN_COUNTS
               ? (double)((const int *)out)[index]
               : (double)((const float *)out)[index];
}

/* The sum of the sizes of all forces on a body. */
static double pull(const run_data *d, int64_t index)
{
    const bench_body b = d->bodies[index];
    double sum = 0;
    for (int64_t j = 0; j < d->edge; j++) {
        const double x = (double)d->bodies[j].x - (double)b.x;
        const double y = (double)d->bodies[j].y - (double)b.y;
        const double z = (double)d->bodies[j].z - (double)b.z;
        const double r2 = x * x + y * y + z * z + (double)BENCH_SOFTENING;
        sum += (double)d->bodies[j].mass / r2;
    }
    return sum;
}

/* Whether a point of the picture has a neighbour with another number of steps:
 * rounding moves only such borders. */
static bool is_at_border(const run_data *d, int64_t index)
{
    const int *steps = d->expected;
    const int64_t n = d->pixels, row = index / n, col = index % n;
    bool border = false;
    for (int64_t r = row - 1; r <= row + 1; r++) {
        for (int64_t c = col - 1; c <= col + 1; c++) {
            border = border || (r >= 0 && r < n && c >= 0 && c < n &&
                                steps[r * n + c] != steps[index]);
        }
    }
    return border;
}

/* How far two right results may be apart. A sum of k numbers is off by k
 * roundings of their sizes at most [Higham2002], a force by 32 more. */
static double tolerance(const run_data *d, run_kind kind, int64_t index)
{
    const double edge = (double)d->edge, unit = 0x1p-24;
    switch (kind) {
    case RUN_SUMS:
        return 2 * edge * unit * run_element(d->expected, kind, index);
    case RUN_FORCES:
        return 2 * (edge + 32) * unit * pull(d, index / 3);
    case RUN_PICTURE:
        return is_at_border(d, index) ? RUN_STEPS : 0;
    default:
        return 0;
    }
}

int64_t run_data_differs(const run_data *d, run_kind kind, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double ours = run_element(d->out, kind, i);
        const double theirs = run_element(d->expected, kind, i);
        const double apart = fabs(ours - theirs);
        if (ours != theirs && !(apart <= tolerance(d, kind, i))) {
            return i;
        }
    }
    return -1;
}

double run_checksum(const run_data *d, run_kind kind, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += fabs(run_element(d->expected, kind, i)) * (double)(1 + i % 97);
    }
    return sum;
}
