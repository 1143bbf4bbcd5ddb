/* SPDX-License-Identifier: MIT */
/* Thin products of which both sides are short: k is what is long. The lanes of
 * vectors are slices of k, since their sums do not depend on each other. */
#include <stdlib.h>
#include <string.h>

#include "backends/host/builtin.h"
#include "backends/host/host.h"
#include "base/matrix.h"
#include "base/size.h"

enum {
    PANEL_DEPTH = 32,
    LINE_BYTES = 128, /* at most, of two vectors */
    PANEL_BYTES = PANEL_DEPTH * LINE_BYTES,
    ROUND_BYTES = 1 << 20 /* of sums */
};

typedef struct work {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    hri_pool *pool;
    void (*pairs)(const hri_pairs *pairs);
    hri_operand a, b;     /* row_stride: along m or n, col_stride: along k */
    int64_t real, parts;  /* bytes of a number, and numbers of an element */
    int64_t width;        /* slices in a group of lanes */
    int64_t slice, whole; /* elements of a slice, and slices of that length */
    int64_t groups;       /* the last may be a shorter slice, alone */
    int64_t start, count; /* the groups of this round */
    int64_t group_bytes;  /* of sums */
    char *sums;
    char *total; /* a tile for each `width` columns; NULL: not needed */
} work;

/* Some slices of k. */
typedef struct group {
    int64_t first, width; /* slices */
    int64_t depth;        /* elements of each */
} group;

static group group_at(const work *w, int64_t index)
{
    const int64_t first = index * w->width;
    return first < w->whole
               ? (group){first, hri_min(w->width, w->whole - first), w->slice}
               : (group){w->whole, 1, w->gemm->k - w->whole * w->slice};
}

#define GATHER(type)                                                           \
    for (int64_t i = 0; i < count; i++) {                                      \
        memcpy(to + i * (int64_t)sizeof(type),                                 \
               from + i * stride * (int64_t)sizeof(type), sizeof(type));       \
    }                                                                          \
    break

/* Copy elements that lie `stride` elements apart. Constant sizes make each copy
 * one move. */
static void gather(const char *from, int64_t stride, int64_t count, size_t size,
                   char *to)
{
    switch (size) {
    case 1:
        GATHER(uint8_t);
    case 2:
        GATHER(uint16_t);
    case 4:
        GATHER(uint32_t);
    case 8:
        GATHER(uint64_t);
    default:
        GATHER(uint64_t[2]);
    }
}

/* Pack `depth` elements of each slice of a group, from p on: of row `index` of
 * A or of that column of B. */
static void pack(const work *w, const hri_operand *operand, int64_t index,
                 const group *g, int64_t p, int64_t depth, char *panel)
{
    char runs[PANEL_BYTES];
    const size_t size = hr_type_size(w->gemm->type);
    const char *source = (const char *)hri_host_address(&operand->place) +
                         (index * operand->row_stride +
                          (g->first * w->slice + p) * operand->col_stride) *
                             (int64_t)size;
    hri_panel job = {
        .source = source,
        .width_stride = w->slice,
        .depth_stride = 1,
        .width = g->width,
        .depth = depth,
        .panel_width = w->width,
        .type = w->gemm->type,
        .conjugate = operand->conjugate,
        .panel = panel,
    };
    if (operand->col_stride != 1) {
        const int64_t step = w->slice * operand->col_stride * (int64_t)size;
        for (int64_t i = 0; i < g->width; i++) {
            gather(source + i * step, operand->col_stride, depth, size,
                   runs + (size_t)(i * depth) * size);
        }
        job.source = runs;
        job.width_stride = depth;
    }
    w->variant->pack(&job);
}

/* The real and imaginary parts of a panel change places. */
static void swap_parts(const work *w, int64_t depth, const void *from, void *to)
{
    const int64_t count =
        depth * 2 * w->variant->vector_bytes / w->real; /* of numbers */
    const uint32_t *from4 = from;
    const uint64_t *from8 = from;
    uint32_t *to4 = to;
    uint64_t *to8 = to;
    for (int64_t i = 0; i < count && w->real == 4; i += 2) {
        to4[i] = from4[i + 1];
        to4[i + 1] = from4[i];
    }
    for (int64_t i = 0; i < count && w->real == 8; i += 2) {
        to8[i] = from8[i + 1];
        to8[i + 1] = from8[i];
    }
}

/* Two vectors of sums. Of complex elements, part 0 has re * re and im * im, and
 * part 1 has re * im and im * re. */
static char *sums_at(const work *w, char *sums, int64_t i, int64_t j,
                     int64_t part)
{
    return sums + ((i * w->gemm->n + j) * w->parts + part) * 2 *
                      w->variant->vector_bytes;
}

static void multiply(const work *w, const group *g, int64_t p, char *sums)
{
    _Alignas(64) char x[HRI_BUILTIN_THIN * PANEL_BYTES], y[2 * PANEL_BYTES];
    const int64_t depth = hri_min(PANEL_DEPTH, g->depth - p);
    for (int64_t i = 0; i < w->gemm->m; i++) {
        pack(w, &w->a, i, g, p, depth, x + i * PANEL_BYTES);
    }
    for (int64_t j = 0; j < w->gemm->n; j++) {
        pack(w, &w->b, j, g, p, depth, y);
        if (w->parts == 2) {
            swap_parts(w, depth, y, y + PANEL_BYTES);
        }
        for (int64_t part = 0; part < w->parts; part++) {
            const hri_pairs job = {
                .rows = w->gemm->m,
                .depth = depth,
                .x = x,
                .x_step = PANEL_BYTES,
                .y = y + part * PANEL_BYTES,
                .sums = sums_at(w, sums, 0, j, part),
                .sums_step =
                    sums_at(w, sums, 1, 0, 0) - sums_at(w, sums, 0, 0, 0),
            };
            w->pairs(&job);
        }
    }
}

static void group_task(void *data, int64_t index)
{
    const work *w = data;
    const group g = group_at(w, w->start + index);
    char *sums = w->sums + index * w->group_bytes;
    memset(sums, 0, (size_t)w->group_bytes);
    for (int64_t p = 0; p < g.depth; p += PANEL_DEPTH) {
        multiply(w, &g, p, sums);
    }
}

/* Take one lane's sums to a tile: of the columns from `col` on. */
static void take_lane(const work *w, char *sums, int64_t lane, int64_t col,
                      int64_t cols, char *tile)
{
    const int64_t real = w->real, parts = w->parts;
    const int64_t line = 2 * w->variant->vector_bytes;
    for (int64_t i = 0; i < w->gemm->m; i++) {
        for (int64_t j = 0; j < cols; j++) {
            char *to = tile + i * parts * line + j * parts * real;
            for (int64_t part = 0; part < parts; part++) {
                const char *from =
                    sums_at(w, sums, i, col + j, part) + lane * parts * real;
                memcpy(to + part * real, from, (size_t)real);
                if (parts == 2) {
                    memcpy(to + line + (1 - part) * real, from + real,
                           (size_t)real);
                }
            }
        }
    }
}

/* A tile may have fewer columns than C. */
static void add_lane(const work *w, char *sums, int64_t lane, hri_slice *s)
{
    _Alignas(64) char tile[2 * HRI_BUILTIN_THIN * LINE_BYTES];
    const int64_t line = 2 * w->variant->vector_bytes;
    const int64_t most = line / (w->real * w->parts);
    char *total = w->total;
    s->sums = tile;
    for (s->col = 0; s->col < w->gemm->n; s->col += most) {
        s->cols = hri_min(most, w->gemm->n - s->col);
        s->total = (void *)total;
        take_lane(w, sums, lane, s->col, s->cols, tile);
        hri_builtin_add(w->variant, w->gemm, s);
        if (total != NULL) {
            total += w->gemm->m * line;
        }
    }
}

static void add_group(const work *w, int64_t index)
{
    const group g = group_at(w, w->start + index);
    hri_slice s = {.rows = w->gemm->m};
    for (int64_t lane = 0; lane < g.width; lane++) {
        const int64_t slice = g.first + lane;
        s.first = slice == 0;
        s.last = slice * w->slice + g.depth == w->gemm->k;
        add_lane(w, w->sums + index * w->group_bytes, lane, &s);
    }
}

static void multiply_all(work *w, int64_t round)
{
    for (w->start = 0; w->start < w->groups; w->start += w->count) {
        w->count = hri_min(round, w->groups - w->start);
        hri_pool_run(w->pool, w->count, group_task, w);
        for (int64_t i = 0; i < w->count; i++) {
            add_group(w, i);
        }
    }
}

static work plan(const hri_builtin_variant *variant, hri_pool *pool,
                 const hri_gemm *gemm)
{
    const bool wide = hri_builtin_is_wide(gemm->type);
    work w = {
        .variant = variant,
        .gemm = gemm,
        .pool = hri_builtin_pool(pool, gemm),
        .pairs = wide ? variant->pairs_f64 : variant->pairs_f32,
        .a = hri_builtin_rows_of_a(gemm),
        .b = hri_builtin_columns_of_b(gemm),
        .real = wide ? 8 : 4,
        .parts = hri_builtin_parts(gemm->type),
        .slice = hri_builtin_slice(gemm),
    };
    w.width = 2 * variant->vector_bytes / (w.real * w.parts);
    w.whole = gemm->k / w.slice;
    w.groups = hri_ceil_div(w.whole, w.width) + (gemm->k % w.slice > 0);
    w.group_bytes = gemm->m * gemm->n * w.parts * 2 * variant->vector_bytes;
    return w;
}

hr_status hri_builtin_pairs(const hri_builtin_variant *variant, hri_pool *pool,
                            const hri_gemm *gemm)
{
    work w = plan(variant, pool, gemm);
    const int64_t round = hri_min(ROUND_BYTES / w.group_bytes, w.groups);
    const int64_t sums = round * w.group_bytes;
    const int64_t total = hri_builtin_total_bytes(
        variant, gemm, hri_ceil_div(gemm->n, w.width), gemm->m);
    hr_status status = HR_OK;
    w.sums = hri_builtin_allocate(sums);
    w.total = total > 0 ? hri_builtin_allocate(total) : NULL;
    if (w.sums == NULL || (total > 0 && w.total == NULL)) {
        status = hri_builtin_no_memory(sums + total);
    } else {
        multiply_all(&w, round);
    }
    free(w.sums);
    free(w.total);
    return status;
}
