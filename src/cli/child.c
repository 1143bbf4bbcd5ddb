/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start it with the given ends as its input and output. */
static bool spawn(pid_t *process, const char *path, char *const *arguments,
                  char *const *environment, const int ends[2])
{
    pid_t child;
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
        posix_spawn(&child, path, &actions, NULL, arguments, environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (started) {
        *process = child;
    }
    return started;
}

/* A pipe whose ends no other child inherits: it must see its input end. */
static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

void cli_child_stop(cli_child *child)
{
    if (child->to != NULL) {
        fclose(child->to);
    }
    if (child->from != NULL) {
        fclose(child->from);
    }
    if (child->process > 0) {
        waitpid(child->process, NULL, 0);
    }
    *child = (cli_child){.process = 0};
}

bool cli_child_start(cli_child *child, const char *path, char *const *arguments,
                     char *const *environment)
{
    int down[2], up[2];
    *child = (cli_child){.process = 0};
    if (!make_pipe(down)) {
        return false;
    }
    if (!make_pipe(up)) {
        close(down[0]);
        close(down[1]);
        return false;
    }
    bool started = spawn(&child->process, path, arguments, environment,
                         (int[]){down[0], up[1]});
    close(down[0]);
    close(up[1]);
    child->to = fdopen(down[1], "w");
    child->from = fdopen(up[0], "r");
    if (!started || child->to == NULL || child->from == NULL) {
        cli_child_stop(child);
        return false;
    }
    return true;
}

bool cli_child_read(cli_child *child, char *line, size_t size)
{
    if (fgets(line, (int)size, child->from) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}
