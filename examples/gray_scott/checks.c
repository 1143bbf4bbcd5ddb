/* SPDX-License-Identifier: MIT */
#include "gray_scott/gray_scott.h"

#include <stdlib.h>
#include <string.h>

#include "support/example.h"

static int in_middle(int i, int cells)
{
    return i >= cells / 2 - 3 && i < cells / 2 + 3;
}

void gray_scott_start(float *u, float *v, int cells)
{
    for (int i = 0; i < cells * cells * cells; i++) {
        const int middle = in_middle(i / cells / cells, cells) &&
                           in_middle(i / cells % cells, cells) &&
                           in_middle(i % cells, cells);
        u[i] = middle ? 0.5f : 1.0f;
        v[i] = middle ? 0.25f : 0.0f;
    }
}

/* The six neighbours, where both ends meet. */
static float around(const float *x, int n, int i, int j, int k)
{
    const int up = (i + n - 1) % n, down = (i + 1) % n;
    const int north = (j + n - 1) % n, south = (j + 1) % n;
    const int west = (k + n - 1) % n, east = (k + 1) % n;
    return x[(up * n + j) * n + k] + x[(down * n + j) * n + k] +
           x[(i * n + north) * n + k] + x[(i * n + south) * n + k] +
           x[(i * n + j) * n + west] + x[(i * n + j) * n + east];
}

static void step(float *const now[2], float *const next[2], int n, reaction r)
{
    for (int c = 0; c < n * n * n; c++) {
        const int i = c / n / n, j = c / n % n, k = c % n;
        const float a = now[0][c], b = now[1][c], made = a * b * b;
        next[0][c] = a + r.spread_u * (around(now[0], n, i, j, k) - 6.0f * a) -
                     made + r.feed * (1.0f - a);
        next[1][c] = b + r.spread_v * (around(now[1], n, i, j, k) - 6.0f * b) +
                     made - (r.feed + r.kill) * b;
    }
}

int gray_scott_differences(const float *v, int cells, int steps, reaction r)
{
    const size_t bytes = (size_t)(cells * cells * cells) * sizeof *v;
    float *now[2] = {example_memory(bytes), example_memory(bytes)};
    float *next[2] = {example_memory(bytes), example_memory(bytes)};
    int wrong = 0;
    gray_scott_start(now[0], now[1], cells);
    for (int s = 0; s < steps; s++) {
        step(now, next, cells, r);
        memcpy(now[0], next[0], bytes);
        memcpy(now[1], next[1], bytes);
    }
    for (int i = 0; i < cells * cells * cells; i++) {
        wrong += v[i] != now[1][i];
    }
    for (int i = 0; i < 2; i++) {
        free(now[i]);
        free(next[i]);
    }
    return wrong;
}
