/* SPDX-License-Identifier: MIT */
/* What the longer examples share. */
#ifndef EXAMPLES_SUPPORT_EXAMPLE_H
#define EXAMPLES_SUPPORT_EXAMPLE_H

#include <headrace/headrace.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads text, a whole number from low to high. Otherwise prints what is wrong,
 * in a line to which the program adds its usage. */
bool example_number(const char *name, const char *text, int low, int high,
                    int *number);
/* The same, for any number. */
bool example_real(const char *name, const char *text, double low, double high,
                  double *number);

/* Allocates so many bytes, for free(). Without memory the program ends. */
void *example_memory(size_t bytes);
/* The same for `count` times so many bytes, set to zero. */
void *example_zeros(size_t count, size_t bytes);

/* For hr_launch_split: the same weight for each accelerator of the context,
 * fast or not. The caller frees it with free(). */
double *example_equal_weights(const hr_context *context);

/* Whether all accelerators of the context have one name, so that results are
 * the same to the bit. Compilers for different ones round differently. */
bool example_same_kind(const hr_context *context);

/* Prints what was checked, as printf does, and whether it holds. */
void example_check(bool ok, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What main returns: 1 when a check failed, or when status is an error. It
 * prints the error's message. */
int example_end(hr_status status);

#endif
