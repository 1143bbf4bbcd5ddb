/* SPDX-License-Identifier: MIT */
/* headrace bench: replaces itself by headrace-bench, which lies beside this
 * program and has the options and the help. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

static bool find_program(char *path, size_t size)
{
    static const char name[] = "/headrace-bench";
    ssize_t length = readlink("/proc/self/exe", path, size - sizeof name);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        memcpy(slash, name, sizeof name);
    }
    return slash != NULL;
}

static int run(int argc, char **argv)
{
    char path[PATH_MAX];
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (arguments == NULL) {
        return cli_fail("out of memory");
    }
    if (!find_program(path, sizeof path)) {
        free(arguments);
        return cli_fail("bench: the folder of this program is not known");
    }
    arguments[0] = path;
    memcpy(arguments + 1, argv, (size_t)argc * sizeof *argv);
    execv(path, arguments);
    int error = errno;
    free(arguments);
    return cli_fail("bench needs the program %s: %s", path, strerror(error));
}

const cli_command cli_bench = {
    .name = "bench",
    .summary = "measure this machine, beside other libraries",
    .run = run,
};
