/* SPDX-License-Identifier: MIT */
#include "blas/blas.h"

#include <stdlib.h>

enum { EDGE = 512 }; /* the largest square on the diagonal */

typedef struct triangle {
    hr_context *context;
    const blas_call *call;
    const blas_operands *operands;
    void *square; /* room for a product of EDGE x EDGE */
} triangle;

/* Rows of A, columns of B and the block of C that they make. */
static blas_operands block(const triangle *t, int64_t row, int64_t rows,
                           int64_t col, int64_t cols, hr_status *status)
{
    blas_operands o = *t->operands;
    const int64_t k = o.a.cols;
    if (*status == HR_OK) {
        *status = hr_matrix_section(t->operands->a, row, 0, rows, k, &o.a);
    }
    if (*status == HR_OK) {
        *status = hr_matrix_section(t->operands->b, 0, col, k, cols, &o.b);
    }
    if (*status == HR_OK) {
        *status = hr_matrix_section(t->operands->c, row, col, rows, cols, &o.c);
    }
    return o;
}

static hr_status do_square(const triangle *t, int64_t first, int64_t count)
{
    const hr_type type = t->call->symbol->type;
    hr_status status = HR_OK;
    const blas_operands o = block(t, first, count, first, count, &status);
    if (status == HR_OK) {
        status = hr_gemm(
            t->context, t->call->alpha, o.a, o.b, hr_real(0.0),
            hr_matrix_column_major(t->square, type, count, count, 0), NULL);
    }
    for (int64_t j = first; j < first + count && status == HR_OK; j++) {
        const bool upper = t->call->part == BLAS_UPPER;
        const int64_t end = upper ? j + 1 : first + count;
        for (int64_t i = upper ? first : j; i < end; i++) {
            blas_update(
                type, t->call->c, i + j * t->call->ldc,
                blas_get(type, t->square, i - first + (j - first) * count),
                t->call->beta);
        }
    }
    return status;
}

/* Compute two triangles and the square between them. */
static hr_status do_triangle(const triangle *t, int64_t first, int64_t count)
{
    if (count <= EDGE) {
        return do_square(t, first, count);
    }
    const int64_t half = count / 2, rest = count - half;
    const bool upper = t->call->part == BLAS_UPPER;
    hr_status status = do_triangle(t, first, half);
    if (status == HR_OK) {
        status = do_triangle(t, first + half, rest);
    }
    const blas_operands o =
        upper ? block(t, first, half, first + half, rest, &status)
              : block(t, first + half, rest, first, half, &status);
    return status == HR_OK ? hr_gemm(t->context, t->call->alpha, o.a, o.b,
                                     t->call->beta, o.c, NULL)
                           : status;
}

/* Seconds for `count` rows and columns. Negative when one of the products
 * cannot be planned. Products of one size differ by at most a row, so one is
 * planned for all. Copying the results is not counted. */
static double seconds_of(const triangle *t, int64_t count)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_status status = HR_OK;
    const int64_t half = count / 2, rest = count - half;
    const bool small = count <= EDGE;
    const blas_operands o = small ? block(t, 0, count, 0, count, &status)
                                  : block(t, 0, half, half, rest, &status);
    const hr_scalar beta = small ? hr_real(0.0) : t->call->beta;
    if (status == HR_OK) {
        status = hr_gemm_plan(t->context, t->call->alpha, o.a, o.b, beta, o.c,
                              NULL, &report);
    }
    if (status != HR_OK || small) {
        return status == HR_OK ? report.seconds : -1.0;
    }
    const double each = seconds_of(t, rest);
    return each >= 0.0 ? report.seconds + 2.0 * each : -1.0;
}

double blas_triangle_seconds(hr_context *context, const blas_call *call,
                             const blas_operands *operands)
{
    const triangle t = {context, call, operands, NULL};
    return seconds_of(&t, call->n);
}

const char *blas_triangle(hr_context *context, const blas_call *call,
                          const blas_operands *operands)
{
    const int64_t edge = call->n < EDGE ? call->n : EDGE;
    triangle t = {context, call, operands, NULL};
    t.square = malloc((size_t)(edge * edge) * hr_type_size(call->symbol->type));
    if (t.square == NULL) {
        return "no memory for a square on the diagonal";
    }
    hr_status status = do_triangle(&t, 0, call->n);
    free(t.square);
    return status == HR_OK ? NULL : hr_last_error();
}
