/* SPDX-License-Identifier: MIT */
/* The built-in multiplication: choosing the variant, blocking, and distribution
 * over threads. C is cut into blocks. For each block, slices of A and B of some
 * depth are packed and then multiplied. All threads of the pool do both. */
#include "backends/host/builtin.h"

#include <stdlib.h>

#include <headrace/half.h>

#include "backends/host/arithmetic.h"
#include "backends/host/host.h"
#include "base/cpus.h"
#include "base/matrix.h"
#include "base/size.h"

enum {
    STRIP_BYTES = 256 * 1024, /* packed B that one task runs over: in L2 */
    BLOCK_SIDE = 2048,        /* of a square block of C, in elements */
    BLOCK_SIDE_MAX = 16384,   /* of a block that is not square */
    TASKS_PER_THREAD = 4,     /* so that unequal threads still balance */
    SERIAL_FLOPS = 1 << 20    /* fewer: waking threads takes longer */
};

_Static_assert(HRI_BUILTIN_DEPTH_BYTES / 4 <= HRI_BUILTIN_I8_DEPTH,
               "sums of i8 over a slice must be exact in f32");

/* A range of elements along m or n, and its packed panels. */
typedef struct side {
    hri_operand operand; /* row_stride: along m or n, col_stride: along k */
    int64_t extent;      /* of the whole matrix */
    int64_t block;       /* of one block of C, a multiple of panel */
    int64_t start, size; /* of the block worked on now */
    int64_t panel;       /* elements in a panel */
    int64_t panels;      /* in the block */
    int64_t row_bytes;   /* of a panel element at one depth */
    hri_pairing pairing;
    char *packed;
} side;

typedef struct work {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    hri_pool *pool; /* NULL: too small for several threads */
    void (*multiply)(int64_t depth, const void *a, const void *b, void *tile);
    side a, b;
    int64_t depth_block;            /* of k */
    int64_t depth_start, depth;     /* the slice worked on now */
    int64_t deep;                   /* depths of panels for one of k */
    int64_t strip_rows, strip_cols; /* panels that one task runs over */
    float *sums;  /* of a block over k, when C is f16 or bf16, and k has several
                     slices or the product is reproducible; else NULL */
    bool ordered; /* reproducible: sums begin as beta C, and have alpha */
} work;

static bool is_half(hr_type type)
{
    return type == HR_F16 || type == HR_BF16;
}

static char *panel_at(const work *w, const side *s, int64_t index)
{
    return s->packed + index * s->panel * w->depth * s->row_bytes;
}

static void pack_panel(const work *w, const side *s, int64_t index)
{
    int64_t first = s->start + index * s->panel;
    int64_t element =
        first * s->operand.row_stride + w->depth_start * s->operand.col_stride;
    const hri_panel panel = {
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
    const work *w = data;
    if (index < w->a.panels) {
        pack_panel(w, &w->a, index);
    } else {
        pack_panel(w, &w->b, index - w->a.panels);
    }
}

/* What the tiles of a block have in common. */
static hri_tile block_tile(const work *w, const void *values)
{
    const bool first = w->depth_start == 0;
    hri_tile tile = {
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
static void aim(const work *w, int64_t row, int64_t col, hri_tile *tile)
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

/* The tiles of a strip. Its panels of B stay in L2 while the panels of A pass
 * over them, one at a time in L1. */
static void multiply_task(void *data, int64_t index)
{
    const work *w = data;
    int64_t strips = hri_ceil_div(w->b.panels, w->strip_cols);
    int64_t row = index / strips * w->strip_rows;
    int64_t col = index % strips * w->strip_cols;
    int64_t row_end = hri_min(row + w->strip_rows, w->a.panels);
    int64_t col_end = hri_min(col + w->strip_cols, w->b.panels);
    _Alignas(64) char values[HRI_BUILTIN_TILE_BYTES];
    hri_tile tile = block_tile(w, values);
    for (int64_t i = row; i < row_end; i++) {
        for (int64_t j = col; j < col_end; j++) {
            aim(w, i, j, &tile);
            w->multiply(w->depth * w->deep, panel_at(w, &w->a, i),
                        panel_at(w, &w->b, j), values);
            if (w->ordered) {
                w->variant->store_ordered(&tile);
            } else if (is_half(tile.type)) {
                w->variant->store_half(&tile, w->b.panel);
            } else {
                w->variant->store(&tile);
            }
        }
    }
}

/* One row of panels of a block of C in f16 or bf16. */
static hri_tile half_rows(const work *w, int64_t index)
{
    const hri_gemm *g = w->gemm;
    int64_t i = index * w->a.panel;
    return (hri_tile){
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
    const work *w = data;
    const hri_tile rows = half_rows(w, index);
    w->variant->store_half(&rows, w->b.block);
}

/* The sums of a row of panels become beta C. */
static void begin_task(void *data, int64_t index)
{
    const work *w = data;
    const hri_tile rows = half_rows(w, index);
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

static void multiply_block(work *w)
{
    w->a.panels = hri_ceil_div(w->a.size, w->a.panel);
    w->b.panels = hri_ceil_div(w->b.size, w->b.panel);
    int64_t strips = hri_ceil_div(w->b.panels, w->strip_cols);
    int64_t tasks = hri_ceil_div(w->a.panels, w->strip_rows) * strips;
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

static void multiply_all(work *w)
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

/* The size of pieces when extent is cut into pieces of at most `most`. They are
 * as equal as multiples of unit can be. */
static int64_t even_piece(int64_t extent, int64_t most, int64_t unit)
{
    int64_t pieces = hri_ceil_div(extent, most);
    int64_t piece = hri_ceil_div(extent, hri_max(pieces, 1));
    return hri_round_up(hri_max(piece, 1), unit);
}

/* The longest side of a block when its other side is at most `other`. A short
 * side makes the other one long, so that all threads have work. */
static int64_t block_side(int64_t other)
{
    int64_t length = (int64_t)BLOCK_SIDE * BLOCK_SIDE / hri_max(other, 1);
    return hri_min(hri_max(length, BLOCK_SIDE), BLOCK_SIDE_MAX);
}

/* ---- what thin products need, too */

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

hri_operand hri_builtin_rows_of_a(const hri_gemm *gemm)
{
    return oriented(gemm->a, gemm->a.row_stride, gemm->a.col_stride, gemm->k);
}

hri_operand hri_builtin_columns_of_b(const hri_gemm *gemm)
{
    return oriented(gemm->b, gemm->b.col_stride, gemm->b.row_stride, gemm->k);
}

bool hri_builtin_is_wide(hr_type type)
{
    return type == HR_F64 || type == HR_C64;
}

int64_t hri_builtin_parts(hr_type type)
{
    return hri_is_complex(type) ? 2 : 1;
}

int64_t hri_builtin_slice(const hri_gemm *gemm)
{
    const int64_t real = hri_builtin_is_wide(gemm->type) ? 8 : 4;
    return even_piece(gemm->k, HRI_BUILTIN_DEPTH_BYTES / real, 1);
}

hri_pool *hri_builtin_pool(hri_pool *pool, const hri_gemm *gemm)
{
    const double flops =
        2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k;
    return flops < SERIAL_FLOPS ? NULL : pool;
}

void *hri_builtin_allocate(int64_t bytes)
{
    return aligned_alloc(64, (size_t)hri_round_up(bytes, 64));
}

hr_status hri_builtin_no_memory(int64_t bytes)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                    "built-in multiplication: no memory to pack %lld bytes",
                    (long long)bytes);
}

/* ---- planning */

static void plan_strips(work *w)
{
    int64_t threads = hri_pool_threads(w->pool);
    int64_t panel_bytes = w->b.panel * w->b.row_bytes * w->depth_block;
    int64_t cols = hri_ceil_div(hri_min(w->b.block, w->b.extent), w->b.panel);
    int64_t rows = hri_ceil_div(hri_min(w->a.block, w->a.extent), w->a.panel);
    w->strip_cols = hri_max(STRIP_BYTES / panel_bytes, 1);
    int64_t strips = hri_ceil_div(cols, w->strip_cols);
    int64_t cuts = hri_ceil_div(TASKS_PER_THREAD * threads, strips);
    w->strip_rows = hri_ceil_div(rows, hri_min(cuts, rows));
}

/* Make the work reproducible: slices of k and panels are those of hal.h. */
static void put_in_order(work *w, int64_t real)
{
    w->ordered = true;
    w->depth_block = hri_min(HRI_ORDERED_DEPTH, w->gemm->k);
    if (hri_is_complex(w->gemm->type)) {
        w->deep = 2;
        w->a.pairing = HRI_DEEP_LEFT;
        w->b.pairing = HRI_DEEP_RIGHT;
        w->a.panel = w->variant->rows;
        w->b.row_bytes = 4 * real;
    }
}

static work plan(const hri_builtin_variant *variant, hri_pool *pool,
                 const hri_gemm *gemm)
{
    const bool wide = hri_builtin_is_wide(gemm->type);
    const int64_t real = wide ? 8 : 4;
    const int64_t parts = hri_builtin_parts(gemm->type);
    work w = {
        .variant = variant,
        .gemm = gemm,
        .pool = hri_builtin_pool(pool, gemm),
        .multiply = wide ? variant->multiply_f64 : variant->multiply_f32,
        .a = {.operand = hri_builtin_rows_of_a(gemm), .extent = gemm->m},
        .b = {.operand = hri_builtin_columns_of_b(gemm), .extent = gemm->n},
        .deep = 1,
    };
    w.a.row_bytes = w.b.row_bytes = real * parts;
    w.a.panel = variant->rows / parts;
    w.b.panel = 2 * variant->vector_bytes / (real * parts);
    w.depth_block = hri_builtin_slice(gemm);
    if (gemm->compute == HR_COMPUTE_REPRODUCIBLE) {
        put_in_order(&w, real);
    }
    w.a.block = even_piece(gemm->m, block_side(gemm->n), w.a.panel);
    w.b.block = even_piece(gemm->n, block_side(gemm->m), w.b.panel);
    plan_strips(&w);
    return w;
}

static hr_status multiply_blocked(const hri_builtin_variant *variant,
                                  hri_pool *pool, const hri_gemm *gemm)
{
    work w = plan(variant, pool, gemm);
    int64_t a_bytes = w.a.block * w.a.row_bytes * w.depth_block;
    int64_t b_bytes = w.b.block * w.b.row_bytes * w.depth_block;
    int64_t bytes = a_bytes + b_bytes;
    int64_t sums = w.a.block * w.b.block * (int64_t)sizeof(float);
    bool half = is_half(gemm->c_type) && (w.ordered || gemm->k > w.depth_block);
    hr_status status = HR_OK;
    w.a.packed = hri_builtin_allocate(a_bytes);
    w.b.packed = hri_builtin_allocate(b_bytes);
    w.sums = half ? hri_builtin_allocate(sums) : NULL;
    if (w.a.packed == NULL || w.b.packed == NULL || (half && w.sums == NULL)) {
        status = hri_builtin_no_memory(half ? bytes + sums : bytes);
    } else {
        multiply_all(&w);
    }
    free(w.a.packed);
    free(w.b.packed);
    free(w.sums);
    return status;
}

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

bool hri_builtin_is_ordered(const hri_builtin_variant *variant)
{
    return variant->store_ordered != NULL;
}

hr_status hri_builtin_gemm(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *g)
{
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    if (!hri_gemm_only_scales(g)) {
        return hri_min(g->m, g->n) > HRI_BUILTIN_THIN ||
                       g->compute == HR_COMPUTE_REPRODUCIBLE
                   ? multiply_blocked(variant, pool, g)
                   : hri_builtin_thin(variant, pool, g);
    }
    const hr_matrix c = hr_matrix_row_major(
        hri_host_address(&g->c.place), g->c_type, g->m, g->n, g->c.row_stride);
    hri_matrix_scale(pool, g->beta, &c);
    return HR_OK;
}

hr_status hri_host_gemm_builtin(hri_pool *pool, const hri_gemm *gemm)
{
    return hri_builtin_gemm(hri_builtin_variant_at(0), pool, gemm);
}
