/* SPDX-License-Identifier: MIT */
/* Host memory in large pages. */
#ifndef HRI_BASE_PAGES_H
#define HRI_BASE_PAGES_H

#include <stddef.h>

/* Allocate `bytes` bytes (1 or more) in pages of their own. From 4 MiB on, the
 * pages have 2 MiB where the system has such pages: these are touched and
 * locked faster. NULL: there is no memory. The caller frees it with free(). */
void *hri_pages(size_t bytes);

/* The same for an operand of a kernel, but the start moves within the page from
 * call to call. Processors compare only the last 12 bits of addresses to tell
 * whether a load must wait for a store. If two operands started at the same 12
 * bits, nearly every load would wait. */
void *hri_scattered_pages(size_t bytes);
void hri_scattered_free(void *memory); /* accepts NULL */

/* Where within its page the next operand starts: for pages from elsewhere, with
 * so many bytes more. */
enum { HRI_SCATTER_BYTES = 4096 };
size_t hri_scatter(void);

#endif
