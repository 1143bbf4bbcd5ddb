/* SPDX-License-Identifier: MIT */
/* Of the BLACS and ScaLAPACK, which have no headers. */
#ifndef BENCH_MPI_BLACS_H
#define BENCH_MPI_BLACS_H

void Cblacs_pinfo(int *rank, int *count);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_gridexit(int context);
void Cblacs_exit(int more);
int numroc_(const int *n, const int *block, const int *own, const int *first,
            const int *processes);

typedef void gemm(const char *op_a, const char *op_b, const int *m,
                  const int *n, const int *k, const void *alpha, void *a,
                  const int *ia, const int *ja, const int *desca, void *b,
                  const int *ib, const int *jb, const int *descb,
                  const void *beta, void *c, const int *ic, const int *jc,
                  const int *descc);
gemm psgemm_, pdgemm_, pcgemm_, pzgemm_;

#endif
