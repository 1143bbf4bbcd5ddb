/* SPDX-License-Identifier: MIT */
/* Fills with random numbers: split launches of kernels/dialect/random.c. */
#include <headrace/random.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "base/size.h"
#include "calls/views.h"
#include "split/split.h"

static const char call[] = "random fill", name[] = "the view";

#define KERNELS(name)                                                          \
    extern const hr_kernel name##_line, name##_rows, name##_slices
KERNELS(hri_random_bits);
KERNELS(hri_random_uniform_f32);
KERNELS(hri_random_uniform_f64);
KERNELS(hri_random_normal_f32);
KERNELS(hri_random_normal_f64);

enum { ROW = 4096 }; /* elements of rank 1: that of kernels/dialect/random.c */

/* The kernel for views of a rank. NULL: there is none. */
static const hr_kernel *kernel_for(hr_distribution distribution, hr_type type,
                                   uint32_t rank)
{
#define OF(name)                                                               \
    {                                                                          \
        &name##_line, &name##_rows, &name##_slices                             \
    }
    static const hr_kernel *const kernels[][HR_I32 + 1][HR_MAX_KERNEL_RANK] = {
        [HR_RANDOM_BITS] = {[HR_I32] = OF(hri_random_bits)},
        [HR_RANDOM_UNIFORM] = {[HR_F32] = OF(hri_random_uniform_f32),
                               [HR_F64] = OF(hri_random_uniform_f64)},
        [HR_RANDOM_NORMAL] = {[HR_F32] = OF(hri_random_normal_f32),
                              [HR_F64] = OF(hri_random_normal_f64)}};
#undef OF
    return kernels[distribution][type][rank - 1];
}

/* ---- rules */

static hr_status check_type(hr_distribution distribution, hr_type type)
{
    if (distribution < HR_RANDOM_BITS || distribution > HR_RANDOM_NORMAL) {
        return hri_fail(HR_ERROR_INVALID,
                        "random fill: unknown distribution %d",
                        (int)distribution);
    }
    HRI_TRY(hri_type_check(call, NULL, type));
    if (kernel_for(distribution, type, 1) == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "random fill: %s, not %s",
                        distribution == HR_RANDOM_BITS
                            ? "bits are offered for i32 alone"
                            : "only f32 and f64 are offered for fractions",
                        hr_type_name(type));
    }
    return HR_OK;
}

static hr_status check_view(const hr_context *context, const hr_view *view,
                            hr_type type, uint64_t offset)
{
    const int64_t count = hr_extent_count(view->extent);
    HRI_TRY(hri_view_check(view, context, type, call, name));
    if (offset > (UINT64_C(1) << 63) - (uint64_t)count) {
        return hri_fail(HR_ERROR_INVALID,
                        "random fill: %lld elements from number %llu on "
                        "exceed 2^63 numbers",
                        (long long)count, (unsigned long long)offset);
    }
    return HR_OK;
}

/* ---- the launch */

hr_status hr_random_fill(hr_context *context, hr_view view, hr_type type,
                         hr_random random, const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    HRI_TRY(hri_context_check(context, call));
    HRI_TRY(check_type(random.distribution, type));
    HRI_TRY(check_view(context, &view, type, random.offset));
    HRI_TRY(hri_view_for_kernels(&view, HR_MAX_KERNEL_RANK, call, name));
    if (hri_view_is_narrow(&view)) {
        hri_view_flatten(&view, 0, 1);
    }
    const uint32_t rank = view.extent.rank;
    const bool line = rank == 1;
    const int64_t width = type == HR_F64 ? 2 : 4; /* numbers of an item */
    const int64_t count = view.extent.size[rank - 1];
    const int64_t cols = line ? ROW : count;
    /* Rows begin anywhere in the numbers of a counter, or all at the same
     * place. */
    const int64_t lead =
        cols % width == 0 ? (int64_t)random.offset % width : width - 1;
    const int64_t groups = hri_ceil_div(hri_min(cols, count) + lead, width);
    const unsigned long seed = random.seed, stream = random.stream;
    const unsigned long offset = random.offset;
    const int64_t rows[] = {line ? ROW : 1, 1, 1, 1};
    const hr_argument arguments[] = {hr_out(view), hr_value(&seed, sizeof seed),
                                     hr_value(&stream, sizeof stream),
                                     hr_value(&offset, sizeof offset)};
    hri_splitting s = {.context = context,
                       .kernel = kernel_for(random.distribution, type, rank),
                       .domain = view.extent,
                       .arguments = arguments,
                       .call = call,
                       .rows = rows,
                       .usable = type == HR_F64 ? hri_accelerator_check_double
                                                : NULL};
    if (line) {
        s.domain = hr_extent2(hri_ceil_div(count, ROW), groups);
    } else {
        s.domain.size[rank - 1] = groups;
    }
    return hri_split_run(&s, 4, options);
}
