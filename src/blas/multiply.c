/* SPDX-License-Identifier: MIT */
/* Carrying out a call: on accelerators, or with plain loops. */
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "blas/blas.h"

/* ---- operands */

/* op(A), op(B) and C of a call. If C is a triangle, its whole square. */
typedef struct operands {
    hr_matrix a, b, c;
} operands;

/* Those of all products of a batch. */
typedef struct matrices {
    hr_matrices a, b, c;
} matrices;

/* op(X), which has so many rows and columns. */
static hr_matrix make_operand(const void *data, hr_type type, blas_op op,
                              int64_t rows, int64_t cols, int64_t ld)
{
    const bool transposed = blas_is_transposed(op);
    hr_matrix m = hr_matrix_column_major(data, type, transposed ? cols : rows,
                                         transposed ? rows : cols, ld);
    if (transposed) {
        m = hr_matrix_transpose(m);
    }
    return blas_is_conjugated(op) ? hr_matrix_conjugate(m) : m;
}

static operands operands_of(const blas_call *call)
{
    const hr_type type = call->symbol->type;
    return (operands){
        make_operand(call->a, type, call->op_a, call->m, call->k, call->lda),
        make_operand(call->b, type, call->op_b, call->k, call->n, call->ldb),
        hr_matrix_column_major(call->c, type, call->m, call->n, call->ldc)};
}

static hr_matrices list_of(const blas_call *call, int which, hr_matrix first)
{
    return (hr_matrices){.matrix = first,
                         .stride = call->batch.strides[which],
                         .list = call->batch.lists[which]};
}

static matrices matrices_of(const blas_call *call)
{
    const operands o = operands_of(call);
    return (matrices){list_of(call, 0, o.a), list_of(call, 1, o.b),
                      list_of(call, 2, o.c)};
}

/* ---- triangles of C (gemmt). Squares beside the diagonal are products. Small
 * squares on the diagonal are computed apart, and their triangle is copied. */

enum { EDGE = 512 }; /* of the largest square on the diagonal */

typedef struct triangle {
    hr_context *context;
    const blas_call *call;
    const operands *all;
    void *square; /* room for a product of EDGE x EDGE */
} triangle;

/* Rows of A, columns of B and the section of C that they make. This function
 * and the next two return false where hr_last_error says why. */
static bool find_section(const triangle *t, int64_t row, int64_t rows,
                         int64_t col, int64_t cols, operands *o)
{
    const operands *all = t->all;
    const int64_t k = all->a.cols;
    return hr_matrix_section(all->a, row, 0, rows, k, &o->a) == HR_OK &&
           hr_matrix_section(all->b, 0, col, k, cols, &o->b) == HR_OK &&
           hr_matrix_section(all->c, row, col, rows, cols, &o->c) == HR_OK;
}

static bool multiply_square(const triangle *t, int64_t first, int64_t count)
{
    const hr_type type = t->call->symbol->type;
    const bool upper = t->call->uplo == BLAS_UPPER;
    const hr_matrix square =
        hr_matrix_column_major(t->square, type, count, count, 0);
    operands o;
    if (!find_section(t, first, count, first, count, &o) ||
        hr_gemm(t->context, t->call->alpha, o.a, o.b, hr_real(0.0), square,
                NULL) != HR_OK) {
        return false;
    }
    for (int64_t j = first; j < first + count; j++) {
        const int64_t end = upper ? j + 1 : first + count;
        for (int64_t i = upper ? first : j; i < end; i++) {
            blas_update(
                type, t->call->c, i + j * t->call->ldc,
                blas_get(type, t->square, i - first + (j - first) * count),
                t->call->beta);
        }
    }
    return true;
}

/* Compute two triangles and the square between them. */
static bool multiply_triangle(const triangle *t, int64_t first, int64_t count)
{
    if (count <= EDGE) {
        return multiply_square(t, first, count);
    }
    const int64_t half = count / 2, rest = count - half;
    const bool upper = t->call->uplo == BLAS_UPPER;
    operands o;
    return multiply_triangle(t, first, half) &&
           multiply_triangle(t, first + half, rest) &&
           (upper ? find_section(t, first, half, first + half, rest, &o)
                  : find_section(t, first + half, rest, first, half, &o)) &&
           hr_gemm(t->context, t->call->alpha, o.a, o.b, t->call->beta, o.c,
                   NULL) == HR_OK;
}

/* Seconds for `count` rows and columns. Negative when one of the products
 * cannot be planned. Products of one size differ by at most a row, so one is
 * planned for all. Copying the results is not counted. */
static double plan_triangle(const triangle *t, int64_t count)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const int64_t half = count / 2, rest = count - half;
    const bool small = count <= EDGE;
    const hr_scalar beta = small ? hr_real(0.0) : t->call->beta;
    operands o;
    if (!(small ? find_section(t, 0, count, 0, count, &o)
                : find_section(t, 0, half, half, rest, &o)) ||
        hr_gemm_plan(t->context, t->call->alpha, o.a, o.b, beta, o.c, NULL,
                     &report) != HR_OK) {
        return -1.0;
    }
    if (small) {
        return report.seconds;
    }
    const double each = plan_triangle(t, rest);
    return each >= 0.0 ? report.seconds + 2.0 * each : -1.0;
}

/* ---- on accelerators */

double blas_plan(hr_context *context, const blas_call *call)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const operands o = operands_of(call);
    hr_status status;
    if (call->uplo != BLAS_ALL) {
        return plan_triangle(&(triangle){context, call, &o, NULL}, call->n);
    }
    if (call->batch.kind != BLAS_SINGLE) {
        hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
        const matrices m = matrices_of(call);
        options.report = &report;
        status = hr_gemm_batch_plan(context, call->batch.count, call->alpha,
                                    m.a, m.b, call->beta, m.c, &options);
    } else {
        status = hr_gemm_plan(context, call->alpha, o.a, o.b, call->beta, o.c,
                              NULL, &report);
    }
    return status == HR_OK ? report.seconds : -1.0;
}

/* C must be copied first if a failure may leave it half done. Work in place
 * does not fail once it has begun. */
static bool may_fail(const hr_context *context)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        if (hr_accelerator_describe(context, i, &info) != HR_OK ||
            !info.in_place) {
            return true;
        }
    }
    return false;
}

/* Copy the elements of C that one product computes, to or from `copy`. */
static void copy_columns(const blas_call *call, char *copy, bool back)
{
    const size_t element = hr_type_size(call->symbol->type);
    for (int64_t j = 0; j < call->n; j++) {
        const int64_t row = blas_first_row(call, j);
        const size_t bytes = (size_t)(blas_end_row(call, j) - row) * element;
        char *column =
            (char *)call->c + (size_t)(row + j * call->ldc) * element;
        char *kept = copy + (size_t)(row + j * call->m) * element;
        memcpy(back ? column : kept, back ? kept : column, bytes);
    }
}

/* Copy those of all products of a call. */
static void copy_results(const blas_call *call, char *copy, bool back)
{
    const size_t bytes =
        (size_t)call->m * (size_t)call->n * hr_type_size(call->symbol->type);
    for (int64_t i = 0; i < blas_count(call); i++) {
        const blas_call one = blas_product_at(call, i);
        copy_columns(&one, copy + (size_t)i * bytes, back);
    }
}

/* Returns NULL, or why it failed. */
static const char *multiply_call(hr_context *context, const blas_call *call)
{
    const operands o = operands_of(call);
    bool done;
    if (call->batch.kind != BLAS_SINGLE) {
        const matrices m = matrices_of(call);
        done = hr_gemm_batch(context, call->batch.count, call->alpha, m.a, m.b,
                             call->beta, m.c, NULL) == HR_OK;
    } else if (call->uplo != BLAS_ALL) {
        const int64_t edge = call->n < EDGE ? call->n : EDGE;
        void *square =
            malloc((size_t)(edge * edge) * hr_type_size(call->symbol->type));
        if (square == NULL) {
            return "no memory for a square on the diagonal";
        }
        done = multiply_triangle(&(triangle){context, call, &o, square}, 0,
                                 call->n);
        free(square);
    } else {
        done = hr_gemm(context, call->alpha, o.a, o.b, call->beta, o.c, NULL) ==
               HR_OK;
    }
    return done ? NULL : hr_last_error();
}

/* Seconds to wait for accelerators that a product has left behind. */
static const double patience = 10.0;

const char *blas_multiply(hr_context *context, const blas_call *call)
{
    HRI_USUAL_ARITHMETIC;
    char *old = NULL;
    if ((!blas_is_zero(call->beta) || call->uplo != BLAS_ALL) &&
        may_fail(context)) {
        old =
            malloc((size_t)call->m * (size_t)call->n *
                   (size_t)blas_count(call) * hr_type_size(call->symbol->type));
        if (old == NULL) {
            return "no memory for a copy of C";
        }
        copy_results(call, old, false);
    }
    const char *why = multiply_call(context, call);
    /* Its memory is the caller's afterwards. */
    if (hr_context_settle(context, patience) != HR_OK) {
        why = hr_last_error();
    }
    if (why != NULL && old != NULL) {
        copy_results(call, old, true);
    }
    free(old);
    return why;
}

/* ---- with plain loops: right, but slow. Sums are in double */

/* Element (row, col) of op(X). */
static hr_scalar get_element(hr_type type, const void *data, blas_op op,
                             int64_t row, int64_t col, int64_t ld)
{
    hr_scalar x = blas_get(
        type, data, blas_is_transposed(op) ? col + row * ld : row + col * ld);
    if (blas_is_conjugated(op)) {
        x.im = -x.im;
    }
    return x;
}

static void compute_element(const blas_call *c, int64_t row, int64_t col)
{
    const hr_type type = c->symbol->type;
    hr_scalar sum = {0.0, 0.0};
    for (int64_t p = 0; p < c->k && !blas_is_zero(c->alpha); p++) {
        const hr_scalar x =
            blas_times(get_element(type, c->a, c->op_a, row, p, c->lda),
                       get_element(type, c->b, c->op_b, p, col, c->ldb));
        sum.re += x.re;
        sum.im += x.im;
    }
    blas_update(type, c->c, row + col * c->ldc, blas_times(c->alpha, sum),
                c->beta);
}

void blas_plain(const blas_call *call)
{
    for (int64_t i = 0; i < blas_count(call); i++) {
        const blas_call one = blas_product_at(call, i);
        for (int64_t col = 0; col < one.n; col++) {
            const int64_t end = blas_end_row(&one, col);
            for (int64_t row = blas_first_row(&one, col); row < end; row++) {
                compute_element(&one, row, col);
            }
        }
    }
}
