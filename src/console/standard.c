/* SPDX-License-Identifier: MIT */
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "context.h"

static int result = -1;         /* the standard output that was kept */
static bool input_read = false; /* standard input has been copied */

bool cli_is_standard(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static const char *folder(void)
{
    const char *chosen = hri_environment("TMPDIR");
    return chosen != NULL && chosen[0] != '\0' ? chosen : "/var/tmp";
}

static bool write_all(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t written = write(to, bytes, count);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Copy to the end. False, with errno, when a byte could not be read or
 * written. */
static bool copy(int from, int to)
{
    enum { PIECE = 1 << 18 };
    char *piece = malloc(PIECE);
    bool well = piece != NULL;
    for (ssize_t count = 1; well && count != 0;) {
        count = read(from, piece, PIECE);
        well = count > 0 ? write_all(to, piece, (size_t)count)
                         : count == 0 || errno == EINTR;
    }
    const int error = errno;
    free(piece);
    errno = error;
    return well;
}

/* Copy standard input into a file without a name, which stays open. path is
 * then a name by which it can be opened. */
static int copy_input(char *path, size_t size)
{
    char name[PATH_MAX];
    if (input_read) {
        return cli_fail("only one file can be standard input");
    }
    input_read = true;
    snprintf(name, sizeof name, "%s/headrace-XXXXXX", folder());
    const int file = mkstemp(name);
    if (file < 0) {
        return cli_fail("standard input: no copy can be made in %s: %s",
                        folder(), strerror(errno));
    }
    unlink(name);
    if (!copy(STDIN_FILENO, file)) {
        return cli_fail("standard input: it cannot be copied to %s: %s",
                        folder(), strerror(errno));
    }
    snprintf(path, size, "/proc/self/fd/%d", file);
    return CLI_OK;
}

int cli_open(const char *path, hr_npy **file, hr_matrix *matrix)
{
    char name[32];
    if (!cli_is_standard(path)) {
        return cli_called(hr_npy_open(path, file, matrix));
    }
    int status = copy_input(name, sizeof name);
    if (status == CLI_OK && hr_npy_open(name, file, matrix) != HR_OK) {
        const char *message = hr_last_error();
        const size_t length = strlen(name);
        const bool named = strncmp(message, name, length) == 0;
        status = cli_fail("standard input%s%s", named ? "" : ": ",
                          message + (named ? length : 0));
    }
    return status;
}

int cli_standard_reserve(const cli_command *command)
{
    if (isatty(STDOUT_FILENO)) {
        return cli_wrong(command, "-o -: standard output is a terminal");
    }
    result = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (result < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        return cli_fail("standard output cannot be used: %s", strerror(errno));
    }
    return CLI_OK;
}

void cli_standard_name(char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/headrace-%ld-%" PRIx64 ".npy", folder(),
             (long)getpid(), hri_clock_ns());
}

int cli_standard_send(const char *path)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    const bool well = from >= 0 && copy(from, result) && close(result) == 0;
    const int error = errno;
    if (from >= 0) {
        close(from);
    }
    return well ? CLI_OK
                : cli_fail("cannot write to standard output: %s",
                           strerror(error));
}
