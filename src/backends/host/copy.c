/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "backends/host/host.h"
#include "base/size.h"

static void copy_slice(unsigned char *to, const unsigned char *from,
                       const hri_copy *box)
{
    for (size_t row = 0; row < box->height; row++) {
        memcpy(to + row * box->to_pitch, from + row * box->from_pitch,
               box->width);
    }
}

void hri_host_copy(const hri_copy *copy)
{
    if (hri_copy_is_empty(copy)) {
        return;
    }
    const hri_copy box = hri_copy_flatten(copy);
    unsigned char *to = hri_host_address(&box.to);
    const unsigned char *from = hri_host_address(&box.from);
    for (size_t slice = 0; slice < box.depth; slice++) {
        copy_slice(to + slice * box.to_slice, from + slice * box.from_slice,
                   &box);
    }
}

/* In squares that stay in the first cache while they are turned. */
void hri_host_turn(const hri_turn *t)
{
    enum { EDGE = 32 };
    const size_t size = hr_type_size(t->type);
    unsigned char *to = hri_host_address(&t->to);
    const unsigned char *from = hri_host_address(&t->from);
    for (int64_t r0 = 0; r0 < t->rows; r0 += EDGE) {
        for (int64_t c0 = 0; c0 < t->cols; c0 += EDGE) {
            for (int64_t r = r0; r < hri_min(r0 + EDGE, t->rows); r++) {
                for (int64_t c = c0; c < hri_min(c0 + EDGE, t->cols); c++) {
                    memcpy(to + (size_t)(c * t->to_stride + r) * size,
                           from + (size_t)(r * t->from_stride + c) * size,
                           size);
                }
            }
        }
    }
}
