/* SPDX-License-Identifier: MIT */
/* HR_COMPUTE_PRECISE, defined: what its bits are. The oracle of the tests. */
#ifndef PRECISE_H
#define PRECISE_H

#include "support/reference.h"

/* One element of alpha A B + beta C for f32, f64, c32 or c64: c is the old one,
 * and then the new one. Returns how many slices of k have the roundings of
 * HR_COMPUTE_REPRODUCIBLE. One thread at a time. */
int64_t precise_element(const reference_problem *problem, int64_t row,
                        int64_t col, double c[2]);

#endif
