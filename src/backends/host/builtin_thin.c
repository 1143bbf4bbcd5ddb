/* SPDX-License-Identifier: MIT */
/* The built-in multiplication of thin matrices: which kernel suits, and adding
 * what it makes to C.
 *
 * Where m or n is at most 8, packing would cost more than the product, which
 * memory bounds. All three kernels, and the blocked one, cut k into the same
 * slices (hri_builtin_slice), sum a slice in order, and add the slices in
 * order. So the bits of an element depend on k, its row of A and its column of
 * B alone, and not on the shape or the layout. */
#include <string.h>

#include "backends/host/builtin.h"
#include "backends/host/host.h"
#include "base/matrix.h"
#include "base/size.h"

enum { DOTS_DEPTH = 64 }; /* shorter dot products take longer than lanes */

static bool is_half(hr_type type)
{
    return type == HR_F16 || type == HR_BF16;
}

hr_status hri_builtin_thin(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm)
{
    const bool small = hri_max(gemm->m, gemm->n) <= HRI_BUILTIN_THIN;
    const hri_operand x = gemm->m >= gemm->n ? hri_builtin_rows_of_a(gemm)
                                             : hri_builtin_columns_of_b(gemm);
    if (gemm->type == HR_I8 && gemm->k >= DOTS_DEPTH &&
        (small || x.col_stride == 1)) {
        return hri_builtin_dots(variant, pool, gemm);
    }
    return small ? hri_builtin_pairs(variant, pool, gemm)
                 : hri_builtin_lanes(variant, pool, gemm);
}

int64_t hri_builtin_total_bytes(const hri_builtin_variant *variant,
                                const hri_gemm *gemm, int64_t tiles,
                                int64_t rows)
{
    return is_half(gemm->c_type) && gemm->k > hri_builtin_slice(gemm)
               ? tiles * rows * 2 * variant->vector_bytes
               : 0;
}

/* The transpose of a tile of rows x cols numbers of `real` bytes. Rows of both
 * lie `pitch` numbers apart. */
static void transpose(const char *from, int64_t rows, int64_t cols,
                      int64_t real, int64_t pitch, void *to)
{
    for (int64_t j = 0; j < cols; j++) {
        const uint32_t *from4 = (const void *)(from + j * real);
        const uint64_t *from8 = (const void *)from4;
        uint32_t *to4 = (uint32_t *)to + j * pitch;
        uint64_t *to8 = (uint64_t *)to + j * pitch;
        for (int64_t i = 0; i < rows; i++) {
            if (real == 4) {
                to4[i] = from4[i * pitch];
            } else {
                to8[i] = from8[i * pitch];
            }
        }
    }
}

static void store(const hri_builtin_variant *variant, const hri_tile *tile,
                  int64_t pitch)
{
    if (is_half(tile->type)) {
        variant->store_half(tile, pitch);
    } else {
        variant->store(tile);
    }
}

/* The tile's values are of the transpose. A tile may have fewer columns than
 * C. */
static void store_transposed(const hri_builtin_variant *variant, hri_tile tile,
                             int64_t parts, int64_t real)
{
    enum { LANES_MAX = 32, LINE_BYTES = 128 }; /* 2 vectors of 64 bytes */
    _Alignas(64) char out[LANES_MAX * LINE_BYTES];
    const int64_t line = 2 * variant->vector_bytes;
    const int64_t most = line / (parts * real), cols = tile.cols;
    const char *from = tile.values;
    tile.values = out;
    for (int64_t col = 0; col < cols; col += most) {
        tile.cols = hri_min(most, cols - col);
        transpose(from, parts * tile.cols, parts * tile.rows, real, line / real,
                  out);
        store(variant, &tile, line / real);
        from += parts * most * line;
        tile.c = (char *)tile.c + most * (int64_t)hr_type_size(tile.type);
    }
}

static void add_to_total(const hri_builtin_variant *variant, const hri_slice *s)
{
    const hri_tile tile = {
        .values = s->sums,
        .rows = s->transposed ? s->cols : s->rows,
        .cols = s->transposed ? s->rows : s->cols,
        .type = HR_F32,
        .c = s->total,
        .c_stride = 2 * variant->vector_bytes / 4,
        .alpha = hr_real(1.0),
        .beta = hr_real(s->first ? 0.0 : 1.0),
    };
    variant->store(&tile);
}

void hri_builtin_add(const hri_builtin_variant *variant, const hri_gemm *gemm,
                     const hri_slice *s)
{
    const int64_t real = hri_builtin_is_wide(gemm->type) ? 8 : 4;
    const int64_t parts = hri_builtin_parts(gemm->type);
    const int64_t pitch = 2 * variant->vector_bytes / real;
    const bool half = is_half(gemm->c_type);
    hri_tile tile = {
        .values = s->sums,
        .rows = s->rows,
        .cols = s->cols,
        .type = gemm->c_type,
        .c = hri_host_address(&gemm->c.place) +
             (s->row * gemm->c.row_stride + s->col) *
                 (int64_t)hr_type_size(gemm->c_type),
        .c_stride = gemm->c.row_stride,
        .alpha = gemm->alpha,
        .beta = s->first || half ? gemm->beta : hr_real(1.0),
    };
    if (s->total != NULL) {
        add_to_total(variant, s);
        tile.values = s->total;
        if (!s->last) {
            return;
        }
    }
    if (s->transposed) {
        store_transposed(variant, tile, parts, real);
    } else {
        store(variant, &tile, pitch);
    }
}
