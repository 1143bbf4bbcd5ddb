/* SPDX-License-Identifier: MIT */
#include "bench/peers/peer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/values.h"

extern char **environ;

/* ---- asking a peer */

/* Start it with the given pipe ends as its input and output. */
static bool spawn_process(bench_peer *peer, const char *file,
                          char *const arguments[], const int ends[2])
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool started =
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO) ==
            0 &&
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ==
            0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0) == 0 &&
        posix_spawnp(&peer->process, file, &actions, NULL, arguments,
                     environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    peer->process = started ? peer->process : 0;
    return started;
}

/* Make a pipe with ends that no other peer inherits: the peer must see the end
 * of its input. */
static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

void bench_peer_stop(bench_peer *peer)
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
    *peer = (bench_peer){.process = 0};
}

static bool read_line(bench_peer *peer, char *line, size_t size)
{
    if (fgets(line, (int)size, peer->from) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool is_error(const char *line)
{
    return strncmp(line, "error ", 6) == 0;
}

bool bench_peer_spawn(bench_peer *peer, const char *file,
                      char *const arguments[])
{
    int down[2], up[2];
    *peer = (bench_peer){.process = 0};
    if (!make_pipe(down)) {
        return false;
    }
    if (!make_pipe(up)) {
        close(down[0]);
        close(down[1]);
        return false;
    }
    bool started =
        spawn_process(peer, file, arguments, (int[]){down[0], up[1]});
    close(down[0]);
    close(up[1]);
    peer->to = fdopen(down[1], "w");
    peer->from = fdopen(up[0], "r");
    if (!started || peer->to == NULL || peer->from == NULL ||
        !read_line(peer, peer->name, sizeof peer->name) ||
        peer->name[0] == '\0' || is_error(peer->name)) {
        bench_peer_stop(peer);
        return false;
    }
    return true;
}

bool bench_peer_start(bench_peer *peer, const char *program, const char *which,
                      const char *core)
{
    char words[2][16];
    char *const arguments[] = {(char[]){"headrace-bench"}, (char[]){"peer"},
                               words[0], core != NULL ? words[1] : NULL, NULL};
    snprintf(words[0], sizeof words[0], "%s", which);
    snprintf(words[1], sizeof words[1], "%s", core != NULL ? core : "");
    return bench_peer_spawn(peer, program != NULL ? program : "/proc/self/exe",
                            arguments);
}

bool bench_python_start(bench_peer *peer, const char *text, const char *word)
{
    /* The first of PATH, else the system's. */
    static const char *const files[] = {"python3", "/usr/bin/python3"};
    char option[] = "-c", name[] = "python3";
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *const arguments[] = {name, option, (char *)text, (char *)word,
                                   NULL};
        if (bench_peer_spawn(peer, files[i], arguments)) {
            return true;
        }
    }
    return false;
}

FILE *bench_beside(const char *name, const char *arguments)
{
    char line[400];
    snprintf(line, sizeof line,
             "exec \"$(dirname \"$(readlink /proc/%ld/exe)\")\""
             "/headrace-bench-%s %s 2>/dev/null",
             (long)getpid(), name, arguments);
    return popen(line, "r");
}

bool bench_peer_ask(bench_peer *peer, const char *request, char *line,
                    size_t size)
{
    return peer->to != NULL && fprintf(peer->to, "%s\n", request) > 0 &&
           fflush(peer->to) == 0 && read_line(peer, line, size);
}

/* Read an answer. Blocks before an error do not count. */
static bool read_answer(bench_peer *peer, bench_answer *best, char *error,
                        size_t size)
{
    char line[512];
    bool found = false;
    while (read_line(peer, line, sizeof line)) {
        bench_answer a;
        if (found && strcmp(line, "end") == 0) {
            return true;
        }
        if (sscanf(line, "%d %lf %lf %lf", &a.block, &a.first, &a.best,
                   &a.median) != 4) {
            snprintf(error, size, "%.*s", (int)size - 1,
                     is_error(line) ? line + 6
                                    : "its answer is not understood");
            return false;
        }
        *best = found && best->best <= a.best ? *best : a;
        found = true;
    }
    snprintf(error, size, "its process ended");
    return false;
}

bool bench_peer_run(bench_peer *peer, const bench_request *q,
                    bench_answer *answer, char *error, size_t size)
{
    if (peer->to == NULL) {
        snprintf(error, size, "not there");
        return false;
    }
    fprintf(peer->to,
            "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %s",
            hr_type_name(q->wish.type), q->wish.m, q->wish.n, q->wish.k,
            q->repeat, q->pinned ? "pinned" : "ordinary", q->gpus);
    if (q->wish.count > 1) {
        fprintf(peer->to, " %" PRId64, q->wish.count);
    }
    fputc('\n', peer->to);
    if (fflush(peer->to) != 0) {
        snprintf(error, size, "its process ended");
        return false;
    }
    return read_answer(peer, answer, error, size);
}

/* ---- being a peer */

/* Read the number of products behind the GPUs, if it is there. */
static bool read_count(char *gpus, int64_t *count)
{
    char *end = strchr(gpus, ' ');
    *count = 1;
    if (end != NULL) {
        *end = '\0';
        *count = strtoll(end + 1, &end, 10);
    }
    return (end == NULL || *end == '\0') && *count >= 1;
}

/* Read a request. r->gpus points into the line. */
static bool read_request(char *line, bench_request *r)
{
    char type[8], memory[16];
    int gpus = 0;
    bench_operands_wish *w = &r->wish;
    *r = (bench_request){.repeat = 0};
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line,
               "%7s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %15s %n",
               type, &w->m, &w->n, &w->k, &r->repeat, memory, &gpus) != 6 ||
        !cli_take(&cli_type, type, &w->type) || w->type > HR_C64 || w->m < 1 ||
        w->n < 1 || w->k < 1 || r->repeat < 1 ||
        r->repeat > BENCH_PEER_REPEATS || !read_count(line + gpus, &w->count)) {
        return false;
    }
    w->c_type = w->type;
    r->pinned = strcmp(memory, "pinned") == 0;
    r->gpus = line + gpus;
    return r->pinned || strcmp(memory, "ordinary") == 0;
}

int bench_read_gpus(const char *text, int gpus[BENCH_GPUS_MAX])
{
    for (int count = 0; count < BENCH_GPUS_MAX;) {
        char *end;
        long gpu = strtol(text, &end, 10);
        if (end == text || gpu < 0 || gpu > 1000) {
            return 0;
        }
        gpus[count++] = (int)gpu;
        if (*end != ',') {
            return *end == '\0' ? count : 0;
        }
        text = end + 1;
    }
    return 0;
}

/* Make the operands. Page-locked memory comes from a context of the first GPU.
 * It computes nothing, so it holds none of the GPU's memory. */
static bool make_operands(bench_request *r, hr_context **pinned_context,
                          bench_operands *operands)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "cuda:0";
    if (r->pinned && *pinned_context == NULL &&
        hr_context_create(&options, pinned_context) != HR_OK) {
        return false;
    }
    r->wish.pinned = r->pinned ? *pinned_context : NULL;
    return bench_operands_make(operands, &r->wish);
}

bool bench_peer_is_right(const bench_operands *all)
{
    enum { SAMPLES = 8 };
    const bool wide = all->a.type == HR_F64 || all->a.type == HR_C64;
    const double most =
        (double)(2 * all->a.cols + 4) * (wide ? 0x1p-52 : 0x1p-23);
    for (int i = 0; i < 2; i++) {
        const bench_operands o = bench_operands_at(all, i * (all->count - 1));
        if (!(bench_product_error(o.a, o.b, o.c, SAMPLES) <= most)) {
            return false;
        }
    }
    return true;
}

int bench_be_peer(const char *which, const char *core)
{
    const bench_library *library =
        strcmp(which, "cublasxt") == 0 ? &bench_cublasxt
        : strcmp(which, "cublas") == 0 ? &bench_cublas
                                       : &bench_openblas;
    bench_operands operands = {.pinned = NULL};
    hr_context *pinned_context = NULL;
    char line[1024], name[512] = "";
    bench_request request;
    const bool open = library->open(core, name, sizeof name);
    printf("%s%s\n", open ? "" : "error ", name);
    fflush(stdout);
    while (open && fgets(line, sizeof line, stdin) != NULL) {
        if (!read_request(line, &request) ||
            (request.wish.count > 1 && !library->batches)) {
            printf("error this request is not understood\n");
        } else if (!make_operands(&request, &pinned_context, &operands)) {
            printf("error no memory for the matrices\n");
        } else if (library->answer(&request, &operands)) {
            printf("end\n");
        }
        fflush(stdout);
    }
    bench_operands_free(&operands);
    hr_context_destroy(pinned_context);
    return open ? CLI_OK : CLI_FAILED;
}
