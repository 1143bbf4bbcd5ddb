/* SPDX-License-Identifier: MIT */
/* The protocol, in lines of text: the peer begins with its core type ("" when
 * there is no OpenBLAS); to each "TYPE M N K" it answers the seconds of one
 * product, negative when it cannot. At the end of its input it exits. */
#include "peer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "args.h"
#include "cblas.h"
#include "commands.h"
#include "machine.h"
#include "operands.h"
#include "product.h"
#include "text.h"
#include "values.h"

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

static bool start(cli_peer *peer, const char *core)
{
    char variable[64];
    char *arguments[] = {(char[]){"headrace"}, (char[]){"bench-peer"}, NULL};
    *peer = (cli_peer){.core = ""};
    char **environment = make_environment(core, variable, sizeof variable);
    bool good = environment != NULL &&
                cli_child_start(&peer->child, "/proc/self/exe", arguments,
                                environment) &&
                cli_child_read(&peer->child, peer->core, sizeof peer->core);
    free(environment);
    if (good && peer->core[0] != '\0' &&
        (core == NULL || strcasecmp(core, peer->core) == 0)) {
        return true;
    }
    cli_child_stop(&peer->child);
    return false;
}

int cli_peers_start(cli_peer peers[CLI_PEERS_MAX])
{
    int count = 0;
    bool avx512 = cli_cpu_has("avx512f");
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        bool known = count > 0 && cores[i].core != NULL &&
                     strcasecmp(cores[i].core, peers[0].core) == 0;
        if (!known && (avx512 || !cores[i].avx512) &&
            start(&peers[count], cores[i].core)) {
            count++;
        }
    }
    return count;
}

bool cli_peer_run(cli_peer *peer, hr_type type, const int64_t mnk[3],
                  double *seconds)
{
    char line[64];
    fprintf(peer->child.to, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n",
            hr_type_name(type), mnk[0], mnk[1], mnk[2]);
    if (fflush(peer->child.to) != 0 ||
        !cli_child_read(&peer->child, line, sizeof line)) {
        return false;
    }
    *seconds = strtod(line, NULL);
    return *seconds > 0.0;
}

void cli_peers_stop(cli_peer *peers, int count)
{
    for (int i = 0; i < count; i++) {
        cli_child_stop(&peers[i].child);
    }
}

/* Answer one request; operands are those of the last one. */
static double answer(const cli_cblas *cblas, const char *request,
                     cli_operands *o)
{
    char name[8];
    hr_type type;
    int64_t m, n, k;
    if (sscanf(request, "%7s %" SCNd64 " %" SCNd64 " %" SCNd64, name, &m, &n,
               &k) != 4 ||
        !cli_take_type(name, &type) ||
        !cli_cblas_offers(cblas, type, m, n, k)) {
        return -1.0;
    }
    if (o->a.type != type || o->c.rows != m || o->c.cols != n ||
        o->a.cols != k) {
        cli_operands_free(o);
        const cli_operands_wish wish = {type, cli_default_type(type), m, n, k,
                                        NULL};
        if (!cli_operands_create(o, &wish)) {
            return -1.0;
        }
    }
    double begin = cli_clock();
    cli_cblas_gemm(cblas, o->a, o->b, o->c);
    return cli_clock() - begin;
}

int cli_bench_peer(void)
{
    cli_cblas cblas;
    cli_operands operands = {.a = {.data = NULL}};
    char request[128];
    bool found = cli_cblas_load_openblas(&cblas);
    printf("%s\n", found ? cblas.core : "");
    fflush(stdout);
    while (found && fgets(request, sizeof request, stdin) != NULL) {
        printf("%.9f\n", answer(&cblas, request, &operands));
        fflush(stdout);
    }
    cli_operands_free(&operands);
    return CLI_OK;
}
