/* SPDX-License-Identifier: MIT */
/* A CBLAS called directly, and OpenBLAS as a peer, in one process for each of
 * its core types. */
#include <dlfcn.h>
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

static bool fill(bench_cblas *cblas, void *library, const char *name)
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
static bool find(bench_cblas *cblas, const char *const *names, size_t count,
                 int mode)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i] != NULL && names[i][0] != '\0' &&
            fill(cblas, dlopen(names[i], mode), names[i])) {
            return true;
        }
    }
    return false;
}

static bool load_openblas(bench_cblas *cblas)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    return find(cblas, names, sizeof names / sizeof names[0], RTLD_NOW);
}

bool bench_cblas_find(bench_cblas *cblas)
{
    const char *names[] = {getenv("HEADRACE_CBLAS"), "libopenblas.so.0",
                           "libopenblas.so",         "libopenblasp.so.0",
                           "libblis.so.4",           "libblis.so.3",
                           "libmkl_rt.so.2",         "libmkl_rt.so.1",
                           "libcblas.so.3",          "libblas.so.3"};
    return find(cblas, names, sizeof names / sizeof names[0],
                RTLD_NOW | RTLD_NOLOAD) ||
           load_openblas(cblas);
}

static hri_operand operand_of(hr_matrix m)
{
    return (hri_operand){
        .place.host = m.data, .row_stride = m.cols, .col_stride = 1};
}

bool bench_cblas_product(const bench_cblas *cblas, hr_matrix a, hr_matrix b,
                         hr_matrix c)
{
    const hri_gemm gemm = {.type = a.type,
                           .c_type = c.type,
                           .m = c.rows,
                           .n = c.cols,
                           .k = a.cols,
                           .alpha = hr_real(1.0),
                           .beta = hr_real(0.0),
                           .a = operand_of(a),
                           .b = operand_of(b),
                           .c = operand_of(c)};
    return hri_cblas_gemm(&cblas->products, 0, &gemm);
}

void bench_cblas_use(const bench_cblas *cblas, int threads)
{
    if (cblas->set_threads != NULL && cblas->get_processors != NULL) {
        const int all = cblas->get_processors();
        cblas->set_threads(all < threads ? all : threads);
    }
}

bool bench_cblas_gemm(const bench_cblas *cblas, const bench_operands *o)
{
    const int before = cblas->get_threads != NULL ? cblas->get_threads() : 0;
    bench_cblas_use(cblas, (int)hri_thread_count()); /* as Headrace */
    const bool done = bench_cblas_product(cblas, o->a, o->b, o->c);
    if (before > 0) {
        bench_cblas_use(cblas, before);
    }
    return done;
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

static bool start(bench_peer *peer, const char *core)
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
            start(&peers[count], cores[i].core)) {
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
    if (!bench_cblas_gemm(&own, o)) {
        printf("error not offered\n");
        return false;
    }
    const double seconds = cli_clock() - begin;
    printf("0 %.9f %.9f %.9f\n", seconds, seconds, seconds);
    return true;
}

const bench_library bench_openblas = {open_openblas, multiply_once};
