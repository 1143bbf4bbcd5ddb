/* SPDX-License-Identifier: MIT */
/* The names of PBLAS for products, as compilers of Fortran and C spell them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pblas/pblas.h"

#define PBLAS_API __attribute__((visibility("default")))

typedef void pblas_function(const char *op_a, const char *op_b, const int *m,
                            const int *n, const int *k, const void *alpha,
                            void *a, const int *ia, const int *ja,
                            const int *desca, void *b, const int *ib,
                            const int *jb, const int *descb, const void *beta,
                            void *c, const int *ic, const int *jc,
                            const int *descc);

/* What ScaLAPACK has under the name. */
static pblas_function *find_next(const char *name)
{
    void *found = pblas_find(name);
    pblas_function *function = NULL;
    memcpy(&function, &found, sizeof found);
    if (function == NULL) {
        fprintf(stderr, "headrace: %s: there is no ScaLAPACK behind it\n",
                name);
        abort();
    }
    return function;
}

#define ENTRY(function, type)                                                  \
    PBLAS_API pblas_function function;                                         \
    void function(const char *op_a, const char *op_b, const int *m,            \
                  const int *n, const int *k, const void *alpha, void *a,      \
                  const int *ia, const int *ja, const int *desca, void *b,     \
                  const int *ib, const int *jb, const int *descb,              \
                  const void *beta, void *c, const int *ic, const int *jc,     \
                  const int *descc)                                            \
    {                                                                          \
        const pblas_call call = {#function,                                    \
                                 type,                                         \
                                 op_a,                                         \
                                 op_b,                                         \
                                 m,                                            \
                                 n,                                            \
                                 k,                                            \
                                 alpha,                                        \
                                 beta,                                         \
                                 {a, ia, ja, desca},                           \
                                 {b, ib, jb, descb},                           \
                                 {c, ic, jc, descc}};                          \
        if (!pblas_gemm(&call)) {                                              \
            find_next(#function)(op_a, op_b, m, n, k, alpha, a, ia, ja, desca, \
                                 b, ib, jb, descb, beta, c, ic, jc, descc);    \
        }                                                                      \
    }

#define ENTRIES(lower, upper, type)                                            \
    ENTRY(lower##_, type)                                                      \
    ENTRY(lower, type)                                                         \
    ENTRY(upper, type)

/* NOLINTBEGIN(readability-function-size): PBLAS has so many parameters */
ENTRIES(psgemm, PSGEMM, HR_F32)
ENTRIES(pdgemm, PDGEMM, HR_F64)
ENTRIES(pcgemm, PCGEMM, HR_C32)
ENTRIES(pzgemm, PZGEMM, HR_C64)
/* NOLINTEND(readability-function-size) */
