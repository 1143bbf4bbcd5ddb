/* SPDX-License-Identifier: MIT */
/* The time of a blocking, without a schedule. Arithmetic and links work side by
 * side. Added are what neither can hide at the start and the end, and a cost
 * for every task.
 *
 * Panel i allows work only on the tiles of panels before it. So arithmetic ends
 * when the worst panel has come and all tiles but those of earlier panels have
 * been computed. Tiles that go home are delayed by panels alike. If panels
 * are many and square, take T seconds to arrive and allow U seconds of work, T
 * < 2U, that is T^2 / 4U later than without waiting. If tiles are as wide as
 * C it is the time of B and one panel of A. With k in p chunks it is a p-th of
 * that, and tiles go home only during the last chunk. Hence k is often cut even
 * where all of it fits: in two, or in three growing chunks of a fifth, three
 * tenths and a half. */
#include "gemm/plan.h"

#include <math.h>

#include "base/size.h"

/* Add the link of one accelerator. If short rows are slow for one of them, they
 * count as slow for all. */
static void add_link(hri_way *sum, const hri_way *one)
{
    if (one->alone > 0.0 && sum->alone == 0.0) {
        sum->alone = sum->rate; /* of the links added before */
    }
    if (one->alone > 0.0 || sum->alone > 0.0) {
        sum->alone += one->alone > 0.0 ? one->alone : one->rate;
    }
    sum->rate += one->rate;
    sum->start = fmax(sum->start, one->start);
    sum->few = fmax(sum->few, one->few);
}

/* Set what tile sizes cost all accelerators together. */
static void set_efficiency(hri_totals *x,
                           const hri_plan_accelerator *accelerators)
{
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        double sum = 0.0;
        bool tiled = false;
        for (uint32_t j = 0; j < x->count; j++) {
            const hri_plan_accelerator *a = &accelerators[j];
            sum += a->tile_rates[i] > 0.0 ? fmin(a->tile_rates[i], a->rate)
                                          : a->rate;
            tiled = tiled || a->tile_rates[i] > 0.0;
        }
        x->efficiency[i] = tiled ? sum / x->rate : 0.0;
    }
}

hri_totals hri_totals_of(const hri_plan_shape *shape,
                         const hri_plan_accelerator *accelerators,
                         uint32_t count)
{
    hri_totals x = {
        .shape = shape, .count = count, .one_device = true, .serial = true};
    for (uint32_t i = 0; i < count; i++) {
        const hri_plan_accelerator *a = &accelerators[i];
        x.rate += a->rate;
        add_link(&x.up, &a->up);
        add_link(&x.down, &a->down);
        add_link(&x.both, &a->both);
        x.one_device = x.one_device && a->device == accelerators[0].device;
        x.serial = x.serial && a->sharers > 0;
        x.task = fmax(x.task, a->task);
        x.start = fmax(x.start, a->start);
        x.brief = fmax(x.brief, a->brief);
    }
    set_efficiency(&x, accelerators);
    return x;
}

double hri_estimate_panels(const hri_plan_shape *s, const hri_blocking *b)
{
    double a = (double)s->m * (double)s->k * s->size;
    double bb = (double)s->k * (double)s->n * s->size;
    double rows = (double)b->block_rows, cols = (double)b->block_cols;
    if (b->chunks > 1) {
        return a * cols + bb * rows;
    }
    /* whole k: one side stays along a line of blocks, and the other streams
     * past once for each line; the last block's panels still serve the next
     * line */
    return b->by_columns ? bb + a * cols - a * (cols - 1) / rows
                         : a + bb * rows - bb * (rows - 1) / cols;
}

/* The tiles or panels of a blocking, and their size in elements. */
typedef struct tiling {
    double rows, cols; /* number of tiles down and across C */
    double height, width, depth;
} tiling;

static tiling tiling_of(const hri_totals *x, const hri_blocking *b)
{
    const hri_plan_shape *s = x->shape;
    return (tiling){
        .rows = (double)(b->block_rows * b->rows),
        .cols = (double)(b->block_cols * b->cols),
        .height = (double)hri_cut_max(s->m, b->block_rows * b->rows),
        .width = (double)hri_cut_max(s->n, b->block_cols * b->cols),
        .depth = (double)hri_cut_depth_max(b, s->k),
    };
}

double hri_row_bytes(const hri_plan_shape *s, int side, double height,
                     double width)
{
    const bool by_columns = side != HRI_C && s->by_columns[side];
    const int64_t lines[] = {by_columns ? s->m : s->k, by_columns ? s->k : s->n,
                             s->n};
    const double count = by_columns ? width : height;
    const double line = by_columns ? height : width;
    const double bytes = line * (side == HRI_C ? s->c_size : s->size);
    return s->dense[side] && line == (double)lines[side] ? count * bytes
                                                         : bytes;
}

double hri_carry_seconds(const hri_plan_shape *s, const hri_way *w, bool brief,
                         double bytes, double row)
{
    const bool few = brief && w->few > 0.0 && hri_is_few(s);
    return few     ? hri_cost_bytes(bytes, w->few)
           : brief ? w->start + hri_cost_bytes(bytes, w->rate)
                   : w->start + hri_cost_carry(w, bytes, row);
}

/* Seconds to copy panels of A and B, as many bytes of each. */
static double carry_panels(const hri_totals *x, const hri_way *w,
                           const tiling *t, double bytes)
{
    const hri_plan_shape *s = x->shape;
    return hri_cost_carry(w, 0.5 * bytes,
                          hri_row_bytes(s, HRI_A, t->height, t->depth)) +
           hri_cost_carry(w, 0.5 * bytes,
                          hri_row_bytes(s, HRI_B, t->depth, t->width));
}

/* Seconds of copies to the accelerators: panels, again for each block when k is
 * in chunks, and old C. */
static double copies_up(const hri_totals *x, const hri_blocking *b,
                        const tiling *t)
{
    double again_a = b->chunks > 1 ? (double)b->block_cols : 1.0;
    double again_b = b->chunks > 1 ? (double)b->block_rows : 1.0;
    double panels = t->rows * again_a + t->cols * again_b;
    return panels * (double)b->chunks +
           (x->shape->reads_result ? t->rows * t->cols : 0.0);
}

/* Seconds of all copies, each way and both ways added. */
typedef struct carried {
    double up, down, both;
} carried;

static carried carry_all(const hri_totals *x, const hri_blocking *b,
                         const tiling *t)
{
    const hri_plan_shape *s = x->shape;
    double c = (double)s->m * (double)s->n * s->c_size;
    double old_c = s->reads_result ? c : 0.0;
    double row = hri_row_bytes(s, HRI_C, t->height, t->width);
    return (carried){
        .up = carry_panels(x, &x->up, t, b->bytes) +
              hri_cost_carry(&x->up, old_c, row) +
              copies_up(x, b, t) / x->count * x->up.start,
        .down = hri_cost_carry(&x->down, c, row) +
                t->rows * t->cols / x->count * x->down.start,
        .both = carry_panels(x, &x->both, t, b->bytes) +
                hri_cost_carry(&x->both, old_c + c, row),
    };
}

/* ---- what cannot be hidden */

/* The seconds of one block, and of a panel of each side over all of k. */
typedef struct block_seconds {
    double rows, cols; /* tiles down and across */
    double count;      /* of accelerators */
    double panels[2], load, compute, home;
} block_seconds;

static block_seconds block_of(const hri_totals *x, const hri_blocking *b,
                              const tiling *t, const carried *all,
                              double compute)
{
    const double blocks = (double)(b->block_rows * b->block_cols);
    const double rows = (double)b->rows, cols = (double)b->cols;
    const double lines = rows * t->height + cols * t->width;
    const double load = x->up.rate > 0.0 ? all->up / blocks : 0.0;
    return (block_seconds){
        .rows = rows,
        .cols = cols,
        .count = x->count,
        .panels = {load * t->height / lines, load * t->width / lines},
        .load = load,
        .compute = compute / blocks,
        .home = x->down.rate > 0.0 ? all->down / blocks : 0.0,
    };
}

/* Seconds by which panels delay work on all tiles: the work of `seconds`
 * seconds takes so much longer. The panels span `fraction` of k. They come as
 * schedule.c orders them: A0, B0, A1, B1, and so on, and then what the longer
 * side has more. Before each, only tiles of earlier ones can be worked on. */
static double delay(const block_seconds *s, double fraction, double seconds)
{
    const double pairs = fmin(s->rows, s->cols);
    const double more = fmax(s->rows, s->cols) - pairs;
    const double pair = fraction * (s->panels[HRI_A] + s->panels[HRI_B]);
    const double one = fraction * s->panels[s->rows > s->cols ? HRI_A : HRI_B];
    const double tile = seconds / (s->rows * s->cols);
    /* the i-th pair is there after i pairs, and (i - 1)^2 tiles were before */
    const double i =
        tile > 0.0 ? fmin(pairs, 1.0 + pair / (2.0 * tile)) : pairs;
    double longest = fmax(i * pair - (i - 1.0) * (i - 1.0) * tile,
                          s->count * pair); /* the first, on one link */
    if (more > 0.0) {
        const double then = pairs * pair - pairs * pairs * tile;
        longest = fmax(longest, then + one);
        longest =
            fmax(longest, then + more * one - (more - 1.0) * pairs * tile);
    }
    return longest;
}

/* Seconds from a block's first panel to its last tile at home. Chunks of k
 * follow each other, and tiles go home during the last. */
static double block_end(const hri_totals *x, const hri_blocking *b,
                        const block_seconds *s)
{
    const int64_t depth = x->shape->k;
    const double k = (double)depth;
    const double last = (double)hri_cut_depth(b, depth, b->chunks - 1) / k;
    const double tile = s->home / (s->rows * s->cols) * s->count;
    double late = 0.0;
    /* of equal chunks the first or the last delays most */
    const int64_t step = b->growing ? 1 : hri_max(b->chunks - 1, 1);
    for (int64_t i = 0; i < b->chunks; i += step) {
        const double from = (double)hri_cut_depth(b, depth, i) / k;
        const double fraction =
            (double)hri_cut_depth(b, depth, i + 1) / k - from;
        late = fmax(late, from * (s->load - s->compute) +
                              delay(s, fraction, fraction * s->compute));
    }
    return fmax(s->compute + late + tile, last * fmax(s->load, s->compute) +
                                              delay(s, 1.0 - last, s->home) +
                                              s->home);
}

/* Seconds from the first panel to the last tile at home, where blocks with
 * whole k follow each other. The first block needs all of its panels. Later
 * ones keep those of one side, so their panels come while others multiply. */
static double blocks_end(const hri_totals *x, const hri_blocking *b,
                         const tiling *t, const carried *all,
                         const block_seconds *s)
{
    const hri_plan_shape *p = x->shape;
    const double lines = s->rows * t->height + s->cols * t->width;
    const double bytes = lines * (double)p->k * p->size;
    const double load = x->up.rate > 0.0 ? all->up * bytes / b->bytes : 0.0;
    const double pair = load * (t->height + t->width) / lines;
    const double start = fmax(s->count * pair, load - s->compute);
    const double blocks = (double)(b->block_rows * b->block_cols);
    const double tile = s->count / (s->rows * s->cols);
    return fmax(start + blocks * fmax(s->compute, s->home),
                blocks * s->load + tile * s->compute) +
           tile * s->home;
}

/* Seconds in which links and arithmetic cannot work at the same time: at the
 * start, and after most products are done. */
static double ends(const hri_totals *x, const hri_blocking *b, const tiling *t,
                   const carried *all, double compute)
{
    const hri_plan_shape *p = x->shape;
    const block_seconds s = block_of(x, b, t, all, compute);
    const double blocks = (double)(b->block_rows * b->block_cols);
    double seconds = 0.0;
    if (!x->one_device) {
        /* some accelerators wait for the last tile of others: on average for
         * half of a tile's time */
        seconds = 0.5 * p->flops * t->height * t->width * t->depth * x->count /
                  x->rate;
    }
    if (b->chunks > 1 || hri_blocking_is_single(b)) {
        return seconds + block_end(x, b, &s) -
               fmax(fmax(s.compute, s.load), s.home);
    }
    return seconds + blocks_end(x, b, t, all, &s) -
           blocks * fmax(fmax(s.compute, s.load), s.home);
}

/* Seconds of copies within the host's memory: panels, to one accelerator after
 * another of a square of them, and tiles. */
static double copy_seconds(const hri_totals *x, const hri_blocking *b,
                           const tiling *t)
{
    const hri_plan_shape *s = x->shape;
    const double c = (double)s->m * (double)s->n * s->c_size;
    return carry_panels(x, &x->up, t, b->bytes * sqrt((double)x->count)) +
           hri_cost_carry(&x->up, s->reads_result ? c : 0.0,
                          t->width * s->c_size) +
           hri_cost_carry(&x->down, c, t->width * s->c_size);
}

/* Seconds of the copies of a plan of one task: nothing else is under way. */
static double brief_seconds(const hri_totals *x)
{
    const hri_plan_shape *s = x->shape;
    const double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    const double extents[3][2] = {{m, k}, {k, n}, {m, n}};
    double seconds = 0.0;
    for (int side = HRI_A; side <= HRI_C; side++) {
        const double bytes = hri_operand_bytes(s, side);
        const double row =
            hri_row_bytes(s, side, extents[side][0], extents[side][1]);
        if (side != HRI_C || s->reads_result) {
            seconds += hri_carry_seconds(s, &x->up, true, bytes, row);
        }
        if (side == HRI_C) {
            seconds += hri_carry_seconds(s, &x->down, true, bytes, row);
        }
    }
    return seconds;
}

double hri_estimate_seconds(const hri_totals *x, const hri_blocking *b)
{
    const hri_plan_shape *s = x->shape;
    const tiling t = tiling_of(x, b);
    double flops = s->flops * (double)s->m * (double)s->n * (double)s->k;
    double tasks = hri_blocking_tasks(b);
    double compute =
        flops / x->rate * b->balance /
            hri_cost_efficiency(x->efficiency, t.height, t.width, t.depth) +
        tasks / x->count * x->task;
    if (x->serial) {
        return tasks * hri_cost_plan + x->start + compute +
               copy_seconds(x, b, &t);
    }
    if (tasks == 1.0) {
        return hri_cost_plan + x->brief + compute + brief_seconds(x);
    }
    const carried all = carry_all(x, b, &t);
    const double link = fmax(fmax(all.up, all.down), all.both);
    double start =
        x->efficiency[0] == 0.0 ? x->start : x->start * (double)x->count;
    /* streams that cannot run ahead add their time instead of hiding it */
    bool overlap = b->panel_sets > 1 || hri_blocking_is_single(b);
    return tasks * hri_cost_plan + start + ends(x, b, &t, &all, compute) +
           (overlap ? fmax(compute, link) : compute + link);
}
