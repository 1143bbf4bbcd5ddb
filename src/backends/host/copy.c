/* SPDX-License-Identifier: MIT */
/* Copies and transposes within the host's memory. */
#include <string.h>

#include "backends/host/host.h"
#include "base/matrix.h"
#include "base/size.h"

/* A box in chunks: some bytes of one row, some rows, or some slices. */
typedef struct chunks {
    hri_copy box;
    size_t each;
} chunks;

/* The extent along which a box is cut, and the bytes from one cut to the
 * next. */
static size_t *extent_of(hri_copy *box)
{
    return box->depth > 1    ? &box->depth
           : box->height > 1 ? &box->height
                             : &box->width;
}

static size_t step_of(const hri_copy *box, size_t pitch, size_t slice)
{
    return box->depth > 1 ? slice : box->height > 1 ? pitch : 1;
}

static void copy_chunk(void *data, int64_t index)
{
    const chunks *all = data;
    const hri_copy *box = &all->box;
    const size_t first = (size_t)index * all->each;
    hri_copy chunk = *box;
    size_t *extent = extent_of(&chunk);
    chunk.to.offset += first * step_of(box, box->to_pitch, box->to_slice);
    chunk.from.offset += first * step_of(box, box->from_pitch, box->from_slice);
    *extent -= first;
    *extent = *extent < all->each ? *extent : all->each;
    hri_copy_rows(&chunk);
}

/* Bytes of a chunk of a long copy. */
enum { CHUNK = 1 << 18 };

bool hri_host_copy_is_long(const hri_copy *copy)
{
    return copy->width * copy->height * copy->depth >= CHUNK;
}

void hri_host_copy(hri_pool *pool, const hri_copy *copy)
{
    if (hri_copy_is_empty(copy)) {
        return;
    }
    hri_copy box = *copy;
    box.to = hri_at_host(hri_host_address(&copy->to), 0);
    box.from = hri_at_host(hri_host_address(&copy->from), 0);
    chunks all = {.box = hri_copy_flatten(&box)};
    const size_t extent = *extent_of(&all.box);
    const size_t bytes = all.box.width * all.box.height * all.box.depth;
    const size_t least = (size_t)CHUNK * extent / bytes;
    all.each = least > 0 ? least : 1;
    const int64_t count = hri_ceil_div((int64_t)extent, (int64_t)all.each);
    /* waking threads takes longer than copying a few chunks, and a kernel that
     * has them may take long */
    if (count < hri_pool_threads(pool) ||
        !hri_pool_try(pool, count, copy_chunk, &all)) {
        hri_copy_rows(&box);
    }
}

/* In squares that stay in the first-level cache. */
void hri_host_pack(const hri_pack *t)
{
    enum { EDGE = 32 };
    const size_t size = hr_type_size(t->type);
    unsigned char *to = hri_host_address(&t->to);
    const unsigned char *from = hri_host_address(&t->from.place);
    for (int64_t r0 = 0; r0 < t->rows; r0 += EDGE) {
        for (int64_t c0 = 0; c0 < t->cols; c0 += EDGE) {
            for (int64_t r = r0; r < hri_min(r0 + EDGE, t->rows); r++) {
                for (int64_t c = c0; c < hri_min(c0 + EDGE, t->cols); c++) {
                    memcpy(to + (size_t)(c * t->to_stride + r) * size,
                           from + (size_t)(r * t->from.row_stride + c) * size,
                           size);
                }
            }
        }
    }
}
