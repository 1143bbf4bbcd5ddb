/* SPDX-License-Identifier: MIT */
/* The built-in multiplication: GotoBLAS blocking [Goto2008] over a register
 * kernel like that of [VanZee2015].
 *
 * Only two kernels exist for each instruction set, in f32 and in f64. All other
 * types become one of them while they are packed. f16 and bf16 are widened. i8
 * becomes f32, which is exact as long as a sum stays below 2^24. Thin products
 * of i8 have a kernel in integers, dots_i8. A complex element becomes two rows
 * of A (re, im) and two columns of B: the kernel delivers the four real
 * products apart, and each is summed like a real one.
 *
 * Reproducible products (hri_gemm in hal.h) are made by the same kernels, whose
 * multiply-adds are fused. A complex one becomes a real one of twice the depth,
 * which has the order that hal.h says: (re, im) of A in two depths, and two
 * columns of B, (re, im) in the first depth and (-im, re) in the second. */
#ifndef HRI_BACKENDS_HOST_BUILTIN_H
#define HRI_BACKENDS_HOST_BUILTIN_H

#include "base/pool.h"
#include "hal/backend.h"

enum {
    HRI_BUILTIN_TILE_BYTES = 2048, /* no variant has a larger tile */
    HRI_BUILTIN_THIN = 8, /* a product is thin whose m or n is at most this */
    HRI_BUILTIN_DOTS = 4  /* rows that dots_i8 takes at once */
};

/* How the elements of complex panels lie. */
typedef enum hri_builtin_pairing {
    HRI_BUILTIN_PAIRED,     /* (re, im) beside each other */
    HRI_BUILTIN_DEEP_LEFT,  /* of A: all re, and at the next depth all im */
    HRI_BUILTIN_DEEP_RIGHT, /* of B: all (re, im), and at the next depth (-im,
                               re) */
} hri_builtin_pairing;

/* One micro-panel to pack. Element (w, p) of the source is at source + (w *
 * width_stride + p * depth_stride) * hr_type_size(type). It goes to place p *
 * panel_width + w of the panel. w runs along m for A and along n for B. Where
 * width < panel_width the rest is filled with zeros. One stride is 1 unless its
 * extent is 1. */
typedef struct hri_builtin_panel {
    const char *source;
    int64_t width_stride, depth_stride;
    int64_t width, depth;
    int64_t panel_width;
    hr_type type;
    bool conjugate;
    hri_builtin_pairing pairing;
    void *panel;
} hri_builtin_panel;

/* Rows of numbers times lanes of them: sums[row][lane] += sum over p < depth of
 * y[p][row] * x[p][lane]. The lanes fill two vectors. x_step is the distance
 * from x[p] to x[p + 1], in numbers; x need not be aligned. */
typedef struct hri_builtin_stream {
    int64_t rows, depth;
    const void *x;
    int64_t x_step;
    const void *y;
    void *sums;
} hri_builtin_stream;

/* sums[row] = sum over p < count of x[row * x_stride + p] * y[p], modulo
 * 2^32. */
typedef struct hri_builtin_dots {
    int64_t rows, count; /* rows: up to HRI_BUILTIN_DOTS */
    const int8_t *x;
    int64_t x_stride;
    const int8_t *y;
    uint32_t *sums;
} hri_builtin_dots;

/* What is done with a tile T that a kernel made: C := alpha T + beta C. C is
 * never read when beta is 0. */
typedef struct hri_builtin_tile {
    const void *values;
    int64_t rows, cols; /* elements of C, up to a whole tile */
    hr_type type;       /* of C; i32: T has sums of i8 in f32 */
    void *c;
    int64_t c_stride;
    hr_scalar alpha, beta;
} hri_builtin_tile;

/* Everything compiled for one instruction set. */
typedef struct hri_builtin_variant {
    const char *name;
    int64_t rows;         /* of a tile, in reals */
    int64_t vector_bytes; /* a tile is two vectors wide */
    void (*pack)(const hri_builtin_panel *panel);
    /* tile[rows][cols] = sum over p < depth of a[p][rows] * b[p][cols] */
    void (*multiply_f32)(int64_t depth, const void *a, const void *b,
                         void *tile);
    void (*multiply_f64)(int64_t depth, const void *a, const void *b,
                         void *tile);
    void (*stream_f32)(const hri_builtin_stream *stream);
    void (*stream_f64)(const hri_builtin_stream *stream);
    void (*dots_i8)(const hri_builtin_dots *dots);
    void (*store)(const hri_builtin_tile *tile);
    /* store with the roundings of reproducible products. Complex values are
     * (re, im) in two columns. NULL: the instruction set has no fused
     * multiply-add, and multiply does not fuse. */
    void (*store_ordered)(const hri_builtin_tile *tile);
    /* store for C in f16 or bf16. The values are f32, and their rows lie
     * values_stride apart. */
    void (*store_half)(const hri_builtin_tile *tile, int64_t values_stride);
} hri_builtin_variant;

extern const hri_builtin_variant hri_builtin_avx512, hri_builtin_avx2,
    hri_builtin_plain;

/* The variants that this CPU can run, the best first. NULL past the last. */
const hri_builtin_variant *hri_builtin_variant_at(uint32_t index);

/* hri_host_gemm_builtin with a given variant. HR_COMPUTE_REPRODUCIBLE only
 * where the variant makes such products. */
hr_status hri_builtin_gemm(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm);

#endif
