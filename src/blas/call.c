/* SPDX-License-Identifier: MIT */
/* The rules of the BLAS. */
#include "blas/blas.h"

#include <stdio.h>
#include <string.h>

#include "base/matrix.h"
#include "base/size.h"

double blas_flops(const blas_call *call)
{
    const double all =
        2.0 * (double)call->m * (double)call->n * (double)call->k;
    return all * (hri_is_complex(call->symbol->type) ? 4.0 : 1.0) *
           (call->uplo == BLAS_ALL ? 1.0 : 0.5) * (double)blas_count(call);
}

blas_call blas_product_at(const blas_call *call, int64_t index)
{
    const blas_batch *batch = &call->batch;
    const int64_t size = (int64_t)hr_type_size(call->symbol->type) * index;
    blas_call one = *call;
    one.batch = (blas_batch){.kind = BLAS_SINGLE};
    if (batch->kind == BLAS_GROUPED) {
        one.a = batch->lists[0][index];
        one.b = batch->lists[1][index];
        one.c = batch->lists[2][index];
    } else if (batch->kind == BLAS_STRIDED) {
        one.a = (const char *)call->a + batch->strides[0] * size;
        one.b = (const char *)call->b + batch->strides[1] * size;
        one.c = (char *)call->c + batch->strides[2] * size;
    }
    return one;
}

/* The position of the first wrong argument, counted as in the reference's
 * dgemm, or in dgemmt, which has no m. 0: all are right. by_rows: the call was
 * by rows, so A and B have changed places here, and so have m and n. */
static int wrong_argument(const blas_call *c, bool by_rows)
{
    const bool triangle = c->uplo != BLAS_ALL;
    const blas_batch *batch = &c->batch;
    const bool strided = batch->kind == BLAS_STRIDED;
    const bool grouped = batch->kind == BLAS_GROUPED;
    /* gemm_batch_strided has a stride behind each leading dimension */
    const int ld_b = strided ? 11 : 10, ld_c = strided ? 15 : 13;
    const struct {
        bool wrong;
        int of_all[2], of_triangle[2]; /* by columns, by rows */
    } rules[] = {
        {c->uplo == BLAS_NO_UPLO, {0, 0}, {1, 1}},
        {c->op_a == BLAS_NO_OP, {1, 2}, {2, 3}},
        {c->op_b == BLAS_NO_OP, {2, 1}, {3, 2}},
        {!triangle && c->m < 0, {3, 4}, {0, 0}},
        {c->n < 0, {4, 3}, {4, 4}},
        {c->k < 0, {5, 5}, {5, 5}},
        {c->lda < hri_max(blas_is_transposed(c->op_a) ? c->k : c->m, 1),
         {8, ld_b},
         {8, 10}},
        {strided && batch->strides[0] < 0, {9, 12}, {0, 0}},
        {c->ldb < hri_max(blas_is_transposed(c->op_b) ? c->n : c->k, 1),
         {ld_b, 8},
         {10, 8}},
        {strided && batch->strides[1] < 0, {12, 9}, {0, 0}},
        {c->ldc < hri_max(c->m, 1), {ld_c, ld_c}, {13, 13}},
        {strided && batch->strides[2] < 0, {16, 16}, {0, 0}},
        {strided && batch->count < 0, {17, 17}, {0, 0}},
        {grouped && batch->count < 0, {15, 15}, {0, 0}},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && !batch->no_groups;
         i++) {
        if (rules[i].wrong) {
            return triangle ? rules[i].of_triangle[by_rows]
                            : rules[i].of_all[by_rows];
        }
    }
    return batch->no_groups ? 14 : 0;
}

bool blas_is_valid(const blas_call *call)
{
    return !call->no_order && wrong_argument(call, false) == 0;
}

typedef void xerbla_function(const char *name, const blas_int *position,
                             size_t length);

void blas_complain(const blas_call *call, bool cblas, bool by_rows)
{
    char name[32];
    const char *symbol = call->symbol->name;
    const blas_int position = /* the CBLAS has the order as the first
                                 argument */
        call->no_order ? 1 : wrong_argument(call, by_rows) + cblas;
    xerbla_function *xerbla = NULL;
    void *found = blas_find_used("xerbla_");
    memcpy(&xerbla, &found, sizeof xerbla);
    size_t length = strlen(symbol);
    length = length < sizeof name ? length : sizeof name - 1;
    for (size_t i = 0; i < length; i++) {
        const char c = symbol[i];
        name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    while (!cblas && length > 0 && name[length - 1] == '_') {
        length--;
    }
    name[length] = '\0';
    if (xerbla != NULL) {
        xerbla(name, &position, length);
    } else {
        fprintf(stderr,
                " ** On entry to %s parameter number %d had an illegal value\n",
                name, (int)position);
    }
}
