/* SPDX-License-Identifier: MIT */
/* A library that makes the file "loaded" in the working directory when it is
 * loaded. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_file(void)
{
    const int file = open("loaded", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        close(file);
    }
}
