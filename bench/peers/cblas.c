/* SPDX-License-Identifier: MIT */
#include "bench/peers/cblas.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 }; /* of the CBLAS interface */

typedef void (*sgemm)(int, int, int, int, int, int, float, const void *, int,
                      const void *, int, float, void *, int);
typedef void (*dgemm)(int, int, int, int, int, int, double, const void *, int,
                      const void *, int, double, void *, int);
typedef void (*zgemm)(int, int, int, int, int, int, const void *, const void *,
                      int, const void *, int, const void *, void *, int);

/* ISO C has no cast from an object to a function pointer. */
static bool resolve(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool fill(bench_cblas *cblas, void *library, const char *name)
{
    *cblas = (bench_cblas){.core = ""};
    if (library == NULL ||
        !resolve(library, "cblas_sgemm", &cblas->gemm[HR_F32]) ||
        !resolve(library, "cblas_dgemm", &cblas->gemm[HR_F64])) {
        return false;
    }
    resolve(library, "cblas_cgemm", &cblas->gemm[HR_C32]);
    resolve(library, "cblas_zgemm", &cblas->gemm[HR_C64]);
    resolve(library, "openblas_set_num_threads", &cblas->set_threads);
    resolve(library, "openblas_get_num_threads", &cblas->get_threads);
    resolve(library, "openblas_get_num_procs", &cblas->get_processors);
    char *(*core)(void);
    if (resolve(library, "openblas_get_corename", &core)) {
        snprintf(cblas->core, sizeof cblas->core, "%s", core());
    }
    const char *slash = strrchr(name, '/');
    snprintf(cblas->name, sizeof cblas->name, "%.40s%s%s",
             slash != NULL ? slash + 1 : name, cblas->core[0] ? " " : "",
             cblas->core);
    return true;
}

bool bench_cblas_find_loaded(bench_cblas *cblas)
{
    const char *names[] = {getenv("HEADRACE_CBLAS"), "libopenblas.so.0",
                           "libopenblas.so",         "libopenblasp.so.0",
                           "libblis.so.4",           "libblis.so.3",
                           "libmkl_rt.so.2",         "libmkl_rt.so.1",
                           "libcblas.so.3",          "libblas.so.3"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i] != NULL && names[i][0] != '\0' &&
            fill(cblas, dlopen(names[i], RTLD_NOW | RTLD_NOLOAD), names[i])) {
            return true;
        }
    }
    return false;
}

bool bench_cblas_load_openblas(bench_cblas *cblas)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (fill(cblas, dlopen(names[i], RTLD_NOW), names[i])) {
            return true;
        }
    }
    return false;
}

bool bench_cblas_offers(const bench_cblas *cblas, hr_type type, int64_t m,
                        int64_t n, int64_t k)
{
    return type >= HR_F32 && type <= HR_C64 && cblas->gemm[type] != NULL &&
           m <= INT_MAX && n <= INT_MAX && k <= INT_MAX;
}

static void call(const bench_cblas *cblas, hr_matrix a, hr_matrix b,
                 hr_matrix c)
{
    static const double one[] = {1.0, 0.0}, zero[] = {0.0, 0.0};
    static const float onef[] = {1.0f, 0.0f}, zerof[] = {0.0f, 0.0f};
    int m = (int)c.rows, n = (int)c.cols, k = (int)a.cols;
    void (*gemm)(void) = cblas->gemm[a.type];
    if (a.type == HR_F32) {
        ((sgemm)gemm)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0f,
                      a.data, k, b.data, n, 0.0f, c.data, n);
    } else if (a.type == HR_F64) {
        ((dgemm)gemm)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0,
                      a.data, k, b.data, n, 0.0, c.data, n);
    } else {
        bool narrow = a.type == HR_C32;
        ((zgemm)gemm)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k,
                      narrow ? (const void *)onef : one, a.data, k, b.data, n,
                      narrow ? (const void *)zerof : zero, c.data, n);
    }
}

void bench_cblas_gemm(const bench_cblas *cblas, hr_matrix a, hr_matrix b,
                      hr_matrix c)
{
    bool threads = cblas->set_threads != NULL && cblas->get_threads != NULL &&
                   cblas->get_processors != NULL;
    int before = threads ? cblas->get_threads() : 0;
    if (threads) { /* Headrace may have set fewer, for its own threads */
        cblas->set_threads(cblas->get_processors());
    }
    call(cblas, a, b, c);
    if (threads) {
        cblas->set_threads(before);
    }
}
