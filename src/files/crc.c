/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <string.h>

enum { SLICES = 8 };

/* tables[s][b]: what byte b does to the sum s bytes later. */
static void make_tables(uint32_t tables[SLICES][256])
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t sum = b;
        for (int i = 0; i < 8; i++) {
            sum = sum >> 1 ^ (0xEDB88320u & (0u - (sum & 1)));
        }
        tables[0][b] = sum;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int s = 1; s < SLICES; s++) {
            const uint32_t before = tables[s - 1][b];
            tables[s][b] = before >> 8 ^ tables[0][before & 255];
        }
    }
}

/* Eight bytes at a time, each through a table of its own ("slicing by 8" of
 * Kounavis and Berry, 2005). */
uint32_t hri_crc32(const uint8_t *bytes, size_t size)
{
    uint32_t tables[SLICES][256];
    uint32_t sum = ~0u;
    make_tables(tables);
    for (; size >= SLICES; size -= SLICES, bytes += SLICES) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        word ^= sum;
        sum = 0;
        for (int s = 0; s < SLICES; s++) {
            sum ^= tables[SLICES - 1 - s][word >> 8 * s & 255];
        }
    }
    for (; size > 0; size--) {
        sum = sum >> 8 ^ tables[0][(sum ^ *bytes++) & 255];
    }
    return ~sum;
}
