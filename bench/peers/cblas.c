/* SPDX-License-Identifier: MIT */
/* A CBLAS called directly, and OpenBLAS as a peer, in one process for each of
 * its core types. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cpus.h"
#include "base/library.h"
#include "bench/peers/peer.h"
#include "console/text.h"

static const hri_symbol symbols[] = {
    {"cblas_sgemm", offsetof(bench_cblas, products.sgemm), REQ},
    {"cblas_dgemm", offsetof(bench_cblas, products.dgemm), REQ},
    {"cblas_cgemm", offsetof(bench_cblas, products.cgemm), REQ},
    {"cblas_zgemm", offsetof(bench_cblas, products.zgemm), REQ},
    {"openblas_get_corename", offsetof(bench_cblas, core), OPT},
    {"openblas_set_num_threads", offsetof(bench_cblas, set_threads), OPT},
    {"openblas_get_num_threads", offsetof(bench_cblas, get_threads), OPT},
    {"openblas_get_num_procs", offsetof(bench_cblas, get_processors), OPT},
};

static bool fill_table(bench_cblas *cblas, void *library, const char *name)
{
    const size_t count = sizeof symbols / sizeof symbols[0];
    *cblas = (bench_cblas){.core = NULL};
    if (library == NULL ||
        hri_library_resolve(library, name, symbols, count, cblas) != HR_OK) {
        return false;
    }
    const char *slash = strrchr(name, '/');
    snprintf(cblas->name, sizeof cblas->name, "%.40s%s%s",
             slash != NULL ? slash + 1 : name, cblas->core != NULL ? " " : "",
             cblas->core != NULL ? cblas->core() : "");
    return true;
}

/* Open the first of names that dlopen finds. Some may be absent. */
static bool find_library(bench_cblas *cblas, const char *const *names,
                         size_t count, int mode)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i] != NULL && names[i][0] != '\0' &&
            fill_table(cblas, dlopen(names[i], mode), names[i])) {
            return true;
        }
    }
    return false;
}

static bool load_openblas(bench_cblas *cblas)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    return find_library(cblas, names, sizeof names / sizeof names[0], RTLD_NOW);
}

bool bench_cblas_find(bench_cblas *cblas)
{
    const char *names[] = {getenv("HEADRACE_CBLAS"), "libopenblas.so.0",
                           "libopenblas.so",         "libopenblasp.so.0",
                           "libblis.so.4",           "libblis.so.3",
                           "libmkl_rt.so.2",         "libmkl_rt.so.1",
                           "libcblas.so.3",          "libblas.so.3"};
    return find_library(cblas, names, sizeof names / sizeof names[0],
                        RTLD_NOW | RTLD_NOLOAD) ||
           load_openblas(cblas);
}

void bench_cblas_use(const bench_cblas *cblas, int threads)
{
    if (cblas->set_threads != NULL && cblas->get_processors != NULL) {
        const int all = cblas->get_processors();
        cblas->set_threads(all < threads ? all : threads);
    }
}

int bench_cblas_begin(const bench_cblas *cblas)
{
    const int before = cblas->get_threads != NULL ? cblas->get_threads() : 0;
    bench_cblas_use(cblas, (int)hri_thread_count());
    return before;
}

void bench_cblas_end(const bench_cblas *cblas, int before)
{
    if (before > 0) {
        bench_cblas_use(cblas, before);
    }
}

bool bench_cblas_gemm(const bench_cblas *cblas, hr_matrix ma, hr_matrix mb,
                      hr_matrix mc)
{
    enum { ROWS = HRI_CBLAS_ROW_MAJOR, PLAIN = HRI_CBLAS_NO_TRANS };
    static const double one[] = {1.0, 0.0}, zero[] = {0.0, 0.0};
    static const float onef[] = {1.0f, 0.0f}, zerof[] = {0.0f, 0.0f};
    const hri_cblas *p = &cblas->products;
    const void *a = ma.data, *b = mb.data;
    void *c = mc.data;
    if (mc.type != ma.type || mc.rows > INT_MAX || mc.cols > INT_MAX ||
        ma.cols > INT_MAX) {
        return false;
    }
    const int m = (int)mc.rows, n = (int)mc.cols, k = (int)ma.cols;
    switch (ma.type) {
    case HR_F32:
        p->sgemm(ROWS, PLAIN, PLAIN, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
        return true;
    case HR_F64:
        p->dgemm(ROWS, PLAIN, PLAIN, m, n, k, 1.0, a, k, b, n, 0.0, c, n);
        return true;
    case HR_C32:
        p->cgemm(ROWS, PLAIN, PLAIN, m, n, k, onef, a, k, b, n, zerof, c, n);
        return true;
    case HR_C64:
        p->zgemm(ROWS, PLAIN, PLAIN, m, n, k, one, a, k, b, n, zero, c, n);
        return true;
    default:
        return false;
    }
}

/* ---- OpenBLAS as a peer */

/* Core types that may be faster than OpenBLAS's own choice on CPUs that it does
 * not know. NULL: its own choice. */
static const struct {
    const char *core;
    bool avx512;
} cores[] = {
    {NULL, false},        {"SkylakeX", true},
    {"Cooperlake", true}, {"SapphireRapids", true},
    {"Zen", false},       {"Haswell", false},
};

static bool start_core(bench_peer *peer, const char *core)
{
    if (!bench_peer_start(peer, NULL, "openblas", core)) {
        return false;
    }
    if (core != NULL && strcasecmp(core, peer->name) != 0) {
        bench_peer_stop(peer); /* it does not accept this core type */
        return false;
    }
    return true;
}

int bench_openblas_start(bench_peer peers[BENCH_PEERS_MAX])
{
    int count = 0;
    bool avx512 = hri_simd_here() == HRI_SIMD_AVX512;
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        bool known = count > 0 && cores[i].core != NULL &&
                     strcasecmp(cores[i].core, peers[0].name) == 0;
        if (!known && (avx512 || !cores[i].avx512) &&
            start_core(&peers[count], cores[i].core)) {
            count++;
        }
    }
    return count;
}

static bench_cblas own; /* the peer's */

static bool open_openblas(const char *core, char *name, size_t size)
{
    if (core != NULL) {
        setenv("OPENBLAS_CORETYPE", core, 1);
    } else {
        unsetenv("OPENBLAS_CORETYPE");
    }
    const bool found = load_openblas(&own) && own.core != NULL;
    snprintf(name, size, "%s", found ? own.core() : "there is no OpenBLAS");
    return found;
}

static bool multiply_once(const bench_request *r, const bench_operands *o)
{
    (void)r;
    const double begin = cli_clock();
    const int before = bench_cblas_begin(&own);
    const bool done = bench_cblas_gemm(&own, o->a, o->b, o->c);
    bench_cblas_end(&own, before);
    const double seconds = cli_clock() - begin;
    if (!done) {
        printf("error not offered\n");
        return false;
    }
    printf("0 %.9f %.9f %.9f\n", seconds, seconds, seconds);
    return true;
}

const bench_library bench_openblas = {open_openblas, multiply_once, false};
