/* SPDX-License-Identifier: MIT */
/* The built-in multiplication: GotoBLAS blocking [Goto2008] over a register
 * kernel like that of [VanZee2015].
 *
 * Only two kernels exist for each instruction set, in f32 and in f64. All other
 * types become one of them while they are packed. f16 and bf16 are widened. i8
 * becomes f32, which is exact as long as a sum stays below 2^24. A complex
 * element becomes two rows of A (re, im) and two columns of B: the kernel
 * delivers the four real products apart, and each is summed like a real one.
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
    HRI_BUILTIN_TILE_BYTES = 2048,  /* no variant has a larger tile */
    HRI_BUILTIN_I8_DEPTH = 1024,    /* 1024 * 2^14 = 2^24: exact in f32 */
    HRI_BUILTIN_DEPTH_BYTES = 2048, /* of k in one slice: 512 of f32 */
    HRI_BUILTIN_THIN = 8, /* a product is thin whose m or n is at most this */
    HRI_BUILTIN_DOTS = 4  /* rows that dots_i8 takes at once */
};

/* How the elements of complex panels lie. */
typedef enum hri_pairing {
    HRI_PAIRED,     /* (re, im) beside each other */
    HRI_DEEP_LEFT,  /* of A: all re, and at the next depth all im */
    HRI_DEEP_RIGHT, /* of B: all (re, im), and at the next depth (-im, re) */
} hri_pairing;

/* One micro-panel to pack. Element (w, p) of the source is at source + (w *
 * width_stride + p * depth_stride) * hr_type_size(type). It goes to place p *
 * panel_width + w of the panel. w runs along m for A and along n for B. Where
 * width < panel_width the rest is filled with zeros. One stride is 1 unless its
 * extent is 1. */
typedef struct hri_panel {
    const char *source;
    int64_t width_stride, depth_stride;
    int64_t width, depth;
    int64_t panel_width;
    hr_type type;
    bool conjugate;
    hri_pairing pairing;
    void *panel;
} hri_panel;

/* Rows of numbers times lanes of them: sums[row][lane] += sum over p < depth of
 * y[p][row] * x[p][lane]. The lanes fill two vectors. x_step is the distance
 * from x[p] to x[p + 1], in numbers; x need not be aligned. */
typedef struct hri_stream {
    int64_t rows, depth;
    const void *x;
    int64_t x_step;
    const void *y;
    void *sums;
} hri_stream;

/* Lanes of numbers times lanes of them: sums[row][lane] += sum over p < depth
 * of x[row][p][lane] * y[p][lane]. The lanes fill two vectors. The steps are
 * bytes from one row to the next. */
typedef struct hri_pairs {
    int64_t rows, depth;
    const void *x;
    int64_t x_step;
    const void *y;
    void *sums;
    int64_t sums_step;
} hri_pairs;

/* sums[row] = sum over p < count of x[row * x_stride + p] * y[p], modulo
 * 2^32. */
typedef struct hri_dots {
    int64_t rows, count; /* rows: up to HRI_BUILTIN_DOTS */
    const int8_t *x;
    int64_t x_stride;
    const int8_t *y;
    uint32_t *sums;
} hri_dots;

/* Where a finished tile goes: C := alpha T + beta C. C is never read when beta
 * is 0. T is what a kernel made. */
typedef struct hri_tile {
    const void *values;
    int64_t rows, cols; /* elements of C, up to a whole tile */
    hr_type type;       /* of C; i32: T has sums of i8 in f32 */
    void *c;
    int64_t c_stride;
    hr_scalar alpha, beta;
} hri_tile;

/* Everything compiled for one instruction set. */
typedef struct hri_builtin_variant {
    const char *name;
    int64_t rows;         /* of a tile, in reals */
    int64_t vector_bytes; /* a tile is two vectors wide */
    void (*pack)(const hri_panel *panel);
    /* tile[rows][cols] = sum over p < depth of a[p][rows] * b[p][cols] */
    void (*multiply_f32)(int64_t depth, const void *a, const void *b,
                         void *tile);
    void (*multiply_f64)(int64_t depth, const void *a, const void *b,
                         void *tile);
    void (*stream_f32)(const hri_stream *stream);
    void (*stream_f64)(const hri_stream *stream);
    void (*pairs_f32)(const hri_pairs *pairs);
    void (*pairs_f64)(const hri_pairs *pairs);
    void (*dots_i8)(const hri_dots *dots);
    void (*store)(const hri_tile *tile);
    /* store with the roundings of reproducible products. Complex values are
     * (re, im) in two columns. NULL: the instruction set has no fused
     * multiply-add, and multiply does not fuse. */
    void (*store_ordered)(const hri_tile *tile);
    /* store for C in f16 or bf16. The values are f32, and their rows lie
     * values_stride apart. */
    void (*store_half)(const hri_tile *tile, int64_t values_stride);
} hri_builtin_variant;

extern const hri_builtin_variant hri_builtin_avx512, hri_builtin_avx2,
    hri_builtin_plain;

/* The variants that this CPU can run, the best first. NULL past the last. */
const hri_builtin_variant *hri_builtin_variant_at(uint32_t index);

/* Whether the variant makes reproducible products. */
bool hri_builtin_is_ordered(const hri_builtin_variant *variant);

/* What the blocked and the thin multiplication have in common.
 *
 * k is cut into slices of this many elements, the last of which may be shorter.
 * An element's sum over a slice is made in order of k, and these sums are added
 * in order. So the bits of an element depend on k, its row of A and its column
 * of B alone. */
int64_t hri_builtin_slice(const hri_gemm *gemm);
/* Strides along m or n, and along k. With k = 1 the stride along k has no
 * meaning. It is set so that one of the two is 1, as hri_panel needs. */
hri_operand hri_builtin_rows_of_a(const hri_gemm *gemm);
hri_operand hri_builtin_columns_of_b(const hri_gemm *gemm);
/* Whether numbers of the kernel are f64, and how many an element has. */
bool hri_builtin_is_wide(hr_type type);
int64_t hri_builtin_parts(hr_type type);
/* The pool, or NULL when the product is too small for several threads. */
hri_pool *hri_builtin_pool(hri_pool *pool, const hri_gemm *gemm);
/* Memory aligned to cache lines. */
void *hri_builtin_allocate(int64_t bytes);
hr_status hri_builtin_no_memory(int64_t bytes);

/* The sums of some elements of C over one slice of k. */
typedef struct hri_slice {
    const void *sums; /* a tile; of C's transpose, if `transposed` */
    bool transposed;
    float *total; /* C is f16 or bf16, and k has several slices: a tile for the
                     sums over all of them. Else NULL */
    int64_t row, col, rows, cols; /* which elements */
    bool first, last;             /* whether it is k's first or last slice */
} hri_slice;

/* builtin_thin.c: products of which m or n is small. Memory bounds them, so
 * nothing lies packed in memory but the thin operand. m, n, k and alpha are not
 * 0. Afterwards each element has the bits that the blocked multiplication would
 * give it. */
hr_status hri_builtin_thin(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm);
/* Add the sums over a slice to C. Slices come in order. */
void hri_builtin_add(const hri_builtin_variant *variant, const hri_gemm *gemm,
                     const hri_slice *slice);
/* Bytes for the `total` of each of `tiles` slices; 0: it is NULL. */
int64_t hri_builtin_total_bytes(const hri_builtin_variant *variant,
                                const hri_gemm *gemm, int64_t tiles,
                                int64_t rows);

/* The three kinds of thin products. builtin_lanes.c: m or n is large.
 * builtin_pairs.c: both are small. builtin_dots.c: i8, and both operands have
 * runs along k, or both m and n are small. */
hr_status hri_builtin_lanes(const hri_builtin_variant *variant, hri_pool *pool,
                            const hri_gemm *gemm);
hr_status hri_builtin_pairs(const hri_builtin_variant *variant, hri_pool *pool,
                            const hri_gemm *gemm);
hr_status hri_builtin_dots(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm);

/* hri_host_gemm_builtin with a given variant. HR_COMPUTE_REPRODUCIBLE only
 * where the variant makes such products. */
hr_status hri_builtin_gemm(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm);

#endif
