/* SPDX-License-Identifier: MIT */
/* Thin products of which one side is long. Elements along that side lie in the
 * lanes of vectors. These come from the operand itself where its runs lie along
 * the lanes, else from a panel that stays in the first-level cache. */
#include <stdlib.h>
#include <string.h>

#include "backends/host/builtin.h"
#include "backends/host/host.h"
#include "base/matrix.h"
#include "base/size.h"

enum {
    PANEL_DEPTH = 64,      /* of a panel in cache */
    RUN_DEPTH = 32,        /* runs along the lanes that are read at once */
    BLOCK = 16,            /* groups of lanes that are read at once */
    LINE_BYTES = 128,      /* at most, of two vectors */
    ROUND_BYTES = 1 << 20, /* of the thin operand, packed: stays in L2 */
    PARTIAL_BYTES = 4 << 20,
    TASKS_PER_THREAD = 4
};

typedef struct work {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    hri_pool *pool;
    void (*stream)(const hri_stream *stream);
    hri_operand x, y;    /* the long operand and the thin one. row_stride: along
                            m or n, col_stride: along k */
    bool down;           /* lanes run down columns of C: x is A */
    int64_t lanes, rows; /* elements of C along x and y */
    int64_t parts, unit; /* numbers of an element, and its bytes when packed */
    int64_t width;       /* elements in a group of lanes */
    int64_t groups, block; /* all groups, and those that a task takes */
    int64_t slice, slices; /* elements of k in a slice, and all slices */
    int64_t start, count;  /* the slices of this round */
    int64_t tile_bytes;
    char *packed;   /* y over the slices of this round */
    char *partials; /* a tile for each slice and group of this round; NULL: a
                       task takes all slices */
    char *totals;   /* a tile for each group; NULL: not needed */
} work;

static int64_t depth_of(const work *w, int64_t slice)
{
    return hri_min(w->slice, w->gemm->k - slice * w->slice);
}

static char *packed_at(const work *w, int64_t slice)
{
    return w->packed + (slice - w->start) * w->slice * w->rows * w->unit;
}

static const char *element(const work *w, const hri_operand *operand,
                           int64_t along_side, int64_t along_depth)
{
    return (const char *)hri_host_address(&operand->place) +
           (along_side * operand->row_stride +
            along_depth * operand->col_stride) *
               (int64_t)hr_type_size(w->gemm->type);
}

static void pack(const work *w, const hri_operand *operand, const char *source,
                 int64_t width, int64_t depth, int64_t panel_width, void *panel)
{
    const hri_panel p = {
        .source = source,
        .width_stride = operand->row_stride,
        .depth_stride = operand->col_stride,
        .width = width,
        .depth = depth,
        .panel_width = panel_width,
        .type = w->gemm->type,
        .conjugate = operand->conjugate,
        .panel = panel,
    };
    w->variant->pack(&p);
}

static void pack_task(void *data, int64_t index)
{
    const work *w = data;
    const int64_t slice = w->start + index;
    pack(w, &w->y, element(w, &w->y, 0, slice * w->slice), w->rows,
         depth_of(w, slice), w->rows, packed_at(w, slice));
}

/* Whether a group's vectors can be read where they lie. More rows than four
 * read them twice, and then a panel is better. */
static bool is_in_place(const work *w, int64_t group)
{
    return w->x.row_stride == 1 && !w->x.conjugate && w->rows * w->parts <= 4 &&
           (int64_t)hr_type_size(w->gemm->type) == w->unit &&
           (group + 1) * w->width <= w->lanes;
}

/* Add depth products to the sums of a group. p: the first, in its slice. */
static void multiply(const work *w, int64_t group, int64_t slice, int64_t p,
                     int64_t depth, char *sums)
{
    _Alignas(64) char panel[PANEL_DEPTH * LINE_BYTES];
    const int64_t lane = group * w->width;
    const char *source = element(w, &w->x, lane, slice * w->slice + p);
    hri_stream s = {
        .rows = w->rows * w->parts,
        .depth = depth,
        .x = source,
        .x_step = w->x.col_stride * w->parts,
        .y = packed_at(w, slice) + p * w->rows * w->unit,
        .sums = sums,
    };
    if (!is_in_place(w, group)) {
        pack(w, &w->x, source, hri_min(w->width, w->lanes - lane), depth,
             w->width, panel);
        s.x = panel;
        s.x_step = w->width * w->parts;
    }
    w->stream(&s);
}

/* The sums of `count` groups over a slice. The order of reading is that of
 * memory as far as caches allow. */
static void multiply_groups(const work *w, int64_t group, int64_t count,
                            int64_t slice, char *sums)
{
    const bool along = w->x.col_stride != 1;
    const int64_t step = along ? RUN_DEPTH : PANEL_DEPTH;
    const int64_t together = along ? count : 1;
    const int64_t depth = depth_of(w, slice);
    memset(sums, 0, (size_t)(count * w->tile_bytes));
    for (int64_t first = 0; first < count; first += together) {
        for (int64_t p = 0; p < depth; p += step) {
            for (int64_t g = first; g < first + together; g++) {
                multiply(w, group + g, slice, p, hri_min(step, depth - p),
                         sums + g * w->tile_bytes);
            }
        }
    }
}

static void add(const work *w, int64_t group, int64_t slice, const char *sums)
{
    const int64_t lane = group * w->width;
    const int64_t width = hri_min(w->width, w->lanes - lane);
    const hri_slice s = {
        .sums = sums,
        .transposed = w->down,
        .total = w->totals != NULL ? (void *)(w->totals + group * w->tile_bytes)
                                   : NULL,
        .row = w->down ? lane : 0,
        .col = w->down ? 0 : lane,
        .rows = w->down ? width : w->rows,
        .cols = w->down ? w->rows : width,
        .first = slice == 0,
        .last = slice == w->slices - 1,
    };
    hri_builtin_add(w->variant, w->gemm, &s);
}

/* Some groups over all slices of the round. */
static void block_task(void *data, int64_t index)
{
    const work *w = data;
    _Alignas(64) char sums[BLOCK * HRI_BUILTIN_TILE_BYTES];
    const int64_t group = index * w->block;
    const int64_t count = hri_min(w->block, w->groups - group);
    for (int64_t s = w->start; s < w->start + w->count; s++) {
        multiply_groups(w, group, count, s, sums);
        for (int64_t g = 0; g < count; g++) {
            add(w, group + g, s, sums + g * w->tile_bytes);
        }
    }
}

static char *partial_at(const work *w, int64_t group, int64_t slice)
{
    return w->partials +
           ((slice - w->start) * w->groups + group) * w->tile_bytes;
}

/* Some groups over one slice, to be added later. */
static void partial_task(void *data, int64_t index)
{
    const work *w = data;
    const int64_t blocks = hri_ceil_div(w->groups, w->block);
    const int64_t group = index % blocks * w->block;
    const int64_t slice = w->start + index / blocks;
    multiply_groups(w, group, hri_min(w->block, w->groups - group), slice,
                    partial_at(w, group, slice));
}

static void add_task(void *data, int64_t group)
{
    const work *w = data;
    for (int64_t s = w->start; s < w->start + w->count; s++) {
        add(w, group, s, partial_at(w, group, s));
    }
}

static void multiply_all(work *w, int64_t round)
{
    const int64_t blocks = hri_ceil_div(w->groups, w->block);
    for (w->start = 0; w->start < w->slices; w->start += w->count) {
        w->count = hri_min(round, w->slices - w->start);
        hri_pool_run(w->pool, w->count, pack_task, w);
        if (w->partials != NULL) {
            hri_pool_run(w->pool, blocks * w->count, partial_task, w);
            hri_pool_run(w->pool, w->groups, add_task, w);
        } else {
            hri_pool_run(w->pool, blocks, block_task, w);
        }
    }
}

static work plan(const hri_builtin_variant *variant, hri_pool *pool,
                 const hri_gemm *gemm)
{
    const bool down = gemm->m >= gemm->n;
    const bool wide = hri_builtin_is_wide(gemm->type);
    const int64_t real = wide ? 8 : 4, parts = hri_builtin_parts(gemm->type);
    const hri_operand a = hri_builtin_rows_of_a(gemm);
    const hri_operand b = hri_builtin_columns_of_b(gemm);
    work w = {
        .variant = variant,
        .gemm = gemm,
        .pool = hri_builtin_pool(pool, gemm),
        .stream = wide ? variant->stream_f64 : variant->stream_f32,
        .x = down ? a : b,
        .y = down ? b : a,
        .down = down,
        .lanes = down ? gemm->m : gemm->n,
        .rows = down ? gemm->n : gemm->m,
        .parts = parts,
        .unit = real * parts,
        .width = 2 * variant->vector_bytes / (real * parts),
        .slice = hri_builtin_slice(gemm),
    };
    w.groups = hri_ceil_div(w.lanes, w.width);
    w.slices = hri_ceil_div(gemm->k, w.slice);
    w.tile_bytes = w.rows * parts * 2 * variant->vector_bytes;
    const int64_t tasks = TASKS_PER_THREAD * hri_pool_threads(w.pool);
    w.block = hri_min(hri_max(w.groups / tasks, 1), BLOCK);
    return w;
}

hr_status hri_builtin_lanes(const hri_builtin_variant *variant, hri_pool *pool,
                            const hri_gemm *gemm)
{
    work w = plan(variant, pool, gemm);
    const int64_t threads = hri_pool_threads(w.pool);
    const int64_t slice_bytes = w.slice * w.rows * w.unit;
    const int64_t slice_partials = w.groups * w.tile_bytes;
    const bool apart =
        threads > 1 && w.slices > 1 && w.groups < TASKS_PER_THREAD * threads;
    int64_t round = hri_max(ROUND_BYTES / slice_bytes, 1);
    if (apart) {
        round = hri_max(hri_min(round, PARTIAL_BYTES / slice_partials), 1);
    }
    round = hri_min(round, w.slices);
    const int64_t packed = round * slice_bytes;
    const int64_t partials = apart ? round * slice_partials : 0;
    const int64_t totals =
        hri_builtin_total_bytes(variant, gemm, w.groups, w.rows);
    hr_status status = HR_OK;
    w.packed = hri_builtin_allocate(packed);
    w.partials = partials > 0 ? hri_builtin_allocate(partials) : NULL;
    w.totals = totals > 0 ? hri_builtin_allocate(totals) : NULL;
    if (w.packed == NULL || (partials > 0 && w.partials == NULL) ||
        (totals > 0 && w.totals == NULL)) {
        status = hri_builtin_no_memory(packed + partials + totals);
    } else {
        multiply_all(&w, round);
    }
    free(w.packed);
    free(w.partials);
    free(w.totals);
    return status;
}
