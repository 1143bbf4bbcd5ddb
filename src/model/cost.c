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

double hri_cost_efficiency(const double parts[HRI_TILE_RATES], double height,
                           double width, double depth)
{
    if (parts[0] == 0.0) {
        return host_efficiency(height, width, depth);
    }
    /* the edge of a square tile with the same speed, unless the tile is very
     * flat */
    double edge = fmin(sqrt(height * width), 2.0 * fmin(height, width));
    double shallow = 1.0 + 64.0 / depth;
    if (edge <= hri_tile_edges[0]) {
        double area = edge * edge / hri_tile_edges[0] / hri_tile_edges[0];
        return parts[0] * area / shallow;
    }
    for (int i = 1; i < HRI_TILE_RATES; i++) {
        if (edge <= hri_tile_edges[i]) {
            double way = log2(edge / hri_tile_edges[i - 1]) /
                         log2(hri_tile_edges[i] / hri_tile_edges[i - 1]);
            return (parts[i - 1] + (parts[i] - parts[i - 1]) * way) / shallow;
        }
    }
    double last = parts[HRI_TILE_RATES - 1];
    double way = fmin(log2(edge / hri_tile_edges[HRI_TILE_RATES - 1]), 1.0);
    return (last + (1.0 - last) * way) / shallow;
}

/* The part of a link's rate that rows of `width` bytes get. H200s carry 55 GB/s
 * in rows of 64 KiB and more, 46 of 32 KiB, 33 of 16 KiB and less while
 * products run. Copies alone in a process of their own had 55 at 32 and 49 at
 * 16 (November 2026). */
static double short_rows(double width)
{
    const double enough = 65536.0;
    double doublings = log2(enough / width);
    return width < enough ? 1.0 + 0.65 * fmin(doublings / 2.5, 1.0) : 1.0;
}

double hri_cost_carry(const hri_way *way, double bytes, double width)
{
    double seconds = hri_cost_bytes(bytes, way->rate);
    return way->alone > 0.0
               ? fmax(seconds, bytes * short_rows(width) / way->alone)
               : seconds;
}
