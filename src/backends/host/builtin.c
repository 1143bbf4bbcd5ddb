/* SPDX-License-Identifier: MIT */
/* The built-in multiplication: which variant, and products that are none. */
#include "backends/host/builtin.h"

#include "backends/host/arithmetic.h"
#include "base/cpus.h"
#include "base/size.h"

enum { SCALE_RUN = 64, SCALE_ELEMENTS = 1 << 16 };

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

typedef struct scaling {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    int64_t rows; /* of C in one task */
} scaling;

/* C := beta C, as the store of a tile of zeros. */
static void scale_task(void *data, int64_t index)
{
    static const char zeros[HRI_BUILTIN_TILE_BYTES];
    const scaling *s = data;
    const hri_gemm *g = s->gemm;
    int64_t size = (int64_t)hr_type_size(g->c_type);
    int64_t end = hri_min((index + 1) * s->rows, g->m);
    hri_tile tile = {.values = zeros,
                     .rows = 1,
                     .type = g->c_type,
                     .c_stride = g->c.row_stride,
                     .beta = g->beta};
    for (int64_t i = index * s->rows; i < end; i++) {
        char *row = (char *)g->c.place.host + g->c.place.offset +
                    i * g->c.row_stride * size;
        for (int64_t j = 0; j < g->n; j += SCALE_RUN) {
            tile.c = row + j * size;
            tile.cols = hri_min(SCALE_RUN, g->n - j);
            if (g->c_type == HR_F16 || g->c_type == HR_BF16) {
                s->variant->store_half(&tile, 0);
            } else {
                s->variant->store(&tile);
            }
        }
    }
}

static void scale(const hri_builtin_variant *variant, hri_pool *pool,
                  const hri_gemm *gemm)
{
    if (gemm->beta.re == 1.0 && gemm->beta.im == 0.0) {
        return;
    }
    scaling s = {variant, gemm, hri_max(SCALE_ELEMENTS / gemm->n, 1)};
    hri_pool_run(pool, hri_ceil_div(gemm->m, s.rows), scale_task, &s);
}

hr_status hri_builtin_gemm(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm)
{
    if (gemm->m == 0 || gemm->n == 0) {
        return HR_OK;
    }
    if (gemm->k == 0 || (gemm->alpha.re == 0.0 && gemm->alpha.im == 0.0)) {
        scale(variant, pool, gemm);
        return HR_OK;
    }
    return hri_builtin_blocked(variant, pool, gemm);
}

hr_status hri_host_gemm_builtin(hri_pool *pool, const hri_gemm *gemm)
{
    return hri_builtin_gemm(hri_builtin_variant_at(0), pool, gemm);
}
