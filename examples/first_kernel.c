/* SPDX-License-Identifier: MIT */
/* A first kernel: c = a + b on all accelerators. The kernel is in
 * kernels/first_kernel.c. */
#include <headrace/headrace.h>
#include <stdio.h>

extern const hr_kernel add;

int main(void)
{
    float a[] = {1, 2, 3, 4, 5}, b[] = {10, 20, 30, 40, 50}, c[5];
    hr_status status =
        hr_run(NULL, &add, hr_extent1(5),
               HR_ARGUMENTS(hr_in(a, 5), hr_in(b, 5), hr_out(c, 5)), NULL);
    for (int i = 0; i < 5 && status == HR_OK; i++) {
        printf("%g%c", c[i], i == 4 ? '\n' : ' ');
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    return status != HR_OK;
}
