/* SPDX-License-Identifier: MIT */
/* The lattice Boltzmann method in two dimensions, D2Q9 [Qian1992], for
 * examples/cylinder.c. A cell has nine populations, each a field. */
#include <headrace/dialect.h>

typedef struct channel {
    float speed; /* where fluid comes in */
    float rate;  /* 1 / relaxation time */
    int row, col, radius;
} channel;

/* Where each population goes. Opposite ones follow each other. */
HR_CONSTANT int down[9] = {0, 0, 0, 1, -1, 1, -1, -1, 1};
HR_CONSTANT int right[9] = {0, 1, -1, 0, 0, 1, -1, 1, -1};
HR_CONSTANT float weights[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,
                                1.0f / 9,  1.0f / 9,  1.0f / 36,
                                1.0f / 36, 1.0f / 36, 1.0f / 36};

HR_FUNCTION int solid(channel c, hr_index i, hr_index j)
{
    return (i - c.row) * (i - c.row) + (j - c.col) * (j - c.col) <
           c.radius * c.radius;
}

/* Population q in balance, of density rho and speed (uy, ux). */
HR_FUNCTION float balance(int q, float rho, float uy, float ux)
{
    const float along = (float)down[q] * uy + (float)right[q] * ux;
    return weights[q] * rho *
           (1.0f + along * (3.0f + 4.5f * along) - 1.5f * (uy * uy + ux * ux));
}

/* What comes from the cell before, or back from the cylinder. */
#define PULL(q, own, opposite)                                                 \
    f[q] = solid(c, i - down[q], j - right[q])                                 \
               ? HR_AT2(opposite, i, j)                                        \
               : HR_AT2(own, i - down[q], j - right[q])

HR_KERNEL19(flow, (IN, float, 2, f0), (IN, float, 2, f1), (IN, float, 2, f2),
            (IN, float, 2, f3), (IN, float, 2, f4), (IN, float, 2, f5),
            (IN, float, 2, f6), (IN, float, 2, f7), (IN, float, 2, f8),
            (OUT, float, 2, g0), (OUT, float, 2, g1), (OUT, float, 2, g2),
            (OUT, float, 2, g3), (OUT, float, 2, g4), (OUT, float, 2, g5),
            (OUT, float, 2, g6), (OUT, float, 2, g7), (OUT, float, 2, g8),
            (VALUE, channel, 0, c))
{
    HR_EACH2(i, j)
    {
        float f[9], rho = 0.0f, uy = 0.0f, ux = 0.0f;
        f[0] = HR_AT2(f0, i, j);
        PULL(1, f1, f2);
        PULL(2, f2, f1);
        PULL(3, f3, f4);
        PULL(4, f4, f3);
        PULL(5, f5, f6);
        PULL(6, f6, f5);
        PULL(7, f7, f8);
        PULL(8, f8, f7);
        for (int q = 0; q < 9; q++) {
            rho += f[q];
            uy += (float)down[q] * f[q];
            ux += (float)right[q] * f[q];
        }
        const int entry = j == 0, rest = solid(c, i, j);
        rho = entry || rest ? 1.0f : rho;
        uy = entry || rest ? 0.0f : uy / rho;
        ux = rest ? 0.0f : entry ? c.speed : ux / rho;
        const float rate = entry || rest ? 1.0f : c.rate;
        for (int q = 0; q < 9; q++) {
            f[q] += rate * (balance(q, rho, uy, ux) - f[q]);
        }
        HR_AT2(g0, i, j) = f[0];
        HR_AT2(g1, i, j) = f[1];
        HR_AT2(g2, i, j) = f[2];
        HR_AT2(g3, i, j) = f[3];
        HR_AT2(g4, i, j) = f[4];
        HR_AT2(g5, i, j) = f[5];
        HR_AT2(g6, i, j) = f[6];
        HR_AT2(g7, i, j) = f[7];
        HR_AT2(g8, i, j) = f[8];
    }
}
