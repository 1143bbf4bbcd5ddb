/* SPDX-License-Identifier: MIT */
#include "steady/steady.h"

#include <stdlib.h>

#include "support/example.h"

static float at(const float *plate, int cells, int i, int j)
{
    if (i < 0) {
        return 1.0f;
    }
    return i < cells && j >= 0 && j < cells ? plate[i * cells + j] : 0.0f;
}

static void step(const float *now, float *next, int cells)
{
    for (int i = 0; i < cells; i++) {
        for (int j = 0; j < cells; j++) {
            next[i * cells + j] =
                0.25f * (at(now, cells, i - 1, j) + at(now, cells, i + 1, j) +
                         at(now, cells, i, j - 1) + at(now, cells, i, j + 1));
        }
    }
}

int steady_differences(const float *plate, int cells, int steps)
{
    const int n = cells * cells;
    float *now = example_zeros((size_t)n, sizeof *now);
    float *next = example_zeros((size_t)n, sizeof *next);
    int wrong = 0;
    for (int s = 0; s < steps; s++) {
        step(now, next, cells);
        float *swapped = now;
        now = next;
        next = swapped;
    }
    for (int i = 0; i < n; i++) {
        wrong += plate[i] != now[i];
    }
    free(now);
    free(next);
    return wrong;
}
