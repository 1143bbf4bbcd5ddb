/* SPDX-License-Identifier: MIT */
/* nonblocking COMMAND...: run COMMAND with standard input and output on which
 * calls do not wait. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    for (int file = STDIN_FILENO; file <= STDOUT_FILENO; file++) {
        const int flags = fcntl(file, F_GETFL);
        if (flags < 0 || fcntl(file, F_SETFL, flags | O_NONBLOCK) != 0) {
            perror("nonblocking");
            return 77;
        }
    }
    if (argc > 1) {
        execvp(argv[1], argv + 1);
    }
    perror("nonblocking");
    return 77;
}
