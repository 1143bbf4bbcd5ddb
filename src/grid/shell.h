/* SPDX-License-Identifier: MIT */
/* The shell of a box of cells, and where its values come from. */
#ifndef HRI_GRID_SHELL_H
#define HRI_GRID_SHELL_H

#include <stddef.h>

#include <headrace/grid.h>
#include <headrace/kernel.h>

#include "base/size.h"

/* Cells of an outer box, lo to hi, outside of an inner box, in to out. It has
 * three dimensions; the grid's are the last ones. kernels/dialect/halo.c has
 * the same struct. */
typedef struct hri_shell {
    int64_t extent[HR_MAX_KERNEL_RANK]; /* of the grid */
    int64_t lo[HR_MAX_KERNEL_RANK], in[HR_MAX_KERNEL_RANK];
    int64_t out[HR_MAX_KERNEL_RANK], hi[HR_MAX_KERNEL_RANK];
    int64_t below[HR_MAX_KERNEL_RANK],
        above[HR_MAX_KERNEL_RANK]; /* boundaries */
    int64_t units;                 /* of a cell */
} hri_shell;

static inline int64_t hri_wrap(int64_t x, int64_t period)
{
    const int64_t rest = x % period;
    return rest < 0 ? rest + period : rest;
}

/* The index, in a dimension of extent n, of the cell that gives its value to a
 * cell at index x. It is x itself if that is inside, or the boundary is the
 * user's. The boundary must not be constant. */
static inline int64_t hri_shell_source(int64_t boundary, int64_t n, int64_t x)
{
    if (x >= 0 && x < n) {
        return x;
    }
    switch (boundary) {
    case HR_BOUNDARY_CLAMP:
        return x < 0 ? 0 : n - 1;
    case HR_BOUNDARY_MIRROR:
        x = x >= -n && x < 2 * n ? x : hri_wrap(x, 2 * n);
        return x < 0 ? -1 - x : x < n ? x : 2 * n - 1 - x;
    case HR_BOUNDARY_PERIODIC:
        return x >= -n && x < 0      ? x + n
               : x >= n && x - n < n ? x - n
                                     : hri_wrap(x, n);
    default: /* the user's */
        return x;
    }
}

/* How many indices of dimension d are outside of the inner box, and the t-th of
 * them. */
static inline int64_t hri_shell_outside(const hri_shell *s, int d)
{
    return s->in[d] - s->lo[d] + s->hi[d] - s->out[d];
}

static inline int64_t hri_shell_outer(const hri_shell *s, int d, int64_t t)
{
    const int64_t low = s->in[d] - s->lo[d];
    return t < low ? s->lo[d] + t : s->out[d] + t - low;
}

/* How many rows have cells of the shell, and how many of these are in it as a
 * whole. Those come first. */
static inline int64_t hri_shell_rows(const hri_shell *s, int64_t *whole)
{
    const int64_t high = s->hi[1] - s->lo[1];
    const int64_t slices = s->out[0] - s->in[0];
    *whole = hri_shell_outside(s, 0) * high + slices * hri_shell_outside(s, 1);
    return hri_shell_outside(s, 2) == 0
               ? *whole
               : *whole + slices * (s->out[1] - s->in[1]);
}

/* Row number t: cells i, j, .. Returns whether all of it is in the shell. */
static inline bool hri_shell_row(const hri_shell *s, int64_t t, int64_t *i,
                                 int64_t *j)
{
    const int64_t high = s->hi[1] - s->lo[1];
    const int64_t inner = s->out[1] - s->in[1];
    const int64_t beside = hri_shell_outside(s, 1);
    const int64_t slices = hri_shell_outside(s, 0) * high;
    const int64_t rest = t - slices;
    if (rest < 0) {
        *i = hri_shell_outer(s, 0, t / high);
        *j = s->lo[1] + t % high;
        return true;
    }
    const int64_t inside = rest - (s->out[0] - s->in[0]) * beside;
    if (inside < 0) {
        *i = s->in[0] + rest / beside;
        *j = hri_shell_outer(s, 1, rest % beside);
        return true;
    }
    *i = s->in[0] + inside / inner;
    *j = s->in[1] + inside % inner;
    return false;
}

/* ---- what follows from rows of fields that a kernel writes. If a tile has
 * whole rows, the host fills it behind each tile, while they are in its cache.
 */

enum { HRI_MAX_ENDS = 16 };

/* An index beyond the ends of a dimension, and the one inside that it gets its
 * values from. */
typedef struct hri_end {
    int64_t to, from;
} hri_end;

typedef struct hri_ends {
    uint32_t count;
    int64_t low, high; /* indices from low to before high give no values */
    hri_end list[HRI_MAX_ENDS];
} hri_ends;

typedef struct hri_written_rows {
    size_t at, shape_at; /* of the field in the kernel's arguments */
    uint32_t argument;
    bool list;            /* of views, one for each component */
    int64_t cell_bytes;   /* bytes of a cell */
    int64_t first, cells; /* of a row inside */
    hri_ends ends[HR_MAX_KERNEL_RANK];
} hri_written_rows;

typedef struct hri_row_ends {
    uint32_t rank, count;
    bool all; /* also rows beyond the ends, not just ends of rows */
    hri_written_rows of[HR_MAX_PARAMETERS];
} hri_row_ends;

static inline size_t hri_row_ends_bytes(const hri_row_ends *ends)
{
    return offsetof(hri_row_ends, of) + ends->count * sizeof ends->of[0];
}

/* kernels/host/halo.c: an hri_epilogue's function; data is an hri_row_ends. */
void hri_row_ends_fill(const void *data, const hr_domain *domain,
                       const void *arguments);

#endif
