/* SPDX-License-Identifier: MIT */
/* The protocol, in lines of text: the peer begins with its core type ("" when
 * there is no OpenBLAS); to each "TYPE M N K" it answers the seconds of one
 * product, negative when it cannot. At the end of its input it exits. */
#include "peer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "args.h"
#include "cblas.h"
#include "commands.h"
#include "machine.h"
#include "operands.h"
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

/* Start this program again with the given ends as its input and output. */
static bool spawn(pid_t *process, char **environment, int in, int out)
{
    pid_t child;
    char *arguments[] = {(char[]){"headrace"}, (char[]){"bench-peer"}, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool started =
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0) == 0 &&
        posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments,
                    environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (started) {
        *process = child;
    }
    return started;
}

/* A pipe whose ends no other peer inherits: it must see its input end. */
static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static void stop(cli_peer *peer)
{
    if (peer->to != NULL) {
        fclose(peer->to);
    }
    if (peer->from != NULL) {
        fclose(peer->from);
    }
    if (peer->process > 0) {
        waitpid(peer->process, NULL, 0);
    }
    *peer = (cli_peer){.process = 0};
}

/* Both pipes and the process; what was made is in *peer even if it fails. */
static bool connect_peer(cli_peer *peer, char **environment)
{
    int down[2], up[2];
    if (!make_pipe(down)) {
        return false;
    }
    if (!make_pipe(up)) {
        close(down[0]);
        close(down[1]);
        return false;
    }
    bool started = spawn(&peer->process, environment, down[0], up[1]);
    close(down[0]);
    close(up[1]);
    peer->to = fdopen(down[1], "w");
    peer->from = fdopen(up[0], "r");
    return started && peer->to != NULL && peer->from != NULL;
}

static bool start(cli_peer *peer, const char *core)
{
    char variable[64];
    *peer = (cli_peer){.process = 0};
    char **environment = make_environment(core, variable, sizeof variable);
    bool good = environment != NULL && connect_peer(peer, environment) &&
                fgets(peer->core, sizeof peer->core, peer->from) != NULL;
    free(environment);
    peer->core[strcspn(peer->core, "\n")] = '\0';
    if (good && peer->core[0] != '\0' &&
        (core == NULL || strcasecmp(core, peer->core) == 0)) {
        return true;
    }
    stop(peer);
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
    fprintf(peer->to, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n",
            hr_type_name(type), mnk[0], mnk[1], mnk[2]);
    if (fflush(peer->to) != 0 || fgets(line, sizeof line, peer->from) == NULL) {
        return false;
    }
    *seconds = strtod(line, NULL);
    return *seconds > 0.0;
}

void cli_peers_stop(cli_peer *peers, int count)
{
    for (int i = 0; i < count; i++) {
        stop(&peers[i]);
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
        if (!cli_operands_create(o, type, m, n, k)) {
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
