/* SPDX-License-Identifier: MIT */
/* Nine small kernels, each for one call of hr_run (bench/workloads/run.c). */
#include <headrace/dialect.h>

/* y := a x + y. */
HR_KERNEL3(run_saxpy, (VALUE, float, 0, a), (IN, float, 1, x),
           (INOUT, float, 1, y))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) += a * HR_AT1(x, i);
    }
}

/* An average of three neighbours. The two ends stay as they are. */
HR_KERNEL2(run_stencil, (IN, float, 1, x), (OUT, float, 1, y))
{
    HR_EACH1(i)
    {
        if (i > 0 && i + 1 < HR_EXTENT(x, 0)) {
            HR_AT1(y, i) = 0.25f * HR_AT1(x, i - 1) + 0.5f * HR_AT1(x, i) +
                           0.25f * HR_AT1(x, i + 1);
        } else {
            HR_AT1(y, i) = HR_AT1(x, i);
        }
    }
}

enum { EDGE = 16 };

/* Through memory of the tile, 16 x 16 elements, so that neighbours read and
 * write neighbours. */
HR_KERNEL2(run_transpose, (IN, float, 2, from), (OUT, float, 2, to))
{
    HR_TILE_STATIC(float, block, [EDGE][EDGE + 1]);
    HR_ITEMS2(row, col)
    {
        const hr_index r = col - HR_LOCAL1 + HR_LOCAL0;
        const hr_index c = row - HR_LOCAL0 + HR_LOCAL1;
        if (HR_INSIDE2(from, r, c)) {
            block[HR_LOCAL0][HR_LOCAL1] = HR_AT2(from, r, c);
        }
    }
    HR_BARRIER;
    HR_EACH2(row, col)
    {
        HR_AT2(to, row, col) = block[HR_LOCAL1][HR_LOCAL0];
    }
}

enum { PARTS = 32 };

/* An item sums a row. It keeps 32 sums, which the host adds to as vectors. */
HR_KERNEL2(run_row_sums, (IN, float, 2, x), (OUT, float, 1, sums))
{
    HR_EACH1(row)
    {
        const hr_index cols = HR_EXTENT(x, 1), whole = cols - cols % PARTS;
        float part[PARTS], sum = 0.0f;
        for (int p = 0; p < PARTS; p++) {
            part[p] = 0.0f;
        }
        for (hr_index k = 0; k < whole; k += PARTS) {
            for (int p = 0; p < PARTS; p++) {
                part[p] += HR_AT2(x, row, k + p);
            }
        }
        for (hr_index k = whole; k < cols; k++) {
            sum += HR_AT2(x, row, k);
        }
        for (int p = 0; p < PARTS; p++) {
            sum += part[p];
        }
        HR_AT1(sums, row) = sum;
    }
}

enum { STEPS = 200 };

typedef struct window {
    float left, top, width; /* of the picture, in the complex plane */
} window;

/* How many steps z stays near 0. The loop over steps is outside, so that the
 * host takes several points at once. */
HR_KERNEL2(run_mandelbrot, (VALUE, window, 0, w), (OUT, int, 2, out))
{
    HR_PRIVATE(float, x);
    HR_PRIVATE(float, y);
    HR_PRIVATE(int, inside);
    const float step = w.width / (float)HR_EXTENT(out, 1);
    HR_EACH2(row, col)
    {
        HR_P(x) = HR_P(y) = 0.0f;
        HR_P(inside) = 0;
    }
    for (int k = 0; k < STEPS; k++) {
        HR_EACH2(row, col)
        {
            const float re = w.left + step * (float)col;
            const float im = w.top - step * (float)row;
            const float x = HR_P(x), y = HR_P(y);
            const float next = x * x - y * y + re;
            const float other = 2.0f * x * y + im;
            HR_P(x) = next;
            HR_P(y) = other;
            HR_P(inside) += next * next + other * other <= 4.0f;
        }
    }
    HR_EACH2(row, col)
    {
        HR_AT2(out, row, col) = HR_P(inside);
    }
}

typedef struct body {
    float x, y, z, mass;
} body;

typedef struct force {
    float x, y, z;
} force;

/* How all bodies attract each one. The loop over them is outside, so that the
 * host takes several i at once. */
HR_KERNEL3(run_nbody, (VALUE, float, 0, softening), (IN, body, 1, bodies),
           (OUT, force, 1, forces))
{
    HR_PRIVATE(float, x);
    HR_PRIVATE(float, y);
    HR_PRIVATE(float, z);
    HR_PRIVATE(float, fx);
    HR_PRIVATE(float, fy);
    HR_PRIVATE(float, fz);
    HR_EACH1(i)
    {
        HR_P(x) = HR_AT1(bodies, i).x;
        HR_P(y) = HR_AT1(bodies, i).y;
        HR_P(z) = HR_AT1(bodies, i).z;
        HR_P(fx) = HR_P(fy) = HR_P(fz) = 0.0f;
    }
    for (hr_index j = 0; j < HR_EXTENT(bodies, 0); j++) {
        const body b = HR_AT1(bodies, j);
        HR_EACH1(i)
        {
            const float dx = b.x - HR_P(x), dy = b.y - HR_P(y),
                        dz = b.z - HR_P(z);
            const float r2 = dx * dx + dy * dy + dz * dz + softening;
            const float f = b.mass / (r2 * sqrt(r2));
            HR_P(fx) += f * dx;
            HR_P(fy) += f * dy;
            HR_P(fz) += f * dz;
        }
    }
    HR_EACH1(i)
    {
        HR_AT1(forces, i).x = HR_P(fx);
        HR_AT1(forces, i).y = HR_P(fy);
        HR_AT1(forces, i).z = HR_P(fz);
    }
}

HR_CONSTANT float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

/* A weighted average over 5 x 5 pixels. `from` has a margin of 2 pixels all
 * around, so no pixel asks where it is. */
HR_KERNEL2(run_blur, (IN, float, 2, from), (OUT, float, 2, to))
{
    HR_EACH2(row, col)
    {
        float sum = 0.0f;
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 5; j++) {
                sum += weights[i] * weights[j] * HR_AT2(from, row + i, col + j);
            }
        }
        HR_AT2(to, row, col) = sum;
    }
}

/* Elements in the order of the indices. */
HR_KERNEL3(run_gather, (IN, float, 1, x), (IN, int, 1, indices),
           (OUT, float, 1, y))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) = HR_AT1(x, HR_AT1(indices, i));
    }
}

enum { BINS = 256, RUN = 16 };

/* How often each byte is there. Any number of items may share a row: each reads
 * 16 bytes that follow each other, then goes on behind the others. A tile
 * counts in memory of its own, neighbours in turns in two places: an addition
 * need not wait for the last one. */
HR_KERNEL2(run_histogram, (IN, unsigned char, 2, x), (INOUT, int, 1, bins))
{
    HR_TILE_STATIC(int, own, [2][BINS]);
    HR_ITEMS2(row, item)
    {
        hr_index b = HR_LOCAL0 * HR_TILE(1) + HR_LOCAL1;
        for (; b < BINS; b += HR_TILE(0) * HR_TILE(1)) {
            own[0][b] = own[1][b] = 0;
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(row, item)
    {
        const hr_index end =
            row < HR_END(0) && item < HR_END(1) ? HR_EXTENT(x, 1) : 0;
        hr_index k = item * RUN;
        for (; k + RUN <= end; k += HR_DOMAIN(1) * RUN) {
            for (int q = 0; q < RUN; q++) {
                HR_ATOMIC_ADD(own[q & 1][HR_AT2(x, row, k + q)], 1);
            }
        }
        for (int q = 0; q < RUN && k + q < end; q++) {
            HR_ATOMIC_ADD(own[0][HR_AT2(x, row, k + q)], 1);
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(row, item)
    {
        hr_index b = HR_LOCAL0 * HR_TILE(1) + HR_LOCAL1;
        for (; b < BINS; b += HR_TILE(0) * HR_TILE(1)) {
            HR_ATOMIC_ADD(HR_AT1(bins, b), own[0][b] + own[1][b]);
        }
    }
}
