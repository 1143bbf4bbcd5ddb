/* SPDX-License-Identifier: MIT */
/* Cells beyond the ends of a grid. Their values follow from cells of the grid
 * by the rule of a boundary (headrace/grid.h). Views have three dimensions.
 * Their elements are units of a cell, so that cells of any type can be
 * moved. */
#include <headrace/dialect.h>

/* The shell: cells of an outer box, lo to hi, outside of an inner box, in to
 * out. src/grid/boundary.c has the same struct. */
typedef struct hr_shell {
    hr_index extent[3];          /* of the grid */
    hr_index lo[3], in[3];       /* where the outer and the inner box start */
    hr_index out[3], hi[3];      /* and end */
    hr_index below[3], above[3]; /* boundaries: enum hr_boundary */
    hr_index units;              /* of a cell */
} hr_shell;

enum { CONSTANT, CLAMP, MIRROR, PERIODIC };

/* Whether cells at index x of dimension d keep their values. */
HR_FUNCTION int stays(const hr_shell s, int d, hr_index x)
{
    return (x < 0 && s.below[d] == CONSTANT) ||
           (x >= s.extent[d] && s.above[d] == CONSTANT);
}

/* The index, in dimension d, of the cell that a cell at index x gets its value
 * from. That is one inside, or x itself if the boundary is the user's. */
HR_FUNCTION hr_index source(const hr_shell s, int d, hr_index x)
{
    const hr_index n = s.extent[d];
    const hr_index rule = x < 0 ? s.below[d] : s.above[d];
    if (x >= 0 && x < n) {
        return x;
    }
    if (rule == CLAMP) {
        return x < 0 ? 0 : n - 1;
    }
    if (rule == PERIODIC) {
        x %= n;
        return x < 0 ? x + n : x;
    }
    if (rule == MIRROR) {
        x %= 2 * n;
        x = x < 0 ? x + 2 * n : x;
        return x < n ? x : 2 * n - 1 - x;
    }
    return x;
}

/* How many indices of dimension d are outside of the inner box, and the t-th of
 * them. */
HR_FUNCTION hr_index outside(const hr_shell s, int d)
{
    return s.in[d] - s.lo[d] + s.hi[d] - s.out[d];
}

HR_FUNCTION hr_index outer(const hr_shell s, int d, hr_index t)
{
    const hr_index low = s.in[d] - s.lo[d];
    return t < low ? s.lo[d] + t : s.out[d] + t - low;
}

/* Compute cell number t of the shell: whole slices first, then rows of the
 * slices between, then the ends of the rows between. */
#define FILL(name, unit)                                                       \
    HR_KERNEL2(name, (INOUT, unit, 3, f), (VALUE, hr_shell, 0, s))             \
    {                                                                          \
        HR_EACH1(number)                                                       \
        {                                                                      \
            const hr_index wide = s.hi[2] - s.lo[2], high = s.hi[1] - s.lo[1]; \
            const hr_index slices = outside(s, 0) * high * wide;               \
            const hr_index rows = (s.out[0] - s.in[0]) * outside(s, 1) * wide; \
            hr_index t = number, i, j, k;                                      \
            if (t < slices) {                                                  \
                i = outer(s, 0, t / wide / high);                              \
                j = s.lo[1] + t / wide % high;                                 \
                k = s.lo[2] + t % wide;                                        \
            } else if (t - slices < rows) {                                    \
                t -= slices;                                                   \
                i = s.in[0] + t / wide / outside(s, 1);                        \
                j = outer(s, 1, t / wide % outside(s, 1));                     \
                k = s.lo[2] + t % wide;                                        \
            } else {                                                           \
                t -= slices + rows;                                            \
                k = outer(s, 2, t % outside(s, 2));                            \
                t /= outside(s, 2);                                            \
                j = s.in[1] + t % (s.out[1] - s.in[1]);                        \
                i = s.in[0] + t / (s.out[1] - s.in[1]);                        \
            }                                                                  \
            const hr_index si = source(s, 0, i), sj = source(s, 1, j),         \
                           sk = source(s, 2, k);                               \
            if (!stays(s, 0, i) && !stays(s, 1, j) && !stays(s, 2, k) &&       \
                (si != i || sj != j || sk != k)) {                             \
                for (hr_index u = 0; u < s.units; u++) {                       \
                    HR_AT3(f, i, j, k *s.units + u) =                          \
                        HR_AT3(f, si, sj, sk * s.units + u);                   \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }

FILL(hri_halo_fill1, unsigned char)
FILL(hri_halo_fill2, unsigned short)
FILL(hri_halo_fill4, unsigned int)
FILL(hri_halo_fill8, unsigned long)

/* Set all cells to the one cell `value`. */
#define SET(name, unit)                                                        \
    HR_KERNEL2(name, (OUT, unit, 3, f), (IN, unit, 1, value))                  \
    {                                                                          \
        HR_EACH3(i, j, k)                                                      \
        {                                                                      \
            const hr_index n = HR_EXTENT(value, 0);                            \
            HR_AT3(f, i, j, k) = HR_AT1(value, (k % n + n) % n);               \
        }                                                                      \
    }

SET(hri_halo_set1, unsigned char)
SET(hri_halo_set2, unsigned short)
SET(hri_halo_set4, unsigned int)
SET(hri_halo_set8, unsigned long)
