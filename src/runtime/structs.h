/* SPDX-License-Identifier: MIT */
/* Structs of callers that start with `uint32_t size`. They may be older and
 * smaller than ours, or newer and larger; what either side does not know
 * counts as zero. */
#ifndef HRI_RUNTIME_STRUCTS_H
#define HRI_RUNTIME_STRUCTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copy a caller's struct of `size` bytes into one of `known` bytes. */
static inline void hri_struct_read(void *to, size_t known, const void *from,
                                   size_t size)
{
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
}

/* The other way; the size field, set by the caller, stays. */
static inline void hri_struct_write(void *to, size_t size, const void *from,
                                    size_t known)
{
    const size_t field = sizeof(uint32_t);
    memset((char *)to + field, 0, size - field);
    memcpy((char *)to + field, (const char *)from + field,
           (size < known ? size : known) - field);
}

#endif
