/* SPDX-License-Identifier: MIT */
/* The plan of every byte: a pure function from shapes, and from what is known
 * of accelerators, to a schedule.
 *
 * C is cut into tiles, and tiles form blocks. All accelerators work on one
 * block at a time, each on its own rectangle of the block's tiles. A panel is
 * what a tile needs of one operand: a tile row of A or a tile column of B, over
 * one chunk of k. Every accelerator has slots for panels and tiles and nothing
 * else. Among accelerators that can copy from each other, one gets a panel over
 * the host link, and the others copy it from there.
 *
 * There are two ways to fit into memory (blocking.c has the formulas):
 *   - whole k: panels span all of k, a tile is complete after one product;
 *   - chunked k: the block's tiles stay while chunks of k stream past.
 *
 * The schedule is one sequence of deliveries and tasks over all accelerators.
 * Everything in it depends only on earlier entries. So no order in which its
 * shares run can cause a deadlock. */
#ifndef HRI_GEMM_PLAN_H
#define HRI_GEMM_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "distribute/distribute.h"
#include "flow/flow.h"
#include "model/cost.h"

/* What the plan knows of an accelerator. plans.c compares each field. */
typedef struct hri_plan_accelerator {
    uint64_t memory; /* bytes it may use; ignored if in_place */
    uint64_t own;    /* of these, what multiplying needs beside panels and
                        tiles */
    uint64_t buffer; /* the largest possible slot in bytes */
    double rate;     /* flop/s */
    double tile_rates[HRI_TILE_RATES]; /* on tiles with the edges
                                          hri_tile_edges; 0: the host, for which
                                          edges matter less */
    hri_way up, down, both;            /* the host link; both: both directions
                                          added */
    double task;                       /* seconds that issuing a task adds */
    double start;  /* seconds that its threads add to a run; for hosts that work
                      alone these are the calling thread's and count once */
    double brief;  /* the same for a plan of one task, which needs one thread */
    double single; /* flop/s of one of its threads; 0: it has one, or is not in
                      place */
    uint32_t sharers; /* 0: it works beside all others. Else it is one of so
                         many on the host: one at a time computes or copies,
                         and is as many times as fast meanwhile */
    uint32_t peers;   /* the same for accelerators that copy from each other */
    uint32_t device;  /* the same for virtual accelerators of one device */
    bool in_place;    /* works on host memory and needs no panels */
    bool packed;      /* faster on panels of A by columns, for which it needs a
                         second set of slots */
} hri_plan_accelerator;

typedef struct hri_plan_shape {
    int64_t m, n, k;       /* all at least 1 */
    uint32_t size, c_size; /* bytes of an element of A and B, and of C */
    double flops;          /* operations for one multiply-add: 2 or 8 */
    bool reads_result;     /* beta is not 0 */
    bool whole_k;          /* C's type cannot hold partial sums */
    int64_t grain;         /* k is cut at multiples of it alone; 0: anywhere */
    bool dense[3]; /* HRI_A, HRI_B, HRI_C: its lines lie without gaps, here and
                      in slots, so whole lines travel as one */
    bool by_columns[2]; /* HRI_A, HRI_B: its lines are columns; else rows, which
                           those of C always are */
    bool tf32;          /* has kernels of its own */
    hr_type precise;    /* HR_COMPUTE_PRECISE for this type; 0: another mode */
    int64_t terms;      /* k comes in so many pieces, one after another, and
                           C stays from the first to the last; 0: at once */
    const int64_t *bounds; /* [terms + 1] where these chunks begin, and k */
} hri_plan_shape;

/* How C and k are cut. */
typedef struct hri_blocking {
    int64_t block_rows, block_cols; /* blocks down and across C */
    int64_t rows, cols;             /* tiles down and across a block */
    int64_t chunks;                 /* chunks of k; 1: whole k */
    int64_t grain;                  /* as in the shape */
    const int64_t *bounds;          /* of the chunks; NULL: they are cut */
    bool growing; /* three chunks, of a fifth, three tenths and a half of k:
                     the first product starts early, and tiles have time to
                     go home at the end; false: chunks are equal */
    int32_t panel_sets; /* sets of streamed panels: 2 overlap with work, 1 does
                      not */
    bool by_columns; /* blocks are walked down columns instead of along rows */
    double balance;  /* the busiest accelerator's share over its fair share */
    double bytes;    /* panels over the host link */
    double seconds;  /* estimated for the whole product */
} hri_blocking;

/* Blockings that move about the same bytes. Each is the fastest of its kind by
 * the estimate. The fastest of all comes first. */
enum { HRI_BLOCKINGS = 6 };
typedef struct hri_blockings {
    uint32_t count; /* at least 1 */
    hri_blocking of[HRI_BLOCKINGS];
} hri_blockings;

/* The least edge of tiles that is tried. */
enum { HRI_MIN_EDGE = 64 };

typedef struct hri_plan {
    hri_flow flow; /* its shares are in the order of the accelerators, and its
                      units tiles of C, by rows */
    hri_plan_shape shape;
    hri_blocking blocking;
    int64_t tile_rows, tile_cols; /* of all of C */
    hri_tile_box *boxes; /* [shares] their tiles, the same in every block */
    int64_t *bounds;     /* those of its shape and blocking; NULL: none */
    uint64_t compulsory, up, down, peer; /* bytes */
    bool link_bound;
    atomic_int holders; /* beside the first; the last one frees the plan */
} hri_plan;

/* Make the plan. HR_ERROR_OUT_OF_MEMORY when no accelerator has memory for the
 * least working set (the message gives its size), or when there is no memory
 * for the plan. HR_ERROR_INVALID when there are no accelerators. */
hr_status hri_plan_create(const hri_plan_shape *shape,
                          const hri_plan_accelerator *accelerators,
                          uint32_t count, hri_plan **plan);
hri_plan *hri_plan_hold(hri_plan *plan);
void hri_plan_destroy(hri_plan *plan); /* one holder's; accepts NULL */

/* Bytes of an operand: HRI_A, HRI_B or HRI_C. */
static inline double hri_operand_bytes(const hri_plan_shape *s, int side)
{
    const double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    return side == HRI_A   ? m * k * s->size
           : side == HRI_B ? k * n * s->size
                           : m * n * s->c_size;
}

/* As in hri_flow. */
static inline bool hri_is_few(const hri_plan_shape *s)
{
    return hri_operand_bytes(s, HRI_A) + hri_operand_bytes(s, HRI_B) +
               hri_operand_bytes(s, HRI_C) * (s->reads_result ? 2 : 1) <=
           hri_cost_few;
}

/* The start of tile row i of C, 0 <= i <= tile_rows. The same for tile columns
 * and chunks of k. */
int64_t hri_plan_row(const hri_plan *plan, int64_t i);
int64_t hri_plan_col(const hri_plan *plan, int64_t i);
int64_t hri_plan_chunk(const hri_plan *plan, int64_t i);

/* One of these functions, and the length of tile or chunk i by it. */
typedef int64_t hri_plan_start(const hri_plan *plan, int64_t i);
int64_t hri_plan_length(const hri_plan *plan, hri_plan_start *start, int64_t i);

/* cut.c: the length of the longest of nearly equal tiles or chunks of an
 * extent. */
int64_t hri_cut_max(int64_t extent, int64_t count);
/* Where a blocking's chunk of k starts, and the length of the longest. */
int64_t hri_cut_depth(const hri_blocking *blocking, int64_t k, int64_t i);
int64_t hri_cut_depth_max(const hri_blocking *blocking, int64_t k);
/* The least depth of chunks of k that is tried. */
int64_t hri_min_depth(const hri_plan_shape *shape);
/* Bytes of slots. */
typedef struct hri_slot_bytes {
    uint64_t of[HRI_SIDES]; /* of a panel of A, of B, and a tile of C */
    uint64_t packed[2];     /* of packed panels */
    uint64_t scratch;       /* of a part, for its tasks */
} hri_slot_bytes;

/* Those for a blocking. */
hri_slot_bytes hri_blocking_slot_bytes(const hri_plan_shape *shape,
                                       const hri_blocking *blocking);
/* Elements from line to line in the slot of a panel or tile with lines of
 * `width` elements. */
int64_t hri_slot_pitch(int64_t width);

/* The least memory in bytes that an accelerator needs for this product. */
uint64_t hri_plan_min_memory(const hri_plan_shape *shape);
/* Whether it has the least memory that a product needs. */
bool hri_plan_fits(const hri_plan_accelerator *accelerator, uint64_t least);

/* blocking.c: choose cuts of C and k for accelerators that all take part in a
 * given partition. boxes is scratch for count rectangles.
 * HR_ERROR_OUT_OF_MEMORY when their memory is too small. */
hr_status hri_blocking_choose(const hri_plan_shape *shape,
                              const hri_plan_accelerator *accelerators,
                              uint32_t count, const hri_partition *partition,
                              hri_tile_box *boxes, hri_blockings *blockings);
/* How many tasks a blocking leads to. */
double hri_blocking_tasks(const hri_blocking *blocking);
/* The slots that a rectangle of rows x cols tiles needs. */
void hri_blocking_slots(const hri_blocking *blocking, int64_t rows,
                        int64_t cols, int64_t slots[3]);

/* Whether all of C is one block. */
static inline bool hri_blocking_is_single(const hri_blocking *blocking)
{
    return blocking->block_rows == 1 && blocking->block_cols == 1;
}

/* estimate.c: what a blocking moves and how long it takes. The estimate treats
 * all accelerators together as one. */

/* A product, and all accelerators of a plan. */
typedef struct hri_totals {
    const hri_plan_shape *shape;
    uint32_t count;
    double rate;                       /* flop/s */
    hri_way up, down, both;            /* all links added; start: the longest */
    double task, start, brief;         /* the largest of all */
    double efficiency[HRI_TILE_RATES]; /* by tile edge; 0: all work is on the
                                          host */
    bool serial;     /* all are on the host: copies take time from arithmetic */
    bool one_device; /* all share one device: none idles while others work */
} hri_totals;

hri_totals hri_totals_of(const hri_plan_shape *shape,
                         const hri_plan_accelerator *accelerators,
                         uint32_t count);

/* Bytes of panels over the host link. A panel crosses once for each block,
 * unless it is still there from the block before. */
double hri_estimate_panels(const hri_plan_shape *shape,
                           const hri_blocking *blocking);

/* Bytes that lie in a row of a copy: of a panel or tile of height x width
 * elements of an operand, which lies by rows or columns. */
double hri_row_bytes(const hri_plan_shape *shape, int side, double height,
                     double width);

/* Seconds to copy `bytes` bytes in such rows. brief: the plan is. No product
 * runs beside its copies, so short rows do not matter. */
double hri_carry_seconds(const hri_plan_shape *shape, const hri_way *way,
                         bool brief, double bytes, double row);

/* Seconds of a blocking with known bytes and balance. */
double hri_estimate_seconds(const hri_totals *totals,
                            const hri_blocking *blocking);

/* schedule.c: fill the shares with deliveries and tasks, and count bytes.
 * HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_schedule(hri_plan *plan,
                       const hri_plan_accelerator *accelerators);

/* forecast.c: how long a plan will take. It walks through the schedule with the
 * accelerators' rates. This shows what sums cannot: arithmetic that waits for
 * the first panels, links that are busy in one direction only, tiles that are
 * still going home at the end. Here copies between peers take no time, and no
 * tiles are stolen. */

/* For more accelerators the forecast takes too long. */
enum { HRI_FORECAST_SHARES = 16 };

/* Seconds to make a plan with this blocking for so many accelerators and to
 * walk through it. */
double hri_forecast_cost(const hri_blocking *blocking, uint32_t shares);

/* Set plan->flow.seconds: from the call to its end. INFINITY for a plan that
 * would never end. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_forecast(hri_plan *plan,
                       const hri_plan_accelerator *accelerators);

#endif
