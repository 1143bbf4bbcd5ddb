/* SPDX-License-Identifier: MIT */
/* The built-in multiplication: choosing the variant and the way to multiply,
 * and distribution over threads.
 *
 * C is cut into blocks. For each block, slices of A and B of some depth are
 * packed and then multiplied. All threads of the pool do both. Thin products,
 * whose m or n is at most 8, are bounded by memory, and packing would cost more
 * than the product. Only their thin operand lies packed in memory. Those of i8
 * are dot products where runs lie along k.
 *
 * Dot products are exact. The others cut k into slices of the same length
 * (slice_of), the last of which may be shorter. An element's sum over a slice
 * is made in order of k, and these sums are added in order. So the bits of an
 * element depend on k, its row of A and its column of B alone, and not on the
 * shape or the layout. */
#include "backends/host/builtin.h"

#include <stdlib.h>
#include <string.h>

#include <headrace/half.h>

#include "backends/host/arithmetic.h"
#include "backends/host/host.h"
#include "base/cpus.h"
#include "base/matrix.h"
#include "base/size.h"

enum {
    I8_DEPTH = 1024,       /* 1024 * 2^14 = 2^24: sums of i8 are exact in f32 */
    SLICE_BYTES = 2048,    /* of k in one slice: 512 of f32 */
    TASKS_PER_THREAD = 4,  /* so that unequal threads still balance */
    SERIAL_FLOPS = 1 << 20 /* fewer: waking threads takes longer */
};

_Static_assert(SLICE_BYTES / 4 <= I8_DEPTH,
               "sums of i8 over a slice must be exact in f32");

/* ---- what all ways need */

static bool is_half(hr_type type)
{
    return type == HR_F16 || type == HR_BF16;
}

/* Bytes of a number of the kernel, and how many numbers an element has. */
static int64_t real_bytes(hr_type type)
{
    return type == HR_F64 || type == HR_C64 ? 8 : 4;
}

static int64_t parts_of(hr_type type)
{
    return hri_is_complex(type) ? 2 : 1;
}

/* An operand with row_stride along m or n, and col_stride along k. With k = 1
 * the stride along k has no meaning. It is set so that one of the two is 1, as
 * hri_builtin_panel needs. */
static hri_operand oriented(hri_operand operand, int64_t along_side,
                            int64_t along_depth, int64_t depth)
{
    operand.row_stride = along_side;
    operand.col_stride = along_depth;
    if (depth == 1) {
        operand.col_stride = along_side == 1 ? 0 : 1;
    }
    return operand;
}

static hri_operand rows_of_a(const hri_gemm *g)
{
    return oriented(g->a, g->a.row_stride, g->a.col_stride, g->k);
}

static hri_operand columns_of_b(const hri_gemm *g)
{
    return oriented(g->b, g->b.col_stride, g->b.row_stride, g->k);
}

/* The length to cut extent by: at most `longest`, rounded up to multiples of
 * unit, and as equal for all cuts as that allows. */
static int64_t equal_length(int64_t extent, int64_t longest, int64_t unit)
{
    int64_t count = hri_ceil_div(extent, longest);
    int64_t length = hri_ceil_div(extent, hri_max(count, 1));
    return hri_round_up(hri_max(length, 1), unit);
}

/* Elements of k in a slice. */
static int64_t slice_of(const hri_gemm *g)
{
    return equal_length(g->k, SLICE_BYTES / real_bytes(g->type), 1);
}

/* The pool, or NULL when the product is too small for several threads. */
static hri_pool *pool_for(hri_pool *pool, const hri_gemm *g)
{
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    return flops < SERIAL_FLOPS ? NULL : pool;
}

/* Memory aligned to cache lines. */
static void *allocate_lines(int64_t bytes)
{
    return aligned_alloc(64, (size_t)hri_round_up(bytes, 64));
}

static hr_status no_memory_to_pack(int64_t bytes)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                    "built-in multiplication: no memory to pack %lld bytes",
                    (long long)bytes);
}

/* C := beta C. */
static void scale_c(hri_pool *pool, const hri_gemm *g)
{
    const hr_matrix c = hr_matrix_row_major(
        hri_host_address(&g->c.place), g->c_type, g->m, g->n, g->c.row_stride);
    hri_matrix_scale(pool, g->beta, &c);
}

/* Write a tile whose rows lie `pitch` numbers apart. */
static void store_tile(const hri_builtin_variant *variant,
                       const hri_builtin_tile *tile, int64_t pitch)
{
    if (is_half(tile->type)) {
        variant->store_half(tile, pitch);
    } else {
        variant->store(tile);
    }
}

/* ---- products in blocks */

enum {
    TASK_BYTES = 256 * 1024, /* packed B that one task runs over: in L2 */
    BLOCK_SIDE = 2048,       /* of a square block of C, in elements */
    BLOCK_SIDE_MAX = 16384   /* of a block that is not square */
};

/* A range of elements along m or n, and its packed panels. */
typedef struct side {
    hri_operand operand; /* row_stride: along m or n, col_stride: along k */
    int64_t extent;      /* of the whole matrix */
    int64_t block;       /* of one block of C, a multiple of panel */
    int64_t start, size; /* of the block worked on now */
    int64_t panel;       /* elements in a panel */
    int64_t panels;      /* in the block */
    int64_t row_bytes;   /* of a panel element at one depth */
    hri_builtin_pairing pairing;
    char *packed;
} side;

typedef struct blocked {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    hri_pool *pool; /* NULL: too small for several threads */
    void (*multiply)(int64_t depth, const void *a, const void *b, void *tile);
    side a, b;
    int64_t depth_block;          /* of k */
    int64_t depth_start, depth;   /* the slice worked on now */
    int64_t deep;                 /* depths of panels for one of k */
    int64_t task_rows, task_cols; /* panels that one task runs over */
    float *sums;  /* of a block over k, when C is f16 or bf16, and k has several
                     slices or the product is reproducible; else NULL */
    bool ordered; /* reproducible: sums begin as beta C, and have alpha */
} blocked;

static char *panel_at(const blocked *w, const side *s, int64_t index)
{
    return s->packed + index * s->panel * w->depth * s->row_bytes;
}

static void pack_panel(const blocked *w, const side *s, int64_t index)
{
    int64_t first = s->start + index * s->panel;
    int64_t element =
        first * s->operand.row_stride + w->depth_start * s->operand.col_stride;
    const hri_builtin_panel panel = {
        .source = (const char *)hri_host_address(&s->operand.place) +
                  element * (int64_t)hr_type_size(w->gemm->type),
        .width_stride = s->operand.row_stride,
        .depth_stride = s->operand.col_stride,
        .width = hri_min(s->panel, s->start + s->size - first),
        .depth = w->depth,
        .panel_width = s->panel,
        .type = w->gemm->type,
        .conjugate = s->operand.conjugate,
        .pairing = s->pairing,
        .panel = panel_at(w, s, index),
    };
    w->variant->pack(&panel);
}

static void pack_task(void *data, int64_t index)
{
    const blocked *w = data;
    if (index < w->a.panels) {
        pack_panel(w, &w->a, index);
    } else {
        pack_panel(w, &w->b, index - w->a.panels);
    }
}

/* What the tiles of a block have in common. */
static hri_builtin_tile block_tile(const blocked *w, const void *values)
{
    const bool first = w->depth_start == 0;
    hri_builtin_tile tile = {
        .values = values,
        .type = w->gemm->c_type,
        .c_stride = w->gemm->c.row_stride,
        .alpha = w->gemm->alpha,
        .beta = first ? w->gemm->beta : hr_real(1.0),
    };
    if (w->sums != NULL) {
        tile.type = HR_F32;
        tile.c_stride = w->b.block;
        tile.alpha = w->ordered ? w->gemm->alpha : hr_real(1.0);
        tile.beta = hr_real(first && !w->ordered ? 0.0 : 1.0);
    }
    return tile;
}

/* Let it be tile (row, col) of the block. */
static void aim_tile(const blocked *w, int64_t row, int64_t col,
                     hri_builtin_tile *tile)
{
    const hri_gemm *g = w->gemm;
    const int64_t i = row * w->a.panel, j = col * w->b.panel;
    tile->rows = hri_min(w->a.panel, w->a.size - i);
    tile->cols = hri_min(w->b.panel, w->b.size - j);
    if (w->sums != NULL) {
        tile->c = w->sums + i * w->b.block + j;
        return;
    }
    const int64_t element = (w->a.start + i) * g->c.row_stride + w->b.start + j;
    tile->c = hri_host_address(&g->c.place) +
              element * (int64_t)hr_type_size(g->c_type);
}

/* The tiles of a task. Its panels of B stay in L2 while the panels of A pass
 * over them, one at a time in L1. */
static void multiply_task(void *data, int64_t index)
{
    const blocked *w = data;
    int64_t across = hri_ceil_div(w->b.panels, w->task_cols);
    int64_t row = index / across * w->task_rows;
    int64_t col = index % across * w->task_cols;
    int64_t row_end = hri_min(row + w->task_rows, w->a.panels);
    int64_t col_end = hri_min(col + w->task_cols, w->b.panels);
    _Alignas(64) char values[HRI_BUILTIN_TILE_BYTES];
    hri_builtin_tile tile = block_tile(w, values);
    for (int64_t i = row; i < row_end; i++) {
        for (int64_t j = col; j < col_end; j++) {
            aim_tile(w, i, j, &tile);
            w->multiply(w->depth * w->deep, panel_at(w, &w->a, i),
                        panel_at(w, &w->b, j), values);
            if (w->ordered) {
                w->variant->store_ordered(&tile);
            } else {
                store_tile(w->variant, &tile, w->b.panel);
            }
        }
    }
}

/* One row of panels of a block of C in f16 or bf16. */
static hri_builtin_tile half_rows(const blocked *w, int64_t index)
{
    const hri_gemm *g = w->gemm;
    int64_t i = index * w->a.panel;
    return (hri_builtin_tile){
        .values = w->sums + i * w->b.block,
        .rows = hri_min(w->a.panel, w->a.size - i),
        .cols = w->b.size,
        .type = g->c_type,
        .c = (uint16_t *)(void *)hri_host_address(&g->c.place) +
             (w->a.start + i) * g->c.row_stride + w->b.start,
        .c_stride = g->c.row_stride,
        .alpha = w->ordered ? hr_real(1.0) : g->alpha,
        .beta = w->ordered ? hr_real(0.0) : g->beta,
    };
}

static void finish_task(void *data, int64_t index)
{
    const blocked *w = data;
    const hri_builtin_tile rows = half_rows(w, index);
    w->variant->store_half(&rows, w->b.block);
}

/* Set the sums of one row of panels to beta C. */
static void begin_task(void *data, int64_t index)
{
    const blocked *w = data;
    const hri_builtin_tile rows = half_rows(w, index);
    const float beta = (float)w->gemm->beta.re;
    for (int64_t i = 0; i < rows.rows; i++) {
        float *to = w->sums + (index * w->a.panel + i) * w->b.block;
        const uint16_t *c = (const uint16_t *)rows.c + i * rows.c_stride;
        for (int64_t j = 0; j < rows.cols; j++) {
            to[j] = beta == 0.0f          ? 0.0f
                    : rows.type == HR_F16 ? beta * hr_f16_to_f32(c[j])
                                          : beta * hr_bf16_to_f32(c[j]);
        }
    }
}

static void multiply_block(blocked *w)
{
    w->a.panels = hri_ceil_div(w->a.size, w->a.panel);
    w->b.panels = hri_ceil_div(w->b.size, w->b.panel);
    int64_t across = hri_ceil_div(w->b.panels, w->task_cols);
    int64_t tasks = hri_ceil_div(w->a.panels, w->task_rows) * across;
    if (w->sums != NULL && w->ordered) {
        hri_pool_run(w->pool, w->a.panels, begin_task, w);
    }
    for (w->depth_start = 0; w->depth_start < w->gemm->k;
         w->depth_start += w->depth_block) {
        w->depth = hri_min(w->depth_block, w->gemm->k - w->depth_start);
        hri_pool_run(w->pool, w->a.panels + w->b.panels, pack_task, w);
        hri_pool_run(w->pool, tasks, multiply_task, w);
    }
    if (w->sums != NULL) {
        hri_pool_run(w->pool, w->a.panels, finish_task, w);
    }
}

static void multiply_blocks(blocked *w)
{
    for (w->b.start = 0; w->b.start < w->b.extent; w->b.start += w->b.block) {
        w->b.size = hri_min(w->b.block, w->b.extent - w->b.start);
        for (w->a.start = 0; w->a.start < w->a.extent;
             w->a.start += w->a.block) {
            w->a.size = hri_min(w->a.block, w->a.extent - w->a.start);
            multiply_block(w);
        }
    }
}

/* The longest side of a block when its other side is at most `other`. A short
 * side makes the other one long, so that all threads have work. */
static int64_t block_side(int64_t other)
{
    int64_t length = (int64_t)BLOCK_SIDE * BLOCK_SIDE / hri_max(other, 1);
    return hri_min(hri_max(length, BLOCK_SIDE), BLOCK_SIDE_MAX);
}

static void plan_tasks(blocked *w)
{
    int64_t threads = hri_pool_threads(w->pool);
    int64_t panel_bytes = w->b.panel * w->b.row_bytes * w->depth_block;
    int64_t cols = hri_ceil_div(hri_min(w->b.block, w->b.extent), w->b.panel);
    int64_t rows = hri_ceil_div(hri_min(w->a.block, w->a.extent), w->a.panel);
    w->task_cols = hri_max(TASK_BYTES / panel_bytes, 1);
    int64_t across = hri_ceil_div(cols, w->task_cols);
    int64_t cuts = hri_ceil_div(TASKS_PER_THREAD * threads, across);
    w->task_rows = hri_ceil_div(rows, hri_min(cuts, rows));
}

/* Make the work reproducible: slices of k and panels are those of hal.h. */
static void put_in_order(blocked *w, int64_t real)
{
    w->ordered = true;
    w->depth_block = hri_min(HRI_ORDERED_DEPTH, w->gemm->k);
    if (hri_is_complex(w->gemm->type)) {
        w->deep = 2;
        w->a.pairing = HRI_BUILTIN_DEEP_LEFT;
        w->b.pairing = HRI_BUILTIN_DEEP_RIGHT;
        w->a.panel = w->variant->rows;
        w->b.row_bytes = 4 * real;
    }
}

static blocked plan_blocked(const hri_builtin_variant *variant, hri_pool *pool,
                            const hri_gemm *g)
{
    const int64_t real = real_bytes(g->type), parts = parts_of(g->type);
    blocked w = {
        .variant = variant,
        .gemm = g,
        .pool = pool_for(pool, g),
        .multiply = real == 8 ? variant->multiply_f64 : variant->multiply_f32,
        .a = {.operand = rows_of_a(g), .extent = g->m},
        .b = {.operand = columns_of_b(g), .extent = g->n},
        .deep = 1,
    };
    w.a.row_bytes = w.b.row_bytes = real * parts;
    w.a.panel = variant->rows / parts;
    w.b.panel = 2 * variant->vector_bytes / (real * parts);
    w.depth_block = slice_of(g);
    if (g->compute == HR_COMPUTE_REPRODUCIBLE) {
        put_in_order(&w, real);
    }
    w.a.block = equal_length(g->m, block_side(g->n), w.a.panel);
    w.b.block = equal_length(g->n, block_side(g->m), w.b.panel);
    plan_tasks(&w);
    return w;
}

static hr_status multiply_blocked(const hri_builtin_variant *variant,
                                  hri_pool *pool, const hri_gemm *g)
{
    blocked w = plan_blocked(variant, pool, g);
    const int64_t a_bytes = w.a.block * w.a.row_bytes * w.depth_block;
    const int64_t b_bytes = w.b.block * w.b.row_bytes * w.depth_block;
    const bool half = is_half(g->c_type) && (w.ordered || g->k > w.depth_block);
    const int64_t sums =
        half ? w.a.block * w.b.block * (int64_t)sizeof(float) : 0;
    hr_status status = HR_OK;
    w.a.packed = allocate_lines(a_bytes);
    w.b.packed = allocate_lines(b_bytes);
    w.sums = half ? allocate_lines(sums) : NULL;
    if (w.a.packed == NULL || w.b.packed == NULL || (half && w.sums == NULL)) {
        status = no_memory_to_pack(a_bytes + b_bytes + sums);
        goto done;
    }
    multiply_blocks(&w);
done:
    free(w.a.packed);
    free(w.b.packed);
    free(w.sums);
    return status;
}

/* ---- thin products
 *
 * Elements along the long side lie in the lanes of vectors. These come from the
 * operand itself where its runs lie along the lanes, else from a panel that
 * stays in the first-level cache. */

enum {
    PANEL_DEPTH = 64,      /* of a panel in cache */
    RUN_DEPTH = 32,        /* runs along the lanes that are read at once */
    BLOCK = 16,            /* groups of lanes that are read at once */
    LINE_BYTES = 128,      /* at most, of two vectors */
    ROUND_BYTES = 1 << 20, /* of the thin operand, packed: stays in L2 */
    PARTIAL_BYTES = 4 << 20
};

typedef struct thin {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    hri_pool *pool;
    void (*stream)(const hri_builtin_stream *stream);
    hri_operand x, y;    /* the long operand and the thin one. row_stride: along
                            m or n, col_stride: along k */
    bool down;           /* lanes run down columns of C: x is A */
    int64_t lanes, rows; /* elements of C along x and y */
    int64_t real, parts; /* bytes of a number, and numbers of an element */
    int64_t line;        /* bytes of two vectors */
    int64_t width, panel;  /* elements in a group of lanes, and in its panel */
    int64_t groups, block; /* all groups, and those that a task takes */
    int64_t slice, slices; /* elements of k in a slice, and all slices */
    int64_t start, count;  /* the slices of this round */
    int64_t tile_bytes;
    char *packed;   /* y over the slices of this round */
    char *partials; /* a tile for each slice and group of this round; NULL: a
                       task takes all slices */
    char *totals;   /* a tile for each group; NULL: not needed */
} thin;

static int64_t depth_of(const thin *w, int64_t slice)
{
    return hri_min(w->slice, w->gemm->k - slice * w->slice);
}

static char *packed_at(const thin *w, int64_t slice)
{
    return w->packed +
           (slice - w->start) * w->slice * w->rows * w->real * w->parts;
}

static const char *element_at(const thin *w, const hri_operand *operand,
                              int64_t along_side, int64_t along_depth)
{
    return (const char *)hri_host_address(&operand->place) +
           (along_side * operand->row_stride +
            along_depth * operand->col_stride) *
               (int64_t)hr_type_size(w->gemm->type);
}

static void pack_operand(const thin *w, const hri_operand *operand,
                         const char *source, int64_t width, int64_t depth,
                         int64_t panel_width, void *panel)
{
    const hri_builtin_panel p = {
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

static void pack_thin_task(void *data, int64_t index)
{
    const thin *w = data;
    const int64_t slice = w->start + index;
    pack_operand(w, &w->y, element_at(w, &w->y, 0, slice * w->slice), w->rows,
                 depth_of(w, slice), w->rows, packed_at(w, slice));
}

/* Tell whether a group's vectors can be read where they lie. More rows than
 * four read them twice, and then a panel is better. */
static bool is_in_place(const thin *w, int64_t group)
{
    return w->x.row_stride == 1 && !w->x.conjugate && w->rows * w->parts <= 4 &&
           (int64_t)hr_type_size(w->gemm->type) == w->real * w->parts &&
           (group + 1) * w->width <= w->lanes;
}

/* Add depth products to the sums of a group. p: the first, in its slice.
 *
 * A single group may have a panel that is narrower than its vectors. Lanes
 * beyond the panel then read what follows it, and nobody reads their sums. */
static void multiply_group(const thin *w, int64_t group, int64_t slice,
                           int64_t p, int64_t depth, char *sums)
{
    _Alignas(64) char panel[PANEL_DEPTH * LINE_BYTES];
    const int64_t lane = group * w->width;
    const char *source = element_at(w, &w->x, lane, slice * w->slice + p);
    hri_builtin_stream s = {
        .rows = w->rows * w->parts,
        .depth = depth,
        .x = source,
        .x_step = w->x.col_stride * w->parts,
        .y = packed_at(w, slice) + p * w->rows * w->real * w->parts,
        .sums = sums,
    };
    if (!is_in_place(w, group)) {
        pack_operand(w, &w->x, source, hri_min(w->width, w->lanes - lane),
                     depth, w->panel, panel);
        memset(panel + depth * w->panel * w->real * w->parts, 0,
               (size_t)(w->line - w->panel * w->real * w->parts));
        s.x = panel;
        s.x_step = w->panel * w->parts;
    }
    w->stream(&s);
}

/* The sums of `count` groups over a slice. The order of reading is that of
 * memory as far as caches allow. */
static void multiply_groups(const thin *w, int64_t group, int64_t count,
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
                multiply_group(w, group + g, slice, p, hri_min(step, depth - p),
                               sums + g * w->tile_bytes);
            }
        }
    }
}

/* The transpose of a tile of rows x cols numbers. Rows of both are lines. */
static void transpose(const thin *w, const char *from, int64_t rows,
                      int64_t cols, void *to)
{
    const int64_t pitch = w->line / w->real;
    for (int64_t j = 0; j < cols; j++) {
        const uint32_t *from4 = (const void *)(from + j * w->real);
        const uint64_t *from8 = (const void *)from4;
        uint32_t *to4 = (uint32_t *)to + j * pitch;
        uint64_t *to8 = (uint64_t *)to + j * pitch;
        for (int64_t i = 0; i < rows; i++) {
            if (w->real == 4) {
                to4[i] = from4[i * pitch];
            } else {
                to8[i] = from8[i * pitch];
            }
        }
    }
}

/* The tile's values are of the transpose. A tile may have fewer columns than
 * C. */
static void store_transposed(const thin *w, hri_builtin_tile tile)
{
    enum { MAX_LANES = 32 };
    _Alignas(64) char out[MAX_LANES * LINE_BYTES];
    const int64_t cols = tile.cols;
    const char *from = tile.values;
    tile.values = out;
    for (int64_t col = 0; col < cols; col += w->width) {
        tile.cols = hri_min(w->width, cols - col);
        transpose(w, from, w->parts * tile.cols, w->parts * tile.rows, out);
        store_tile(w->variant, &tile, w->line / w->real);
        from += w->parts * w->width * w->line;
        tile.c = (char *)tile.c + w->width * (int64_t)hr_type_size(tile.type);
    }
}

/* Add the sums of a group over one slice to C. Slices come in order. C in f16
 * or bf16 gets the total of several slices at once. */
static void add_sums(const thin *w, int64_t group, int64_t slice,
                     const char *sums)
{
    const hri_gemm *g = w->gemm;
    const int64_t lane = group * w->width;
    const int64_t width = hri_min(w->width, w->lanes - lane);
    const int64_t element = w->down ? lane * g->c.row_stride : lane;
    hri_builtin_tile tile = {
        .values = sums,
        .rows = w->down ? width : w->rows,
        .cols = w->down ? w->rows : width,
        .type = g->c_type,
        .c = hri_host_address(&g->c.place) +
             element * (int64_t)hr_type_size(g->c_type),
        .c_stride = g->c.row_stride,
        .alpha = g->alpha,
        .beta = slice == 0 || is_half(g->c_type) ? g->beta : hr_real(1.0),
    };
    if (w->totals != NULL) {
        const hri_builtin_tile total = {
            .values = sums,
            .rows = w->rows,
            .cols = width,
            .type = HR_F32,
            .c = w->totals + group * w->tile_bytes,
            .c_stride = w->line / w->real,
            .alpha = hr_real(1.0),
            .beta = hr_real(slice == 0 ? 0.0 : 1.0),
        };
        w->variant->store(&total);
        if (slice < w->slices - 1) {
            return;
        }
        tile.values = total.c;
    }
    if (w->down) {
        store_transposed(w, tile);
    } else {
        store_tile(w->variant, &tile, w->line / w->real);
    }
}

/* Some groups over all slices of the round. */
static void groups_task(void *data, int64_t index)
{
    const thin *w = data;
    _Alignas(64) char sums[BLOCK * HRI_BUILTIN_TILE_BYTES];
    const int64_t group = index * w->block;
    const int64_t count = hri_min(w->block, w->groups - group);
    for (int64_t s = w->start; s < w->start + w->count; s++) {
        multiply_groups(w, group, count, s, sums);
        for (int64_t g = 0; g < count; g++) {
            add_sums(w, group + g, s, sums + g * w->tile_bytes);
        }
    }
}

static char *partial_at(const thin *w, int64_t group, int64_t slice)
{
    return w->partials +
           ((slice - w->start) * w->groups + group) * w->tile_bytes;
}

/* Some groups over one slice, to be added later. */
static void partial_task(void *data, int64_t index)
{
    const thin *w = data;
    const int64_t blocks = hri_ceil_div(w->groups, w->block);
    const int64_t group = index % blocks * w->block;
    const int64_t slice = w->start + index / blocks;
    multiply_groups(w, group, hri_min(w->block, w->groups - group), slice,
                    partial_at(w, group, slice));
}

static void add_task(void *data, int64_t group)
{
    const thin *w = data;
    for (int64_t s = w->start; s < w->start + w->count; s++) {
        add_sums(w, group, s, partial_at(w, group, s));
    }
}

static void multiply_rounds(thin *w, int64_t round)
{
    const int64_t blocks = hri_ceil_div(w->groups, w->block);
    for (w->start = 0; w->start < w->slices; w->start += w->count) {
        w->count = hri_min(round, w->slices - w->start);
        hri_pool_run(w->pool, w->count, pack_thin_task, w);
        if (w->partials != NULL) {
            hri_pool_run(w->pool, blocks * w->count, partial_task, w);
            hri_pool_run(w->pool, w->groups, add_task, w);
        } else {
            hri_pool_run(w->pool, blocks, groups_task, w);
        }
    }
}

static thin plan_thin(const hri_builtin_variant *variant, hri_pool *pool,
                      const hri_gemm *g)
{
    const bool down = g->m >= g->n;
    const hri_operand a = rows_of_a(g), b = columns_of_b(g);
    thin w = {
        .variant = variant,
        .gemm = g,
        .pool = pool_for(pool, g),
        .x = down ? a : b,
        .y = down ? b : a,
        .down = down,
        .lanes = down ? g->m : g->n,
        .rows = down ? g->n : g->m,
        .real = real_bytes(g->type),
        .parts = parts_of(g->type),
        .line = 2 * variant->vector_bytes,
        .slice = slice_of(g),
    };
    w.stream = w.real == 8 ? variant->stream_f64 : variant->stream_f32;
    w.width = w.line / (w.real * w.parts);
    w.panel = hri_min(w.width, w.lanes);
    w.groups = hri_ceil_div(w.lanes, w.width);
    w.slices = hri_ceil_div(g->k, w.slice);
    w.tile_bytes = w.rows * w.parts * w.line;
    const int64_t tasks = TASKS_PER_THREAD * hri_pool_threads(w.pool);
    w.block = hri_min(hri_max(w.groups / tasks, 1), BLOCK);
    return w;
}

static hr_status multiply_lanes(thin *w)
{
    const int64_t threads = hri_pool_threads(w->pool);
    const int64_t slice_bytes = w->slice * w->rows * w->real * w->parts;
    const int64_t slice_partials = w->groups * w->tile_bytes;
    const bool apart =
        threads > 1 && w->slices > 1 && w->groups < TASKS_PER_THREAD * threads;
    int64_t round = hri_max(ROUND_BYTES / slice_bytes, 1);
    if (apart) {
        round = hri_max(hri_min(round, PARTIAL_BYTES / slice_partials), 1);
    }
    round = hri_min(round, w->slices);
    const int64_t packed = round * slice_bytes;
    const int64_t partials = apart ? round * slice_partials : 0;
    const int64_t totals = is_half(w->gemm->c_type) && w->slices > 1
                               ? w->groups * w->tile_bytes
                               : 0;
    hr_status status = HR_OK;
    w->packed = allocate_lines(packed);
    w->partials = partials > 0 ? allocate_lines(partials) : NULL;
    w->totals = totals > 0 ? allocate_lines(totals) : NULL;
    if (w->packed == NULL || (partials > 0 && w->partials == NULL) ||
        (totals > 0 && w->totals == NULL)) {
        status = no_memory_to_pack(packed + partials + totals);
        goto done;
    }
    multiply_rounds(w, round);
done:
    free(w->packed);
    free(w->partials);
    free(w->totals);
    return status;
}

/* ---- thin products of i8 as dot products
 *
 * Elements are sums over runs along k, in integers, whose bits do not depend on
 * the order. An operand without such runs is thin, and they are copied. */

enum {
    DOTS_DEPTH = 64,       /* shorter dot products take longer than lanes */
    DOTS_SLICE = 16 << 10, /* elements of k that stay in cache */
    DOTS_UNIT = 64         /* whole vectors of any variant */
};

static bool suits_dots(const thin *w)
{
    return w->gemm->type == HR_I8 && w->gemm->k >= DOTS_DEPTH &&
           (w->lanes <= HRI_BUILTIN_THIN || w->x.col_stride == 1);
}

typedef struct runs {
    const thin *thin;
    const hri_operand *operand;
    int64_t count;
    char *copy;
} runs;

static void copy_runs_task(void *data, int64_t slice)
{
    const runs *r = data;
    const int64_t first = slice * r->thin->slice;
    const int64_t depth = depth_of(r->thin, slice);
    const int64_t step = r->operand->col_stride;
    for (int64_t i = 0; i < r->count; i++) {
        const char *from = element_at(r->thin, r->operand, i, first);
        char *to = r->copy + i * r->thin->gemm->k + first;
        for (int64_t p = 0; p < depth; p++) {
            to[p] = from[p * step];
        }
    }
}

/* Let an operand lie in `count` runs along k, in other memory. */
static void copy_runs(const thin *w, int64_t count, hri_operand *operand,
                      char *copy)
{
    runs r = {w, operand, count, copy};
    hri_pool_run(w->pool, w->slices, copy_runs_task, &r);
    *operand = (hri_operand){
        .place.host = copy, .row_stride = w->gemm->k, .col_stride = 1};
}

/* A group of runs of x, by all of y, over one slice. With several slices C is
 * beta C already. Unsigned arithmetic wraps by definition. */
static void dots_task(void *data, int64_t index)
{
    const thin *w = data;
    const hri_gemm *g = w->gemm;
    const uint32_t alpha = hri_factor_of(HR_I8, g->alpha).u[0];
    const uint32_t beta = hri_factor_of(HR_I8, g->beta).u[0];
    const int64_t first = index / w->slices * HRI_BUILTIN_DOTS;
    const int64_t slice = index % w->slices, p = slice * w->slice;
    uint32_t *c = (uint32_t *)(void *)hri_host_address(&g->c.place);
    uint32_t sums[HRI_BUILTIN_DOTS];
    hri_builtin_dots d = {
        .rows = hri_min(HRI_BUILTIN_DOTS, w->lanes - first),
        .count = depth_of(w, slice),
        .x = (const int8_t *)element_at(w, &w->x, first, p),
        .x_stride = w->x.row_stride,
        .sums = sums,
    };
    for (int64_t j = 0; j < w->rows; j++) {
        d.y = (const int8_t *)element_at(w, &w->y, j, p);
        w->variant->dots_i8(&d);
        for (int64_t i = 0; i < d.rows; i++) {
            uint32_t *to = w->down ? c + (first + i) * g->c.row_stride + j
                                   : c + j * g->c.row_stride + first + i;
            if (w->slices > 1) {
                __atomic_fetch_add(to, alpha * sums[i], __ATOMIC_RELAXED);
            } else {
                *to = alpha * sums[i] + (beta == 0 ? 0 : beta * *to);
            }
        }
    }
}

static hr_status multiply_dots(thin *w)
{
    const int64_t k = w->gemm->k;
    const int64_t x_bytes = w->x.col_stride == 1 ? 0 : w->lanes * k;
    const int64_t y_bytes = w->y.col_stride == 1 ? 0 : w->rows * k;
    w->slice = equal_length(k, DOTS_SLICE, DOTS_UNIT);
    w->slices = hri_ceil_div(k, w->slice);
    if (x_bytes + y_bytes > 0) {
        w->packed = allocate_lines(x_bytes + y_bytes);
        if (w->packed == NULL) {
            return no_memory_to_pack(x_bytes + y_bytes);
        }
    }
    if (x_bytes > 0) {
        copy_runs(w, w->lanes, &w->x, w->packed);
    }
    if (y_bytes > 0) {
        copy_runs(w, w->rows, &w->y, w->packed + x_bytes);
    }
    if (w->slices > 1) {
        scale_c(w->pool, w->gemm);
    }
    hri_pool_run(w->pool, hri_ceil_div(w->lanes, HRI_BUILTIN_DOTS) * w->slices,
                 dots_task, w);
    free(w->packed);
    return HR_OK;
}

/* ---- the choice */

const hri_builtin_variant *hri_builtin_variant_at(uint32_t index)
{
    static const struct {
        const hri_builtin_variant *variant;
        hri_simd needs;
    } variants[] = {
#ifdef __x86_64__
        {&hri_builtin_avx512, HRI_SIMD_AVX512},
        {&hri_builtin_avx2, HRI_SIMD_AVX2},
#endif
        {&hri_builtin_plain, HRI_SIMD_BASELINE},
    };
    const hri_simd here = hri_simd_here();
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        if (variants[i].needs <= here && index-- == 0) {
            return variants[i].variant;
        }
    }
    return NULL;
}

hr_status hri_builtin_gemm(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *g)
{
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    if (hri_gemm_only_scales(g)) {
        scale_c(pool, g);
        return HR_OK;
    }
    if (hri_min(g->m, g->n) > HRI_BUILTIN_THIN ||
        g->compute == HR_COMPUTE_REPRODUCIBLE) {
        return multiply_blocked(variant, pool, g);
    }
    thin w = plan_thin(variant, pool, g);
    return suits_dots(&w) ? multiply_dots(&w) : multiply_lanes(&w);
}

hr_status hri_host_gemm_builtin(hri_pool *pool, const hri_gemm *gemm)
{
    return hri_builtin_gemm(hri_builtin_variant_at(0), pool, gemm);
}
