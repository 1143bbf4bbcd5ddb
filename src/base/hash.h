/* SPDX-License-Identifier: MIT */
/* The FNV-1a hash: http://www.isthe.com/chongo/tech/comp/fnv/ */
#ifndef HRI_BASE_HASH_H
#define HRI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HRI_HASH_INIT UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` is of, and these bytes behind it. */
static inline uint64_t hri_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif
