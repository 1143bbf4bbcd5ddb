/* SPDX-License-Identifier: MIT */
/* A product in the words of CBLAS. */
#include "backends/host/cblas.h"

#include <limits.h>

#include "base/matrix.h"
#include "base/size.h"

/* BLIS 0.9 starts its threads anew for each product and lets them spin. */
enum { THREADED_FLOPS = 1 << 22 };

typedef struct argument {
    int trans, ld;
    const void *data;
} argument;

static const void *address(const hri_operand *operand)
{
    return (const char *)operand->place.host + operand->place.offset;
}

/* A rows x cols operand as a row-major matrix or the transpose of one. Where an
 * extent is 1 the stride over it means nothing, so both may be possible, and
 * CBLAS still wants the leading dimension to be as large as a row. */
static bool express(const hri_cblas *cblas, const hri_gemm *gemm,
                    const hri_operand *operand, int64_t rows, argument *out)
{
    int64_t cols = operand == &gemm->a ? gemm->k : gemm->n;
    bool complex = hri_is_complex(gemm->type);
    bool conjugate = complex && operand->conjugate;
    bool straight = operand->col_stride == 1 || cols == 1;
    bool transposed = operand->row_stride == 1 || rows == 1;
    if (straight && !(conjugate && transposed)) {
        int64_t ld = rows == 1 ? cols : operand->row_stride;
        out->trans = conjugate ? HRI_CBLAS_CONJ_NO_TRANS : HRI_CBLAS_NO_TRANS;
        out->ld = (int)hri_min(ld, INT_MAX);
        out->data = address(operand);
        return ld >= cols && ld <= INT_MAX &&
               (!conjugate || cblas->conj_no_trans);
    }
    int64_t ld = cols == 1 ? rows : operand->col_stride;
    out->trans = conjugate ? HRI_CBLAS_CONJ_TRANS : HRI_CBLAS_TRANS;
    out->ld = (int)hri_min(ld, INT_MAX);
    out->data = address(operand);
    return transposed && ld >= rows && ld <= INT_MAX;
}

static void call(const hri_cblas *cblas, const hri_gemm *gemm,
                 const argument *a, const argument *b, const argument *c)
{
    const int m = (int)gemm->m, n = (int)gemm->n, k = (int)gemm->k;
    const double alpha[2] = {gemm->alpha.re, gemm->alpha.im};
    const double beta[2] = {gemm->beta.re, gemm->beta.im};
    const float alpha32[2] = {(float)alpha[0], (float)alpha[1]};
    const float beta32[2] = {(float)beta[0], (float)beta[1]};
    void *to = (char *)gemm->c.place.host + gemm->c.place.offset;
    switch (gemm->type) {
    case HR_F32:
        cblas->sgemm(HRI_CBLAS_ROW_MAJOR, a->trans, b->trans, m, n, k,
                     alpha32[0], a->data, a->ld, b->data, b->ld, beta32[0], to,
                     c->ld);
        break;
    case HR_F64:
        cblas->dgemm(HRI_CBLAS_ROW_MAJOR, a->trans, b->trans, m, n, k, alpha[0],
                     a->data, a->ld, b->data, b->ld, beta[0], to, c->ld);
        break;
    case HR_C32:
        cblas->cgemm(HRI_CBLAS_ROW_MAJOR, a->trans, b->trans, m, n, k, alpha32,
                     a->data, a->ld, b->data, b->ld, beta32, to, c->ld);
        break;
    default:
        cblas->zgemm(HRI_CBLAS_ROW_MAJOR, a->trans, b->trans, m, n, k, alpha,
                     a->data, a->ld, b->data, b->ld, beta, to, c->ld);
        break;
    }
}

bool hri_cblas_gemm(const hri_cblas *cblas, const hri_gemm *gemm)
{
    argument a, b, c;
    if (gemm->type < HR_F32 || gemm->type > HR_C64 || gemm->m > INT_MAX ||
        gemm->n > INT_MAX || gemm->k > INT_MAX ||
        !express(cblas, gemm, &gemm->a, gemm->m, &a) ||
        !express(cblas, gemm, &gemm->b, gemm->k, &b)) {
        return false;
    }
    int64_t ldc = gemm->m == 1 ? gemm->n : gemm->c.row_stride;
    if (ldc < gemm->n || ldc > INT_MAX) {
        return false;
    }
    c.ld = (int)ldc;
    if (cblas->set_threads != NULL) {
        double flops = 2.0 * (double)gemm->m * (double)gemm->n;
        bool small = flops * (double)gemm->k < THREADED_FLOPS;
        cblas->set_threads(small ? 1 : cblas->threads);
    }
    hri_openblas_follow(cblas);
    call(cblas, gemm, &a, &b, &c);
    return true;
}
