/* SPDX-License-Identifier: MIT */
/* Reductions: their kernels, how they cut views into units, and how the results
 * of units are joined. */
#include "calls/reduction.h"

#include <math.h>

#include "arrays/array.h"
#include "base/size.h"
#include "calls/views.h"

#define KERNELS(name)                                                          \
    extern const hr_kernel hri_reduce_##name##_lines,                          \
        hri_reduce_##name##_cells, hri_reduce_##name##_pair_lines,             \
        hri_reduce_##name##_pair_cells, hri_reduce_##name##_find_lines,        \
        hri_reduce_##name##_find_cells
KERNELS(f32);
KERNELS(f64);
KERNELS(f16);
KERNELS(bf16);
KERNELS(i8);
KERNELS(i32);
KERNELS(i8_exact);
KERNELS(i32_exact);

/* For one view, for two, and to find an element; [1] for rank 1. */
typedef const hr_kernel *const shapes[3][2];

const hr_kernel *hri_reduction_kernel(hr_reduction reduction, hr_type type,
                                      bool exact, bool cells)
{
#define SUMS(name)                                                             \
    {&hri_reduce_##name##_lines, &hri_reduce_##name##_cells},                  \
    {                                                                          \
        &hri_reduce_##name##_pair_lines, &hri_reduce_##name##_pair_cells       \
    }
#define OF(name)                                                               \
    {                                                                          \
        SUMS(name),                                                            \
        {                                                                      \
            &hri_reduce_##name##_find_lines, &hri_reduce_##name##_find_cells   \
        }                                                                      \
    }
    static shapes plain[] = {
        [HR_F32] = OF(f32),   [HR_F64] = OF(f64), [HR_F16] = OF(f16),
        [HR_BF16] = OF(bf16), [HR_I8] = OF(i8),   [HR_I32] = OF(i32)};
    static shapes exactly[] = {
        [HR_I8] = {SUMS(i8_exact)}, [HR_I32] = {SUMS(i32_exact)}};
#undef OF
#undef SUMS
    const int shape = hri_reduction_finds(reduction)       ? 2
                      : hri_reduction_takes_two(reduction) ? 1
                                                           : 0;
    if ((size_t)type >= sizeof plain / sizeof plain[0]) {
        return NULL;
    }
    return exact ? exactly[type][shape][cells] : plain[type][shape][cells];
}

bool hri_reduction_takes_two(hr_reduction reduction)
{
    return reduction == HR_REDUCE_DOT || reduction == HR_REDUCE_DISTANCE ||
           reduction == HR_REDUCE_MAX_ABS_DIFF;
}

bool hri_reduction_finds(hr_reduction reduction)
{
    return reduction == HR_REDUCE_ARGMIN || reduction == HR_REDUCE_ARGMAX;
}

/* ---- units */

enum {
    MIN_UNIT = 4096,       /* elements of a unit */
    MAX_UNIT = 131072,     /* not more, since units stream whole */
    GRAIN = 1024,          /* whole rounds of the items */
    ENOUGH_ITEMS = 1 << 18 /* they keep several GPUs busy, and results of more
                              tiles would take the host longer to join */
};

int64_t hri_unit_elements(int64_t all, int64_t items)
{
    const int64_t share = hri_ceil_div(all, ENOUGH_ITEMS / items);
    return hri_round_up(hri_min(hri_max(share, MIN_UNIT), MAX_UNIT), GRAIN);
}

/* Whether the call takes all elements as one line. */
static bool as_cells(const hri_layout *l)
{
    bool narrow = true;
    for (uint32_t i = 0; i < l->count; i++) {
        narrow = narrow && hri_view_is_narrow(&l->views[i]);
    }
    return narrow || l->views[0].extent.rank == 1;
}

/* Columns of a unit: all, or equal parts of about so many elements that end
 * between rounds of the items. */
static int64_t unit_columns(int64_t cols, int64_t elements)
{
    const int64_t share = hri_ceil_div(cols, hri_ceil_div(cols, elements));
    return cols <= elements ? cols : hri_round_up(share, HRI_REDUCE_ITEMS);
}

hr_status hri_layout_choose(hri_layout *l, const char *call, int64_t of_cells,
                            int64_t of_lines)
{
    for (uint32_t i = 0; i < l->count; i++) {
        HRI_TRY(hri_view_for_kernels(&l->views[i], HR_MAX_KERNEL_RANK, call,
                                     i == 0 ? "view a" : "view b"));
    }
    if (as_cells(l)) {
        const int64_t all = hr_extent_count(l->views[0].extent);
        for (uint32_t i = 0; i < l->count; i++) {
            hri_view_flatten(&l->views[i], 0, 1);
        }
        l->unit = (hri_unit){.rows = of_cells, .lines = 1, .cols = of_cells};
        l->rows = hri_ceil_div(all, of_cells);
        l->row_units = 1;
        return HR_OK;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        l->views[i] = hri_view_in_space(l->views[i]);
    }
    const int64_t *n = l->views[0].extent.size;
    l->unit.cols = unit_columns(n[2], of_lines);
    l->unit.lines = hri_min(hri_max(of_lines / n[2], 1), n[1]);
    l->unit.rows = hri_min(hri_max(of_lines / n[2] / n[1], 1), n[0]);
    l->rows = hri_ceil_div(n[0], l->unit.rows);
    l->row_units =
        hri_ceil_div(n[1], l->unit.lines) * hri_ceil_div(n[2], l->unit.cols);
    return HR_OK;
}

/* ---- joining: halves, and halves of these */

typedef double operation(double a, double b);
typedef double operation_of_few(const double *x, int64_t count);

static inline double sum_of(double a, double b)
{
    return a + b;
}

static inline double product_of(double a, double b)
{
    return a * b;
}

static inline double lesser(double a, double b)
{
    return b < a || isnan(b) ? b : a;
}

static inline double greater(double a, double b)
{
    return b > a || isnan(b) ? b : a;
}

enum { FEW = 8 };

/* Calls take longer than joining, so a few numbers are joined without. */
static inline double join_few(operation *f, const double *x, int64_t count)
{
    switch (count) {
    case 1:
        return x[0];
    case 2:
        return f(x[0], x[1]);
    case 3:
        return f(x[0], f(x[1], x[2]));
    case 4:
        return f(f(x[0], x[1]), f(x[2], x[3]));
    case 5:
        return f(f(x[0], x[1]), f(x[2], f(x[3], x[4])));
    case 6:
        return f(f(x[0], f(x[1], x[2])), f(x[3], f(x[4], x[5])));
    case 7:
        return f(f(x[0], f(x[1], x[2])), f(f(x[3], x[4]), f(x[5], x[6])));
    default:
        return f(f(f(x[0], x[1]), f(x[2], x[3])),
                 f(f(x[4], x[5]), f(x[6], x[7])));
    }
}

static double sum_of_few(const double *x, int64_t count)
{
    return join_few(sum_of, x, count);
}

static double product_of_few(const double *x, int64_t count)
{
    return join_few(product_of, x, count);
}

static double least_of_few(const double *x, int64_t count)
{
    return join_few(lesser, x, count);
}

static double greatest_of_few(const double *x, int64_t count)
{
    return join_few(greater, x, count);
}

static double join(operation *two, operation_of_few *few, const double *x,
                   int64_t count)
{
    const int64_t half = count / 2;
    return count <= FEW ? few(x, count)
                        : two(join(two, few, x, half),
                              join(two, few, x + half, count - half));
}

double hri_reduction_join(hr_reduction reduction, const double *x,
                          int64_t count)
{
    switch (reduction) {
    case HR_REDUCE_MIN:
    case HR_REDUCE_ARGMIN:
        return join(lesser, least_of_few, x, count);
    case HR_REDUCE_MAX:
    case HR_REDUCE_ARGMAX:
    case HR_REDUCE_MAX_ABS_DIFF:
    case HR_REDUCE_MAX_ABS:
        return join(greater, greatest_of_few, x, count);
    case HR_REDUCE_PRODUCT:
        return join(product_of, product_of_few, x, count);
    default:
        return join(sum_of, sum_of_few, x, count);
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
