/* SPDX-License-Identifier: MIT */
/* Packing: threads copy matrices of a group between the caller's memory and
 * pinned memory, where they lie without gaps. */
#include <string.h>

#include "base/size.h"
#include "gemm/batch.h"

/* Some lines of a group, counted over all its matrices. */
typedef struct share {
    hri_call call; /* first: see hri_threads_call */
    const hri_batch_packing *packing;
    int64_t index, of; /* this part of so many */
} share;

/* Copy lines `from` to before `to` of a matrix. */
static void copy_lines(const hri_batch_side *s, char *matrix, char *packed,
                       size_t from, size_t to, bool home)
{
    if (s->pitch == s->width) { /* one long line */
        char *const line = matrix + from * s->width;
        char *const place = packed + from * s->width;
        memcpy(home ? line : place, home ? place : line,
               (to - from) * s->width);
        return;
    }
    for (size_t i = from; i < to; i++) {
        char *const line = matrix + i * s->pitch;
        char *const place = packed + i * s->width;
        memcpy(home ? line : place, home ? place : line, s->width);
    }
}

static hr_status pack_share(void *argument)
{
    const share *w = argument;
    const hri_batch_packing *p = w->packing;
    const hri_batch_side *s = p->side;
    const int64_t lines = (int64_t)s->lines;
    const int64_t each = hri_ceil_div(lines * p->count, w->of);
    const int64_t end = hri_min((w->index + 1) * each, lines * p->count);
    for (int64_t line = w->index * each; line < end;) {
        const int64_t product = line / lines, from = line % lines;
        const int64_t to = hri_min(lines, from + end - line);
        const hr_matrix m = hri_matrices_at(p->matrices, p->first + product);
        copy_lines(s, m.data, (char *)p->pinned + (size_t)product * s->bytes,
                   (size_t)from, (size_t)to, p->home);
        line += to - from;
    }
    return HR_OK;
}

/* Waking a thread takes as long as copying some bytes. */
hr_status hri_batch_pack(const hri_batch_packing *packing)
{
    enum { BYTES = 512 << 10 };
    share all[HRI_MAX_COPY_THREADS];
    hri_accelerator *a = packing->accelerator;
    const size_t bytes = packing->side->bytes * (size_t)packing->count;
    const int64_t threads =
        hri_min((int64_t)(bytes / BYTES) + 1, hri_max(a->copy_threads, 1));
    for (int64_t i = 0; i < threads; i++) {
        all[i] = (share){.call = {.threads = i > 0 ? &a->threads : NULL},
                         .packing = packing,
                         .index = i,
                         .of = threads};
    }
    return hri_threads_call(pack_share, all, (size_t)threads, sizeof all[0]);
}
