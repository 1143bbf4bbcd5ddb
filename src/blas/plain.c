/* SPDX-License-Identifier: MIT */
/* Products for who has no other BLAS, when accelerators cannot: right, and no
 * more. Sums are in double. */
#include "blas/call.h"
#include "blas/number.h"

/* Element (row, col) of op(X). */
static number element(hr_type type, const void *data, blas_op op, int64_t row,
                      int64_t col, int64_t ld)
{
    const bool turned = op == BLAS_TRANSPOSED || op == BLAS_BOTH;
    number x = number_get(type, data, turned ? col + row * ld : row + col * ld);
    if (op == BLAS_CONJUGATED || op == BLAS_BOTH) {
        x.im = -x.im;
    }
    return x;
}

static void do_element(const blas_call *c, int64_t row, int64_t col)
{
    const hr_type type = c->symbol->type;
    const int64_t at = row + col * c->ldc;
    number sum = {0.0, 0.0};
    for (int64_t p = 0; p < c->k && !number_is_zero(c->alpha); p++) {
        const number a = element(type, c->a, c->op_a, row, p, c->lda);
        const number x =
            number_times((hr_scalar){a.re, a.im},
                         element(type, c->b, c->op_b, p, col, c->ldb));
        sum.re += x.re;
        sum.im += x.im;
    }
    sum = number_times(c->alpha, sum);
    if (!number_is_zero(c->beta)) {
        const number old = number_times(c->beta, number_get(type, c->c, at));
        sum.re += old.re;
        sum.im += old.im;
    }
    number_put(type, c->c, at, sum);
}

void blas_plain(const blas_call *call)
{
    for (int64_t col = 0; col < call->n; col++) {
        const int64_t first = call->part == BLAS_LOWER ? col : 0;
        const int64_t end = call->part == BLAS_UPPER ? col + 1 : call->m;
        for (int64_t row = first; row < end; row++) {
            do_element(call, row, col);
        }
    }
}
