/* SPDX-License-Identifier: MIT */
#include "gemm/cost.h"

#include <math.h>

double hri_cost_efficiency(const double parts[HRI_TILE_RATES], double height,
                           double width, double depth)
{
    if (parts[0] == 0.0) {
        return 1.0 / (1.0 + 16.0 / height + 16.0 / width + 16.0 / depth);
    }
    double edge = sqrt(height * width), shallow = 1.0 + 64.0 / depth;
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

/* Measured on H200s as 5 to 10 microseconds. */
double hri_cost_task(void)
{
    return 1e-5;
}

/* Measured on H200s as 0.7 to 0.9 ms each. */
double hri_cost_lanes(bool host, double lanes)
{
    return host ? fmin(lanes, 1.0) * 1e-4 : lanes * 8e-4;
}

/* A row of a box costs a link as much as so many bytes more: seen on H200s,
 * whose links carry 33 GB/s in rows of 2 KiB, 49 of 8 KiB and 55 in one piece.
 */
static const double row_bytes = 1400.0;

double hri_cost_carry(double rate, double alone, double bytes, double width)
{
    double seconds = rate > 0.0 ? bytes / rate : 0.0;
    if (alone > 0.0 && width > 0.0) {
        seconds = fmax(seconds, bytes * (1.0 + row_bytes / width) / alone);
    }
    return seconds;
}
