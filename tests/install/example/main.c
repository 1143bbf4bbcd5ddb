/* SPDX-License-Identifier: MIT */
/* A program outside the tree: the product of a 3x2 and a 2x3 matrix. */
#include <headrace/headrace.h>
#include <stdio.h>

static const float a[3][2] = {{1, 4}, {2, 5}, {3, 6}};
static const float b[2][3] = {{7, 8, 9}, {10, 11, 12}};
static const float product[3][3] = {{47, 52, 57}, {64, 71, 78}, {81, 90, 99}};

static hr_status multiply(hr_context *context, float c[3][3])
{
    return hr_gemm(context, hr_real(1.0),
                   hr_matrix_row_major(a, HR_F32, 3, 2, 0),
                   hr_matrix_row_major(b, HR_F32, 2, 3, 0), hr_real(0.0),
                   hr_matrix_row_major(c, HR_F32, 3, 3, 0), NULL);
}

static int differences(float c[3][3])
{
    int count = 0;
    for (int i = 0; i < 9; i++) {
        count += c[i / 3][i % 3] != product[i / 3][i % 3];
    }
    return count;
}

int main(void)
{
    float c[3][3] = {{0}};
    hr_context *context = NULL;
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK) {
        status = multiply(context, c);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    hr_context_destroy(context);
    return status != HR_OK || differences(c) > 0;
}
