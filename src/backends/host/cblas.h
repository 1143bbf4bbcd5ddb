/* SPDX-License-Identifier: MIT */
/* A vendor's CBLAS, opened at run time. We use its four gemm with 32-bit
 * integers. */
#ifndef HRI_BACKENDS_HOST_CBLAS_H
#define HRI_BACKENDS_HOST_CBLAS_H

#include "base/status.h"
#include "hal/hal.h"

/* Values of the CBLAS interface. */
typedef enum hri_cblas_flag {
    HRI_CBLAS_ROW_MAJOR = 101,
    HRI_CBLAS_NO_TRANS = 111,
    HRI_CBLAS_TRANS = 112,
    HRI_CBLAS_CONJ_TRANS = 113,
    HRI_CBLAS_CONJ_NO_TRANS = 114 /* OpenBLAS only */
} hri_cblas_flag;

typedef void hri_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n,
                             int k, float alpha, const float *a, int lda,
                             const float *b, int ldb, float beta, float *c,
                             int ldc);
typedef void hri_cblas_dgemm(int order, int trans_a, int trans_b, int m, int n,
                             int k, double alpha, const double *a, int lda,
                             const double *b, int ldb, double beta, double *c,
                             int ldc);
typedef void hri_cblas_zgemm(int order, int trans_a, int trans_b, int m, int n,
                             int k, const void *alpha, const void *a, int lda,
                             const void *b, int ldb, const void *beta, void *c,
                             int ldc);

/* What an OpenBLAS tells about itself. */
typedef struct hri_openblas {
    const char *(*config)(void);
    const char *(*core)(void); /* the core type */
    int (*get_threads)(void);
    void (*set_threads)(int);
} hri_openblas;

typedef struct hri_cblas {
    hri_cblas_sgemm *sgemm;
    hri_cblas_dgemm *dgemm;
    hri_cblas_zgemm *cgemm, *zgemm;
    /* What OpenBLAS offers. For others set_threads is NULL. */
    hri_openblas openblas;
    /* Copies of it with other core types, which have threads of their own.
     * set_threads is NULL where there is no copy. */
    hri_openblas copies[2];
    /* BLIS keeps the number of threads for each calling thread (since 1.0) and
     * starts with 1. NULL for others. */
    void (*set_blis_threads)(int64_t threads);
    int64_t users_threads; /* what BLIS's own variables say; 0: nothing */
    /* MKL's number for the calling thread; 0 stands for the program's. The
     * first function returns the number until then. NULL for others. */
    int (*set_mkl_threads)(int threads);
    int (*get_mkl_threads)(void);
    bool conj_no_trans;
    char name[96]; /* "OpenBLAS 0.3.21 SkylakeX" */
} hri_cblas;

/* Open the library `name`. Without `any`, only libraries that are recognised
 * are taken. Another one is most likely the reference BLAS, which is far slower
 * than our kernel. HR_ERROR_UNAVAILABLE with the reason. */
hr_status hri_cblas_open(const char *name, bool any, hri_cblas *cblas);

/* Open the first of OpenBLAS, BLIS, MKL and the system's choice that is
 * there. */
bool hri_cblas_find(hri_cblas *cblas);

/* Whether its number of threads is a setting of the calling thread, which is
 * then not as before. */
bool hri_cblas_sets_thread(const hri_cblas *cblas);

/* Multiply if the CBLAS offers this product. Otherwise return false and do
 * nothing. m, n, k and alpha are not 0. At most
 * `threads` threads of OpenBLAS, BLIS and MKL work, and fewer where the program
 * or their own variables say so. 0: no limit is set. What the program has set
 * for itself is the same afterwards, except in BLIS. */
bool hri_cblas_gemm(const hri_cblas *cblas, uint32_t threads,
                    const hri_gemm *gemm);

/* From `share` to `unshare` threads may multiply at the same time, each on
 * itself alone. Each calls hri_cblas_gemm with threads = 0, between `enter` and
 * `leave`. What the program has set for itself is the same afterwards, except
 * in BLIS. `share` and `enter` return what `unshare` and `leave` need. */
int hri_cblas_share(const hri_cblas *cblas);
int hri_cblas_enter(const hri_cblas *cblas, const hri_gemm *gemm);
void hri_cblas_leave(const hri_cblas *cblas, int before);
void hri_cblas_unshare(const hri_cblas *cblas, int before);

/* Open a library. OpenBLAS gets the core type that suits this CPU, unless it
 * was loaded before. NULL when it cannot be opened: dlerror says why. */
void *hri_openblas_open(const char *name);

/* Tell whether a library is an OpenBLAS. If so, fill in its functions. */
bool hri_openblas_is(void *library, hri_openblas *openblas);

/* Replace gemm functions of cblas by those of copies of the library with other
 * core types, where these suit the CPU better. cores becomes "SkylakeX", or
 * "Haswell, SkylakeX for double". */
void hri_openblas_select_cores(const hri_openblas *own, hri_cblas *cblas,
                               char *cores, size_t bytes);

/* Let at most `threads` threads of the library and of its copies work. Returns
 * how many the library had. The second function gives it that number back. */
int hri_openblas_limit(const hri_cblas *cblas, int threads);
/* Set the number for the calling thread, where it has one of its own. */
void hri_openblas_set(const hri_cblas *cblas, int threads);
void hri_openblas_restore(const hri_cblas *cblas, int limit, int before);

/* Kinds of CPUs that OpenBLAS's core types suit. */
typedef enum hri_cpu {
    HRI_CPU_BASELINE,
    HRI_CPU_AVX2,      /* with FMA */
    HRI_CPU_AVX512,    /* F, DQ, BW, VL and CD */
    HRI_CPU_AVX512_256 /* the same, in units of 256 bits: AMD's Zen 4 */
} hri_cpu;

/* This machine's kind. Any thread. */
hri_cpu hri_cpu_here(void);

/* The core type that products of this type should use instead of the one that
 * OpenBLAS chose. NULL: its choice is right. */
const char *hri_openblas_better_core(hri_cpu cpu, hr_type type,
                                     const char *chosen);

#endif
