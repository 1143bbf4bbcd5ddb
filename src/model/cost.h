/* SPDX-License-Identifier: MIT */
/* What single steps of a product cost, from what is known of an accelerator.
 * These are pure functions, for the planner. */
#ifndef HRI_MODEL_COST_H
#define HRI_MODEL_COST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Accelerators with their own memory are measured on square tiles of C with
 * these edges. Kernels work in blocks of fixed size on a fixed number of units,
 * so the size of tiles matters. A tile of twice the last edge is as fast as
 * any. */
enum { HRI_TILE_RATES = 3 };
static const double hri_tile_edges[HRI_TILE_RATES] = {512, 1024, 2048};

/* The part of its speed that arithmetic keeps on tiles of height x width, with
 * chunks of k of `depth`. fractions[i] is what it keeps on square tiles with
 * the edge hri_tile_edges[i]. All are 0 for the host. */
double hri_cost_efficiency(const double fractions[HRI_TILE_RATES],
                           double height, double width, double depth);

/* The part of its speed that arithmetic keeps on many products of m x n x k at
 * once, where only the size of each counts. An order of magnitude: one thread
 * of OpenBLAS on a Xeon keeps about a quarter at 12 and two thirds at 64. */
double hri_cost_batch(double m, double n, double k);

/* Seconds that each task adds to making the plan of a product. Seen with 128 to
 * 49,152 tasks on one core of a Xeon of 2 GHz, November 2026: 0.1 to 0.25
 * microseconds. */
static const double hri_cost_plan = 2e-7;

/* Seconds for each task to make the plan and walk through it, with so many
 * shares. The walk takes as long as the plan, and a little longer with every
 * share. */
static inline double hri_cost_walk(double shares)
{
    return 2 * hri_cost_plan + 1e-8 * shares;
}

/* The factor by which a plan with tiles that cannot be stolen at the end must
 * be faster. It makes up for rates that turn out to be wrong, which is likely
 * for accelerators of different speeds. */
static inline double hri_cost_risk(double slowest, double fastest)
{
    return fastest > 1.05 * slowest ? 1.1 : 1.02;
}

/* The least height of tiles that are much wider than high. Lower ones leave
 * most units of a GPU idle. For tf32 cuBLAS 13 has kernels with 0.8 of the
 * speed: 277 TFLOP/s for 1024 x 16384 on an H200, where 1024 x 8192 and 2048 x
 * 16384 have 347 and 346 (November 2026). */
static inline int64_t hri_cost_lowest(bool tf32, int64_t width)
{
    return tf32 && width >= 16384 ? 2048 : 512;
}

/* The factor by which a plan with flat tiles must be faster than one with
 * square tiles: kernels for flat ones have surprises. */
static inline double hri_cost_flat_tiles(double height, double width)
{
    return 1.0 + 0.005 * fabs(log2(width / height));
}

/* Seconds for so many bytes. A rate of 0 means that there is no limit. */
static inline double hri_cost_bytes(double bytes, double rate)
{
    return rate > 0.0 ? bytes / rate : 0.0;
}

/* One direction of a host link, or both directions at once. */
typedef struct hri_way {
    double rate;  /* bytes/s beside other flows of a plan; 0: no known limit */
    double alone; /* bytes/s without other flows, if rows matter; 0: they do
                     not */
    double start; /* seconds that each copy adds */
    double few;   /* bytes/s of few bytes, which one thread carries without
                     `start` (hri_is_few); 0: as of many */
} hri_way;

/* The most bytes of a product of one task that one thread carries alone. Waking
 * copy threads cost more than they gave up to 7 MiB on an H100, and gained a
 * quarter from 12 MiB on (November 2026). */
static const double hri_cost_few = 8 << 20;

/* From so many bytes on the driver copies a box of ordinary memory faster than
 * one thread through pinned memory: on an H100 in 0.77 of its time at 576 KiB,
 * 1.0 at 288 KiB, and 1.3 at 144 KiB (November 2026). */
static const double hri_cost_pageable = 400 << 10;

/* Seconds to carry `bytes` bytes in rows of `width` bytes beside other flows.
 * Where short rows matter, at least what they take alone. */
double hri_cost_carry(const hri_way *way, double bytes, double width);

#endif
