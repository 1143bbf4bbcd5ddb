/* SPDX-License-Identifier: MIT */
/* From the arguments of PBLAS to those of hr_mpi_gemm. */
#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/matrix.h"
#include "blas/log.h"
#include "blas/threshold.h"
#include "pblas/pblas.h"

/* Places of an array descriptor: those of BLOCK_CYCLIC_2D_INB, whose first
 * block may be of another size. BLOCK_CYCLIC_2D does not have FIRST_ROWS and
 * FIRST_COLS. */
enum {
    KIND,
    CONTEXT,
    ROWS,
    COLS,
    FIRST_ROWS,
    FIRST_COLS,
    ROW_BLOCK,
    COL_BLOCK,
    FIRST_ROW,
    FIRST_COL,
    LEADING,
    PLACES
};

enum { BLOCK_CYCLIC_2D = 1, BLOCK_CYCLIC_2D_INB = 2 };

/* The descriptor with all places. False: it is of another kind. */
static bool read_descriptor(const int *d, int *all)
{
    switch (d[KIND]) {
    case BLOCK_CYCLIC_2D:
        memcpy(all, d, FIRST_ROWS * sizeof *all);
        memcpy(all + ROW_BLOCK, d + FIRST_ROWS,
               (PLACES - ROW_BLOCK) * sizeof *all);
        all[FIRST_ROWS] = all[ROW_BLOCK];
        all[FIRST_COLS] = all[COL_BLOCK];
        return true;
    case BLOCK_CYCLIC_2D_INB:
        memcpy(all, d, PLACES * sizeof *all);
        return all[FIRST_ROWS] > 0 && all[FIRST_COLS] > 0;
    default:
        return false;
    }
}

/* N: as it is, T: the transpose, C: its conjugate. 0: another letter. */
static char read_op(const char *op)
{
    switch (*op) {
    case 'N':
    case 'n':
        return 'N';
    case 'T':
    case 't':
        return 'T';
    case 'C':
    case 'c':
        return 'C';
    default:
        return 0;
    }
}

static hr_scalar read_scalar(hr_type type, const void *at)
{
    const float *single = at;
    const double *wide = at;
    switch (type) {
    case HR_F32:
        return hr_real((double)single[0]);
    case HR_F64:
        return hr_real(wide[0]);
    case HR_C32:
        return hr_complex((double)single[0], (double)single[1]);
    default:
        return hr_complex(wide[0], wide[1]);
    }
}

/* op(sub(X)), of rows x cols. *blocks is what it borrows. If hr_mpi_gemm does
 * not know its kind, a matrix without blocks, which all processes refuse. */
static hr_mpi_matrix read_matrix(const pblas_call *call, const pblas_matrix *x,
                                 char op, int rows, int cols,
                                 const pblas_grid *grid, hr_mpi_cyclic *blocks)
{
    int d[PLACES];
    if (op == 0 || !read_descriptor(x->descriptor, d) ||
        d[CONTEXT] != call->c.descriptor[CONTEXT]) {
        return hr_mpi_matrix_cyclic(call->type, rows, cols, NULL);
    }
    *blocks = (hr_mpi_cyclic){.row_block = d[ROW_BLOCK],
                              .col_block = d[COL_BLOCK],
                              .first_rows = d[FIRST_ROWS],
                              .first_cols = d[FIRST_COLS],
                              .process_rows = grid->rows,
                              .process_cols = grid->cols,
                              .first_row = d[FIRST_ROW],
                              .first_col = d[FIRST_COL],
                              .data = x->data,
                              .leading_dimension = d[LEADING]};
    const hr_mpi_matrix m = hr_mpi_matrix_section(
        hr_mpi_matrix_cyclic(call->type, d[ROWS], d[COLS], blocks), *x->row - 1,
        *x->col - 1, op == 'N' ? rows : cols, op == 'N' ? cols : rows);
    return op == 'N'   ? m
           : op == 'T' ? hr_mpi_matrix_transpose(m)
                       : hr_mpi_matrix_conjugate(hr_mpi_matrix_transpose(m));
}

static double flops_of(const pblas_call *call)
{
    return hri_product_flops(call->type, *call->m, *call->n, *call->k);
}

/* Whether the call is better left to ScaLAPACK, which begins sooner. The answer
 * is the same in all processes, whose environment must be the same, too. */
static bool is_small(const pblas_call *call, const pblas_grid *grid)
{
    const double usual = 1e8; /* of each process: a few milliseconds */
    static blas_threshold threshold;
    static bool known;
    if (!known) {
        threshold = blas_threshold_read(usual);
        known = true;
    }
    return flops_of(call) < threshold.flops * grid->rows * grid->cols;
}

static void log_call(const pblas_call *call, const pblas_grid *grid,
                     blas_outcome outcome, double seconds)
{
    if ((grid->row != 0 || grid->col != 0) || !blas_log_is_wanted()) {
        return;
    }
    blas_log_count(outcome, seconds, flops_of(call));
    blas_log("%s %c%c %d x %d x %d on %d x %d processes: %s, %.3g s%s%s",
             call->name, *call->op_a, *call->op_b, *call->m, *call->n, *call->k,
             grid->rows, grid->cols, blas_outcome_name(outcome), seconds,
             outcome == BLAS_FELL_BACK ? ": " : "",
             outcome == BLAS_FELL_BACK ? hr_last_error() : "");
}

/* A status that comes before anything was computed, in all processes. */
static bool is_refused(hr_status status)
{
    return status == HR_ERROR_INVALID || status == HR_ERROR_UNSUPPORTED;
}

bool pblas_gemm(const pblas_call *call)
{
    const int blacs_context = call->c.descriptor[CONTEXT];
    const int m = *call->m, n = *call->n, k = *call->k;
    pblas_grid grid;
    hr_mpi_cyclic blocks[3];
    if (!pblas_grid_describe(blacs_context, &grid)) {
        return false;
    }
    if (is_small(call, &grid)) {
        log_call(call, &grid, BLAS_STAYED, 0.0);
        return false;
    }
    hr_mpi_context *context = pblas_grid_context(blacs_context, &grid);
    if (context == NULL) {
        log_call(call, &grid, BLAS_FELL_BACK, 0.0);
        return false;
    }
    const uint64_t start = hri_clock_ns();
    const hr_status status = hr_mpi_gemm(
        context, read_scalar(call->type, call->alpha),
        read_matrix(call, &call->a, read_op(call->op_a), m, k, &grid,
                    &blocks[0]),
        read_matrix(call, &call->b, read_op(call->op_b), k, n, &grid,
                    &blocks[1]),
        read_scalar(call->type, call->beta),
        read_matrix(call, &call->c, 'N', m, n, &grid, &blocks[2]), NULL);
    if (status != HR_OK && !is_refused(status)) {
        char why[1024];
        hri_format(why, sizeof why, "%s: %s", call->name, hr_last_error());
        pblas_abort(blacs_context, why);
    }
    log_call(call, &grid, status == HR_OK ? BLAS_ACCELERATED : BLAS_FELL_BACK,
             hri_seconds_since(start));
    return status == HR_OK;
}
