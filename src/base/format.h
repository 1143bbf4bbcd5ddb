/* SPDX-License-Identifier: MIT */
/* Numbers as text: as in the C locale, whatever the program has set. Any
 * thread. */
#ifndef HRI_BASE_FORMAT_H
#define HRI_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* As snprintf, vsnprintf and strtod. */
int hri_format(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int hri_format_list(char *text, size_t size, const char *format,
                    va_list arguments) __attribute__((format(printf, 3, 0)));
double hri_read_number(const char *text, char **end);

/* Extents with an x between them, such as "2x3x4", cut off if need be; of none
 * "()". Returns text. */
const char *hri_format_extents(char *text, size_t size, const int64_t *extents,
                               int rank);

#endif
