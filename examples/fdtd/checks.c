/* SPDX-License-Identifier: MIT */
/* Checks of the scheme, and of the grid. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fdtd/fdtd.h"
#include "support/example.h"

/* The squares of the checks. All start with the pulse and run equally long.
 * `open` holds the square with a layer after that. */
typedef struct bench {
    hr_context *context;
    int cells, steps;
    float *open, *other; /* `other` has room for four times as much */
} bench;

/* The wave must have the right speed, and little may stay in the square. */
static hr_status check_open(const bench *b)
{
    square q;
    double first = 0.0, last = 0.0;
    hr_status status = square_open(b->context, b->cells, LAYER, NULL, &q);
    if (status == HR_OK) {
        status = square_pulse(&q);
    }
    if (status == HR_OK) {
        status = square_energy(&q, &first);
    }
    if (status == HR_OK) {
        status = speed_check(b->context, &q, b->steps);
    }
    if (status == HR_OK) {
        status = hr_grid_gather(q.grid, EZ, b->open);
    }
    if (status == HR_OK) {
        status = square_energy(&q, &last);
    }
    if (status == HR_OK) {
        example_check(last < 1e-4 * first,
                      "the layer swallows the pulse: %.1e of its energy "
                      "is left",
                      last / first);
    }
    square_close(&q);
    return status;
}

/* Without a layer no energy is lost. A step rounds each number a few times by
 * 2^-24 of the largest number that it is made of. The energy is at least 1 -
 * sqrt(2) COURANT of all squares. So a step may take or add 32 * 2^-24 of
 * it. */
static hr_status check_walls(const bench *b)
{
    const double bound = 32 * ldexp(b->steps, -24);
    square q;
    double first = 0.0, last = 0.0;
    hr_status status = square_open(b->context, b->cells, 0, NULL, &q);
    if (status == HR_OK) {
        status = square_pulse(&q);
    }
    if (status == HR_OK) {
        status = square_energy(&q, &first);
    }
    if (status == HR_OK) {
        status = hr_grid_step(q.grid, q.step, SILENT, b->steps);
    }
    if (status == HR_OK) {
        status = square_energy(&q, &last);
    }
    if (status == HR_OK) {
        example_check(fabs(last / first - 1) < bound,
                      "walls keep the energy: it changes by %.1e in %d "
                      "steps, of at most %.1e",
                      last / first - 1, b->steps, bound);
    }
    square_close(&q);
    return status;
}

/* Write Ez at the end, in a square of so many cells, to b->other. */
static hr_status end_of(const bench *b, int cells, int layer,
                        const hr_grid_options *options)
{
    square q;
    hr_status status = square_open(b->context, cells, layer, options, &q);
    q.tau = b->cells / 24.0;
    if (status == HR_OK) {
        status = square_pulse(&q);
    }
    if (status == HR_OK) {
        status = hr_grid_step(q.grid, q.step, SILENT, b->steps);
    }
    if (status == HR_OK) {
        status = hr_grid_gather(q.grid, EZ, b->other);
    }
    square_close(&q);
    return status;
}

/* A square twice as wide, with walls too far away to matter, shows what there
 * would be without an echo. */
static hr_status check_echo(const bench *b)
{
    const int n = b->cells;
    double most = 0.0, wave = 0.0;
    const hr_status status = end_of(b, 2 * n, LAYER, NULL);
    for (int i = 0; i < 2 * n && status == HR_OK; i++) {
        for (int j = 0; j < 2 * n; j++) {
            const double want = b->other[i * 2 * n + j];
            const int y = i - n / 2, x = j - n / 2;
            wave = fmax(wave, fabs(want));
            if (y >= LAYER && y < n - LAYER && x >= LAYER && x < n - LAYER) {
                most = fmax(most, fabs(b->open[y * n + x] - want));
            }
        }
    }
    if (status == HR_OK) {
        example_check(most < 0.01 * wave,
                      "the layer's echo is %.1e of the wave, less than 1 "
                      "%%",
                      most / wave);
    }
    return status;
}

static hr_status check_bits(const bench *b)
{
    const uint32_t first = 0;
    hr_grid_options one = HR_GRID_OPTIONS_INIT;
    one.accelerators = &first;
    one.accelerator_count = 1;
    const hr_status status = end_of(b, b->cells, LAYER, &one);
    const size_t bytes = (size_t)b->cells * (size_t)b->cells * sizeof(float);
    if (status == HR_OK && example_same_kind(b->context)) {
        example_check(memcmp(b->open, b->other, bytes) == 0,
                      "the same bits on 1 accelerator and on %u",
                      hr_accelerator_count(b->context));
    }
    return status;
}

/* Sending the pulse takes 8 tau = cells / 3. While it moves on by 3 / 4 of the
 * cells, all of it reaches the corners. In a square twice as wide, nothing has
 * come back from the walls by then. */
hr_status checks_run(hr_context *context, int cells)
{
    const size_t bytes = (size_t)cells * (size_t)cells * sizeof(float);
    bench b = {.context = context,
               .cells = cells,
               .steps = (int)(0.75 * cells / COURANT),
               .open = example_memory(bytes),
               .other = example_memory(4 * bytes)};
    hr_status status = check_open(&b);
    if (status == HR_OK) {
        status = check_bits(&b);
    }
    if (status == HR_OK) {
        status = check_echo(&b);
    }
    if (status == HR_OK) {
        status = check_walls(&b);
    }
    free(b.open);
    free(b.other);
    return status;
}
