/* SPDX-License-Identifier: MIT */
/* The lattice Boltzmann method in space, D3Q19 with one relaxation time
 * [Qian1992], that `headrace bench grid` measures. Compiled to be reproducible,
 * so plain C gives the same bits.
 *
 * A node has 19 populations. Row 19 y + q of the grid's dimension 1 has those
 * of direction q of the nodes in row y. So rows are read and written in one
 * piece, and with a step of 19 in dimension 1 an item has all populations of
 * its node. Halos of 1, 19 and 1 hold the nodes beside: 152 bytes for a node.
 */
#include <headrace/dialect.h>

enum { DIRECTIONS = 19 };

/* The directions, with the node that they lead to: slices, rows and columns
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
    f[q] = from[-(dz)*slice + ((q)-DIRECTIONS * (dy)) * row - (dx)]
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
        to[(q)*HR_STRIDE(next, 1)] = f[q] + rate * (still - f[q]);             \
    }

/* Populations move one node on, then relax towards the equilibrium by `rate`
 * (1 / relaxation time). */
HR_KERNEL3(lbm, (IN, float, 3, now), (OUT, float, 3, next),
           (VALUE, float, 0, rate))
{
    HR_EACH3(z, line, x)
    {
        const hr_index slice = HR_STRIDE(now, 0), row = HR_STRIDE(now, 1);
        HR_MEMORY const float *from = &HR_AT3(now, z, line, x);
        HR_MEMORY float *to = &HR_AT3(next, z, line, x);
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
