/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_STEADY_H
#define EXAMPLES_STEADY_H

/* checks.c: how many cells differ from those after as many steps in plain C. */
int steady_differences(const float *plate, int cells, int steps);

#endif
