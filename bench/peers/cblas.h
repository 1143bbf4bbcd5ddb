/* SPDX-License-Identifier: MIT */
/* A CBLAS called directly: the peer that bench compares with. */
#ifndef BENCH_CBLAS_H
#define BENCH_CBLAS_H

#include <stdbool.h>

#include <headrace/headrace.h>

typedef struct bench_cblas {
    void (*gemm[HR_C64 + 1])(void); /* by type; cast to its signature to call */
    void (*set_threads)(int);       /* OpenBLAS only, else NULL */
    int (*get_threads)(void);
    int (*get_processors)(void);
    char name[96]; /* "libopenblas.so.0 SkylakeX" */
    char core[48]; /* OpenBLAS's core type; "" for others */
} bench_cblas;

/* Find the CBLAS that this process has loaded already (a context has been
 * created), so that it is the same instance with the same core type. */
bool bench_cblas_find_loaded(bench_cblas *cblas);

/* Load OpenBLAS; its core type is what the environment says. */
bool bench_cblas_load_openblas(bench_cblas *cblas);

/* Whether it multiplies this type and size. */
bool bench_cblas_offers(const bench_cblas *cblas, hr_type type, int64_t m,
                        int64_t n, int64_t k);

/* C := A B, all row-major and packed, with all processors. */
void bench_cblas_gemm(const bench_cblas *cblas, hr_matrix a, hr_matrix b,
                      hr_matrix c);

#endif
