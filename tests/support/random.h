/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same on every machine: splitmix64 [Steele2014]
 * (G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number
 * generators, OOPSLA 2014). A test prints its seed where it fails. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/matrix.h>

typedef struct random_source {
    uint64_t state; /* any value is a seed */
} random_source;

/* 64 random bits. */
uint64_t random_next(random_source *source);

/* An integer in [low, high], both included. */
int64_t random_between(random_source *source, int64_t low, int64_t high);

/* A number in [-1, 1]. */
double random_unit(random_source *source);

void random_fill_bytes(random_source *source, void *bytes, size_t count);

/* Fill the elements of m, and nothing between them: floating-point types with
 * numbers in [-1, 1], i8 with all of its values, i32 with -1000 to 1000. */
void random_fill_matrix(random_source *source, const hr_matrix *m);

/* A factor of a product into elements of this type: 0, 1 and -1 are often. */
hr_scalar random_scalar(random_source *source, hr_type type);

#endif
