/* SPDX-License-Identifier: MIT */
/* Host memory in large pages. */
#ifndef HRI_BASE_PAGES_H
#define HRI_BASE_PAGES_H

#include <stddef.h>

/* `bytes` bytes (1 or more) in pages of their own; from some MiB on in pages of
 * 2 MiB where the system has them, which are touched and locked faster. NULL:
 * there is no memory. To be freed with free. */
void *hri_pages(size_t bytes);

#endif
