/* SPDX-License-Identifier: MIT */
/* The side by hand for the host: C with OpenMP, where the build found it. */
#include "bench/dialect/dialect.h"

#include "base/status.h"

#ifdef _OPENMP

#include <omp.h>
#include <stdlib.h>

typedef struct host_side {
    dialect_problem *problem;
} host_side;

/* In blocks of 32 x 32 elements, 8 rows at a time like the kernel. */
static void transpose_array(const float *restrict from, float *restrict to,
                            int rows, int cols)
{
    enum { EDGE = 32 };
#pragma omp parallel for schedule(dynamic)
    for (int top = 0; top < rows; top += EDGE) {
        for (int left = 0; left < cols; left += EDGE) {
            float block[EDGE][EDGE + 1];
            for (int y = 0; y < 4; y++) {
                for (int x = 0; x < EDGE; x++) {
                    float own[8];
                    for (int i = 0; i < 8; i++) {
                        int r = top + y + i * 4;
                        own[i] = r < rows && left + x < cols
                                     ? from[r * cols + left + x]
                                     : 0.0f;
                    }
                    for (int i = 0; i < 8; i++) {
                        block[y + i * 4][x] = own[i];
                    }
                }
            }
            for (int y = 0; y < 4; y++) {
                for (int x = 0; x < EDGE; x++) {
                    for (int i = 0; i < 8; i++) {
                        int r = left + y + i * 4;
                        if (r < cols && top + x < rows) {
                            to[r * rows + top + x] = block[x][y + i * 4];
                        }
                    }
                }
            }
        }
    }
}

static void multiply_arrays(const float *restrict a, const float *restrict b,
                            float *restrict c, int m, int n, int k)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int p = 0; p < k; p++) {
                sum += a[i * k + p] * b[p * n + j];
            }
            c[i * n + j] = sum;
        }
    }
}

/* Part p of x counts in row p. */
static void count_parts(const float *restrict x, float *restrict parts,
                        int rows, int bins, int n, int items)
{
    const int many = (n + rows * items - 1) / (rows * items) * items;
#pragma omp parallel for schedule(dynamic)
    for (int p = 0; p < rows; p++) {
        int own[1024] = {0};
        for (int64_t k = (int64_t)p * many;
             k < n && k < (int64_t)(p + 1) * many; k++) {
            own[(int)(x[k] * 4096.0f) & (bins - 1)]++;
        }
        for (int b = 0; b < bins; b++) {
            parts[p * bins + b] = (float)own[b];
        }
    }
}

static hr_status keep_problem(void *data, dialect_problem *p)
{
    ((host_side *)data)->problem = p;
    return HR_OK;
}

static hr_status run_loop(void *data, int times)
{
    const dialect_problem *p = ((host_side *)data)->problem;
    float *const *x = p->arrays;
    const int *n = p->numbers;
    for (int i = 0; i < times; i++) {
        if (p->kind == DIALECT_TRANSPOSE) {
            transpose_array(x[0], x[1], n[0], n[1]);
        } else if (p->kind == DIALECT_MULTIPLY) {
            multiply_arrays(x[0], x[1], x[2], n[0], n[1], n[2]);
        } else if (p->kind == DIALECT_HISTOGRAM) {
            count_parts(x[0], x[1], n[0], n[1], n[2], (int)p->work->items[0]);
        }
    }
    return HR_OK;
}

hr_status dialect_host_open(const hr_accelerator_info *info, dialect_side *side)
{
    host_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    omp_set_num_threads((int)info->compute_units); /* as many as the dialect
                                                      has */
    *side = (dialect_side){
        .prepare = keep_problem, .launch = run_loop, .close = free, .data = s};
    return HR_OK;
}

#else

hr_status dialect_host_open(const hr_accelerator_info *info, dialect_side *side)
{
    (void)info, (void)side;
    return hri_fail(HR_ERROR_UNAVAILABLE,
                    "this program was built without OpenMP");
}

#endif
