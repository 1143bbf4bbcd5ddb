/* SPDX-License-Identifier: MIT */
/* What single steps of a plan cost, from the facts about an accelerator. */
#ifndef HRI_GEMM_COST_H
#define HRI_GEMM_COST_H

#include "gemm/plan.h"

/* The part of its speed that arithmetic keeps on tiles of height x width with k
 * in pieces of depth: parts are what it keeps on square tiles with the edges
 * hri_tile_edges, all 0 for the host. */
double hri_cost_efficiency(const double parts[HRI_TILE_RATES], double height,
                           double width, double depth);

/* Seconds that issuing a task adds. */
double hri_cost_task(void);

/* Seconds that a task adds to making the plan. */
double hri_cost_plan(void);

/* Seconds that the threads of so many lanes add to a run: little where the
 * accelerators are the host. */
double hri_cost_lanes(bool host, double lanes);

/* Seconds that each copy adds to what its bytes take: of pinned memory, or by a
 * crew. */
double hri_cost_copy(bool staged);

/* Seconds that one way of a link takes for so many bytes, in rows of width
 * bytes: as beside others; and where the rate alone is known, which means that
 * rows matter, not less than they take alone. A rate of 0 is no limit. */
double hri_cost_carry(double rate, double alone, double bytes, double width);

#endif
