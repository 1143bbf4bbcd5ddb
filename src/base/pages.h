/* SPDX-License-Identifier: MIT */
/* Host memory in large pages. */
#ifndef HRI_BASE_PAGES_H
#define HRI_BASE_PAGES_H

#include <stddef.h>

/* `bytes` bytes (1 or more) in pages of their own; from some MiB on in pages of
 * 2 MiB where the system has them, which are touched and locked faster. NULL:
 * there is no memory. To be freed with free. */
void *hri_pages(size_t bytes);

/* Such memory for a kernel's operands: it starts a line of the cache that is
 * another one of its page from call to call. Processors tell by the last 12
 * bits of their addresses whether a load must wait for a store, and with two
 * operands that start alike nearly each one does. */
void *hri_scattered_pages(size_t bytes);
void hri_scattered_free(void *memory); /* accepts NULL */

#endif
