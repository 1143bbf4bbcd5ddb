/* SPDX-License-Identifier: MIT */
#include "calls/reduction.h"

#include <math.h>

#define KERNELS(name)                                                          \
    extern const hr_kernel hri_reduce_##name##_lines,                          \
        hri_reduce_##name##_cells, hri_reduce_##name##_pair_lines,             \
        hri_reduce_##name##_pair_cells
KERNELS(f32);
KERNELS(f64);
KERNELS(f16);
KERNELS(bf16);
KERNELS(i8);
KERNELS(i32);
KERNELS(i8_exact);
KERNELS(i32_exact);

/* [1] for two views, [1] for rank 1. */
typedef const hr_kernel *const shapes[2][2];

const hr_kernel *hri_reduction_kernel(hr_reduction reduction, hr_type type,
                                      bool exact, bool cells)
{
#define OF(name)                                                               \
    {                                                                          \
        {&hri_reduce_##name##_lines, &hri_reduce_##name##_cells},              \
        {                                                                      \
            &hri_reduce_##name##_pair_lines, &hri_reduce_##name##_pair_cells   \
        }                                                                      \
    }
    static shapes plain[] = {
        [HR_F32] = OF(f32),   [HR_F64] = OF(f64), [HR_F16] = OF(f16),
        [HR_BF16] = OF(bf16), [HR_I8] = OF(i8),   [HR_I32] = OF(i32)};
    static shapes exactly[] = {
        [HR_I8] = OF(i8_exact), [HR_I32] = OF(i32_exact)};
#undef OF
    const bool two = hri_reduction_takes_two(reduction);
    if ((size_t)type >= sizeof plain / sizeof plain[0]) {
        return NULL;
    }
    return exact ? exactly[type][two][cells] : plain[type][two][cells];
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
