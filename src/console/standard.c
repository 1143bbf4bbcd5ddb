/* SPDX-License-Identifier: MIT */
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
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
    return path != NULL &&
           (strcmp(path, "-") == 0 || strcmp(path, "-.raw") == 0 ||
            strcmp(path, "-.bin") == 0);
}

bool cli_reads_standard(const char *path)
{
    return cli_is_standard(path) ||
           (path != NULL && strncmp(path, "-:", 2) == 0);
}

static const char *folder(void)
{
    const char *chosen = hri_environment("TMPDIR");
    return chosen != NULL && chosen[0] != '\0' ? chosen : "/var/tmp";
}

/* How copying ended. But for COPIED, errno says why. */
typedef enum copied { COPIED, NOT_READ, NOT_WRITTEN } copied;

/* After a call failed: whether it is to be made again. Standard input and
 * output may be such that a call does not wait. Then this waits. */
static bool once_more(int file, short events)
{
    struct pollfd ready = {.fd = file, .events = events};
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return poll(&ready, 1, -1) >= 0 || errno == EINTR;
    }
    return errno == EINTR;
}

static bool write_all(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t written = write(to, bytes, count);
        if (written < 0 && !once_more(to, POLLOUT)) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static copied copy_with(char *chunk, size_t bytes, int from, int to)
{
    for (;;) {
        const ssize_t count = read(from, chunk, bytes);
        if (count == 0) {
            return COPIED;
        }
        if (count < 0 && !once_more(from, POLLIN)) {
            return NOT_READ;
        }
        if (count > 0 && !write_all(to, chunk, (size_t)count)) {
            return NOT_WRITTEN;
        }
    }
}

/* Copy to the end. */
static copied copy(int from, int to)
{
    enum { CHUNK = 1 << 18 };
    char *chunk = malloc(CHUNK);
    if (chunk == NULL) {
        return NOT_READ;
    }
    const copied end = copy_with(chunk, CHUNK, from, to);
    const int error = errno;
    free(chunk);
    errno = error;
    return end;
}

/* Copy standard input into a file without a name, which stays open. path is
 * then a name by which the array that `wanted` means can be opened. */
static int copy_input(const char *wanted, char *path, size_t size)
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
    const copied end = copy(STDIN_FILENO, file);
    if (end == NOT_READ) {
        return cli_fail("standard input: it cannot be read: %s",
                        strerror(errno));
    }
    if (end == NOT_WRITTEN) {
        return cli_fail("standard input: it cannot be copied to %s: %s",
                        folder(), strerror(errno));
    }
    snprintf(path, size, "/proc/self/fd/%d%s", file,
             wanted[1] == ':' ? wanted + 1 : "");
    return CLI_OK;
}

int cli_open(const char *path, const hr_file_array *raw, hr_file **file,
             hr_file_array *array)
{
    char name[PATH_MAX];
    if (!cli_reads_standard(path)) {
        return cli_called(hr_file_open_array(path, raw, file, array));
    }
    HRI_TRY(copy_input(path, name, sizeof name));
    if (hr_file_open_array(name, raw, file, array) == HR_OK) {
        return CLI_OK;
    }
    const char *message = hr_last_error();
    const size_t length = strcspn(name, ":"); /* without the array */
    const bool named = strncmp(message, name, length) == 0;
    return cli_fail("standard input%s%s", named ? "" : ": ",
                    message + (named ? length : 0));
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

void cli_standard_name(const char *output, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/headrace-%ld-%" PRIx64 "%s", folder(),
             (long)getpid(), hri_clock_ns(),
             output[1] != '\0' ? output + 1 : ".npy");
}

int cli_standard_send(const char *path)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    const copied end = from >= 0 ? copy(from, result) : NOT_READ;
    const bool well = end == COPIED && close(result) == 0;
    const int error = errno;
    if (from >= 0) {
        close(from);
    }
    return well ? CLI_OK
           : end == NOT_READ
               ? cli_fail("%s cannot be read: %s", path, strerror(error))
               : cli_fail("cannot write to standard output: %s",
                          strerror(error));
}
