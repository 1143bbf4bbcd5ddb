/* SPDX-License-Identifier: MIT */
/* Electromagnetic waves in a square of vacuum, by finite differences in time
 * and space [Yee 1966], on all accelerators. The kernels, and the places of
 * values in a cell, are in kernels/fdtd.c.
 *
 *     fdtd [CELLS]
 *     fdtd CELLS STEPS EVERY PREFIX
 *
 * The first form checks the scheme in a square of CELLS x CELLS: see checks
 * below. It ends with 1 when one fails. The second form writes a picture of Ez
 * after every EVERY steps, PREFIX0000.png and so on (or .ppm): red where it is
 * positive, blue where it is negative.
 *
 * The square has conducting walls, Ez = 0. At index 0 no kernel writes, and at
 * index CELLS there is the grid's constant boundary. Before the walls there may
 * be a layer in which waves fade without an echo: Berenger's perfectly matched
 * layer [J. Comput. Phys. 114 (1994) 185]. It has the cubic profile and the
 * largest conductivity that Berenger's formula gives for an echo of 1e-6. */
#include <stdio.h>

#include "fdtd/fdtd.h"
#include "support/example.h"

int main(int count, char **words)
{
    int cells = 240, steps = 0, every = 0;
    hr_context *context = NULL;
    if ((count != 1 && count != 2 && count != 5) ||
        (count > 1 && !example_number("CELLS", words[1], 72, 8192, &cells)) ||
        (count > 2 && (!example_number("STEPS", words[2], 1, 1000000, &steps) ||
                       !example_number("EVERY", words[3], 1, steps, &every)))) {
        fprintf(stderr, "usage: fdtd [CELLS [STEPS EVERY PREFIX]]\n");
        return 2;
    }
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK && count == 5) {
        status = film_run(context, cells, steps, every, words[4]);
    } else if (status == HR_OK) {
        status = checks_run(context, cells);
    }
    hr_context_destroy(context);
    return example_end(status);
}
