/* SPDX-License-Identifier: MIT */
/* What single steps of a product cost, from what is known of an accelerator:
 * pure, for the planner. */
#ifndef HRI_MODEL_COST_H
#define HRI_MODEL_COST_H

/* Square tiles of C that accelerators with their own memory are measured on:
 * kernels work in blocks of fixed size, on a fixed number of units. Their
 * edges; one of twice the last is as fast as any. */
enum { HRI_TILE_RATES = 3 };
static const double hri_tile_edges[HRI_TILE_RATES] = {512, 1024, 2048};

/* The part of its speed that arithmetic keeps on tiles of height x width with k
 * in pieces of depth: parts are what it keeps on square tiles with the edges
 * hri_tile_edges, all 0 for the host. */
double hri_cost_efficiency(const double parts[HRI_TILE_RATES], double height,
                           double width, double depth);

/* Seconds that a task adds to making the plan of a product. Seen with 128 to
 * 49,152 tasks on one core of a Xeon of 2 GHz, November 2026: 0.1 to 0.25
 * microseconds. */
static const double hri_cost_plan = 2e-7;

/* And to making it and walking through it, with so many parts: the walk takes
 * as long as the plan, and a little longer with every part. */
static inline double hri_cost_walk(double parts)
{
    return 2 * hri_cost_plan + 1e-8 * parts;
}

/* By how much a plan of a product must be faster whose tiles cannot be taken
 * over at the end, which makes up for rates that turn out to be wrong: those of
 * accelerators that are not equally fast easily do. */
static inline double hri_cost_risk(double slowest, double fastest)
{
    return fastest > 1.05 * slowest ? 1.1 : 1.02;
}

/* Seconds for so many bytes. A rate of 0 is no limit. */
static inline double hri_cost_bytes(double bytes, double rate)
{
    return rate > 0.0 ? bytes / rate : 0.0;
}

/* One way of a host link, or both ways at once. */
typedef struct hri_way {
    double rate;  /* bytes/s beside the others of a plan; 0: no limit known */
    double alone; /* when no others work, where it minds short rows; 0: does
                     not */
    double start; /* seconds that each copy adds */
} hri_way;

/* Seconds that a way takes for so many bytes, in rows of width bytes: as beside
 * others, and where rows matter not less than alone. */
double hri_cost_carry(const hri_way *way, double bytes, double width);

#endif
