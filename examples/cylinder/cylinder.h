/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_CYLINDER_H
#define EXAMPLES_CYLINDER_H

#include <stdbool.h>

enum { DIRECTIONS = 9 };

typedef struct channel {
    float speed, rate; /* as in kernels/cylinder.c */
    int row, col, radius;
} channel;

/* populations.c: fluid that moves right, past the cylinder. */
void populations_open(channel c, int rows, int cols, float *f[DIRECTIONS]);
void populations_close(float *f[DIRECTIONS]);

/* How many populations differ from those after as many steps in plain C. */
int populations_differences(channel c, int rows, int cols,
                            float *const f[DIRECTIONS], int steps);

/* A picture of the speed. */
bool populations_draw(const char *path, int rows, int cols,
                      float *const f[DIRECTIONS]);

#endif
