/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* madvise */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SMALL = 4096, LARGE = 2 << 20 };

void *hri_pages(size_t bytes)
{
    const size_t page = bytes < LARGE ? SMALL : LARGE;
    void *memory = NULL;
    if (bytes > SIZE_MAX - page ||
        posix_memalign(&memory, page, (bytes + page - 1) / page * page) != 0) {
        return NULL;
    }
#if defined(MADV_HUGEPAGE)
    if (page == LARGE) {
        (void)madvise(memory, (bytes + page - 1) / page * page, MADV_HUGEPAGE);
    }
#endif
    return memory;
}
