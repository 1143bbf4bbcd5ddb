/* SPDX-License-Identifier: MIT */
/* Cells beyond the ends of a grid, on the host: row by row, so that an index is
 * worked out once for a row, and rows are copied as a whole.
 * kernels/dialect/halo.c does the same cell by cell. */
#include <headrace/dialect.h>

#include <string.h>

#include "grid/shell.h"

/* Whether cells at index x of dimension d keep their values. */
static inline bool stays(const hri_shell *s, int d, int64_t x)
{
    return (x < 0 && s->below[d] == HR_BOUNDARY_CONSTANT) ||
           (x >= s->extent[d] && s->above[d] == HR_BOUNDARY_CONSTANT);
}

static inline int64_t source(const hri_shell *s, int d, int64_t x)
{
    return hri_shell_source(x < 0 ? s->below[d] : s->above[d], s->extent[d], x);
}

/* Compute cells first to before end of a row. Their values come from row
 * `from`. Both are the addresses of cell 0. */
static inline void fill_cells(const hri_shell *s, unsigned char *to,
                              const unsigned char *from, int64_t first,
                              int64_t end, size_t bytes)
{
    for (int64_t k = first; k < end; k++) {
        const int64_t x = source(s, 2, k);
        if (!stays(s, 2, k) && (to != from || x != k)) {
            memcpy(to + k * (int64_t)bytes, from + x * (int64_t)bytes, bytes);
        }
    }
}

/* Compute the cells of a row: all of them, or those outside of the inner
 * box. */
static inline void fill_row(const hri_shell *s, unsigned char *to,
                            const unsigned char *from, bool all, size_t bytes)
{
    const int64_t lo = s->lo[2], hi = s->hi[2], n = s->extent[2];
    if (!all) {
        fill_cells(s, to, from, lo, s->in[2], bytes);
        fill_cells(s, to, from, s->out[2], hi, bytes);
        return;
    }
    const int64_t first = hri_min(hri_max(lo, 0), hi);
    const int64_t end = hri_max(hri_min(hi, n), first);
    fill_cells(s, to, from, lo, first, bytes);
    if (to != from) {
        memcpy(to + first * (int64_t)bytes, from + first * (int64_t)bytes,
               (size_t)(end - first) * bytes);
    }
    fill_cells(s, to, from, end, hi, bytes);
}

/* The same for cells of any size. The compiler knows the usual ones. */
static void fill_sized_row(const hri_shell *s, unsigned char *to,
                           const unsigned char *from, bool all)
{
    switch (s->units) {
    case 4:
        fill_row(s, to, from, all, 4);
        break;
    case 8:
        fill_row(s, to, from, all, 8);
        break;
    default:
        fill_row(s, to, from, all, (size_t)s->units);
        break;
    }
}

/* The view has bytes, and these are the units. An item has a row. */
HR_KERNEL2(hri_halo_rows, (INOUT, unsigned char, 3, f),
           (VALUE, hri_shell, 0, shell))
{
    HR_EACH1(number)
    {
        const hri_shell *s = &shell;
        int64_t i, j;
        const bool all = hri_shell_row(s, number, &i, &j);
        if (stays(s, 0, i) || stays(s, 1, j)) {
            continue;
        }
        unsigned char *to = &HR_AT3(f, i, j, 0);
        fill_sized_row(
            s, to, all ? &HR_AT3(f, source(s, 0, i), source(s, 1, j), 0) : to,
            all);
    }
}

/* ---- behind the tiles of a kernel */

/* Where a tile's points of a dimension start, and end. */
static int64_t first_of(const hr_domain *x, uint32_t d)
{
    return x->first[d] + x->number[d] * x->tile[d] * x->step[d];
}

static int64_t end_of(const hr_domain *x, uint32_t d)
{
    return hri_min(x->end[d], first_of(x, d) + x->tile[d] * x->step[d]);
}

static inline void fill_ends(const hri_ends *ends, unsigned char *row,
                             size_t bytes)
{
    for (uint32_t n = 0; n < ends->count; n++) {
        const hri_end *end = &ends->list[n];
        memcpy(row + end->to * (int64_t)bytes, row + end->from * (int64_t)bytes,
               bytes);
    }
}

/* The same for cells of any size. */
static void fill_sized_ends(const hri_ends *ends, unsigned char *row,
                            int64_t cell_bytes)
{
    switch (cell_bytes) {
    case 4:
        fill_ends(ends, row, 4);
        break;
    case 8:
        fill_ends(ends, row, 8);
        break;
    default:
        fill_ends(ends, row, (size_t)cell_bytes);
        break;
    }
}

/* Rows of a field. Of a grid of rank 2 they are in dimension 0, and the second
 * one counts one. */
typedef struct rows {
    const hri_written_rows *written;
    const hri_ends
        *ends[HR_MAX_KERNEL_RANK]; /* NULL: there is no such dimension */
    int64_t stride[2];             /* bytes */
} rows;

/* Whether rows with index x of dimension d may give values to others. */
static inline bool gives(const rows *r, int d, int64_t x)
{
    const hri_ends *ends = r->ends[d];
    return ends != NULL && (x < ends->low || x >= ends->high);
}

/* How far the row that gets its values from index x lies, in bytes. Number -1
 * is the row itself. */
static bool distance(const rows *r, int d, int64_t number, int64_t x,
                     int64_t *bytes)
{
    const hri_end *end = number < 0 ? NULL : &r->ends[d]->list[number];
    *bytes = end != NULL ? (end->to - x) * r->stride[d] : 0;
    return end == NULL || end->from == x;
}

/* Copy row (i, j) to all rows beyond the ends that follow from it. */
static void copy_row(const rows *r, unsigned char *row, int64_t i, int64_t j)
{
    const hri_written_rows *w = r->written;
    const int64_t slices = r->ends[0]->count;
    const int64_t lines = r->ends[1] != NULL ? r->ends[1]->count : 0;
    const size_t bytes = (size_t)(w->cells * w->cell_bytes);
    const int64_t first = w->first * w->cell_bytes;
    for (int64_t p = -1; p < slices; p++) {
        int64_t up, along;
        for (int64_t q = -1; distance(r, 0, p, i, &up) && q < lines; q++) {
            if (distance(r, 1, q, j, &along) && (p >= 0 || q >= 0)) {
                unsigned char *to = row + up + along;
                memcpy(to + first, row + first, bytes);
                fill_sized_ends(r->ends[2], to, w->cell_bytes);
            }
        }
    }
}

/* Fill what follows from a tile's rows of a view. */
static void fill_written_rows(const hri_written_rows *w,
                              const hr_domain *domain, bool space,
                              const hr_shape *shape, unsigned char *cells)
{
    const int64_t first = space ? first_of(domain, 1) : 0;
    const int64_t end = space ? end_of(domain, 1) : 1;
    const rows r = {
        w,
        {&w->ends[0], space ? &w->ends[1] : NULL, &w->ends[space ? 2 : 1]},
        {shape->stride[0] * w->cell_bytes,
         space ? shape->stride[1] * w->cell_bytes : 0}};
    for (int64_t i = first_of(domain, 0); i < end_of(domain, 0); i++) {
        unsigned char *slice =
            cells + shape->start * w->cell_bytes + i * r.stride[0];
        const bool all = gives(&r, 0, i);
        for (int64_t j = first; j < end; j++) {
            unsigned char *row = slice + j * r.stride[1];
            fill_sized_ends(r.ends[2], row, w->cell_bytes);
            if (all || gives(&r, 1, j)) {
                copy_row(&r, row, i, j);
            }
        }
    }
}

void hri_row_ends_fill(const void *data, const hr_domain *domain,
                       const void *arguments)
{
    const hri_row_ends *ends = data;
    const unsigned char *at = arguments;
    for (uint32_t n = 0; n < ends->count; n++) {
        const hri_written_rows *w = &ends->of[n];
        const hr_list_shape *list =
            w->list ? (const hr_list_shape *)(at + w->shape_at) : NULL;
        const int64_t count = list != NULL ? list->count : 1;
        unsigned char *cells = *(unsigned char *const *)(at + w->at);
        for (int64_t q = 0; q < count; q++) {
            fill_written_rows(
                w, domain, ends->rank == 3,
                (const hr_shape *)(at + w->shape_at),
                list != NULL ? cells + q * list->step * w->cell_bytes : cells);
        }
    }
}
