/* SPDX-License-Identifier: MIT */
/* What the longer examples share. */
#ifndef EXAMPLES_SUPPORT_EXAMPLE_H
#define EXAMPLES_SUPPORT_EXAMPLE_H

#include <headrace/headrace.h>
#include <stdbool.h>

/* Reads text, a whole number from low to high, or tells what is wrong. */
bool example_number(const char *name, const char *text, int low, int high,
                    int *number);

/* Whether all accelerators of the context are one device's or like it, so that
 * their results are the same to the bit: compilers of others round otherwise.
 */
bool example_alike(const hr_context *context);

/* Prints what was looked at, as printf does, and whether it is so; returns ok.
 */
__attribute__((format(printf, 2, 3))) bool
example_check(bool ok, const char *format, ...);

#endif
