/* SPDX-License-Identifier: MIT */
/* Choosing how C and k are cut. All blockings that fit into the memories and
 * move at most 3 per cent more than the fewest bytes are estimated. The fastest
 * of each kind are listed.
 *
 * What an accelerator holds for a rectangle of a x b tiles of height h and
 * width w, with two sets of whatever streams. Chunks have depth d, elements of
 * A and B have s bytes, and those of C have t:
 *
 *                                        A          B          C
 *     whole k, one block                 a h k s    b k w s    min(4, ab) h w t
 *     whole k, along rows of blocks      a h k s    2 b k w s  min(4, ab) h w t
 *     whole k, down columns of blocks    2 a h k s  b k w s    min(4, ab) h w t
 *     chunked k                          2 a h d s  2 b d w s  ab h w t
 *
 * Lines in slots are padded to 16 elements. If memory allows, up to 16 tiles
 * are held while k is whole, so that no product waits for a tile on its way
 * home. One set instead of two, and one tile, serve when nothing else fits. The
 * least is one panel of each side and one tile of 64 x 64 x 64: below that the
 * call is refused, and the sentence says how much is needed.
 *
 * With R x C blocks these panels cross the host link:
 *
 *     one block                 (mk + kn) s: every panel once
 *     whole k, along rows       (mk + kn R - kn (R - 1) / C) s
 *     whole k, down columns     (kn + mk C - mk (C - 1) / R) s
 *     chunked k                 (mk C + kn R) s
 *
 * mn t more go home, and mn t more come when old C is read.
 *
 * Copies of pinned memory are slow where rows are short (hri_cost_carry). So
 * tiles are also tried that are as wide as C, a half of it or a quarter (flat
 * tiles, 512 to 4096 high). Then rows of B and C travel whole, and with them
 * all bytes where k is whole.
 *
 * A C of f16 or bf16 cannot hold partial sums, so k is never chunked for those.
 * Reproducible products cut k at multiples of 256 alone (HRI_ORDERED_DEPTH in
 * src/hal/hal.h), so that the roundings do not depend on who computes a tile.
 * Precise ones cut it at multiples of 32,768 numbers. Beside each slot of A and
 * B they have one for its residues, and each accelerator has scratch memory
 * (hri_precise_bytes, hri_precise_scratch). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/size.h"
#include "gemm/plan.h"
#include "model/model.h"

enum {
    MAX_EDGE = 4096,
    MIN_GROWING = 5, /* growing chunks are tried from as many least depths of k
                        on */
    SHALLOW = 512,   /* the depth for which the largest tiles are tried */
    GRAIN = 32,      /* the largest edges are multiples of it */
    MAX_FLAT = 2,    /* the ratios of edge to height and of width to edge of
                        flat tiles */
    MAX_ACROSS = 4,  /* how many of the widest tiles there are across C */
    RING = 4,        /* tiles that go home at a time when k is whole */
    MAX_TASKS = 1 << 22, /* a plan lists all tasks, with their panels */
    SOME_TASKS =
        1 << 20 /* about so many in place at most: they become longer */
};

/* Longer tasks than these would make cancelling and stealing slow. A product in
 * place has only one task, and nothing waits behind it. */
static const double most_task_seconds = 0.1, most_in_place_seconds = 0.6;

void hri_blocking_slots(const hri_blocking *b, int64_t rows, int64_t cols,
                        int64_t slots[3])
{
    bool many = !hri_blocking_is_single(b);
    if (rows == 0 || cols == 0) {
        slots[HRI_A] = slots[HRI_B] = slots[HRI_C] = 0;
    } else if (b->chunks > 1) {
        slots[HRI_A] = rows * b->panel_sets;
        slots[HRI_B] = cols * b->panel_sets;
        slots[HRI_C] = rows * cols;
    } else { /* the panels needed longer stay, the others stream */
        slots[HRI_A] = rows * (many && b->by_columns ? b->panel_sets : 1);
        slots[HRI_B] = cols * (many && !b->by_columns ? b->panel_sets : 1);
        slots[HRI_C] = b->panel_sets > 1 ? hri_min(rows * cols, RING) : 1;
    }
}

/* The kind of a blocking is the size of its tiles, in powers of two, whether
 * they are much wider than high, and its chunks of k: 1, 2, 3, more, or growing
 * ones. */
enum { EDGES = 7, CHUNKS = 5, KINDS = 2 * EDGES * CHUNKS };

typedef struct search {
    const hri_plan_shape *shape;
    const hri_plan_accelerator *accelerators;
    uint32_t count;
    const hri_partition *partition;
    hri_tile_box *boxes;
    hri_totals totals;
    double products; /* multiply-adds of the largest task */
    int64_t whole_edge, cut_edge;
    int32_t panel_sets; /* sets of streamed panels: 2, or 1 when memory is
                      scarce */
    double most_bytes;  /* candidates with more bytes are not looked at */
    bool by_time;       /* seek the least seconds; else the fewest bytes */
    double worthwhile;  /* keep kinds within this factor of the least seconds */
    bool one_block;     /* all of C is one block: no other moves less */
    bool found;
    hri_blocking best;
    hri_blocking kinds[KINDS]; /* the fastest of each kind; chunks 0: none
                                  yet */
} search;

static bool blocking_fits(search *x, const hri_blocking *b)
{
    const hri_slot_bytes slot = hri_blocking_slot_bytes(x->shape, b);
    const bool packs = x->shape->precise != 0;
    hri_partition_boxes(x->partition, b->rows, b->cols, x->boxes);
    for (uint32_t i = 0; i < x->count; i++) {
        hri_tile_box r = x->boxes[i];
        int64_t slots[3];
        hri_blocking_slots(b, r.row1 - r.row0, r.col1 - r.col0, slots);
        double need = (double)slot.scratch;
        uint64_t most = slot.scratch;
        for (int side = HRI_A; side <= HRI_C; side++) {
            const uint64_t packed =
                packs && side < HRI_C ? slot.packed[side] : 0;
            need +=
                (double)slots[side] * ((double)slot.of[side] + (double)packed);
            most = slot.of[side] > most ? slot.of[side] : most;
            most = packed > most ? packed : most;
        }
        const hri_plan_accelerator *a = &x->accelerators[i];
        if (!a->in_place && (need > (double)a->memory || most > a->buffer)) {
            return false;
        }
    }
    return true;
}

static hri_blocking *kind_of(search *x, const hri_blocking *b)
{
    double height = (double)hri_cut_max(x->shape->m, b->block_rows * b->rows);
    double width = (double)hri_cut_max(x->shape->n, b->block_cols * b->cols);
    int edge = (int)log2(sqrt(height * width) / HRI_MIN_EDGE);
    edge = edge < 0 ? 0 : edge < EDGES ? edge : EDGES - 1;
    int chunks = b->growing ? CHUNKS : (int)hri_min(b->chunks, CHUNKS - 1);
    int wide = width > 2 * MAX_FLAT * MAX_FLAT * height;
    return &x->kinds[(wide * EDGES + edge) * CHUNKS + chunks - 1];
}

static void consider_blocking(search *x, hri_blocking b)
{
    if (hri_blocking_tasks(&b) > MAX_TASKS) {
        return;
    }
    b.bytes = hri_estimate_panels(x->shape, &b);
    if (b.bytes > x->most_bytes ||
        (!x->by_time && x->found && b.bytes >= x->best.bytes)) {
        return;
    }
    b.seconds = hri_estimate_seconds(&x->totals, &b);
    if (!x->by_time) {
        if (blocking_fits(x, &b)) {
            x->best = b;
            x->found = true;
        }
        return;
    }
    if (x->found && b.seconds > x->worthwhile * x->best.seconds) {
        return;
    }
    hri_blocking *kind = kind_of(x, &b);
    if ((kind->chunks == 0 || b.seconds < kind->seconds) &&
        blocking_fits(x, &b)) {
        *kind = b;
        if (!x->found || b.seconds < x->best.seconds) {
            x->best = b;
            x->found = true;
        }
    }
}

/* Try panels that span all of k, along rows of blocks and down columns. */
static void consider_whole(search *x, hri_blocking b)
{
    b.chunks = 1;
    b.panel_sets = x->panel_sets;
    consider_blocking(x, b);
    if (!hri_blocking_is_single(&b)) {
        b.by_columns = true;
        consider_blocking(x, b);
    }
}

/* The next number of chunks: 2, 3, 4, 8, 16, ..., most. */
static int64_t next_chunks(int64_t chunks, int64_t most)
{
    int64_t next = chunks == 2 ? 3 : chunks == 3 ? 4 : chunks * 2;
    return chunks < most ? hri_min(next, most) : most + 1;
}

/* Try chunks of k that keep tasks short. */
static void consider_chunks(search *x, hri_blocking b, int64_t edge)
{
    const int64_t least = hri_min_depth(x->shape);
    int64_t most = hri_ceil_div(x->shape->k, least);
    b.panel_sets = x->panel_sets;
    for (b.chunks = 2; b.chunks <= most;
         b.chunks = next_chunks(b.chunks, most)) {
        double products = (double)edge * (double)edge *
                          (double)hri_cut_depth_max(&b, x->shape->k);
        if (b.chunks == most || products <= x->products) {
            consider_blocking(x, b);
        }
    }
    b.chunks = 3;
    b.growing = true;
    double products = (double)edge * (double)edge *
                      (double)hri_cut_depth_max(&b, x->shape->k);
    if (x->shape->k >= MIN_GROWING * least && products <= x->products) {
        consider_blocking(x, b);
    }
}

/* Try the chunks of k that are asked for. */
static void consider_terms(search *x, hri_blocking b, int64_t edge)
{
    b.panel_sets = x->panel_sets;
    b.chunks = x->shape->terms;
    b.bounds = x->shape->bounds;
    const double products = (double)edge * (double)edge *
                            (double)hri_cut_depth_max(&b, x->shape->k);
    if (edge == HRI_MIN_EDGE || products <= x->products) {
        consider_blocking(x, b);
    }
}

static void consider_holdings(search *x, hri_blocking b, int64_t edge)
{
    if (x->shape->terms > 0) {
        consider_terms(x, b, edge);
        return;
    }
    const double products = (double)edge * (double)edge * (double)x->shape->k;
    if (edge <= x->whole_edge || x->shape->whole_k ||
        (edge > MAX_EDGE && products <= x->products)) { /* as wide as C */
        consider_whole(x, b);
    }
    if (!x->shape->whole_k) {
        consider_chunks(x, b, edge);
    }
}

/* The next number of cuts: every small number, then steps of a 16th, and at
 * last `last`. */
static int64_t next_count(int64_t count, int64_t last)
{
    int64_t next = count < 32 ? count + 1 : count + count / 16;
    return count < last ? hri_min(next, last) : last + 1;
}

/* Try tiles of about height x width. */
static void consider_tiles(search *x, int64_t height, int64_t width)
{
    enum { COUNTS = 512 };
    const hri_plan_shape *s = x->shape;
    int64_t most_rows = hri_ceil_div(s->m, HRI_MIN_EDGE);
    int64_t most_cols = hri_ceil_div(s->n, HRI_MIN_EDGE);
    struct {
        int64_t blocks, tiles;
        double balance;
    } across[COUNTS];
    int64_t count = 0;
    int64_t last_row = x->one_block ? 1 : hri_ceil_div(s->m, height);
    int64_t last_col = x->one_block ? 1 : hri_ceil_div(s->n, width);
    int64_t edge = (int64_t)sqrt((double)height * (double)width);
    for (int64_t c = 1; c <= last_col && count < COUNTS;
         c = next_count(c, last_col)) {
        across[count].blocks = c;
        across[count].tiles = hri_partition_tiles(
            x->partition, false, hri_ceil_div(hri_ceil_div(s->n, c), width),
            most_cols / c, &across[count].balance);
        count++;
    }
    for (int64_t r = 1; r <= last_row; r = next_count(r, last_row)) {
        double balance;
        int64_t rows = hri_partition_tiles(
            x->partition, true, hri_ceil_div(hri_ceil_div(s->m, r), height),
            most_rows / r, &balance);
        for (int64_t i = 0; i < count; i++) {
            consider_holdings(x,
                              (hri_blocking){
                                  .block_rows = r,
                                  .block_cols = across[i].blocks,
                                  .rows = rows,
                                  .cols = across[i].tiles,
                                  .grain = s->grain,
                                  .balance = balance * across[i].balance,
                              },
                              edge);
        }
    }
}

/* Set the work of the longest task, and the largest tile edges when k is whole
 * and when it is in chunks. */
static void set_edges(search *x)
{
    const hri_plan_shape *s = x->shape;
    double slowest = HUGE_VAL;
    for (uint32_t i = 0; i < x->count; i++) {
        const hri_plan_accelerator *a = &x->accelerators[i];
        slowest = fmin(slowest, a->rate * (a->sharers > 0 ? a->sharers : 1.0));
    }
    /* virtual accelerators share a device, so each task takes longer */
    double seconds = x->totals.one_device && x->accelerators[0].sharers == 0
                         ? 2 * most_task_seconds
                         : most_task_seconds;
    x->products = seconds * slowest / s->flops;
    double whole = fmin(sqrt(x->products / (double)s->k), MAX_EDGE);
    double cut = fmin(sqrt(x->products / SHALLOW), MAX_EDGE);
    x->whole_edge = hri_max((int64_t)whole / GRAIN * GRAIN, HRI_MIN_EDGE);
    x->cut_edge = hri_max((int64_t)cut / GRAIN * GRAIN, HRI_MIN_EDGE);
}

/* The next smaller edge: in steps of a quarter, or by powers of two, so that
 * the edges suit the kernels of accelerators. The smallest edge comes last. 0:
 * there are no more. */
static int64_t next_edge(const search *x, int64_t edge)
{
    if (edge <= HRI_MIN_EDGE) {
        return 0;
    }
    if (x->totals.efficiency[0] == 0.0) {
        return hri_max(edge * 3 / 4, HRI_MIN_EDGE);
    }
    int64_t next = HRI_MIN_EDGE;
    while (next * 2 < edge) {
        next *= 2;
    }
    return next;
}

/* Try tiles with longer rows: flat ones of the same size, and high ones as wide
 * as C or as large parts of it. Whole rows of B and C travel as one. */
static void consider_wide(search *x, int64_t edge)
{
    const hri_plan_shape *s = x->shape;
    const int64_t depth = s->whole_k ? s->k : hri_min(s->k, hri_min_depth(s));
    if (edge % MAX_FLAT == 0) {
        consider_tiles(x, edge / MAX_FLAT, edge * MAX_FLAT);
    }
    for (int64_t across = 1; across <= MAX_ACROSS; across *= 2) {
        const int64_t width = hri_ceil_div(s->n, across);
        const double products = (double)edge * (double)width * (double)depth;
        if (width > edge * MAX_FLAT * MAX_FLAT && products <= x->products &&
            edge >= hri_cost_lowest(s->tf32, width)) {
            consider_tiles(x, edge, width);
        }
    }
}

static void scan_tiles(search *x)
{
    x->found = false;
    int64_t first =
        x->shape->whole_k ? x->whole_edge : hri_max(x->whole_edge, x->cut_edge);
    for (int64_t edge = first; edge >= HRI_MIN_EDGE;) {
        consider_tiles(x, edge, edge);
        if (x->by_time && x->totals.up.alone + x->totals.down.alone > 0) {
            consider_wide(x, edge);
        }
        if (x->found && !x->by_time && hri_blocking_is_single(&x->best)) {
            break; /* every panel crosses once: smaller tiles gain nothing */
        }
        edge = next_edge(x, edge);
    }
}

/* A product in place: one block, cut into tiles and chunks of k so that tasks
 * stay short. */
static void choose_in_place(const hri_plan_shape *s,
                            const hri_plan_accelerator *a, hri_blocking *best)
{
    static const double host[HRI_TILE_RATES] = {0};
    const double all = (double)s->m * (double)s->n * (double)s->k;
    const double products =
        fmax(most_in_place_seconds * a->rate / s->flops, all / SOME_TASKS);
    double best_cost = HUGE_VAL;
    int64_t rows_end = hri_ceil_div(s->m, HRI_MIN_EDGE);
    int64_t cols_end = hri_ceil_div(s->n, HRI_MIN_EDGE);
    int64_t chunks_end = s->whole_k ? 1 : hri_ceil_div(s->k, hri_min_depth(s));
    for (int64_t r = 1; r <= rows_end; r = next_count(r, rows_end)) {
        for (int64_t c = 1; c <= cols_end; c = next_count(c, cols_end)) {
            double height = (double)hri_cut_max(s->m, r);
            double width = (double)hri_cut_max(s->n, c), tile = height * width;
            /* the fewest chunks that are short enough */
            int64_t chunks =
                (int64_t)fmin(fmax(ceil((double)s->k * tile / products), 1.0),
                              (double)chunks_end);
            const hri_blocking b = {
                .block_rows = 1,
                .block_cols = 1,
                .rows = r,
                .cols = c,
                .chunks = chunks,
                .grain = s->grain,
                .panel_sets = 1,
                .balance = 1.0,
            };
            double depth = (double)hri_cut_depth_max(&b, s->k);
            double cost =
                1.0 / hri_cost_efficiency(host, height, width, depth) +
                fmax(tile * depth / products - 1.1, 0.0);
            if (cost < best_cost) {
                best_cost = cost;
                *best = b;
            }
        }
    }
    const double flops = s->flops * all;
    best->seconds = flops * best_cost / a->rate + a->brief;
    if (a->single > 0.0) { /* a small one is the work of one thread */
        const double bytes = hri_operand_bytes(s, HRI_A) +
                             hri_operand_bytes(s, HRI_B) +
                             hri_operand_bytes(s, HRI_C);
        const double one = fmax(flops / a->single,
                                hri_cost_bytes(bytes, hri_model_one_thread));
        best->seconds = fmin(best->seconds, one);
    }
}

static int fastest_first(const void *x, const void *y)
{
    const hri_blocking *a = x, *b = y;
    return a->seconds < b->seconds ? -1 : a->seconds > b->seconds;
}

/* List the fastest of each kind that is worth a closer look. */
static void list_kinds(search *x, hri_blockings *list)
{
    list->count = 0;
    qsort(x->kinds, KINDS, sizeof *x->kinds, fastest_first);
    for (int i = 0; i < KINDS && list->count < HRI_BLOCKINGS; i++) {
        const hri_blocking *kind = &x->kinds[i];
        if (kind->chunks > 0 &&
            kind->seconds <= x->worthwhile * x->best.seconds) {
            list->of[list->count++] = *kind;
        }
    }
}

/* There are too many products. Says with how much memory there are not. */
static hr_status too_many(const search *found)
{
    const hri_plan_shape *s = found->shape;
    const size_t bytes = found->count * sizeof *found->accelerators;
    hri_plan_accelerator *larger = malloc(bytes);
    search x = *found;
    uint64_t memory = 0, own = 0;
    if (larger == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for the plan");
    }
    memcpy(larger, found->accelerators, bytes);
    x.accelerators = larger;
    x.panel_sets = 2;
    for (uint32_t i = 0; i < x.count; i++) {
        memory = larger[i].memory > memory ? larger[i].memory : memory;
        own = larger[i].own > own ? larger[i].own : own;
    }
    while (!x.found && memory < UINT64_MAX / 4) {
        memory *= 2;
        for (uint32_t j = 0; j < x.count; j++) {
            larger[j].memory = memory;
        }
        scan_tiles(&x);
    }
    free(larger);
    char enough[64] = ", with any amount of memory; the host in place takes it";
    if (x.found) {
        hri_format(enough, sizeof enough, "; limits of %llu bytes are enough",
                   (unsigned long long)memory + own);
    }
    return hri_fail(
        HR_ERROR_OUT_OF_MEMORY,
        "gemm: %lld x %lld x %lld needs more than %d tile products on %u "
        "accelerator%s%s",
        (long long)s->m, (long long)s->n, (long long)s->k, (int)MAX_TASKS,
        x.count, hri_plural(x.count), enough);
}

hr_status hri_blocking_choose(const hri_plan_shape *shape,
                              const hri_plan_accelerator *accelerators,
                              uint32_t count, const hri_partition *partition,
                              hri_tile_box *boxes, hri_blockings *list)
{
    search x = {
        .shape = shape,
        .accelerators = accelerators,
        .count = count,
        .partition = partition,
        .boxes = boxes,
        .worthwhile = count <= HRI_FORECAST_SHARES ? 1.3 : 1.0,
        .most_bytes = HUGE_VAL,
    };
    if (count == 1 && accelerators[0].in_place) {
        choose_in_place(shape, &accelerators[0], &list->of[0]);
        list->count = 1;
        return HR_OK;
    }
    x.totals = hri_totals_of(shape, accelerators, count);
    x.one_block = shape->terms > 0;
    set_edges(&x);
    for (x.panel_sets = 2; !x.found && x.panel_sets >= 1; x.panel_sets--) {
        scan_tiles(&x);
    }
    if (!x.found && shape->terms > 0) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "gemm: C and one term do not fit into %u "
                        "accelerator%s",
                        count, hri_plural(count));
    }
    if (!x.found) {
        return too_many(&x);
    }
    x.panel_sets = x.best.panel_sets;
    x.most_bytes = x.best.bytes * 1.03;
    x.by_time = true;
    x.one_block =
        x.one_block || (hri_blocking_is_single(&x.best) && x.best.chunks == 1);
    scan_tiles(&x);
    list_kinds(&x, list);
    return HR_OK;
}
