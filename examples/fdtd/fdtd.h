/* SPDX-License-Identifier: MIT */
/* Waves in a square: see examples/fdtd.c. */
#ifndef EXAMPLES_FDTD_FDTD_H
#define EXAMPLES_FDTD_FDTD_H

#include <headrace/headrace.h>
#include <stdbool.h>

/* Fields; BEFORE is Ez a step ago. */
enum { EZ, BEFORE, EZI, EZJ, HX, HY, FIELDS };
enum { LAYER = 12 }; /* cells of the layer in which waves fade */

#define COURANT 0.5 /* c dt / dx; less than 1 / sqrt(2) is stable */

typedef struct slope {
    float keep, gain; /* as in kernels/fdtd.c */
} slope;

typedef struct square {
    int cells;
    double tau;       /* of the pulse, before and after its middle: cells / 24
                         at first */
    float amplitude;  /* of the source in the next step */
    slope *slopes[2]; /* at the places of E, and half a cell further */
    hr_array *arrays[2];
    hr_argument of_magnetic[5], of_electric[7], of_source[3];
    hr_phase step[4]; /* the last one is the source */
    hr_grid *grid;
} square;

/* square.c: cells x cells of vacuum at rest. Before the walls are `layer` cells
 * in which waves fade. Close it also after a failure. */
hr_status square_open(hr_context *context, int cells, int layer,
                      const hr_grid_options *options, square *q);
void square_close(square *q);

/* Send a pulse, the slope of a Gaussian in time, with its zero after 4 tau. */
hr_status square_pulse(square *q);

/* The phases of a step without a source. */
enum { SILENT = 3 }; /* phases */

/* Half of E(n) E(n + 1) + H(n + 1/2)^2, which the scheme keeps exactly. */
hr_status square_energy(square *q, double *sum);

/* speed.c: measure and check the speed of the pulse in so many steps. */
hr_status speed_check(hr_context *context, square *q, int steps);

/* checks.c: run all checks. */
hr_status checks_run(hr_context *context, int cells);

/* film.c: a picture of Ez after every `every` steps that follow the pulse. */
hr_status film_run(hr_context *context, int cells, int steps, int every,
                   const char *prefix);

#endif
