/* SPDX-License-Identifier: MIT */
/* Host memory in large pages. */
#ifndef HRI_BASE_PAGES_H
#define HRI_BASE_PAGES_H

#include <stddef.h>

/* At least `bytes` bytes (1 or more) that start on a page; from some MiB on in
 * pages of 2 MiB where the system has them: they are locked faster, and devices
 * look fewer of them up. NULL: there is no memory. To be freed with free. */
void *hri_pages(size_t bytes);

#endif
