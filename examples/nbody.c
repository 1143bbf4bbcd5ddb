/* SPDX-License-Identifier: MIT */
/* Bodies that attract each other. Every accelerator reads all places and moves
 * a share of the bodies. The others get their new places before the next step.
 *
 *     nbody [BODIES STEPS DAMPING [PICTURE]]
 *
 * With PICTURE the bodies at the end are drawn into that file, seen along z.
 * Forces are equal and opposite. So without damping (1) the sum of all momenta
 * stays 0 but for rounding. With arguments the program prints the time. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/example.h"
#include "support/picture.h"

extern const hr_kernel nbody_step;

typedef struct place {
    float x, y, z, spare;
} place;

typedef struct motion {
    float x, y, z, pull;
} motion;

typedef struct law {
    float mass, softening, step, damping;
} law;

typedef struct cloud {
    hr_context *context;
    int bodies, steps;
    law law;
    place *places;   /* at the end */
    motion *motions; /* likewise */
} cloud;

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A number between -200 and 200. */
static float coordinate(unsigned *bits)
{
    *bits = *bits * 1664525u + 1013904223u;
    return (float)(*bits >> 8) * 0x1p-24f * 400.0f - 200.0f;
}

static void fill(cloud *c)
{
    unsigned bits = 7;
    for (int i = 0; i < c->bodies; i++) {
        place *p = &c->places[i];
        p->x = coordinate(&bits);
        p->y = coordinate(&bits);
        p->z = coordinate(&bits);
        p->spare = 0;
    }
    memset(c->motions, 0, (size_t)c->bodies * sizeof *c->motions);
}

/* Places lie in two arrays, which are swapped after each step. */
static hr_status move(const cloud *c, hr_array *const arrays[3],
                      const double *weights)
{
    const hr_extent all = hr_extent1(c->bodies);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_status status = HR_OK;
    options.weights = weights;
    for (int i = 0; i < c->steps && status == HR_OK; i++) {
        const hr_argument arguments[] = {
            hr_whole(hr_in(hr_view_of(arrays[i % 2]))),
            hr_out(hr_view_of(arrays[1 - i % 2])),
            hr_inout(hr_view_of(arrays[2])), hr_value(&c->law, sizeof c->law)};
        status = hr_launch_split(c->context, &nbody_step, all, arguments, 4,
                                 &options);
    }
    return status;
}

/* All steps, from the places in the caller's memory to those at the end. In
 * between, places stay on the accelerators. */
static hr_status simulate(cloud *c, const double *weights, double *seconds)
{
    const hr_extent all = hr_extent1(c->bodies);
    hr_array *arrays[3] = {NULL};
    fill(c);
    const double start = now();
    hr_status status =
        hr_array_wrap(c->context, c->places, sizeof(place), all, 0, &arrays[0]);
    if (status == HR_OK) {
        status = hr_array_create_anywhere(c->context, sizeof(place), all,
                                          &arrays[1]);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(c->context, c->motions, sizeof(motion), all, 0,
                               &arrays[2]);
    }
    if (status == HR_OK) {
        status = move(c, arrays, weights);
    }
    if (status == HR_OK && c->steps % 2 == 1) {
        status = hr_copy(hr_view_of(arrays[1]), hr_view_of(arrays[0]));
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(arrays[0]));
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(arrays[2]));
    }
    *seconds = now() - start;
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    return status;
}

/* The sum of all momenta, and the most that rounding may make of it. Each sum
 * of n forces is off by at most about n * 2^-24 of their sizes. Each velocity
 * is off by two roundings a step, and is no larger than the sum of all
 * forces. */
static double drift(const cloud *c, double *most)
{
    double sum[3] = {0}, pull = 0;
    for (int i = 0; i < c->bodies; i++) {
        const motion *m = &c->motions[i];
        sum[0] += m->x;
        sum[1] += m->y;
        sum[2] += m->z;
        pull += m->pull;
    }
    *most = pull * (c->bodies + 2.0 * c->steps + 8) * 0x1p-24;
    return fmax(fabs(sum[0]), fmax(fabs(sum[1]), fabs(sum[2])));
}

/* The square in which bodies begin, seen along z. Each body is a spot of 3 x 3
 * pixels, and spots add up. */
static bool draw(const cloud *c, const char *path)
{
    enum { PIXELS = 360 };
    float *light = example_zeros((size_t)PIXELS * PIXELS, sizeof *light);
    for (int i = 0; i < c->bodies; i++) {
        const float x = c->places[i].x, y = c->places[i].y;
        if (!(fabsf(x) < 200.0f && fabsf(y) < 200.0f)) {
            continue;
        }
        const int col = (int)((x + 200.0f) / 400.0f * (PIXELS - 2));
        const int row = (int)((y + 200.0f) / 400.0f * (PIXELS - 2));
        for (int k = 0; k < 9; k++) {
            light[(row + k / 3) * PIXELS + col + k % 3] +=
                k == 4 ? 4.0f : 2.0f - (float)(k % 2 == 0);
        }
    }
    for (int i = 0; i < PIXELS * PIXELS; i++) {
        light[i] = sqrtf(fminf(light[i], 16.0f));
    }
    const bool good = picture_gray(path, light, PIXELS, PIXELS);
    free(light);
    return good;
}

static hr_status run(cloud *c, int with_times)
{
    const size_t bytes = (size_t)c->bodies * sizeof *c->motions;
    double *equal = example_equal_weights(c->context);
    motion *first = example_memory(bytes);
    double seconds, far = 0, most = 0;
    int same = 0;
    /* on as many accelerators as are worth it */
    hr_status status = simulate(c, NULL, &seconds);
    if (status == HR_OK) {
        far = drift(c, &most);
        memcpy(first, c->motions, bytes);
        status = simulate(c, equal, &seconds);
        same = memcmp(first, c->motions, bytes) == 0;
    }
    if (status == HR_OK && with_times) {
        printf("%.3f s, momentum is off by %.2g, rounding allows %.2g\n",
               seconds, far, most);
    }
    if (status == HR_OK) {
        printf("momentum is %s\n", c->law.damping < 1 || far <= most
                                       ? "conserved"
                                       : "not conserved");
        printf("whatever the bands, bodies move %s\n",
               same ? "the same to the bit"
                    : "the same but for how unlike accelerators round");
    }
    free(first);
    free(equal);
    return status;
}

int main(int count, char **arguments)
{
    const int given = count == 4 || count == 5;
    double damping = 1;
    cloud c = {.bodies = 300,
               .steps = 9,
               .law = {.mass = 66.73f, .softening = 1.5625e-6f, .step = 0.1f}};
    if ((count != 1 && !given) ||
        (given &&
         (!example_number("BODIES", arguments[1], 1, INT_MAX, &c.bodies) ||
          !example_number("STEPS", arguments[2], 1, INT_MAX, &c.steps) ||
          !example_real("DAMPING", arguments[3], 0, 1, &damping)))) {
        fputs("usage: nbody [BODIES STEPS DAMPING [PICTURE]]\n", stderr);
        return 2;
    }
    c.law.damping = (float)damping;
    c.places = example_memory((size_t)c.bodies * sizeof *c.places);
    c.motions = example_memory((size_t)c.bodies * sizeof *c.motions);
    hr_status status = hr_context_create(NULL, &c.context);
    if (status == HR_OK) {
        status = run(&c, given);
    }
    hr_context_destroy(c.context);
    const bool drawn = status != HR_OK || count < 5 || draw(&c, arguments[4]);
    free(c.places);
    free(c.motions);
    return example_end(status) || !drawn;
}
