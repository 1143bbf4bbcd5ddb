/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "backends/host/host.h"
#include "base/size.h"

void hri_host_copy(const hri_copy *copy)
{
    if (!hri_copy_is_empty(copy)) {
        hri_copy box = *copy;
        box.to = hri_at_host(hri_host_address(&copy->to), 0);
        box.from = hri_at_host(hri_host_address(&copy->from), 0);
        hri_copy_rows(&box);
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
