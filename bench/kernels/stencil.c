/* SPDX-License-Identifier: MIT */
/* Steps of grids (headrace/grid.h) that `headrace bench grid` measures. Each
 * reads what it needs of a cell's neighbours and writes the cell once. If
 * neighbours come from a cache, the fewest bytes for a cell are one read and
 * one write. */
#include <headrace/dialect.h>

enum {
    ROWS = 16,     /* read at once, to keep memory busy */
    WAVE_ROWS = 4, /* likewise, of three fields */
    LINES = 4      /* of a slice, for one item */
};

/* Jacobi's iteration for Laplace's equation in the plane: 8 bytes and 4
 * operations for a cell. An item goes down HR_STEP(0) rows of a column and
 * keeps what it has read of it, or it has one cell. The next ROWS rows are on
 * their way while it computes, so that memory is never idle. Without that the
 * order of reads and writes is the compiler's: on an H200 the same source
 * reached 0.77 to 0.92 of copies, and this one 0.95 (NVRTC 13.0, November
 * 2026). */
HR_FUNCTION float mean_of_4(float up, float down, float left, float right)
{
    return 0.25f * (up + down + left + right);
}

HR_KERNEL2(jacobi, (IN, float, 2, now), (OUT, float, 2, next))
{
    if (HR_STEP(0) == 1) {
        HR_EACH2(row, col)
        {
            HR_AT2(next, row, col) =
                mean_of_4(HR_AT2(now, row - 1, col), HR_AT2(now, row + 1, col),
                          HR_AT2(now, row, col - 1), HR_AT2(now, row, col + 1));
        }
        return;
    }
    HR_EACH2(top, col)
    {
        const hr_index stop = top + HR_STEP(0);
        const hr_index end = stop < HR_END(0) ? stop : HR_END(0);
        const hr_index line = HR_STRIDE(now, 0);
        HR_MEMORY const float *from = &HR_AT2(now, top, col);
        HR_MEMORY float *to = &HR_AT2(next, top, col);
        float up = from[-line], mid = from[0], ahead[ROWS];
        hr_index row = top;
        HR_UNROLL
        for (int u = 0; u < ROWS; u++) {
            ahead[u] = row + ROWS <= end ? from[(u + 1) * line] : 0.0f;
        }
        for (; row + ROWS <= end; row += ROWS) {
            float down[ROWS];
            HR_UNROLL
            for (int u = 0; u < ROWS; u++) {
                down[u] = ahead[u];
            }
            if (row + 2 * ROWS <= end) {
                HR_UNROLL
                for (int u = 0; u < ROWS; u++) {
                    ahead[u] = from[(ROWS + u + 1) * line];
                }
            }
            HR_UNROLL
            for (int u = 0; u < ROWS; u++) {
                *to = mean_of_4(up, down[u], from[-1], from[1]);
                from += line;
                to += HR_STRIDE(next, 0);
                up = mid;
                mid = down[u];
            }
        }
        for (; row < end; row++) {
            const float down = from[line];
            *to = mean_of_4(up, down, from[-1], from[1]);
            from += line;
            to += HR_STRIDE(next, 0);
            up = mid;
            mid = down;
        }
    }
}

enum { MAX_WIDTH = 256, FAR = 1 << 20 };

/* Several such steps at once, in tiles of 1 x up to MAX_WIDTH items, so that a
 * cell is read and written once for all of them. Its halo has STEPS cells, with
 * a constant boundary. Rows stream past. When level 0 (what is read) is at row
 * r, level t is at row r - t. Two tiles compute STEPS columns on either side.
 * The sums are those of `jacobi`, in the same order. */

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)

/* Items keep the two rows before that in their column, and the tile keeps one.
 * The first 2 STEPS items have one more column each. */

/* Compute all levels of the tile's column number `at`, which has `inner` rows
 * of the grid. `value` goes from level 0 to the last. */
#define ADVANCE(c, STEPS, at, inner, value)                                    \
    for (int t = 0; t < STEPS; t++) {                                          \
        const int inside = (unsigned)((int)n - STEPS - 1 - t - low) < inner;   \
        const float left = lines[(n + 1) % 2][t][at + STEPS];                  \
        const float right = lines[(n + 1) % 2][t][at + STEPS + 2];             \
        const float result =                                                   \
            inside ? mean_of_4(c.up[t], value, left, right) : c.mid[t];        \
        lines[n % 2][t][at + STEPS + 1] = value;                               \
        c.up[t] = c.mid[t];                                                    \
        c.mid[t] = value;                                                      \
        value = result;                                                        \
    }

#define JACOBI_STEPS(name, STEPS)                                              \
    typedef struct name##_column {                                             \
        float up[STEPS], mid[STEPS];                                           \
    } name##_column;                                                           \
    HR_KERNEL2(name, (IN, float, 2, now), (OUT, float, 2, next))               \
    {                                                                          \
        HR_TILE_STATIC(float, lines, [2][STEPS][MAX_WIDTH + 2 * STEPS + 2]);   \
        HR_PRIVATE(name##_column, own);                                        \
        HR_PRIVATE(name##_column, other);                                      \
        const hr_index rows = HR_EXTENT(now, 0), cols = HR_EXTENT(now, 1);     \
        for (hr_index n = 0; n < HR_STEP(0) + 2 * STEPS; n++) {                \
            HR_ITEMS2(top, col)                                                \
            {                                                                  \
                const int lane = (int)HR_LOCAL1;                               \
                const int side = lane < STEPS                                  \
                                     ? lane - STEPS                            \
                                     : lane - STEPS + (int)HR_TILE(1);         \
                const hr_index beside = col - lane + side;                     \
                const hr_index row = top - STEPS + n;                          \
                hr_index end = top + HR_STEP(0);                               \
                end = end < HR_END(0) ? end : HR_END(0);                       \
                /* rows of the grid, counted from top */                       \
                const int low = top < FAR ? -(int)top : -FAR;                  \
                const int high = rows - top < FAR ? (int)(rows - top) : FAR;   \
                const unsigned height = (unsigned)(high - low);                \
                if (row < end + STEPS && col < cols + STEPS) {                 \
                    float value = HR_AT2(now, row, col);                       \
                    ADVANCE(HR_P(own), STEPS, lane, (col < cols ? height : 0), \
                            value)                                             \
                    if (n >= 2 * STEPS && col < HR_END(1)) {                   \
                        HR_AT2(next, row - STEPS, col) = value;                \
                    }                                                          \
                }                                                              \
                if (lane < 2 * STEPS && row < end + STEPS &&                   \
                    beside < cols + STEPS) {                                   \
                    float value = HR_AT2(now, row, beside);                    \
                    ADVANCE(HR_P(other), STEPS, side,                          \
                            (HR_HAS_(now, 1, beside) ? height : 0), value)     \
                }                                                              \
            }                                                                  \
            HR_BARRIER;                                                        \
        }                                                                      \
    }

#else

/* The first item computes the tile, along rows, so that loops become vectors.
 * The tile keeps three rows of each level. */

/* Compute `count` cells of a row from three rows of the level before. So many
 * at its start and at its end are not of the grid, and stay. */
HR_FUNCTION void advance(float *HR_RESTRICT to, const float *up,
                         const float *mid, const float *down, hr_index count,
                         hr_index before, hr_index after)
{
    for (hr_index c = 0; c < before; c++) {
        to[c] = mid[c];
    }
    for (hr_index c = before; c < count - after; c++) {
        to[c] = mean_of_4(up[c], down[c], mid[c - 1], mid[c + 1]);
    }
    for (hr_index c = count - after; c < count; c++) {
        to[c] = mid[c];
    }
}

/* Column `first` of a row of level t. */
#define LINE(STEPS, t, row, first)                                             \
    ((t) == 0 ? &HR_AT2(now, row, first)                                       \
              : &lines[(t)-1][((row) + 3 * STEPS) % 3][(first)-left + STEPS])

/* Compute row r - t of level t, which has STEPS - t columns more than the tile
 * on either side. Rows that are not of the grid stay. */
#define ADVANCE(STEPS, t, r)                                                   \
    {                                                                          \
        const hr_index row = (r) - (t);                                        \
        const hr_index first = left - (STEPS - (t));                           \
        const hr_index last = right + (STEPS - (t));                           \
        const hr_index count = last - first;                                   \
        const hr_index before = first < 0 ? -first : 0;                        \
        const hr_index after = last > cols ? last - cols : 0;                  \
        const int inside = row >= 0 && row < rows;                             \
        advance((t) == STEPS ? &HR_AT2(next, row, first)                       \
                             : (float *)LINE(STEPS, t, row, first),            \
                LINE(STEPS, (t)-1, row - 1, first),                            \
                LINE(STEPS, (t)-1, row, first),                                \
                LINE(STEPS, (t)-1, row + 1, first), count,                     \
                inside ? before : count, inside ? after : 0);                  \
    }

#define JACOBI_STEPS(name, STEPS)                                              \
    HR_KERNEL2(name, (IN, float, 2, now), (OUT, float, 2, next))               \
    {                                                                          \
        HR_TILE_STATIC(float, lines, [STEPS][3][MAX_WIDTH + 2 * STEPS]);       \
        const hr_index rows = HR_EXTENT(now, 0), cols = HR_EXTENT(now, 1);     \
        HR_ITEMS2(top, left)                                                   \
        {                                                                      \
            const hr_index below = top + HR_STEP(0);                           \
            const hr_index end = below < HR_END(0) ? below : HR_END(0);        \
            const hr_index beside = left + HR_TILE(1);                         \
            const hr_index right = beside < HR_END(1) ? beside : HR_END(1);    \
            const hr_index stop = HR_LOCAL1 == 0 ? end + STEPS : top - STEPS;  \
            for (hr_index r = top - STEPS + 2; r < stop; r++) {                \
                const hr_index all = (r - top + STEPS) / 2;                    \
                for (hr_index t = 1; t <= (all < STEPS ? all : STEPS); t++) {  \
                    ADVANCE(STEPS, t, r)                                       \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }

#endif

JACOBI_STEPS(jacobi2, 2)
JACOBI_STEPS(jacobi4, 4)
JACOBI_STEPS(jacobi8, 8)

/* Heat in space, 7 points: 8 bytes and 8 operations for a cell. An item goes
 * through HR_STEP(0) slices, with up to LINES rows in each, so that it keeps
 * most of what it needs twice. Or it has one cell (both are 1). */
HR_FUNCTION float heated(float mid, float rate, float before, float after,
                         float up, float down, float left, float right)
{
    return mid +
           rate * (before + after + (up + down + left + right) - 6.0f * mid);
}

HR_KERNEL3(heat7, (IN, float, 3, now), (OUT, float, 3, next),
           (VALUE, float, 0, rate))
{
    if (HR_STEP(0) == 1 && HR_STEP(1) == 1) {
        HR_EACH3(i, j, k)
        {
            HR_AT3(next, i, j, k) =
                heated(HR_AT3(now, i, j, k), rate, HR_AT3(now, i - 1, j, k),
                       HR_AT3(now, i + 1, j, k), HR_AT3(now, i, j - 1, k),
                       HR_AT3(now, i, j + 1, k), HR_AT3(now, i, j, k - 1),
                       HR_AT3(now, i, j, k + 1));
        }
        return;
    }
    HR_EACH3(first, j, k)
    {
        const hr_index stop = first + HR_STEP(0);
        const hr_index end = stop < HR_END(0) ? stop : HR_END(0);
        const hr_index slice = HR_STRIDE(now, 0), row = HR_STRIDE(now, 1);
        HR_MEMORY const float *from = &HR_AT3(now, first, j, k);
        HR_MEMORY float *to = &HR_AT3(next, first, j, k);
        const int lines =
            (int)(HR_END(1) - j < HR_STEP(1) ? HR_END(1) - j : HR_STEP(1));
        float before[LINES], mid[LINES];
        for (int u = 0; u < LINES; u++) {
            before[u] = u < lines ? from[u * row - slice] : 0.0f;
            mid[u] = u < lines ? from[u * row] : 0.0f;
        }
        for (hr_index i = first; i < end; i++) {
            float after[LINES], left[LINES], right[LINES];
            float up = from[-row];
            const float below = from[lines * row];
            for (int u = 0; u < LINES; u++) {
                after[u] = u < lines ? from[u * row + slice] : 0.0f;
                left[u] = u < lines ? from[u * row - 1] : 0.0f;
                right[u] = u < lines ? from[u * row + 1] : 0.0f;
            }
            for (int u = 0; u < LINES; u++) {
                const float down =
                    u + 1 < lines ? mid[u + 1 < LINES ? u + 1 : u] : below;
                if (u < lines) {
                    to[u * HR_STRIDE(next, 1)] =
                        heated(mid[u], rate, before[u], after[u], up, down,
                               left[u], right[u]);
                }
                up = mid[u];
            }
            for (int u = 0; u < LINES; u++) {
                before[u] = mid[u];
                mid[u] = after[u];
            }
            from += slice;
            to += HR_STRIDE(next, 0);
        }
    }
}

/* Maxwell's equations in the plane (TMz) on Yee's grid [Yee1966], in place: hx
 * and hy first, 20 bytes for a cell, then ez, 16 bytes. */
HR_FUNCTION float hx_of(float hx, float courant, float ez, float right)
{
    return hx - courant * (right - ez);
}

HR_FUNCTION float hy_of(float hy, float courant, float ez, float below)
{
    return hy + courant * (below - ez);
}

HR_FUNCTION float ez_of(float ez, float courant, float hx, float hy, float left,
                        float above)
{
    return ez + courant * (hy - above - (hx - left));
}

HR_KERNEL4(fdtd_h, (IN, float, 2, ez), (INOUT, float, 2, hx),
           (INOUT, float, 2, hy), (VALUE, float, 0, courant))
{
    HR_EACH2(i, j)
    {
        const float e = HR_AT2(ez, i, j);
        HR_AT2(hx, i, j) =
            hx_of(HR_AT2(hx, i, j), courant, e, HR_AT2(ez, i, j + 1));
        HR_AT2(hy, i, j) =
            hy_of(HR_AT2(hy, i, j), courant, e, HR_AT2(ez, i + 1, j));
    }
}

HR_KERNEL4(fdtd_e, (IN, float, 2, hx), (IN, float, 2, hy),
           (INOUT, float, 2, ez), (VALUE, float, 0, courant))
{
    HR_EACH2(i, j)
    {
        HR_AT2(ez, i, j) =
            ez_of(HR_AT2(ez, i, j), courant, HR_AT2(hx, i, j), HR_AT2(hy, i, j),
                  HR_AT2(hx, i, j - 1), HR_AT2(hy, i - 1, j));
    }
}

/* Both halves of a time step at once, into a second copy of each field: 24
 * bytes for a cell. What ez needs of hx and hy beside is computed twice. An
 * item goes down HR_STEP(0) rows of a column. */
HR_KERNEL7(fdtd, (IN, float, 2, ez), (IN, float, 2, hx), (IN, float, 2, hy),
           (OUT, float, 2, ez_next), (OUT, float, 2, hx_next),
           (OUT, float, 2, hy_next), (VALUE, float, 0, courant))
{
    HR_EACH2(top, j)
    {
        const hr_index stop = top + HR_STEP(0);
        const hr_index end = stop < HR_END(0) ? stop : HR_END(0);
        HR_MEMORY const float *e_from = &HR_AT2(ez, top, j);
        HR_MEMORY const float *x_from = &HR_AT2(hx, top, j);
        HR_MEMORY const float *y_from = &HR_AT2(hy, top, j);
        HR_MEMORY float *e_to = &HR_AT2(ez_next, top, j);
        HR_MEMORY float *x_to = &HR_AT2(hx_next, top, j);
        HR_MEMORY float *y_to = &HR_AT2(hy_next, top, j);
        float e = e_from[0];
        float above = top > 0 ? hy_of(y_from[-HR_STRIDE(hy, 0)], courant,
                                      e_from[-HR_STRIDE(ez, 0)], e)
                              : 0.0f;
        hr_index i = top;
        for (; i + WAVE_ROWS <= end; i += WAVE_ROWS) {
            float right[WAVE_ROWS], left[WAVE_ROWS], below[WAVE_ROWS];
            float x[WAVE_ROWS], beside[WAVE_ROWS], y[WAVE_ROWS];
            for (int u = 0; u < WAVE_ROWS; u++) {
                left[u] = e_from[-1];
                right[u] = e_from[1];
                e_from += HR_STRIDE(ez, 0);
                below[u] = e_from[0];
                x[u] = x_from[0];
                beside[u] = x_from[-1];
                x_from += HR_STRIDE(hx, 0);
                y[u] = y_from[0];
                y_from += HR_STRIDE(hy, 0);
            }
            for (int u = 0; u < WAVE_ROWS; u++) {
                const float own = hx_of(x[u], courant, e, right[u]);
                const float other = hx_of(beside[u], courant, left[u], e);
                const float under = hy_of(y[u], courant, e, below[u]);
                *x_to = own;
                *y_to = under;
                *e_to =
                    ez_of(e, courant, own, under, j > 0 ? other : 0.0f, above);
                x_to += HR_STRIDE(hx_next, 0);
                y_to += HR_STRIDE(hy_next, 0);
                e_to += HR_STRIDE(ez_next, 0);
                above = under;
                e = below[u];
            }
        }
        for (; i < end; i++) {
            const float below = e_from[HR_STRIDE(ez, 0)];
            const float own = hx_of(x_from[0], courant, e, e_from[1]);
            const float other = hx_of(x_from[-1], courant, e_from[-1], e);
            const float under = hy_of(y_from[0], courant, e, below);
            *x_to = own;
            *y_to = under;
            *e_to = ez_of(e, courant, own, under, j > 0 ? other : 0.0f, above);
            e_from += HR_STRIDE(ez, 0);
            x_from += HR_STRIDE(hx, 0);
            y_from += HR_STRIDE(hy, 0);
            x_to += HR_STRIDE(hx_next, 0);
            y_to += HR_STRIDE(hy_next, 0);
            e_to += HR_STRIDE(ez_next, 0);
            above = under;
            e = below;
        }
    }
}
