/* SPDX-License-Identifier: MIT */
/* What the longer examples share. */
#ifndef EXAMPLES_SUPPORT_EXAMPLE_H
#define EXAMPLES_SUPPORT_EXAMPLE_H

#include <headrace/headrace.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads text, a whole number from low to high, or tells what is wrong, in a
 * line that the program ends with its usage. */
bool example_number(const char *name, const char *text, int low, int high,
                    int *number);
/* The same, of any number. */
bool example_real(const char *name, const char *text, double low, double high,
                  double *number);

/* So many bytes, to be given to free(); without them the program ends. */
void *example_memory(size_t bytes);
/* The same, so many times, of zeros. */
void *example_zeros(size_t count, size_t bytes);

/* For hr_launch_split: as much for each accelerator of the context, whether
 * that is fast or not. To be given to free(). */
double *example_equal_weights(const hr_context *context);

/* Whether all accelerators of the context are of one name, so that results are
 * the same to the bit: compilers for others round otherwise. */
bool example_equal(const hr_context *context);

/* Prints what was looked at, as printf does, and whether it is so. */
void example_check(bool ok, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What main returns: 1 when a check did not hold, or when status is an error,
 * whose sentence it prints. */
int example_end(hr_status status);

#endif
