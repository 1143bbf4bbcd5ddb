/* SPDX-License-Identifier: MIT */
/* The protocol is described in bench/peers/cublasxt.c. */
#include "cublasxt.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* The program's path: what the environment says, else beside this one. */
static bool find_program(char *path, size_t size)
{
    static const char name[] = "/headrace-cublasxt";
    const char *wish = getenv("HEADRACE_CUBLASXT");
    if (wish != NULL && wish[0] != '\0') {
        return snprintf(path, size, "%s", wish) < (int)size;
    }
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0) {
        return false;
    }
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    size_t room = slash != NULL ? size - (size_t)(slash - path) : 0;
    if (room < sizeof name) {
        return false;
    }
    memcpy(slash, name, sizeof name);
    return true;
}

bool cli_xt_start(cli_xt *xt)
{
    char path[PATH_MAX];
    char *arguments[] = {(char[]){"headrace-cublasxt"}, NULL};
    *xt = (cli_xt){.name = ""};
    if (!find_program(path, sizeof path) || access(path, X_OK) != 0 ||
        !cli_child_start(&xt->child, path, arguments, environ)) {
        return false;
    }
    if (!cli_child_read(&xt->child, xt->name, sizeof xt->name) ||
        strncmp(xt->name, "error ", 6) == 0) {
        cli_child_stop(&xt->child);
        return false;
    }
    return true;
}

/* Read one answer. Blocks before an error do not count. */
static bool read_answer(cli_xt *xt, cli_xt_result *result, char *error,
                        size_t size)
{
    char line[512];
    cli_xt_result best = {.block = 0};
    while (cli_child_read(&xt->child, line, sizeof line)) {
        cli_xt_result r;
        if (strcmp(line, "end") == 0 && best.block > 0) {
            *result = best;
            return true;
        }
        if (sscanf(line, "%d %lf %lf %lf", &r.block, &r.first, &r.best,
                   &r.median) == 4) {
            best = best.block == 0 || r.best < best.best ? r : best;
            continue;
        }
        bool sentence = strncmp(line, "error ", 6) == 0;
        snprintf(error, size, "%.*s", (int)size - 1,
                 sentence ? line + 6 : "its answer is not understood");
        return false;
    }
    snprintf(error, size, "its process ended");
    return false;
}

bool cli_xt_run(cli_xt *xt, const cli_xt_request *q, cli_xt_result *result,
                char *error, size_t size)
{
    if (xt->child.to == NULL) {
        snprintf(error, size, "not there");
        return false;
    }
    fprintf(xt->child.to,
            "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %s\n",
            q->type, q->m, q->n, q->k, q->repeat,
            q->pinned ? "pinned" : "ordinary", q->gpus);
    if (fflush(xt->child.to) != 0) {
        snprintf(error, size, "its process ended");
        return false;
    }
    return read_answer(xt, result, error, size);
}

void cli_xt_stop(cli_xt *xt)
{
    cli_child_stop(&xt->child);
}
