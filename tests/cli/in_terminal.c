/* SPDX-License-Identifier: MIT */
/* in_terminal COMMAND...: run COMMAND with standard error on a terminal of 100
 * columns, and print what came out there, but nothing of its
 * standard output. Exit status: the command's. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_terminal(int *slave)
{
    struct winsize size = {.ws_row = 24, .ws_col = 100};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        return -1;
    }
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (*slave < 0 || ioctl(*slave, TIOCSWINSZ, &size) != 0) {
        return -1;
    }
    return master;
}

int main(int argc, char **argv)
{
    int slave, status = 0;
    int master = open_terminal(&slave);
    if (argc < 2 || master < 0) {
        perror("in_terminal");
        return 77;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(slave, STDERR_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        close(master);
        close(slave);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    close(slave);
    char text[4096];
    ssize_t bytes; /* an error once the command is gone */
    while (child > 0 && (bytes = read(master, text, sizeof text)) > 0) {
        fwrite(text, 1, (size_t)bytes, stdout);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
