/* SPDX-License-Identifier: MIT */
/* Where every byte goes: a pure function from shapes and figures about
 * accelerators to a schedule.
 *
 * C is cut into tiles; tiles make blocks, all accelerators work on one block at
 * a time, each on its own rectangle of the block's tiles. A panel is what a
 * tile needs of one operand: a tile row of A or a tile column of B, over one
 * chunk of k. Every accelerator has slots for panels and tiles and nothing
 * else. A panel comes over the host link to one accelerator of those that can
 * copy from each other and is forwarded to the others that need it.
 *
 * Two ways to fit into memory (docs/architecture.md has the formulas):
 *   - whole k: panels span all of k, a tile is complete after one product;
 *   - chunked k: the block's tiles stay while chunks of k stream past.
 *
 * The schedule is one sequence of deliveries and tasks over all accelerators;
 * everything in it depends only on what comes earlier, so that it cannot lock
 * up however its parts are run side by side. */
#ifndef HRI_GEMM_PLAN_H
#define HRI_GEMM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "distribute/distribute.h"
#include "model/cost.h"

/* What the plan is made from. */
typedef struct hri_plan_accelerator {
    uint64_t memory; /* bytes it may use; not looked at in_place */
    uint64_t own;    /* of these, what multiplying takes beside panels and
                        tiles */
    uint64_t buffer; /* of memory, in one piece: no slot may be larger */
    double rate;     /* flop/s */
    double
        tile_rates[HRI_TILE_RATES]; /* on tiles with the edges hri_tile_edges;
                                       0: the host, which minds less */
    hri_way up, down, both;         /* host link; both: the sum of both ways */
    double task;                    /* seconds that issuing a task adds */
    double start; /* seconds that its threads add to a run; those of hosts that
                     take part alone are the caller's, and count once */
    uint32_t peers;  /* equal for accelerators that copy from each other */
    uint32_t device; /* equal for virtual accelerators of one device */
    bool in_place;   /* works on host memory, needs no panels */
    bool packed;     /* arithmetic is faster on panels of A that lie by columns
                        in a second set of slots */
} hri_plan_accelerator;

typedef struct hri_plan_shape {
    int64_t m, n, k;       /* all at least 1 */
    uint32_t size, c_size; /* bytes of an element of A and B, and of C */
    double flops;          /* operations for one multiply-add: 2 or 8 */
    bool read_c;           /* beta is not 0 */
    bool whole_k;          /* C's type cannot hold partial sums */
} hri_plan_shape;

/* How C and k are cut. */
typedef struct hri_blocking {
    int64_t block_rows, block_cols; /* blocks down and across C */
    int64_t rows, cols;             /* tiles down and across a block */
    int64_t chunks;                 /* pieces of k; 1: whole k */
    bool growing;    /* three pieces, of a fifth, three tenths and a half of k:
                        little before the first product, and much for tiles to
                        go home beside; else pieces are equal */
    int32_t depth;   /* sets of streamed panels held: 2 overlap, 1 not */
    bool by_columns; /* blocks are walked down columns, not along rows */
    double balance;  /* busiest accelerator's share over its fair share */
    double bytes;    /* panels over the host link */
    double seconds;  /* estimated in all */
} hri_blocking;

/* Blockings that move about the same bytes, each the fastest of its kind as
 * estimated; the fastest of all first. */
enum { HRI_BLOCKINGS = 6 };
typedef struct hri_blockings {
    uint32_t count; /* at least 1 */
    hri_blocking of[HRI_BLOCKINGS];
} hri_blockings;

enum { HRI_A = 0, HRI_B = 1, HRI_C = 2 };

/* The smallest edge of tiles, and depth of pieces of k, that is tried. */
enum { HRI_MIN_EDGE = 64 };

/* Tasks that an accelerator has under way at most: enough to keep its queue
 * busy, few enough to cancel and steal promptly. */
enum { HRI_WINDOW = 3 };

/* A panel arrives in a slot of one part. */
typedef struct hri_delivery {
    int64_t after;    /* the task of this part that must have run before
                         the slot is overwritten; -1: none */
    int64_t forwards; /* first of forward_count in plan->forwards */
    int32_t forward_count;
    int32_t index,
        chunk; /* of the panel: tile row or column of C, piece of k */
    int32_t slot;
    int32_t source; /* part that sends it; -1: it comes from the host */
    int32_t side;   /* HRI_A or HRI_B */
} hri_delivery;

typedef struct hri_forward {
    int32_t part;
    int64_t delivery; /* of that part */
} hri_forward;

/* tile (row, col) += panel A (row, chunk) * panel B (chunk, col). */
typedef struct hri_task {
    int64_t a, b; /* deliveries of this part; -1: in place */
    int32_t row, col, chunk;
    int32_t slot; /* of the tile when k is chunked; -1: any */
} hri_task;

/* One accelerator's part of the work. */
typedef struct hri_plan_part {
    uint32_t accelerator; /* index in the figures */
    hri_rect rect;        /* its tiles, the same in every block */
    int32_t slots[3];     /* how many of HRI_A, HRI_B, HRI_C it holds */
    bool in_place;
    bool spare;  /* room for one more panel of A and of B: it can take
                    over tiles of others at the end */
    bool packed; /* each panel of A is packed transposed before its first
                    product, into as many slots again */
    hri_delivery *deliveries;
    int64_t delivery_count;
    hri_task *tasks;
    int64_t task_count;
    uint64_t memory, up, down, peer; /* bytes */
    double flops, seconds;           /* seconds of arithmetic, predicted */
} hri_plan_part;

typedef struct hri_plan {
    hri_plan_shape shape;
    hri_blocking blocking;
    int64_t tile_rows, tile_cols; /* of all of C */
    uint64_t slot_bytes[3];       /* HRI_A, HRI_B, HRI_C */
    hri_plan_part *parts;         /* in the order of the figures */
    uint32_t part_count;
    hri_forward *forwards;
    int64_t forward_count;
    uint64_t compulsory, up, down, peer; /* bytes */
    double seconds;                      /* hri_forecast */
    bool link_bound;
} hri_plan;

/* Make the plan. HR_ERROR_OUT_OF_MEMORY when no accelerator's memory holds the
 * least working set (the sentence says how much that is), or when the plan
 * itself does not fit; HR_ERROR_INVALID when there are no accelerators. */
hr_status hri_plan_create(const hri_plan_shape *shape,
                          const hri_plan_accelerator *accelerators,
                          uint32_t count, hri_plan **plan);
void hri_plan_destroy(hri_plan *plan); /* accepts NULL */

/* Where tile row i of C starts, 0 <= i <= tile_rows; likewise columns, and
 * pieces of k. */
int64_t hri_plan_row(const hri_plan *plan, int64_t i);
int64_t hri_plan_col(const hri_plan *plan, int64_t i);
int64_t hri_plan_chunk(const hri_plan *plan, int64_t i);

/* One of these, and how long piece i is under it. */
typedef int64_t hri_plan_start(const hri_plan *plan, int64_t i);
int64_t hri_plan_length(const hri_plan *plan, hri_plan_start *start, int64_t i);

/* cut.c: where piece i of `pieces` of an extent starts, which differ little,
 * and the most that one of them has. */
int64_t hri_cut(int64_t extent, int64_t pieces, int64_t i);
int64_t hri_cut_max(int64_t extent, int64_t pieces);
/* The same for a blocking's pieces of k. */
int64_t hri_cut_depth(const hri_blocking *blocking, int64_t k, int64_t i);
int64_t hri_deepest(const hri_blocking *blocking, int64_t k);
/* The bytes of each kind of slot under a blocking. */
void hri_blocking_slot_bytes(const hri_plan_shape *shape,
                             const hri_blocking *blocking, uint64_t bytes[3]);
/* Elements from line to line of a panel or tile whose lines have width
 * elements, in a slot. */
int64_t hri_slot_pitch(int64_t width);

/* The least memory in bytes that an accelerator needs for this product. */
uint64_t hri_plan_min_memory(const hri_plan_shape *shape);
/* Whether it can take part in a product that needs so much. */
bool hri_plan_fits(const hri_plan_accelerator *accelerator, uint64_t least);

/* blocking.c: cuts of C and k for accelerators that all take part, whose
 * partition is given. rects is scratch for count rectangles.
 * HR_ERROR_OUT_OF_MEMORY when their memory does not do. */
hr_status hri_blocking_choose(const hri_plan_shape *shape,
                              const hri_plan_accelerator *accelerators,
                              uint32_t count, const hri_partition *partition,
                              hri_rect *rects, hri_blockings *blockings);
/* How many tasks a blocking makes. */
double hri_blocking_tasks(const hri_blocking *blocking);
/* Slots that a rectangle of rows x cols tiles needs under a blocking. */
void hri_blocking_slots(const hri_blocking *blocking, int64_t rows,
                        int64_t cols, int64_t slots[3]);

/* Whether all of C is one block. */
static inline bool hri_is_single(const hri_blocking *blocking)
{
    return blocking->block_rows == 1 && blocking->block_cols == 1;
}

/* estimate.c: what a blocking moves and how long it takes, estimated from sums:
 * all accelerators together as one. */

/* A product, and all accelerators of a plan. */
typedef struct hri_totals {
    const hri_plan_shape *shape;
    uint32_t count;
    double rate;                       /* flop/s */
    hri_way up, down, both;            /* of all links; start: of any */
    double task, start;                /* the most of any */
    double efficiency[HRI_TILE_RATES]; /* of tiles; 0: all work on the host */
    bool one_device; /* all of them: none idles while others work */
} hri_totals;

hri_totals hri_totals_of(const hri_plan_shape *shape,
                         const hri_plan_accelerator *accelerators,
                         uint32_t count);

/* Bytes of panels over the host link when every panel crosses once for each
 * block that it is not still there for. */
double hri_estimate_panels(const hri_plan_shape *shape,
                           const hri_blocking *blocking);

/* Seconds of a blocking whose bytes and balance are known. */
double hri_estimate_seconds(const hri_totals *totals,
                            const hri_blocking *blocking);

/* schedule.c: fill plan->parts with deliveries and tasks, and the byte counts.
 * HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_schedule(hri_plan *plan,
                       const hri_plan_accelerator *accelerators);

/* forecast.c: how long a plan will take: its schedule walked through with the
 * rates of the figures. What planning cannot see in sums shows here: arithmetic
 * that waits for the first panels, links that are busy one way while they could
 * be both ways, tiles that are still going home at the end. Copies between
 * peers take no time here, and nobody takes over tiles of others. */

/* Plans for more accelerators are not worth walking through. */
enum { HRI_FORECAST_PARTS = 16 };

/* Seconds that making a plan with this blocking for so many accelerators and
 * walking through it takes. */
double hri_forecast_cost(const hri_blocking *blocking, uint32_t parts);

/* Seconds from the call to its end, into plan->seconds; INFINITY for a plan
 * that would never end. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_forecast(hri_plan *plan,
                       const hri_plan_accelerator *accelerators);

#endif
