/* SPDX-License-Identifier: MIT */
/* Products where there is no other BLAS and accelerators fail. They are right,
 * but slow. Sums are in double. */
#include "blas/blas.h"

/* Element (row, col) of op(X). */
static hr_scalar element(hr_type type, const void *data, blas_op op,
                         int64_t row, int64_t col, int64_t ld)
{
    hr_scalar x = blas_get(
        type, data, blas_is_transposed(op) ? col + row * ld : row + col * ld);
    if (blas_is_conjugated(op)) {
        x.im = -x.im;
    }
    return x;
}

static void do_element(const blas_call *c, int64_t row, int64_t col)
{
    const hr_type type = c->symbol->type;
    hr_scalar sum = {0.0, 0.0};
    for (int64_t p = 0; p < c->k && !blas_is_zero(c->alpha); p++) {
        const hr_scalar x =
            blas_times(element(type, c->a, c->op_a, row, p, c->lda),
                       element(type, c->b, c->op_b, p, col, c->ldb));
        sum.re += x.re;
        sum.im += x.im;
    }
    blas_update(type, c->c, row + col * c->ldc, blas_times(c->alpha, sum),
                c->beta);
}

static void do_product(const blas_call *call)
{
    for (int64_t col = 0; col < call->n; col++) {
        const int64_t end = blas_end_row(call, col);
        for (int64_t row = blas_first_row(call, col); row < end; row++) {
            do_element(call, row, col);
        }
    }
}

void blas_plain(const blas_call *call)
{
    for (int64_t i = 0; i < blas_count(call); i++) {
        const blas_call one = blas_product_at(call, i);
        do_product(&one);
    }
}
