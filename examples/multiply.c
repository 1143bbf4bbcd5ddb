/* SPDX-License-Identifier: MIT */
#include <headrace/headrace.h>
#include <stdio.h>

int main(void)
{
    float a[] = {1, 4, 2, 5, 3, 6}, b[] = {7, 8, 9, 10, 11, 12}, c[9] = {0};
    hr_matrix ma = hr_matrix_row_major(a, HR_F32, 3, 2, 0);
    hr_matrix mb = hr_matrix_row_major(b, HR_F32, 2, 3, 0);
    hr_matrix mc = hr_matrix_row_major(c, HR_F32, 3, 3, 0);
    hr_context *context = NULL;
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK) {
        status = hr_gemm(context, hr_real(1), ma, mb, hr_real(0), mc, NULL);
    }
    for (int i = 0; status == HR_OK && i < 9; i++) {
        printf("%g%c", c[i], i % 3 == 2 ? '\n' : ' ');
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    hr_context_destroy(context);
    return status != HR_OK;
}
