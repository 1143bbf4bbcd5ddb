/* SPDX-License-Identifier: MIT */
/* The nine kernels of bench/kernels/run.c as plain loops. The build compiles
 * this file as openmp.c. */
#include <math.h>
#include <string.h>

#include "bench/peers/openmp.h"

enum { STEPS = 200 };

static void saxpy(bench_loops_data *d)
{
    const float a = 2.0f, *x = d->x;
    float *y = d->out;
#pragma omp parallel for
    for (int64_t i = 0; i < d->count; i++) {
        y[i] += a * x[i];
    }
}

static void stencil(bench_loops_data *d)
{
    const int64_t n = d->count;
    const float *x = d->x;
    float *y = d->out;
#pragma omp parallel for
    for (int64_t i = 1; i < n - 1; i++) {
        y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
    }
    y[0] = x[0];
    y[n - 1] = x[n - 1];
}

static void transpose(bench_loops_data *d)
{
    const int64_t n = d->edge;
    const float *from = d->x;
    float *to = d->out;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            to[i * n + j] = from[j * n + i];
        }
    }
}

static void row_sums(bench_loops_data *d)
{
    const int64_t n = d->edge;
    const float *x = d->x;
    float *sums = d->out;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < n; j++) {
            sum += x[i * n + j];
        }
        sums[i] = sum;
    }
}

static void mandelbrot(bench_loops_data *d)
{
    const int64_t n = d->pixels;
    const float step = 3.0f / (float)n;
    int *out = d->out;
#pragma omp parallel for
    for (int64_t row = 0; row < n; row++) {
#pragma omp simd
        for (int64_t col = 0; col < n; col++) {
            const float re = -2.2f + step * (float)col;
            const float im = 1.5f - step * (float)row;
            float x = 0.0f, y = 0.0f;
            int inside = 0;
            for (int k = 0; k < STEPS; k++) {
                const float next = x * x - y * y + re;
                y = 2.0f * x * y + im;
                x = next;
                inside += x * x + y * y <= 4.0f;
            }
            out[row * n + col] = inside;
        }
    }
}

static void nbody(bench_loops_data *d)
{
    const int64_t n = d->edge;
    const bench_body *b = d->x;
    bench_force *forces = d->out;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float fx = 0.0f, fy = 0.0f, fz = 0.0f;
#pragma omp simd reduction(+ : fx, fy, fz)
        for (int64_t j = 0; j < n; j++) {
            const float dx = b[j].x - b[i].x, dy = b[j].y - b[i].y,
                        dz = b[j].z - b[i].z;
            const float r2 = dx * dx + dy * dy + dz * dz + BENCH_SOFTENING;
            const float f = b[j].mass / (r2 * sqrtf(r2));
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
        forces[i] = (bench_force){fx, fy, fz};
    }
}

static void blur(bench_loops_data *d)
{
    static const float weights[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    const int64_t n = d->edge, m = n + 2 * BENCH_REACH;
    const float *from = d->x;
    float *to = d->out;
#pragma omp parallel for
    for (int64_t row = 0; row < n; row++) {
        for (int64_t col = 0; col < n; col++) {
            float sum = 0.0f;
            for (int i = 0; i < 5; i++) {
                for (int j = 0; j < 5; j++) {
                    sum +=
                        weights[i] * weights[j] * from[(row + i) * m + col + j];
                }
            }
            to[row * n + col] = sum;
        }
    }
}

static void gather(bench_loops_data *d)
{
    const float *x = d->x;
    float *y = d->out;
#pragma omp parallel for
    for (int64_t i = 0; i < d->count; i++) {
        y[i] = x[d->keys[i]];
    }
}

static void histogram(bench_loops_data *d)
{
    const int64_t n = d->edge * d->edge;
    int *bins = d->out;
#pragma omp parallel for reduction(+ : bins[:BENCH_BINS])
    for (int64_t i = 0; i < n; i++) {
        bins[d->bytes[i]]++;
    }
}

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)

bench_loop GLUE(bench_run_loop_, FORM)(const char *name)
{
    static const struct {
        const char *name;
        bench_loop loop;
    } loops[] = {{"run_saxpy", saxpy},
                 {"run_stencil", stencil},
                 {"run_transpose", transpose},
                 {"run_row_sums", row_sums},
                 {"run_mandelbrot", mandelbrot},
                 {"run_nbody", nbody},
                 {"run_blur", blur},
                 {"run_gather", gather},
                 {"run_histogram", histogram}};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(loops[i].name, name) == 0) {
            return loops[i].loop;
        }
    }
    return NULL;
}
