/* SPDX-License-Identifier: MIT */
/* Small numbers, so that the result is exact. */
#include <stdio.h>

#include "axpy.h"

enum { N = 100003 };
static float x[N], y[N];

int main(void)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 1000);
        y[i] = (float)(i % 77);
    }
    if (axpy(3.0f, x, y, N) != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
        return 1;
    }
    for (int i = 0; i < N; i++) {
        wrong += y[i] != (float)(3 * (i % 1000) + i % 77);
    }
    if (wrong > 0) {
        fprintf(stderr, "%d of %d elements are wrong\n", wrong, N);
    }
    return wrong > 0;
}
