/* SPDX-License-Identifier: MIT */
/* A library that never lets its program exit, as OpenBLAS does not when its
 * threads wait for memory. */
#include <unistd.h>

__attribute__((destructor)) static void hang(void)
{
    for (;;) {
        pause();
    }
}
