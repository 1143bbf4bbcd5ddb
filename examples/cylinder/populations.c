/* SPDX-License-Identifier: MIT */
#include "cylinder/cylinder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/example.h"
#include "support/picture.h"

static const int down[9] = {0, 0, 0, 1, -1, 1, -1, -1, 1};
static const int right[9] = {0, 1, -1, 0, 0, 1, -1, 1, -1};
static const int opposite[9] = {0, 2, 1, 4, 3, 6, 5, 8, 7};
static const float weights[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,
                                 1.0f / 9,  1.0f / 9,  1.0f / 36,
                                 1.0f / 36, 1.0f / 36, 1.0f / 36};

static bool solid(channel c, int i, int j)
{
    return (i - c.row) * (i - c.row) + (j - c.col) * (j - c.col) <
           c.radius * c.radius;
}

static float balance(int q, float rho, float uy, float ux)
{
    const float along = (float)down[q] * uy + (float)right[q] * ux;
    return weights[q] * rho *
           (1.0f + along * (3.0f + 4.5f * along) - 1.5f * (uy * uy + ux * ux));
}

void populations_open(channel c, int rows, int cols, float *f[DIRECTIONS])
{
    for (int q = 0; q < DIRECTIONS; q++) {
        f[q] = example_memory((size_t)(rows * cols) * sizeof(float));
        for (int i = 0; i < rows * cols; i++) {
            const bool rest = solid(c, i / cols, i % cols);
            f[q][i] = balance(q, 1.0f, 0.0f, rest ? 0.0f : c.speed);
        }
    }
}

/* Rows wrap around, and what is beyond the last column is like it. */
static float pull(channel c, int rows, int cols, float *const f[DIRECTIONS],
                  int q, int i, int j)
{
    const int from_i = i - down[q], from_j = j - right[q];
    if (solid(c, from_i, from_j)) {
        return f[opposite[q]][i * cols + j];
    }
    const int col = from_j < 0 ? 0 : from_j >= cols ? cols - 1 : from_j;
    return f[q][(from_i + rows) % rows * cols + col];
}

static void step_cell(channel c, int rows, int cols,
                      float *const from[DIRECTIONS], float *to[DIRECTIONS],
                      int i, int j)
{
    float f[DIRECTIONS], rho = 0.0f, uy = 0.0f, ux = 0.0f;
    for (int q = 0; q < DIRECTIONS; q++) {
        f[q] = pull(c, rows, cols, from, q, i, j);
        rho += f[q];
        uy += (float)down[q] * f[q];
        ux += (float)right[q] * f[q];
    }
    const bool rest = solid(c, i, j), given = j == 0 || rest;
    rho = given ? 1.0f : rho;
    uy = given ? 0.0f : uy / rho;
    ux = rest ? 0.0f : j == 0 ? c.speed : ux / rho;
    const float rate = given ? 1.0f : c.rate;
    for (int q = 0; q < DIRECTIONS; q++) {
        to[q][i * cols + j] = f[q] + rate * (balance(q, rho, uy, ux) - f[q]);
    }
}

void populations_close(float *f[DIRECTIONS])
{
    for (int q = 0; q < DIRECTIONS; q++) {
        free(f[q]);
    }
}

int populations_differences(channel c, int rows, int cols,
                            float *const f[DIRECTIONS], int steps)
{
    const size_t bytes = (size_t)(rows * cols) * sizeof(float);
    float *now[DIRECTIONS], *next[DIRECTIONS];
    int wrong = 0;
    populations_open(c, rows, cols, now);
    populations_open(c, rows, cols, next);
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < rows * cols; i++) {
            step_cell(c, rows, cols, now, next, i / cols, i % cols);
        }
        for (int q = 0; q < DIRECTIONS; q++) {
            memcpy(now[q], next[q], bytes);
        }
    }
    for (int i = 0; i < DIRECTIONS * rows * cols; i++) {
        const int q = i % DIRECTIONS, cell = i / DIRECTIONS;
        wrong += f[q][cell] != now[q][cell];
    }
    populations_close(now);
    populations_close(next);
    return wrong;
}

bool populations_draw(const char *path, int rows, int cols,
                      float *const f[DIRECTIONS])
{
    float *speed = example_memory((size_t)(rows * cols) * sizeof *speed);
    for (int i = 0; i < rows * cols; i++) {
        float uy = 0.0f, ux = 0.0f;
        for (int q = 0; q < DIRECTIONS; q++) {
            uy += (float)down[q] * f[q][i];
            ux += (float)right[q] * f[q][i];
        }
        speed[i] = hypotf(uy, ux);
    }
    const bool good = picture_gray(path, speed, rows, cols);
    free(speed);
    return good;
}
