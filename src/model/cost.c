/* SPDX-License-Identifier: MIT */
#include "model/cost.h"

#include <math.h>

/* The part of its speed that OpenBLAS keeps on a tile. Small tiles slow it
 * down, shallow ones hardly do. The reference is its speed on 6144 x 6144 x
 * 6144 in float. On 2 cores of a Xeon of the Sapphire Rapids kind it has 99 per
 * cent of that on 3072 x 3072 x 256, 93 on 1536 x 1536 x 768, 88 on 1024 x 1024
 * x 6144, and 77 on 512 x 512 x 6144. On an EPYC of the fourth generation it
 * has 98 (in double 96) on 3072 x 3072 x 3072 and 97 (92) on 2048 x 2048 x 6144
 * (November 2026). */
static double host_efficiency(double height, double width, double depth)
{
    return 1.0 / (1.0 + 60.0 / height + 60.0 / width + 4.0 / depth);
}

double hri_cost_batch(double m, double n, double k)
{
    return 1.0 / (1.0 + 16.0 / m + 16.0 / n + 4.0 / k);
}

double hri_cost_efficiency(const double fractions[HRI_TILE_RATES],
                           double height, double width, double depth)
{
    if (fractions[0] == 0.0) {
        return host_efficiency(height, width, depth);
    }
    /* The edge of a square tile with the same speed, unless the tile is hardly
     * higher than the kernels' blocks. On an H100 bf16 had 0.97 of its rate on
     * 512 x 32768, 0.96 on 512 x 16384, and 0.8 on 256 x 16384 as on 2048 x
     * 2048 (November 2026). */
    double edge = fmin(sqrt(height * width), 6.0 * fmin(height, width));
    double shallow = 1.0 + 64.0 / depth;
    if (edge <= hri_tile_edges[0]) {
        double area = edge * edge / hri_tile_edges[0] / hri_tile_edges[0];
        return fractions[0] * area / shallow;
    }
    for (int i = 1; i < HRI_TILE_RATES; i++) {
        if (edge <= hri_tile_edges[i]) {
            double way = log2(edge / hri_tile_edges[i - 1]) /
                         log2(hri_tile_edges[i] / hri_tile_edges[i - 1]);
            return (fractions[i - 1] +
                    (fractions[i] - fractions[i - 1]) * way) /
                   shallow;
        }
    }
    double last = fractions[HRI_TILE_RATES - 1];
    double way = fmin(log2(edge / hri_tile_edges[HRI_TILE_RATES - 1]), 1.0);
    return (last + (1.0 - last) * way) / shallow;
}

/* How many times as long rows of `width` bytes take as long ones, beside
 * products. An H100 carried 14, 18, 18, 30, 30, 43 and 55 GB/s in rows of 1 to
 * 64 KiB, in either direction or both at once. Alone it carried 25 to 52. H200s
 * carried 33, 46 and 55 in rows of 16, 32 and 64 KiB (November 2026). */
static double short_rows(double width)
{
    static const double times[] = {3.9, 3.0, 3.0, 1.8, 1.8, 1.27, 1.0};
    enum { LAST = sizeof times / sizeof times[0] - 1 };
    const double doublings = log2(width / 1024.0); /* from the first */
    if (doublings >= LAST) {
        return 1.0;
    }
    if (doublings <= 0.0) {
        return times[0] * 1024.0 / width; /* each row takes as long */
    }
    const int i = (int)doublings;
    return times[i] + (times[i + 1] - times[i]) * (doublings - i);
}

double hri_cost_carry(const hri_way *way, double bytes, double width)
{
    double seconds = hri_cost_bytes(bytes, way->rate);
    return way->alone > 0.0
               ? fmax(seconds, bytes * short_rows(width) / way->alone)
               : seconds;
}
