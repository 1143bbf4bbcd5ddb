/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "axpy.h"

int main(void)
{
    const float x[] = {1, 2, 3, 4, 5};
    float y[] = {10, 20, 30, 40, 50};
    if (axpy(2.0f, x, y, 5) != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
        return 1;
    }
    for (int i = 0; i < 5; i++) {
        printf("%g%c", y[i], i == 4 ? '\n' : ' ');
    }
    return 0;
}
