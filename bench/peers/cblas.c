/* SPDX-License-Identifier: MIT */
/* A CBLAS called directly; and OpenBLAS as a peer, in a process for each of its
 * core types. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/text.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 }; /* of the CBLAS interface */

typedef void (*sgemm)(int, int, int, int, int, int, float, const void *, int,
                      const void *, int, float, void *, int);
typedef void (*dgemm)(int, int, int, int, int, int, double, const void *, int,
                      const void *, int, double, void *, int);
typedef void (*zgemm)(int, int, int, int, int, int, const void *, const void *,
                      int, const void *, int, const void *, void *, int);

/* ISO C has no cast from an object to a function pointer. */
bool bench_resolve(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool fill(bench_cblas *cblas, void *library, const char *name)
{
    *cblas = (bench_cblas){.core = ""};
    if (library == NULL ||
        !bench_resolve(library, "cblas_sgemm", &cblas->gemm[HR_F32]) ||
        !bench_resolve(library, "cblas_dgemm", &cblas->gemm[HR_F64])) {
        return false;
    }
    bench_resolve(library, "cblas_cgemm", &cblas->gemm[HR_C32]);
    bench_resolve(library, "cblas_zgemm", &cblas->gemm[HR_C64]);
    bench_resolve(library, "openblas_set_num_threads", &cblas->set_threads);
    bench_resolve(library, "openblas_get_num_threads", &cblas->get_threads);
    bench_resolve(library, "openblas_get_num_procs", &cblas->get_processors);
    char *(*core)(void);
    if (bench_resolve(library, "openblas_get_corename", &core)) {
        snprintf(cblas->core, sizeof cblas->core, "%s", core());
    }
    const char *slash = strrchr(name, '/');
    snprintf(cblas->name, sizeof cblas->name, "%.40s%s%s",
             slash != NULL ? slash + 1 : name, cblas->core[0] ? " " : "",
             cblas->core);
    return true;
}

/* The first of names, of which some may be absent, that dlopen gives. */
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

void bench_cblas_gemm(const bench_cblas *cblas, const bench_operands *o)
{
    bool threads = cblas->set_threads != NULL && cblas->get_threads != NULL &&
                   cblas->get_processors != NULL;
    int before = threads ? cblas->get_threads() : 0;
    if (threads) { /* Headrace may have set fewer, for its own threads */
        cblas->set_threads(cblas->get_processors());
    }
    call(cblas, o->a, o->b, o->c);
    if (threads) {
        cblas->set_threads(before);
    }
}

/* ---- OpenBLAS as a peer */

#define CORE_VARIABLE "OPENBLAS_CORETYPE="

/* What may be faster than OpenBLAS's own choice on CPUs that it does not know.
 * NULL: its own choice. */
static const struct {
    const char *core;
    bool avx512;
} cores[] = {
    {NULL, false},        {"SkylakeX", true},
    {"Cooperlake", true}, {"SapphireRapids", true},
    {"Zen", false},       {"Haswell", false},
};

extern char **environ;

/* The environment with another core type; one block, to be freed. */
static char **make_environment(const char *core, char *variable, size_t size)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **copy = calloc(count + 2, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        if (strncmp(environ[i], CORE_VARIABLE, strlen(CORE_VARIABLE)) != 0) {
            copy[kept++] = environ[i];
        }
    }
    if (copy != NULL && core != NULL) {
        snprintf(variable, size, "%s%s", CORE_VARIABLE, core);
        copy[kept] = variable;
    }
    return copy;
}

static bool start(bench_peer *peer, const char *core)
{
    char variable[64];
    char **environment = make_environment(core, variable, sizeof variable);
    bool good = environment != NULL &&
                bench_peer_start(peer, "openblas", NULL, environment);
    free(environment);
    if (good && core != NULL && strcasecmp(core, peer->name) != 0) {
        bench_peer_stop(peer); /* it does not accept this one */
        good = false;
    }
    return good;
}

int bench_openblas_start(bench_peer peers[BENCH_PEERS_MAX])
{
    int count = 0;
    bool avx512 = bench_cpu_has("avx512f");
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

static bench_cblas own; /* of the peer */

static bool open_openblas(char *name, size_t size)
{
    const bool found = load_openblas(&own);
    snprintf(name, size, "%s", found ? own.core : "there is no OpenBLAS");
    return found;
}

static bool multiply_once(const bench_request *r, const bench_operands *o)
{
    const bench_operands_wish *w = &r->wish;
    if (!bench_cblas_offers(&own, w->type, w->m, w->n, w->k)) {
        printf("error not offered\n");
        return false;
    }
    const double begin = cli_clock();
    bench_cblas_gemm(&own, o);
    const double seconds = cli_clock() - begin;
    printf("0 %.9f %.9f %.9f\n", seconds, seconds, seconds);
    return true;
}

const bench_library bench_openblas = {open_openblas, multiply_once};
