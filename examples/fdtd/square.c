/* SPDX-License-Identifier: MIT */
/* A square of vacuum: its fields, and the phases of a step. */
#include "fdtd/fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/example.h"

extern const hr_kernel magnetic, electric, source;

/* How a field changes at `place` along a dimension. */
static slope slope_at(double place, int cells, int layer)
{
    const double depth = fmax(layer - place, place - (cells - layer));
    slope s = {1, (float)COURANT};
    if (layer > 0 && depth > 0) {
        const double most = 4 * log(1e6) / (2 * layer);
        const double loss =
            COURANT * most * pow(depth / layer, 3); /* in a step */
        s = (slope){(float)exp(-loss), (float)(COURANT * -expm1(-loss) / loss)};
    }
    return s;
}

static hr_status make_slopes(hr_context *context, square *q, int layer)
{
    hr_status status = HR_OK;
    for (int half = 0; half < 2 && status == HR_OK; half++) {
        slope *s = q->slopes[half] =
            example_memory((size_t)q->cells * sizeof *s);
        for (int i = 0; i < q->cells; i++) {
            s[i] = slope_at(i + 0.5 * half, q->cells, layer);
        }
        status = hr_array_wrap(context, s, sizeof *s, hr_extent1(q->cells), 0,
                               &q->arrays[half]);
    }
    return status;
}

/* Each field has a halo only on the sides where kernels read neighbours. */
static hr_status make_grid(hr_context *context, const hr_grid_options *options,
                           square *q)
{
    hr_field fields[FIELDS];
    for (int f = 0; f < FIELDS; f++) {
        fields[f] = hr_field_of(sizeof(float), 0, HR_BOUNDARY_CONSTANT, NULL);
    }
    for (int d = 0; d < 2; d++) {
        fields[EZ].after[d].halo = fields[BEFORE].after[d].halo = 1;
    }
    fields[HX].before[1].halo = fields[HY].before[0].halo = 1;
    return hr_grid_create(context, hr_extent2(q->cells, q->cells), fields,
                          FIELDS, options, &q->grid);
}

static void make_step(square *q)
{
    const hr_argument at_e = hr_in(hr_view_of(q->arrays[0]));
    const hr_argument at_h = hr_in(hr_view_of(q->arrays[1]));
    const hr_argument m[] = {hr_field_in(EZ), hr_field_inout(HX),
                             hr_field_inout(HY), at_h, at_h};
    const hr_argument e[] = {hr_field_in(HX),
                             hr_field_in(HY),
                             hr_field_inout(EZI),
                             hr_field_inout(EZJ),
                             hr_field_out(EZ),
                             at_e,
                             at_e};
    const hr_argument s[] = {hr_field_inout(EZI), hr_field_inout(EZ),
                             hr_value(&q->amplitude, sizeof q->amplitude)};
    memcpy(q->of_magnetic, m, sizeof m);
    memcpy(q->of_electric, e, sizeof e);
    memcpy(q->of_source, s, sizeof s);
    q->step[0] = hr_phase_of(&magnetic, q->of_magnetic, 5);
    q->step[1] = hr_phase_swap(EZ, BEFORE);
    q->step[2] = hr_phase_of(&electric, q->of_electric, 7);
    q->step[2].extent = hr_extent2(q->cells - 1, q->cells - 1);
    q->step[2].origin[0] = q->step[2].origin[1] = 1; /* inside the walls */
    q->step[3] = hr_phase_of(&source, q->of_source, 3);
    q->step[3].extent = hr_extent2(1, 1);
    q->step[3].origin[0] = q->step[3].origin[1] = q->cells / 2;
}

hr_status square_open(hr_context *context, int cells, int layer,
                      const hr_grid_options *options, square *q)
{
    *q = (square){.cells = cells, .tau = cells / 24.0};
    hr_status status = make_slopes(context, q, layer);
    if (status == HR_OK) {
        status = make_grid(context, options, q);
    }
    if (status == HR_OK) {
        make_step(q);
    }
    return status;
}

void square_close(square *q)
{
    hr_grid_destroy(q->grid);
    for (int i = 0; i < 2; i++) {
        hr_array_destroy(q->arrays[i]);
        free(q->slopes[i]);
    }
}

/* Steps with a source are enqueued one by one, each with its own amplitude. The
 * last one has no source. */
hr_status square_pulse(square *q)
{
    hr_status status = HR_OK;
    for (int n = 0; n * COURANT < 8 * q->tau && status == HR_OK; n++) {
        const double t = n * COURANT / q->tau - 4;
        q->amplitude = (float)(-t * exp(-t * t / 2));
        status = hr_grid_step(q->grid, q->step, 4, 1);
    }
    return status == HR_OK ? hr_grid_step(q->grid, q->step, SILENT, 1) : status;
}

hr_status square_energy(square *q, double *sum)
{
    const uint32_t pairs[][2] = {{EZ, BEFORE}, {HX, HX}, {HY, HY}};
    hr_reducing *parts[3] = {NULL};
    hr_status status = HR_OK;
    *sum = 0.0;
    for (int i = 0; i < 3 && status == HR_OK; i++) {
        status = hr_grid_reduce(q->grid, HR_REDUCE_DOT, HR_F32, pairs[i][0],
                                pairs[i][1], &parts[i]);
    }
    for (int i = 0; i < 3; i++) {
        double part = 0.0;
        if (parts[i] != NULL) {
            const hr_status one = hr_grid_reduced(parts[i], &part);
            status = status == HR_OK ? one : status;
        }
        *sum += part / 2;
    }
    return status;
}
