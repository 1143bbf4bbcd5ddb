/* SPDX-License-Identifier: MIT */
/* Histograms: split launches of kernels/dialect/histogram.inc, whose counts are
 * a combined view. */
#include <headrace/histogram.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "calls/views.h"
#include "kernels/kernels.h"
#include "split/split.h"

static const char call[] = "histogram";

#define KERNELS(name)                                                          \
    extern const hr_kernel hri_histogram_##name##_cells,                       \
        hri_histogram_##name##_lines
KERNELS(f32);
KERNELS(f64);
KERNELS(i8);
KERNELS(i32);

enum {
    ITEMS = 256,       /* LANES in kernels/dialect/histogram.inc */
    MIN_UNIT = 16384,  /* elements of a unit */
    MAX_UNIT = 262144, /* a tile's counter has room for all of them */
    UNITS = 2048,      /* at least so many, unless they would be shorter than
                          MIN_UNIT */
    BIN_SHARE = 16,    /* elements of a unit for each bin */
    MAX_BINS = 1 << 30
};

/* The values of kernels/dialect/histogram.inc, which has the same structs. */
typedef struct binning32 {
    int64_t rows, lines, cols;
    float half_low, scale, margin;
} binning32;

typedef struct binning64 {
    int64_t rows, lines, cols;
    double half_low, scale;
    float margin;
} binning64;

typedef struct counting {
    hr_context *context;
    hr_type type;
    double low, high;
    int64_t bins;
    hri_layout layout;
    void *edges; /* of 4 or 8 bytes */
    hr_array *edges_array;
} counting;

static const hr_kernel *kernel_for(hr_type type, bool cells)
{
#define OF(name)                                                               \
    {                                                                          \
        &hri_histogram_##name##_lines, &hri_histogram_##name##_cells           \
    }
    static const hr_kernel *const kernels[][2] = {[HR_F32] = OF(f32),
                                                  [HR_F64] = OF(f64),
                                                  [HR_I8] = OF(i8),
                                                  [HR_I32] = OF(i32)};
#undef OF
    return (size_t)type < sizeof kernels / sizeof kernels[0]
               ? kernels[type][cells]
               : NULL;
}

/* ---- rules */

static hr_status check_type(hr_type type)
{
    HRI_TRY(hri_type_check(call, NULL, type));
    if (kernel_for(type, true) == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "histogram: only f32, f64, i8 and i32 are offered, "
                        "not %s",
                        hr_type_name(type));
    }
    return HR_OK;
}

static hr_status check_counts(const counting *c, const hr_view *counts)
{
    HRI_TRY(hri_view_check_owner(counts, c->context, call, "counts"));
    if (counts->extent.rank != 1 || counts->extent.size[0] < 1 ||
        counts->extent.size[0] > MAX_BINS) {
        return hri_fail(HR_ERROR_INVALID,
                        "histogram: counts has rank %u and %lld elements, not "
                        "rank 1 and 1 to 2^30",
                        counts->extent.rank,
                        (long long)hr_extent_count(counts->extent));
    }
    if (counts->element_bytes != sizeof(int64_t) ||
        !hri_element_agrees("long", counts->type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "histogram: counts has elements of %s, %zu byte%s, not "
                        "integers of 8 bytes",
                        counts->type != NULL ? counts->type : "unknown type",
                        counts->element_bytes,
                        hri_plural(counts->element_bytes));
    }
    return HR_OK;
}

static hr_status check_arguments(const counting *c, const hr_view *a,
                                 const hr_view *counts)
{
    HRI_TRY(check_type(c->type));
    HRI_TRY(hri_view_check(a, c->context, c->type, call, "view a"));
    HRI_TRY(check_counts(c, counts));
    if (!(c->low < c->high && isfinite(c->high - c->low))) {
        return hri_fail(HR_ERROR_INVALID,
                        "histogram: the range is %g to %g, not a lower number "
                        "to a higher one at a finite distance",
                        c->low, c->high);
    }
    return HR_OK;
}

/* ---- edges */

/* Edge b as NumPy's linspace computes it: two roundings, never fused. */
static double edge_of(const counting *c, int64_t b)
{
    const double range = c->high - c->low, bins = (double)c->bins;
    const double step = range / bins;
    if (b == c->bins) {
        return c->high;
    }
    const double product =
        step != 0 ? (double)b * step : (double)b / bins * range;
    return fmin(c->low + product, c->high);
}

/* An integer x is at least a number if it is at least the number rounded up.
 * Such edges lie within 2^62. */
static int64_t to_integer(double x)
{
    const double most = 0x1p62;
    return (int64_t)fmax(-most, fmin(most, x));
}

static hr_status make_edges(counting *c)
{
    const bool single = c->type == HR_F32;
    const size_t bytes = single ? sizeof(float) : sizeof(double);
    const size_t count = (size_t)c->bins + 1;
    c->edges = malloc(count * bytes);
    if (c->edges == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "histogram: no memory for the edges of %lld bins",
                        (long long)c->bins);
    }
    for (int64_t b = 0; b <= c->bins; b++) {
        const double edge = edge_of(c, b);
        if (single) {
            ((float *)c->edges)[b] = (float)edge;
        } else if (c->type == HR_F64) {
            ((double *)c->edges)[b] = edge;
        } else {
            ((int64_t *)c->edges)[b] =
                to_integer(b < c->bins ? ceil(edge) : floor(edge));
        }
    }
    return hr_array_wrap(c->context, c->edges, bytes, hr_extent1(c->bins + 1),
                         0, &c->edges_array);
}

/* ---- the launch */

/* Elements of a unit: many for each bin that a tile adds to the view, and few
 * enough that all accelerators have work. */
static int64_t unit_of(const counting *c, const hr_view *a)
{
    const int64_t share = hr_extent_count(a->extent) / UNITS;
    const int64_t least =
        hri_max(MIN_UNIT, hri_min(BIN_SHARE * c->bins, MAX_UNIT));
    return hri_round_up(hri_max(least, hri_min(share, MAX_UNIT)), ITEMS);
}

/* How the kernel finds the bin of a number x, about: f = (x / 2 - half_low) *
 * scale, as float. It is off by a few roundings of f. So it is by a few of x
 * and of the edges, in widths of a bin; u: their unit roundoff. */
static binning64 find_binning(const counting *c, double u, double least,
                              double most)
{
    const double range = c->high - c->low, bins = (double)c->bins;
    const double size = fmax(fabs(c->low), fabs(c->high));
    const double scale = 2 * bins / range;
    const bool odd = range < least || scale > most; /* they round otherwise */
    const double margin = 8 * bins * (0x1p-24 + u * size / range);
    return (binning64){.rows = c->layout.unit.rows,
                       .lines = c->layout.unit.lines,
                       .cols = c->layout.unit.cols,
                       .half_low = c->low / 2,
                       .scale = fmin(scale, most),
                       .margin = odd ? 1 : (float)fmin(margin, 1)};
}

static hr_status count_bins(counting *c, hr_view counts,
                            const hr_split_options *options)
{
    const hri_layout *l = &c->layout;
    const hr_extent tile = hr_extent2(1, ITEMS);
    const int64_t rows[] = {l->unit.rows, 1, 1, 1};
    const bool wide = c->type == HR_F64;
    const binning64 b = wide ? find_binning(c, 0x1p-53, 0x1p-960, DBL_MAX)
                             : find_binning(c, 0x1p-24, 0x1p-100, FLT_MAX);
    const binning32 narrow = {
        b.rows, b.lines, b.cols, (float)b.half_low, (float)b.scale, b.margin};
    hr_view a = l->views[0];
    const hr_argument arguments[] = {
        hr_in(a), hr_whole(hr_in(hr_view_of(c->edges_array))),
        hr_combined(hr_inout(counts), HR_COMBINE_SUM),
        (hr_value)(wide ? (const void *)&b : &narrow,
                   wide ? sizeof b : sizeof narrow)};
    hri_splitting s = {.context = c->context,
                       .kernel = kernel_for(c->type, a.extent.rank == 1),
                       .domain = hr_extent2(l->rows, l->row_units * ITEMS),
                       .arguments = arguments,
                       .call = call,
                       .rows = rows,
                       .tile = &tile,
                       .fresh = true,
                       .usable = wide ? hri_accelerator_check_double : NULL};
    return hri_split_run(&s, 4, options);
}

hr_status hr_histogram(hr_context *context, hr_type type, hr_view a, double low,
                       double high, hr_view counts,
                       const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    counting c = {.context = context,
                  .type = type,
                  .low = low,
                  .high = high,
                  .bins = counts.extent.size[0],
                  .layout = {.count = 1, .views = {a}}};
    HRI_TRY(hri_context_check(context, call));
    HRI_TRY(check_arguments(&c, &a, &counts));
    const int64_t elements = unit_of(&c, &a);
    HRI_TRY(hri_layout_choose(&c.layout, call, elements, elements));
    hr_status status = make_edges(&c);
    if (status == HR_OK) {
        status = count_bins(&c, counts, options);
    }
    hr_array_destroy(c.edges_array); /* waits for the kernel */
    free(c.edges);
    return status;
}
