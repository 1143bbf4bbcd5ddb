/* SPDX-License-Identifier: MIT */
/* The lattice Boltzmann method in space, D3Q19 with one relaxation time
 * [Qian1992], that `headrace bench grid` measures. Compiled to be reproducible,
 * so plain C gives the same bits.
 *
 * A cell has 19 populations. Row 19 y + q of the grid's dimension 1 has those
 * of direction q of the cells in row y. So rows are read and written in one
 * piece, and with a step of 19 in dimension 1 an item has all populations of
 * its cell: 152 bytes. All sides are periodic. Slices have a halo. Rows and
 * columns wrap around here: a halo around each row would cost a GPU a tenth of
 * the step. */
#include <headrace/dialect.h>

enum { DIRECTIONS = 19 };

/* The directions, with the cell that they lead to: slices, rows and columns
 * further. Opposite ones follow each other. */
#define EACH_DIRECTION(f)                                                      \
    f(0, 0, 0, 0);                                                             \
    f(1, 0, 0, 1);                                                             \
    f(2, 0, 0, -1);                                                            \
    f(3, 0, 1, 0);                                                             \
    f(4, 0, -1, 0);                                                            \
    f(5, 1, 0, 0);                                                             \
    f(6, -1, 0, 0);                                                            \
    f(7, 0, 1, 1);                                                             \
    f(8, 0, -1, -1);                                                           \
    f(9, 1, 0, 1);                                                             \
    f(10, -1, 0, -1);                                                          \
    f(11, 1, 1, 0);                                                            \
    f(12, -1, -1, 0);                                                          \
    f(13, 0, -1, 1);                                                           \
    f(14, 0, 1, -1);                                                           \
    f(15, -1, 0, 1);                                                           \
    f(16, 1, 0, -1);                                                           \
    f(17, -1, 1, 0);                                                           \
    f(18, 1, -1, 0)

/* A term with the factor 0 is left out here, since a compiler may not do so. */
#define ADD(sum, factor, term)                                                 \
    if ((factor) != 0) {                                                       \
        sum += (factor) * (term);                                              \
    }
#define PULL(q, dz, dy, dx)                                                    \
    f[q] = HR_AT3(now, z - (dz),                                               \
                  (q) + ((dy) > 0   ? above                                    \
                         : (dy) < 0 ? below                                    \
                                    : row),                                    \
                  (dx) > 0   ? left                                            \
                  : (dx) < 0 ? right                                           \
                             : x)
#define GATHER(q, dz, dy, dx)                                                  \
    rho += f[q];                                                               \
    ADD(ux, dx, f[q])                                                          \
    ADD(uy, dy, f[q])                                                          \
    ADD(uz, dz, f[q])
#define RELAX(q, dz, dy, dx)                                                   \
    {                                                                          \
        const float weight = (q) == 0  ? 1.0f / 3.0f                           \
                             : (q) < 7 ? 1.0f / 18.0f                          \
                                       : 1.0f / 36.0f;                         \
        float along = 0.0f;                                                    \
        ADD(along, dx, ux)                                                     \
        ADD(along, dy, uy)                                                     \
        ADD(along, dz, uz)                                                     \
        const float still =                                                    \
            weight * rho * (base + along * (3.0f + 4.5f * along));             \
        HR_AT3(next, z, row + (q), x) = f[q] + rate * (still - f[q]);          \
    }

/* Populations move one cell on, then relax towards the equilibrium by `rate`
 * (1 / relaxation time). */
HR_KERNEL3(lbm, (IN, float, 3, now), (OUT, float, 3, next),
           (VALUE, float, 0, rate))
{
    HR_EACH3(z, row, x)
    {
        const hr_index rows = HR_DOMAIN(1), columns = HR_DOMAIN(2);
        const hr_index above = (row > 0 ? row : rows) - DIRECTIONS;
        const hr_index next_row = row + DIRECTIONS;
        const hr_index below = next_row < rows ? next_row : 0;
        const hr_index left = (x > 0 ? x : columns) - 1;
        const hr_index right = x + 1 < columns ? x + 1 : 0;
        float f[DIRECTIONS];
        float rho = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
        EACH_DIRECTION(PULL);
        EACH_DIRECTION(GATHER);
        const float share = 1.0f / rho;
        ux *= share;
        uy *= share;
        uz *= share;
        const float base = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
        EACH_DIRECTION(RELAX);
    }
}
