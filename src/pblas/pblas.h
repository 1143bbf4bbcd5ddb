/* SPDX-License-Identifier: MIT */
/* The products of ScaLAPACK's PBLAS: C := alpha op(A) op(B) + beta C of
 * sections of distributed matrices. */
#ifndef PBLAS_PBLAS_H
#define PBLAS_PBLAS_H

#include <headrace/mpi.h>

/* A matrix as PBLAS passes it. */
typedef struct pblas_matrix {
    void *data;
    const int *row, *col; /* where the section begins, counted from 1 */
    const int *descriptor;
} pblas_matrix;

/* The arguments of a call, which are not checked yet. */
typedef struct pblas_call {
    const char *name; /* "pdgemm_" */
    hr_type type;
    const char *op_a, *op_b;
    const int *m, *n, *k;
    const void *alpha, *beta;
    pblas_matrix a, b, c;
} pblas_call;

/* Compute it, in all processes of the grid, or in none: then ScaLAPACK does,
 * and tells the caller what is wrong with the arguments. Ends the program after
 * every other error: C may have been written in part. */
bool pblas_gemm(const pblas_call *call);

/* ---- grid.c: grids of processes, and the libraries that have them */

/* A function of ScaLAPACK or the BLACS; NULL: none is loaded. */
void *pblas_find(const char *name);

/* A grid of the BLACS. */
typedef struct pblas_grid {
    int rows, cols;
    int row, col; /* of this process */
} pblas_grid;

/* False: this process is not in it, or the BLACS are not loaded. */
bool pblas_grid_describe(int blacs_context, pblas_grid *grid);

/* The context of its processes: process (p, q) has rank p * cols + q. NULL: it
 * has none, and hr_last_error says why. */
hr_mpi_context *pblas_grid_context(int blacs_context, const pblas_grid *grid);

/* Say why on the standard error, and end the processes of the grid. */
void pblas_abort(int blacs_context, const char *why);

#endif
