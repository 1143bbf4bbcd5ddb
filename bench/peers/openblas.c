/* SPDX-License-Identifier: MIT */
/* OpenBLAS as a peer, in a process for each of its core types. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/measure.h"
#include "bench/operands.h"
#include "bench/peers/cblas.h"
#include "bench/peers/peer.h"
#include "console/text.h"
#include "console/values.h"

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
    if (good && peer->name[0] != '\0' &&
        (core == NULL || strcasecmp(core, peer->name) == 0)) {
        return true;
    }
    bench_peer_stop(peer);
    return false;
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

bool bench_openblas_run(bench_peer *peer, hr_type type, const int64_t mnk[3],
                        double *seconds)
{
    char line[64];
    if (!bench_peer_ask(peer, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n",
                        hr_type_name(type), mnk[0], mnk[1], mnk[2]) ||
        !bench_peer_read(peer, line, sizeof line)) {
        return false;
    }
    *seconds = strtod(line, NULL);
    return *seconds > 0.0;
}

/* Answer one request; operands are those of the last one. */
static double answer(const bench_cblas *cblas, const char *request,
                     bench_operands *o)
{
    char name[8];
    hr_type type;
    int64_t m, n, k;
    if (sscanf(request, "%7s %" SCNd64 " %" SCNd64 " %" SCNd64, name, &m, &n,
               &k) != 4 ||
        !cli_take_type(name, &type) ||
        !bench_cblas_offers(cblas, type, m, n, k)) {
        return -1.0;
    }
    const bench_operands_wish wish = {
        .type = type, .c_type = type, .m = m, .n = n, .k = k};
    if (!bench_operands_keep(o, &wish)) {
        return -1.0;
    }
    double begin = cli_clock();
    bench_cblas_gemm(cblas, o->a, o->b, o->c);
    return cli_clock() - begin;
}

int bench_be_openblas(void)
{
    bench_cblas cblas;
    bench_operands operands = {.a = {.data = NULL}};
    char request[128];
    bool found = bench_cblas_load_openblas(&cblas);
    printf("%s\n", found ? cblas.core : "");
    fflush(stdout);
    while (found && fgets(request, sizeof request, stdin) != NULL) {
        printf("%.9f\n", answer(&cblas, request, &operands));
        fflush(stdout);
    }
    bench_operands_free(&operands);
    return CLI_OK;
}
