/* SPDX-License-Identifier: MIT */
/* Finding a CBLAS, recognising it, and calling it. */
#include "backends/host/cblas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/host.h"
#include "base/cpus.h"
#include "base/environment.h"
#include "base/library.h"
#include "base/matrix.h"
#include "base/size.h"

/* In order of preference. Distributions that build OpenBLAS several times give
 * the plain name to the build without threads, so builds with threads come
 * first. The last names are whatever the administrator chose. */
static const char *const candidates[] = {
    "libopenblasp.so.0", "libopenblas_pthreads.so.0",
    "libopenblaso.so.0", "libopenblas_openmp.so.0",
    "libopenblas.so.0",  "libopenblas.so",
    "libblis-mt.so.4",   "libblis.so.4",
    "libblis.so.3",      "libblis.so",
    "libmkl_rt.so.2",    "libmkl_rt.so",
    "libcblas.so.3",     "libblas.so.3",
};

static const hri_symbol symbols[] = {
    {"cblas_sgemm", offsetof(hri_cblas, sgemm), true},
    {"cblas_dgemm", offsetof(hri_cblas, dgemm), true},
    {"cblas_cgemm", offsetof(hri_cblas, cgemm), true},
    {"cblas_zgemm", offsetof(hri_cblas, zgemm), true},
};

/* What a library turns out to be. */
typedef enum verdict { SOMETHING_ELSE, LONG_INTEGERS, REFUSED, USABLE } verdict;

/* Functions by which each vendor's library is recognised. */
typedef struct blis_symbols {
    const char *(*version)(void);
    int (*arch)(void);
    const char *(*arch_name)(int);
    int64_t (*int_bits)(void);
    void (*set_threads)(int64_t);
} blis_symbols;

static const hri_symbol blis_table[] = {
    {"bli_info_get_version_str", offsetof(blis_symbols, version), true},
    {"bli_arch_query_id", offsetof(blis_symbols, arch), true},
    {"bli_arch_string", offsetof(blis_symbols, arch_name), true},
    {"bli_info_get_blas_int_type_size", offsetof(blis_symbols, int_bits), true},
    {"bli_thread_set_num_threads", offsetof(blis_symbols, set_threads), true},
};

typedef struct mkl_symbols {
    void (*version)(char *text, int bytes);
    int (*set_threads)(int threads);
    int (*get_threads)(void);
} mkl_symbols;

static const hri_symbol mkl_table[] = {
    {"MKL_Get_Version_String", offsetof(mkl_symbols, version), true},
    {"MKL_Set_Num_Threads_Local", offsetof(mkl_symbols, set_threads), true},
    {"MKL_Get_Max_Threads", offsetof(mkl_symbols, get_threads), true},
};

/* A number of threads in the environment; 0: there is none. */
static int64_t number_of(const char *variable)
{
    const char *text = hri_environment(variable);
    const long number = text != NULL ? strtol(text, NULL, 10) : 0;
    return number > 0 && number <= HRI_MAX_THREADS ? number : 0;
}

/* The number of threads that BLIS takes from its own variables: one for all, or
 * one for each of its loops. */
static int64_t blis_users_threads(void)
{
    static const char *const loops[] = {
        "BLIS_JC_NT", "BLIS_IC_NT", "BLIS_JR_NT", "BLIS_IR_NT", "BLIS_PC_NT"};
    int64_t product = 0;
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        const int64_t number = number_of(loops[i]);
        product = number > 0 ? hri_max(product, 1) * number : product;
    }
    if (product == 0) {
        product = number_of("BLIS_NUM_THREADS");
    }
    return product > 0 ? product : number_of("OMP_NUM_THREADS");
}

/* Recognise OpenBLAS by "OpenBLAS 0.3.21 NO_LAPACKE ..." and "SkylakeX".
 * USE64BITINT means integers that our table does not have. */
static verdict know_openblas(void *library, hri_cblas *cblas)
{
    hri_openblas s;
    if (!hri_openblas_is(library, &s)) {
        return SOMETHING_ELSE;
    }
    if (strstr(s.config(), "USE64BITINT") != NULL) {
        return LONG_INTEGERS;
    }
    cblas->conj_no_trans = true;
    char version[32] = "", cores[48] = "";
    sscanf(s.config(), "OpenBLAS %31s", version);
    hri_openblas_select_cores(&s, cblas, cores, sizeof cores);
    snprintf(cblas->name, sizeof cblas->name, "OpenBLAS %s %s", version, cores);
    return USABLE;
}

static verdict know_blis(void *library, hri_cblas *cblas)
{
    blis_symbols s;
    if (hri_library_resolve(library, "", blis_table, 5, &s) != HR_OK) {
        return SOMETHING_ELSE;
    }
    if (s.int_bits() == 64) {
        return LONG_INTEGERS;
    }
    snprintf(cblas->name, sizeof cblas->name, "BLIS %s %s", s.version(),
             s.arch_name(s.arch()));
    cblas->set_blis_threads = s.set_threads;
    cblas->users_threads = blis_users_threads();
    return USABLE;
}

/* Recognise MKL: "Intel(R) oneAPI Math Kernel Library Version 2023.1-Product
 * Build ..." */
static verdict know_mkl(void *library, hri_cblas *cblas)
{
    mkl_symbols s;
    char text[256] = "", version[32] = "";
    if (hri_library_resolve(library, "", mkl_table, 3, &s) != HR_OK) {
        return SOMETHING_ELSE;
    }
    /* It writes to the file of MKL_VERBOSE_OUTPUT_FILE. Its OpenMP loads what
     * OMP_TOOL_LIBRARIES names. */
    if (hri_library_check_rights("MKL") != HR_OK) {
        return REFUSED;
    }
    const char *layer = hri_environment("MKL_INTERFACE_LAYER");
    if (layer != NULL && strstr(layer, "ILP64") != NULL) {
        return LONG_INTEGERS; /* the user chose 64-bit integers for MKL */
    }
    s.version(text, (int)sizeof text - 1);
    const char *words = strstr(text, "Version ");
    if (words != NULL) {
        sscanf(words, "Version %31[0-9.]", version);
    }
    snprintf(cblas->name, sizeof cblas->name, "MKL %s", version);
    cblas->set_mkl_threads = s.set_threads;
    cblas->get_mkl_threads = s.get_threads;
    return USABLE;
}

/* Find the library's functions and its name. With `any`, a library that is not
 * recognised will do, too. */
static hr_status know_library(void *library, const char *name, bool any,
                              hri_cblas *cblas)
{
    static verdict (*const vendors[])(void *, hri_cblas *) = {
        know_openblas, know_blis, know_mkl};
    HRI_TRY(hri_library_resolve(library, name, symbols, 4, cblas));
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++) {
        verdict is = vendors[i](library, cblas);
        if (is == LONG_INTEGERS) {
            return hri_fail(HR_ERROR_UNAVAILABLE,
                            "%s takes integers of 64 bits, not 32", name);
        }
        if (is != SOMETHING_ELSE) {
            return is == USABLE ? HR_OK : HR_ERROR_UNAVAILABLE;
        }
    }
    snprintf(cblas->name, sizeof cblas->name, "CBLAS %s", name);
    return any ? HR_OK
               : hri_fail(HR_ERROR_UNAVAILABLE,
                          "%s does not tell which CBLAS it is", name);
}

/* Whether there is room for the buffers and heaps of OpenBLAS's threads and
 * those of its copies. Without room it asks for them again and again, for ever:
 * in products, and already when it is loaded. */
static hr_status check_room(void)
{
    return hri_library_check_room("a CBLAS", (size_t)hri_cpu_count() * 3 << 28);
}

hr_status hri_cblas_open(const char *name, bool any, hri_cblas *cblas)
{
    hri_cblas found = {0};
    if (check_room() != HR_OK) {
        return HR_ERROR_UNAVAILABLE;
    }
    void *library = hri_openblas_open(name);
    if (library == NULL) {
        const char *why = dlerror();
        return hri_fail(HR_ERROR_UNAVAILABLE, "%s",
                        why != NULL ? why : "it cannot be loaded");
    }
    hr_status status = know_library(library, name, any, &found);
    if (status != HR_OK) {
        dlclose(library);
        return status;
    }
    *cblas = found;
    return HR_OK;
}

bool hri_cblas_find(hri_cblas *cblas)
{
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (hri_cblas_open(candidates[i], false, cblas) == HR_OK) {
            return true;
        }
    }
    return false;
}

/* ---- arguments */

typedef struct argument {
    int trans, ld;
    const void *data;
} argument;

/* Pass a rows x cols operand as a row-major matrix or as the transpose of one.
 * The stride over an extent of 1 has no meaning, so both may be possible. CBLAS
 * still wants a leading dimension of at least a row. */
static bool express(const hri_cblas *cblas, const hri_gemm *gemm,
                    const hri_operand *operand, int64_t rows, argument *out)
{
    int64_t cols = operand == &gemm->a ? gemm->k : gemm->n;
    bool complex = hri_is_complex(gemm->type);
    bool conjugate = complex && operand->conjugate;
    bool straight = operand->col_stride == 1 || cols == 1;
    bool transposed = operand->row_stride == 1 || rows == 1;
    if (straight && !(conjugate && transposed)) {
        int64_t ld = rows == 1 ? cols : operand->row_stride;
        out->trans = conjugate ? HRI_CBLAS_CONJ_NO_TRANS : HRI_CBLAS_NO_TRANS;
        out->ld = (int)hri_min(ld, INT_MAX);
        out->data = hri_host_address(&operand->place);
        return ld >= cols && ld <= INT_MAX &&
               (!conjugate || cblas->conj_no_trans);
    }
    int64_t ld = cols == 1 ? rows : operand->col_stride;
    out->trans = conjugate ? HRI_CBLAS_CONJ_TRANS : HRI_CBLAS_TRANS;
    out->ld = (int)hri_min(ld, INT_MAX);
    out->data = hri_host_address(&operand->place);
    return transposed && ld >= rows && ld <= INT_MAX;
}

/* The four differ only in the type of alpha and beta. */
#define GEMM(function, alpha, beta)                                            \
    function(HRI_CBLAS_ROW_MAJOR, a->trans, b->trans, m, n, k, alpha, a->data, \
             a->ld, b->data, b->ld, beta, to, c->ld)

static void call_gemm(const hri_cblas *cblas, const hri_gemm *gemm,
                      const argument *a, const argument *b, const argument *c)
{
    const int m = (int)gemm->m, n = (int)gemm->n, k = (int)gemm->k;
    const hri_factor alpha = hri_factor_of(gemm->type, gemm->alpha);
    const hri_factor beta = hri_factor_of(gemm->type, gemm->beta);
    void *to = hri_host_address(&gemm->c.place);
    switch (gemm->type) {
    case HR_F32:
        GEMM(cblas->sgemm, alpha.f[0], beta.f[0]);
        break;
    case HR_F64:
        GEMM(cblas->dgemm, alpha.d[0], beta.d[0]);
        break;
    case HR_C32:
        GEMM(cblas->cgemm, alpha.f, beta.f);
        break;
    default:
        GEMM(cblas->zgemm, alpha.d, beta.d);
        break;
    }
}

/* ---- threads */

/* Fewer flops run on one thread: BLIS 0.9 starts its threads anew for each
 * product and lets them spin. */
enum { THREADED_FLOPS = 1 << 22 };

static void limit_blis(const hri_cblas *cblas, int64_t threads,
                       const hri_gemm *gemm)
{
    const double flops = 2.0 * (double)gemm->m * (double)gemm->n;
    const bool small = flops * (double)gemm->k < THREADED_FLOPS;
    const int64_t users = cblas->users_threads;
    if (users == 0 || users > threads) {
        cblas->set_blis_threads(small ? 1 : threads);
    }
}

/* With OpenMP the number of threads is a setting of each thread, which the
 * library then takes as its own. */
static bool is_openmp(const hri_cblas *cblas)
{
    return cblas->openblas.config != NULL &&
           strstr(cblas->openblas.config(), "USE_OPENMP") != NULL;
}

bool hri_cblas_sets_thread(const hri_cblas *cblas)
{
    return cblas->set_blis_threads != NULL || is_openmp(cblas);
}

/* Let at most so many threads work. What it returns is for restore_threads. */
static int limit_threads(const hri_cblas *cblas, int threads,
                         const hri_gemm *gemm)
{
    if (cblas->openblas.set_threads != NULL) {
        return hri_openblas_limit(cblas, threads);
    }
    if (cblas->set_blis_threads != NULL) {
        limit_blis(cblas, threads, gemm);
    }
    return cblas->set_mkl_threads != NULL && cblas->get_mkl_threads() > threads
               ? cblas->set_mkl_threads(threads)
               : -1;
}

static void restore_threads(const hri_cblas *cblas, int threads, int before)
{
    if (cblas->openblas.set_threads != NULL) {
        hri_openblas_restore(cblas, before < threads ? before : threads,
                             before);
    } else if (before >= 0) {
        cblas->set_mkl_threads(before);
    }
}

/* ---- products */

int hri_cblas_share(const hri_cblas *cblas)
{
    return cblas->openblas.set_threads != NULL ? hri_openblas_limit(cblas, 1)
                                               : 0;
}

int hri_cblas_enter(const hri_cblas *cblas, const hri_gemm *gemm)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (is_openmp(cblas)) {
        pthread_mutex_lock(&lock);
        hri_openblas_set(cblas, 1);
        pthread_mutex_unlock(&lock);
    }
    return cblas->openblas.set_threads == NULL ? limit_threads(cblas, 1, gemm)
                                               : -1;
}

void hri_cblas_leave(const hri_cblas *cblas, int before)
{
    if (cblas->openblas.set_threads == NULL) {
        restore_threads(cblas, 1, before);
    }
}

void hri_cblas_unshare(const hri_cblas *cblas, int before)
{
    if (cblas->openblas.set_threads != NULL) {
        hri_openblas_restore(cblas, 1, before);
    }
}

bool hri_cblas_gemm(const hri_cblas *cblas, uint32_t threads,
                    const hri_gemm *gemm)
{
    argument a, b, c;
    if (gemm->type < HR_F32 || gemm->type > HR_C64 || gemm->m > INT_MAX ||
        gemm->n > INT_MAX || gemm->k > INT_MAX ||
        !express(cblas, gemm, &gemm->a, gemm->m, &a) ||
        !express(cblas, gemm, &gemm->b, gemm->k, &b)) {
        return false;
    }
    int64_t ldc = gemm->m == 1 ? gemm->n : gemm->c.row_stride;
    if (ldc < gemm->n || ldc > INT_MAX) {
        return false;
    }
    c.ld = (int)ldc;
    if (threads == 0) {
        call_gemm(cblas, gemm, &a, &b, &c);
        return true;
    }
    const int before = limit_threads(cblas, (int)threads, gemm);
    call_gemm(cblas, gemm, &a, &b, &c);
    restore_threads(cblas, (int)threads, before);
    return true;
}
