/* SPDX-License-Identifier: MIT */
/* Many small products in one call: 1000 groups of 8 points, each group rotated
 * by an angle of its own. */
#include <headrace/headrace.h>
#include <math.h>
#include <stdio.h>

enum { GROUPS = 1000, POINTS = 8, AXES = 2 };

static float rotations[GROUPS][AXES][AXES], points[GROUPS][AXES][POINTS],
    rotated[GROUPS][AXES][POINTS];

static void make(void)
{
    for (int g = 0; g < GROUPS; g++) {
        const float angle = 0.001f * (float)g;
        rotations[g][0][0] = rotations[g][1][1] = cosf(angle);
        rotations[g][0][1] = -sinf(angle);
        rotations[g][1][0] = sinf(angle);
        for (int p = 0; p < POINTS; p++) {
            points[g][0][p] = (float)p;
            points[g][1][p] = 1.0f;
        }
    }
}

int main(void)
{
    hr_context *context = NULL;
    hr_status status = hr_context_create(NULL, &context);
    make();
    if (status == HR_OK) { /* each group by its own matrix */
        status = hr_gemm_batch(
            context, GROUPS, hr_real(1),
            hr_matrices_strided(
                hr_matrix_row_major(rotations, HR_F32, AXES, AXES, 0),
                AXES * AXES),
            hr_matrices_strided(
                hr_matrix_row_major(points, HR_F32, AXES, POINTS, 0),
                AXES * POINTS),
            hr_real(0),
            hr_matrices_strided(
                hr_matrix_row_major(rotated, HR_F32, AXES, POINTS, 0),
                AXES * POINTS),
            NULL);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    for (int g = 0; g < GROUPS && status == HR_OK; g += 250) {
        printf("group %3d: (%.3f, %.3f)\n", g, (double)rotated[g][0][7],
               (double)rotated[g][1][7]);
    }
    hr_context_destroy(context);
    return status != HR_OK;
}
