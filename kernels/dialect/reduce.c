/* SPDX-License-Identifier: MIT */
/* Reductions of rows (indices of dimension 0) of one view or two, in double.
 * The order of sums depends only on the extents. LANES items take the elements
 * of a row in turn, then halves are joined. Launched over rows x LANES in tiles
 * of 1 x LANES. */
#include <headrace/dialect.h>

enum {
    LANES = 64
}; /* as in src/grid/reduce.c; and the cells that make a row in rank 1 */

/* The values of enum hr_reduction in headrace/grid.h. */
enum { SUM = 1, MIN, LARGEST, DOT, DISTANCE, MAX };

#if defined(HR_HAS_DOUBLE)

HR_FUNCTION int is_sum(int kind)
{
    return kind == SUM || kind == DOT || kind == DISTANCE;
}

/* If one is a NaN, the result is a NaN. */
HR_FUNCTION double joined(int kind, double x, double y)
{
    if (is_sum(kind)) {
        return x + y;
    }
    if (kind == MIN) {
        return y < x || y != y ? y : x;
    }
    return y > x || y != y ? y : x;
}

/* A value that changes nothing when it is joined with another. */
HR_FUNCTION double nothing(int kind)
{
    const double infinity = 1.0 / 0.0;
    return is_sum(kind) ? 0.0 : kind == MIN ? infinity : -infinity;
}

HR_FUNCTION double term(int kind, double a, double b)
{
    const double difference = a - b;
    return kind == DOT        ? a * b
           : kind == DISTANCE ? difference * difference
           : kind == MAX      ? fabs(difference)
                              : a;
}

/* Join the parts that all lanes have made of the row. */
#define JOIN                                                                   \
    HR_BARRIER;                                                                \
    for (int apart = LANES / 2; apart > 0; apart /= 2) {                       \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            if (HR_LOCAL1 < apart) {                                           \
                part[HR_LOCAL1] =                                              \
                    joined(kind, part[HR_LOCAL1], part[HR_LOCAL1 + apart]);    \
            }                                                                  \
        }                                                                      \
        HR_BARRIER;                                                            \
    }                                                                          \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 == 0) {                                                  \
            HR_AT1(out, i) = part[0];                                          \
        }                                                                      \
    }

#define REDUCE(name, type)                                                     \
    HR_KERNEL4(name##_rows, (IN, type, 3, a), (IN, type, 3, b),                \
               (OUT, double, 1, out), (VALUE, int, 0, kind))                   \
    {                                                                          \
        HR_TILE_STATIC(double, part, [LANES]);                                 \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            double x = nothing(kind);                                          \
            for (hr_index j = 0; j < HR_EXTENT(a, 1); j++) {                   \
                for (hr_index k = lane; k < HR_EXTENT(a, 2); k += LANES) {     \
                    x = joined(kind, x,                                        \
                               term(kind, (double)HR_AT3(a, i, j, k),          \
                                    (double)HR_AT3(b, i, j, k)));              \
                }                                                              \
            }                                                                  \
            part[HR_LOCAL1] = x;                                               \
        }                                                                      \
        JOIN                                                                   \
    }                                                                          \
    HR_KERNEL4(name##_cells, (IN, type, 1, a), (IN, type, 1, b),               \
               (OUT, double, 1, out), (VALUE, int, 0, kind))                   \
    {                                                                          \
        HR_TILE_STATIC(double, part, [LANES]);                                 \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            const hr_index k = i * LANES + lane;                               \
            part[HR_LOCAL1] = k < HR_EXTENT(a, 0)                              \
                                  ? joined(kind, nothing(kind),                \
                                           term(kind, (double)HR_AT1(a, k),    \
                                                (double)HR_AT1(b, k)))         \
                                  : nothing(kind);                             \
        }                                                                      \
        JOIN                                                                   \
    }

REDUCE(hri_reduce_f32, float)
REDUCE(hri_reduce_f64, double)
REDUCE(hri_reduce_i32, int)

#endif
