/* SPDX-License-Identifier: MIT */
#include "calls/reduction.h"

#include <math.h>

extern const hr_kernel hri_reduce_f32_cells, hri_reduce_f64_cells,
    hri_reduce_f16_cells, hri_reduce_bf16_cells, hri_reduce_i8_cells,
    hri_reduce_i32_cells, hri_reduce_i8_exact_cells, hri_reduce_i32_exact_cells;
extern const hr_kernel hri_reduce_f32_lines, hri_reduce_f64_lines,
    hri_reduce_f16_lines, hri_reduce_bf16_lines, hri_reduce_i8_lines,
    hri_reduce_i32_lines, hri_reduce_i8_exact_lines, hri_reduce_i32_exact_lines;

const hr_kernel *hri_reduction_kernel(hr_type type, bool exact, bool cells)
{
    static const hr_kernel *const plain[][2] = {
        [HR_F32] = {&hri_reduce_f32_lines, &hri_reduce_f32_cells},
        [HR_F64] = {&hri_reduce_f64_lines, &hri_reduce_f64_cells},
        [HR_F16] = {&hri_reduce_f16_lines, &hri_reduce_f16_cells},
        [HR_BF16] = {&hri_reduce_bf16_lines, &hri_reduce_bf16_cells},
        [HR_I8] = {&hri_reduce_i8_lines, &hri_reduce_i8_cells},
        [HR_I32] = {&hri_reduce_i32_lines, &hri_reduce_i32_cells}};
    static const hr_kernel *const exactly[][2] = {
        [HR_I8] = {&hri_reduce_i8_exact_lines, &hri_reduce_i8_exact_cells},
        [HR_I32] = {&hri_reduce_i32_exact_lines, &hri_reduce_i32_exact_cells}};
    if ((size_t)type >= sizeof plain / sizeof plain[0]) {
        return NULL;
    }
    return exact ? exactly[type][cells] : plain[type][cells];
}

bool hri_reduction_takes_two(hr_reduction reduction)
{
    return reduction == HR_REDUCE_DOT || reduction == HR_REDUCE_DISTANCE ||
           reduction == HR_REDUCE_MAX_ABS_DIFF;
}

static double join(hr_reduction reduction, double a, double b)
{
    switch (reduction) {
    case HR_REDUCE_MIN:
        return b < a || isnan(b) ? b : a;
    case HR_REDUCE_MAX:
    case HR_REDUCE_MAX_ABS_DIFF:
    case HR_REDUCE_MAX_ABS:
        return b > a || isnan(b) ? b : a;
    case HR_REDUCE_PRODUCT:
        return a * b;
    default:
        return a + b;
    }
}

double hri_reduction_join(hr_reduction reduction, const double *x,
                          int64_t count)
{
    const int64_t half = count / 2;
    switch (count) { /* calls take longer than joining */
    case 1:
        return x[0];
    case 2:
        return join(reduction, x[0], x[1]);
    case 3:
        return join(reduction, x[0], join(reduction, x[1], x[2]));
    case 4:
        return join(reduction, join(reduction, x[0], x[1]),
                    join(reduction, x[2], x[3]));
    default:
        return join(reduction, hri_reduction_join(reduction, x, half),
                    hri_reduction_join(reduction, x + half, count - half));
    }
}

uint64_t hri_reduction_join_exact(hr_reduction reduction, const uint64_t *x,
                                  int64_t count)
{
    uint64_t result = x[0];
    for (int64_t i = 1; i < count; i++) {
        result = reduction == HR_REDUCE_PRODUCT ? result * x[i] : result + x[i];
    }
    return result;
}
