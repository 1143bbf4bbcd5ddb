/* SPDX-License-Identifier: MIT */
/* The machine as it is known: what was measured of accelerators and links. */
#ifndef HRI_MODEL_MODEL_H
#define HRI_MODEL_MODEL_H

#include "model/pays.h"
#include "runtime/runtime.h"

/* Whether its buffers lie in host memory, through whichever interface. */
bool hri_in_host_memory(const hri_accelerator *accelerator);

/* Whether two accelerators take their memory from one place and are no faster
 * than one: virtual ones of a device, and those on the host's processors. */
bool hri_accelerators_alike(const hri_accelerator *a, const hri_accelerator *b);

/* The rate of products of this type, flop/s: measured on first use with a small
 * product of random numbers (some milliseconds), and kept, also for later
 * processes (facts.h). The caller holds the context's lock. */
hr_status hri_accelerator_rate(hri_accelerator *accelerator, hr_type type,
                               hr_type c_type, hr_compute compute,
                               double *flops_per_second);

/* The same when it is known without measuring, else 0. */
double hri_accelerator_known_rate(hri_accelerator *accelerator, hr_type type,
                                  hr_type c_type, hr_compute compute);

/* A long product in place ran at this rate. When that is clearly more than what
 * was measured, then others were busy during the measurement: it becomes the
 * rate. The caller holds the context's lock. */
void hri_accelerator_learn_rate(hri_accelerator *accelerator, hr_type type,
                                hr_type c_type, hr_compute compute,
                                double flops_per_second);

/* And on tiles with the edges hri_tile_edges over a deep k: its rates there, or
 * 0 where it works in host memory. After hri_accelerator_rate. */
hr_status hri_accelerator_tile_rates(hri_accelerator *accelerator, hr_type type,
                                     hr_type c_type, hr_compute compute,
                                     double rates[HRI_TILE_RATES]);

/* Multiply once, whatever its memory holds, on every kind of tile whose rate an
 * earlier process kept: libraries load their kernels on first use, which takes
 * longer than many a product. Errors are left for later calls to meet. One
 * caller at a time. */
void hri_accelerator_warm(hri_accelerator *accelerator);

/* The most it does, measured now with products of up to a tenth of a second,
 * neither taken from the file nor kept. */
hr_status hri_accelerator_top_rate(hri_accelerator *accelerator, hr_type type,
                                   hr_type c_type, hr_compute compute,
                                   double *rate);

/* The speed of its host link into *up and *down, likewise. */
hr_status hri_accelerator_link(hri_accelerator *accelerator);

#endif
