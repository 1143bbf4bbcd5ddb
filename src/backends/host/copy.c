/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "backends/host/host.h"

static void copy_slice(unsigned char *to, const unsigned char *from,
                       const hri_copy *box)
{
    for (size_t row = 0; row < box->height; row++) {
        memcpy(to + row * box->to_pitch, from + row * box->from_pitch,
               box->width);
    }
}

/* Rows that follow each other without a gap on both sides are one row, and so
 * are slices: fewer and longer calls of memcpy. */
static hri_copy merge(const hri_copy *copy)
{
    hri_copy box = *copy;
    if (box.height == 1 ||
        (box.to_pitch == box.width && box.from_pitch == box.width)) {
        box.width *= box.height;
        box.height = box.depth;
        box.depth = 1;
        box.to_pitch = box.to_slice;
        box.from_pitch = box.from_slice;
        if (box.to_pitch == box.width && box.from_pitch == box.width) {
            box.width *= box.height;
            box.height = 1;
        }
    }
    return box;
}

void hri_host_copy(const hri_copy *copy)
{
    if (copy->width == 0 || copy->height == 0 || copy->depth == 0) {
        return;
    }
    hri_copy box = merge(copy);
    unsigned char *to = hri_host_address(&box.to);
    const unsigned char *from = hri_host_address(&box.from);
    for (size_t slice = 0; slice < box.depth; slice++) {
        copy_slice(to + slice * box.to_slice, from + slice * box.from_slice,
                   &box);
    }
}
