/* SPDX-License-Identifier: MIT */
/* more_rights [ACCELERATORS]: opens the list, or what a context opens without
 * one, and multiplies two numbers. Exits with 77 when it has no more rights
 * than its caller. */
#include <stdio.h>
#include <sys/auxv.h>

#include <headrace/headrace.h>

int main(int argc, char **argv)
{
    float a = 2, b = 3, c = 0;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    if (getauxval(AT_SECURE) == 0) {
        return 77;
    }
    options.accelerators = argc > 1 ? argv[1] : NULL;
    if (hr_context_create(&options, &context) != HR_OK ||
        hr_gemm(context, hr_real(1), hr_matrix_row_major(&a, HR_F32, 1, 1, 0),
                hr_matrix_row_major(&b, HR_F32, 1, 1, 0), hr_real(0),
                hr_matrix_row_major(&c, HR_F32, 1, 1, 0), NULL) != HR_OK) {
        printf("%s\n", hr_last_error());
        hr_context_destroy(context);
        return 1;
    }
    hr_context_destroy(context);
    printf("%g\n", (double)c);
    return 0;
}
