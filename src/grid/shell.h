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
    int64_t extent[HR_MAX_RANK]; /* of the grid */
    int64_t lo[HR_MAX_RANK], in[HR_MAX_RANK];
    int64_t out[HR_MAX_RANK], hi[HR_MAX_RANK];
    int64_t below[HR_MAX_RANK], above[HR_MAX_RANK]; /* boundaries */
    int64_t units;                                  /* of a cell */
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
        return x >= -n && x < 0         ? x + n
               : x >= n && x - n < n    ? x - n
                                        : hri_wrap(x, n);
    default: /* the user's */
        return x;
    }
}

/* How many slices (indices of dimension 0) have cells of the shell, and the
 * t-th of them: all, or where the inner box has whole slices, those outside of
 * it. */
static inline bool hri_shell_is_split(const hri_shell *s)
{
    return s->in[1] == s->lo[1] && s->out[1] == s->hi[1] &&
           s->in[2] == s->lo[2] && s->out[2] == s->hi[2];
}

static inline int64_t hri_shell_slices(const hri_shell *s)
{
    return s->hi[0] - s->lo[0] -
           (hri_shell_is_split(s) ? s->out[0] - s->in[0] : 0);
}

static inline int64_t hri_shell_slice(const hri_shell *s, int64_t t)
{
    const int64_t slice = s->lo[0] + t;
    return hri_shell_is_split(s) && slice >= s->in[0]
               ? slice + s->out[0] - s->in[0]
               : slice;
}

/* The ends of rows of fields that a kernel writes. Where a tile has whole rows,
 * the host fills them behind each tile, while they are in its cache. */
typedef struct hri_row_ends {
    uint32_t rank, count;
    struct {
        size_t at, shape_at; /* of the field in the kernel's arguments */
        hri_shell shell;     /* its last dimension counts, units are bytes */
    } of[HR_MAX_PARAMETERS];
} hri_row_ends;

static inline size_t hri_row_ends_bytes(const hri_row_ends *ends)
{
    return offsetof(hri_row_ends, of) + ends->count * sizeof ends->of[0];
}

/* kernels/host/halo.c: an hri_epilogue's function; data is an hri_row_ends. */
void hri_row_ends_fill(const void *data, const hr_domain *domain,
                       const void *arguments);

#endif
