/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_GRAY_SCOTT_H
#define EXAMPLES_GRAY_SCOTT_H

typedef struct reaction {
    float spread_u, spread_v, feed, kill;
} reaction;

/* checks.c: the start, a small cube of v in the middle of u. */
void gray_scott_start(float *u, float *v, int cells);

/* How many cells of v differ from those after as many steps in plain C. */
int gray_scott_differences(const float *v, int cells, int steps, reaction r);

#endif
