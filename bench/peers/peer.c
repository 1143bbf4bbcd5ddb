/* SPDX-License-Identifier: MIT */
#include "bench/peers/peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start it with the given ends as its input and output. */
static bool spawn(bench_peer *peer, const char *path, const char *which,
                  char *const *environment, const int ends[2])
{
    char word[16];
    char *arguments[] = {(char[]){"headrace-bench"}, (char[]){"peer"}, word,
                         NULL};
    posix_spawn_file_actions_t actions;
    snprintf(word, sizeof word, "%s", which);
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
        posix_spawn(&peer->process, path, &actions, NULL, arguments,
                    environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    peer->process = started ? peer->process : 0;
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

bool bench_peer_start(bench_peer *peer, const char *which, const char *program,
                      char *const *environment)
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
    bool started = spawn(peer, program != NULL ? program : "/proc/self/exe",
                         which, environment, (int[]){down[0], up[1]});
    close(down[0]);
    close(up[1]);
    peer->to = fdopen(down[1], "w");
    peer->from = fdopen(up[0], "r");
    if (!started || peer->to == NULL || peer->from == NULL ||
        !bench_peer_read(peer, peer->name, sizeof peer->name)) {
        bench_peer_stop(peer);
        return false;
    }
    return true;
}

bool bench_peer_read(bench_peer *peer, char *line, size_t size)
{
    if (fgets(line, (int)size, peer->from) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}

bool bench_peer_ask(bench_peer *peer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(peer->to, format, arguments);
    va_end(arguments);
    return fflush(peer->to) == 0;
}

int bench_be_peer(const char *which)
{
    return strcmp(which, "cublasxt") == 0 ? bench_be_cublasxt()
                                          : bench_be_openblas();
}
