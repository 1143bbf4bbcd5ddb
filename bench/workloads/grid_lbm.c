/* SPDX-License-Identifier: MIT */
/* The lattice of bench/kernels/lbm.c in plain C, with the same operations
 * in the same order. It is compiled without fused operations. */
#include "bench/workloads/grid_lbm.h"

const int bench_lbm_moves[BENCH_DIRECTIONS][3] = {
    {0, 0, 0},   {0, 0, 1},  {0, 0, -1},  {0, 1, 0},   {0, -1, 0},
    {1, 0, 0},   {-1, 0, 0}, {0, 1, 1},   {0, -1, -1}, {1, 0, 1},
    {-1, 0, -1}, {1, 1, 0},  {-1, -1, 0}, {0, -1, 1},  {0, 1, -1},
    {-1, 0, 1},  {1, 0, -1}, {-1, 1, 0},  {1, -1, 0}};

float bench_lbm_weight(int direction)
{
    return direction == 0  ? 1.0f / 3.0f
           : direction < 7 ? 1.0f / 18.0f
                           : 1.0f / 36.0f;
}

/* The sum of the terms of a vector along a direction, columns first. */
static float along(int q, const float *velocity)
{
    float sum = 0.0f;
    for (int d = 2; d >= 0; d--) {
        if (bench_lbm_moves[q][d] != 0) {
            sum += (float)bench_lbm_moves[q][d] * velocity[d];
        }
    }
    return sum;
}

static void relax(float *f, float rate)
{
    float rho = 0.0f, u[3] = {0.0f, 0.0f, 0.0f};
    for (int q = 0; q < BENCH_DIRECTIONS; q++) {
        rho += f[q];
        for (int d = 0; d < 3; d++) {
            if (bench_lbm_moves[q][d] != 0) {
                u[d] += (float)bench_lbm_moves[q][d] * f[q];
            }
        }
    }
    const float share = 1.0f / rho;
    for (int d = 0; d < 3; d++) {
        u[d] *= share;
    }
    const float base = 1.0f - 1.5f * (u[2] * u[2] + u[1] * u[1] + u[0] * u[0]);
    for (int q = 0; q < BENCH_DIRECTIONS; q++) {
        const float x = along(q, u);
        const float still =
            bench_lbm_weight(q) * rho * (base + x * (3.0f + 4.5f * x));
        f[q] += rate * (still - f[q]);
    }
}

static int64_t wrap(int64_t index, int64_t n)
{
    return index < 0 ? index + n : index >= n ? index - n : index;
}

void bench_lbm_step(hr_extent cells, float rate, const float *now, float *next)
{
    const int64_t *n = cells.size;
    for (int64_t at = 0; at < hr_extent_count(cells); at++) {
        const int64_t cell[] = {at / n[2] / n[1], at / n[2] % n[1], at % n[2]};
        float f[BENCH_DIRECTIONS];
        for (int q = 0; q < BENCH_DIRECTIONS; q++) {
            const int64_t z = wrap(cell[0] - bench_lbm_moves[q][0], n[0]);
            const int64_t y = wrap(cell[1] - bench_lbm_moves[q][1], n[1]);
            const int64_t x = wrap(cell[2] - bench_lbm_moves[q][2], n[2]);
            f[q] = now[((z * n[1] + y) * BENCH_DIRECTIONS + q) * n[2] + x];
        }
        relax(f, rate);
        for (int q = 0; q < BENCH_DIRECTIONS; q++) {
            next[((cell[0] * n[1] + cell[1]) * BENCH_DIRECTIONS + q) * n[2] +
                 cell[2]] = f[q];
        }
    }
}
