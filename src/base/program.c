/* SPDX-License-Identifier: MIT */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"

extern char **environ;

/* The environment, with LC_ALL=C. NULL: there is no memory. */
static char **english(void)
{
    static char c[] = "LC_ALL=C";
    size_t count = 0, kept = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    char **list = malloc((count + 2) * sizeof list[0]);
    if (list != NULL) {
        for (size_t i = 0; i < count; i++) {
            if (strncmp(environ[i], c, strlen("LC_ALL=")) != 0) {
                list[kept++] = environ[i];
            }
        }
        list[kept++] = c;
        list[kept] = NULL;
    }
    return list;
}

/* Signals that this process ignores or blocks would be so in the program, which
 * waits for children of its own. Its group is its own: what it has started can
 * be ended with it. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &usual);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int set_files(posix_spawn_file_actions_t *files, const char *output)
{
    int error =
        posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(
            files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
    }
    return error != 0 ? error : posix_spawn_file_actions_adddup2(files, 1, 2);
}

/* Returns 0, or an error number. */
static int start(const char *const *arguments, const char *output, pid_t *child)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    char **environment = english();
    int error =
        environment != NULL ? posix_spawnattr_init(&attributes) : ENOMEM;
    if (error != 0) {
        free(environment);
        return error;
    }
    error = posix_spawn_file_actions_init(&files);
    if (error == 0) {
        error = set_attributes(&attributes);
        error = error != 0 ? error : set_files(&files, output);
        if (error == 0) {
            error = posix_spawn(child, arguments[0], &files, &attributes,
                                (char *const *)arguments, environment);
        }
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return error;
}

/* Look whether the child has ended. Where SIGCHLD is ignored, or somebody else
 * has waited for it, its code is lost. */
static bool has_ended(pid_t child, int options, int *code)
{
    int state = 0;
    pid_t ended;
    do {
        ended = waitpid(child, &state, options);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0) {
        *code = HRI_CODE_UNKNOWN;
    } else if (ended == child) {
        *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    }
    return ended != 0;
}

/* Whether it did not start. POSIX lets posix_spawn leave that to its child,
 * which then ends with this code and without a word. Under qemu-user glibc's
 * does. */
static bool has_not_started(int code, const char *output)
{
    enum { NOT_STARTED = 127 };
    struct stat s;
    return code == NOT_STARTED && (stat(output, &s) != 0 || s.st_size == 0);
}

hr_status hri_program_run(const char *const *arguments, const char *output,
                          unsigned seconds, int *code)
{
    enum { MOMENT_NS = 1000000 };
    const uint64_t end_ns = hri_clock_ns() + seconds * UINT64_C(1000000000);
    pid_t child = 0;
    const int error = start(arguments, output, &child);
    if (error == ENOMEM) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory to start it",
                        arguments[0]);
    }
    if (error != 0) {
        char words[128] = "";
        (void)strerror_r(error, words, sizeof words);
        return hri_fail(HR_ERROR_UNAVAILABLE, "%s does not start: %s",
                        arguments[0], words);
    }
    while (!has_ended(child, WNOHANG, code)) {
        if (hri_clock_ns() >= end_ns) {
            kill(-child, SIGKILL);
            (void)has_ended(child, 0, code);
            return hri_fail(HR_ERROR_BACKEND,
                            "%s had not ended after %u seconds and was killed",
                            arguments[0], seconds);
        }
        hri_sleep_ns(MOMENT_NS);
    }
    if (has_not_started(*code, output)) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "%s does not start: its status is %d", arguments[0],
                        *code);
    }
    return HR_OK;
}
