/* SPDX-License-Identifier: MIT */
/* Text of users, files and drivers for a terminal, which obeys control
 * characters. */
#ifndef HRI_BASE_PRINTABLE_H
#define HRI_BASE_PRINTABLE_H

#include <stddef.h>

/* The number of bytes of the character at text, 1 to 4. 0 when it is a control
 * character, or no well-formed UTF-8. */
int hri_printable_length(const char *text);

/* Copy text. Control characters and bytes that are no UTF-8 become \n, \t or
 * \xNN. What does not fit into `bytes` is cut off, whole characters at a time.
 * A copy of the copy is the same. Returns to. */
const char *hri_printable(const char *text, char *to, size_t bytes);

/* The number of characters of such a copy. */
int hri_printable_width(const char *text);

#endif
