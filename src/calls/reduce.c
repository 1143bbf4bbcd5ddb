/* SPDX-License-Identifier: MIT */
/* Reductions of views: accelerators reduce units of a view to a number each,
 * and the host joins the numbers. */
#include <headrace/half.h>
#include <headrace/reduce.h>

#include <math.h>
#include <string.h>

#include "arrays/array.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "calls/views.h"
#include "split/split.h"

static const char call[] = "reduce";

/* A reduction under way. */
typedef struct reducing {
    hr_context *context;
    const hr_split_options *options;
    hr_type type; /* of the elements that kernels see */
    hri_layout layout;
    int64_t kind; /* of hri_units */
    double scale;
    hr_array *out; /* rows x pieces */
    bool dry;      /* nothing was computed */
} reducing;

/* ---- rules */

static bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

static bool is_integer(hr_type type)
{
    return type == HR_I8 || type == HR_I32;
}

static hr_status check_kind(hr_reduction reduction, hr_type type)
{
    if ((int)reduction < HR_REDUCE_SUM || reduction > HR_REDUCE_ARGMAX) {
        return hri_fail(HR_ERROR_INVALID, "reduce: unknown reduction %d",
                        (int)reduction);
    }
    if (hr_type_size(type) == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "reduce: unknown type %d",
                        (int)type);
    }
    return !is_complex(type) || reduction == HR_REDUCE_NORM ||
                   reduction == HR_REDUCE_DISTANCE
               ? HR_OK
               : hri_fail(HR_ERROR_UNSUPPORTED,
                          "reduce: of %s only NORM and DISTANCE are offered",
                          hr_type_name(type));
}

static hr_status check(const hr_context *context, hr_reduction reduction,
                       hr_type type, const hr_view *a, const hr_view *b)
{
    hr_status status = check_kind(reduction, type);
    if (status == HR_OK) {
        status = hri_view_check(a, context, type, call, "view a");
    }
    if (status == HR_OK && hri_reduction_takes_two(reduction) != (b != NULL)) {
        return hri_fail(HR_ERROR_INVALID, "reduce: view b is %s",
                        b == NULL ? "NULL, but this reduction reads two views"
                                  : "given, but this reduction reads one view");
    }
    if (status == HR_OK && b != NULL) {
        status = hri_view_check(b, context, type, call, "view b");
    }
    return status == HR_OK && b != NULL
               ? hri_views_check_extents(a, "view a", b, "view b", call)
               : status;
}

/* ---- views as kernels take them */

/* Make a view of complex numbers one of their parts. */
static hr_status part(reducing *r)
{
    hr_status status = HR_OK;
    if (is_complex(r->type)) {
        r->type = r->type == HR_C32 ? HR_F32 : HR_F64;
        for (uint32_t i = 0; i < r->layout.count && status == HR_OK; i++) {
            status = hr_view_reinterpret(
                r->layout.views[i], hr_type_size(r->type), &r->layout.views[i]);
        }
    }
    return status;
}

/* ---- the launch */

static hr_status launch(reducing *r, const hr_kernel *kernel)
{
    const int64_t items = r->layout.views[0].extent.rank == 1
                              ? HRI_REDUCE_CELL_ITEMS
                              : HRI_REDUCE_ITEMS;
    const hr_extent tile = hr_extent2(1, items);
    const hri_units units = {r->kind, r->layout.unit, r->scale};
    const uint32_t count = r->layout.count;
    int64_t rows[4] = {1, 1, 1, 1};
    hr_argument arguments[4];
    for (uint32_t i = 0; i < count; i++) {
        arguments[i] = hr_in(r->layout.views[i]);
        rows[i] = r->layout.unit.rows;
    }
    arguments[count] = hr_out(hr_view_of(r->out));
    arguments[count + 1] = hr_value(&units, sizeof units);
    hri_splitting s = {.context = r->context,
                       .kernel = kernel,
                       .domain =
                           hr_extent2(r->layout.rows, r->layout.pieces * items),
                       .arguments = arguments,
                       .own_kernel = true,
                       .rows = rows,
                       .tile = &tile,
                       .usable = hri_accelerator_check_double};
    const hr_status status = hri_split_run(&s, count + 2, r->options);
    r->dry = s.options.dry_run;
    return status;
}

/* The numbers of units, joined. */
typedef struct joined {
    double value;
    uint64_t exact;
    int64_t unit; /* the first that has the value, or a NaN if it is one */
} joined;

static bool is_same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

static joined join(hr_reduction kind, bool exact, const void *numbers,
                   int64_t count)
{
    const bool extreme = kind == HR_REDUCE_MIN || kind == HR_REDUCE_MAX;
    joined j = {0};
    if (exact) {
        j.exact = hri_reduction_join_exact(kind, numbers, count);
        return j;
    }
    const double *x = numbers;
    j.value = hri_reduction_join(kind, x, count);
    while (extreme && j.unit + 1 < count && !is_same(x[j.unit], j.value)) {
        j.unit++;
    }
    return j;
}

/* Reduce all units, and wait. */
static hr_status run(reducing *r, hr_reduction kind, bool exact, joined *result)
{
    const bool cells = r->layout.views[0].extent.rank == 1;
    hr_mapping mapping = {0};
    r->kind = (int64_t)kind;
    hr_status status = hr_array_create_anywhere(
        r->context, sizeof(double),
        hr_extent2(r->layout.rows, r->layout.pieces), &r->out);
    if (status == HR_OK) {
        status = launch(r, hri_reduction_kernel(kind, r->type, exact, cells));
    }
    if (status == HR_OK && !r->dry) {
        status = hr_map(hr_view_of(r->out), HR_IN, &mapping);
        if (status == HR_OK) {
            *result = join(kind, exact, mapping.data,
                           r->layout.rows * r->layout.pieces);
            status = hr_unmap(&mapping);
        }
    }
    hr_array_destroy(r->out);
    r->out = NULL;
    return status;
}

/* ---- results */

/* The square root of the sum of squares. Where these are too large or too
 * small, everything is divided by a power of two near the largest element. */
static hr_status find_norm(reducing *r, double *norm)
{
    const double least = 0x1p-900; /* what underflows is far below this */
    joined sum = {0}, most = {0};
    r->scale = 1;
    hr_status status = run(r, HR_REDUCE_NORM, false, &sum);
    *norm = sqrt(sum.value);
    if (status != HR_OK || r->dry ||
        (sum.value >= least && sum.value < INFINITY)) {
        return status;
    }
    status = run(r, HR_REDUCE_MAX_ABS, false, &most);
    if (status != HR_OK || most.value == 0 || !isfinite(most.value)) {
        *norm = most.value;
        return status;
    }
    const int exponent = (int)hri_max(ilogb(most.value), -1000);
    r->scale = ldexp(1, -exponent);
    status = run(r, HR_REDUCE_NORM, false, &sum);
    *norm = ldexp(sqrt(sum.value), exponent);
    return status;
}

static double element(hr_type type, const void *at)
{
    switch (type) {
    case HR_F32:
        return (double)*(const float *)at;
    case HR_F16:
        return (double)hr_f16_to_f32(*(const uint16_t *)at);
    case HR_BF16:
        return (double)hr_bf16_to_f32(*(const uint16_t *)at);
    case HR_I8:
        return *(const int8_t *)at;
    case HR_I32:
        return *(const int32_t *)at;
    default:
        return *(const double *)at;
    }
}

/* The part of the view that a unit takes, and where it starts. */
static hr_status unit_of(const reducing *r, int64_t unit, int64_t *origin,
                         hr_view *view)
{
    const hr_view *all = &r->layout.views[0];
    const hri_unit *u = &r->layout.unit;
    hr_extent extent = all->extent;
    if (extent.rank == 1) {
        origin[0] = unit * u->cols;
        extent.size[0] = u->cols;
    } else {
        const int64_t pieces = hri_ceil_div(extent.size[2], u->cols);
        const int64_t piece = unit % r->layout.pieces;
        origin[0] = unit / r->layout.pieces * u->rows;
        origin[1] = piece / pieces * u->lines;
        origin[2] = piece % pieces * u->cols;
        extent.size[0] = u->rows;
        extent.size[1] = u->lines;
        extent.size[2] = u->cols;
    }
    for (uint32_t d = 0; d < extent.rank; d++) {
        extent.size[d] =
            hri_min(extent.size[d], all->extent.size[d] - origin[d]);
    }
    return hr_view_section(*all, origin, extent, view);
}

/* The first of count elements that is x. count: none is. */
static int64_t first_of(hr_type type, const char *at, int64_t step,
                        int64_t count, double x)
{
    int64_t k = 0;
    while (k < count && !is_same(element(type, at), x)) {
        at += step;
        k++;
    }
    return k;
}

/* The number of the first element of a mapping, by rows, that is x. */
static int64_t first_in(hr_type type, const hr_mapping *m, double x)
{
    int64_t size[HR_MAX_RANK] = {1, 1, 1}, step[HR_MAX_RANK] = {0};
    const uint32_t rank = m->view.extent.rank;
    for (uint32_t d = 0; d < rank; d++) { /* rank 1: one line */
        const uint32_t to = rank == 1 ? 2 : d;
        size[to] = m->view.extent.size[d];
        step[to] = m->stride_bytes[d];
    }
    const int64_t lines = size[0] * size[1];
    int64_t line = 0, k = size[2];
    for (; line < lines && k == size[2]; line++) {
        const char *at = (const char *)m->data + line / size[1] * step[0] +
                         line % size[1] * step[1];
        k = first_of(type, at, step[2], size[2], x);
    }
    return (line - 1) * size[2] + k;
}

/* Find where the first element of a unit is that has the value. */
static hr_status find_index(const reducing *r, const joined *j, int64_t *index)
{
    const int64_t *n = r->layout.views[0].extent.size;
    int64_t origin[HR_MAX_RANK] = {0};
    hr_mapping m = {0};
    hr_view view;
    hr_status status = unit_of(r, j->unit, origin, &view);
    if (status == HR_OK) {
        status = hr_map(view, HR_IN, &m);
    }
    if (status != HR_OK) {
        return status;
    }
    const int64_t k = first_in(r->type, &m, j->value);
    if (view.extent.rank == 1) {
        *index = origin[0] + k;
    } else {
        const int64_t cols = view.extent.size[2], lines = view.extent.size[1];
        const int64_t row = origin[0] + k / cols / lines;
        const int64_t line = origin[1] + k / cols % lines;
        *index = (row * n[1] + line) * n[2] + origin[2] + k % cols;
    }
    return hr_unmap(&m);
}

static hr_status reduce(reducing *r, hr_reduction reduction, hr_reduced *result)
{
    const bool arg =
        reduction == HR_REDUCE_ARGMIN || reduction == HR_REDUCE_ARGMAX;
    const hr_reduction kind = reduction == HR_REDUCE_ARGMIN   ? HR_REDUCE_MIN
                              : reduction == HR_REDUCE_ARGMAX ? HR_REDUCE_MAX
                                                              : reduction;
    const bool sum = kind == HR_REDUCE_SUM || kind == HR_REDUCE_DOT ||
                     kind == HR_REDUCE_DISTANCE || kind == HR_REDUCE_PRODUCT ||
                     kind == HR_REDUCE_SUM_ABS;
    const bool exact = is_integer(r->type) && sum;
    joined j = {0};
    if (kind == HR_REDUCE_NORM) {
        return find_norm(r, &result->value);
    }
    hr_status status = run(r, kind, exact, &j);
    if (status != HR_OK || r->dry) {
        return status;
    }
    if (exact) {
        memcpy(&result->integer, &j.exact, sizeof j.exact);
        result->value = (double)result->integer;
    } else {
        result->value = j.value;
        result->integer = is_integer(r->type) ? (int64_t)j.value : 0;
    }
    return arg ? find_index(r, &j, &result->index) : HR_OK;
}

hr_status hr_reduce(hr_context *context, hr_reduction reduction, hr_type type,
                    hr_view a, const hr_view *b,
                    const hr_split_options *options, hr_reduced *result)
{
    if (context == NULL || result == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduce: %s is NULL",
                        context == NULL ? "the context" : "the result");
    }
    hr_status status = check(context, reduction, type, &a, b);
    if (status != HR_OK) {
        return status;
    }
    hr_reduced reduced = {.index = -1};
    reducing r = {.context = context,
                  .options = options,
                  .type = type,
                  .layout = {.count = b != NULL ? 2 : 1,
                             .views = {a, b != NULL ? *b : a}},
                  .scale = 1};
    status = part(&r);
    if (status == HR_OK) {
        status = hri_lay_out(&r.layout, call,
                             hri_unit_elements(hr_extent_count(a.extent)));
    }
    if (status == HR_OK) {
        status = reduce(&r, reduction, &reduced);
    }
    if (status == HR_OK && !r.dry) {
        *result = reduced;
    }
    return status;
}
