/* SPDX-License-Identifier: MIT */
/* Random matrices. Each element is a function of the seed and of its place, so
 * neither threads nor the order in memory matter. */
#ifndef CONSOLE_RANDOM_H
#define CONSOLE_RANDOM_H

#include <headrace/headrace.h>

#include "loop.h"

/* SplitMix64: output number n of the stream for this key. [Steele2014] */
uint64_t cli_random_draw(uint64_t key, uint64_t n);

/* Fill m, which is packed. Real and imaginary parts are uniform in [-1, 1), on
 * a grid that the type holds exactly (f32: multiples of 2^-23, f64: 2^-52,
 * f16: 2^-10, bf16: 2^-7); i8 in [-128, 127], i32 in [-1024, 1023].
 * progress may be NULL. False when cancelled. */
bool cli_random_fill(hr_matrix m, uint64_t seed, cli_progress *progress);

#endif
