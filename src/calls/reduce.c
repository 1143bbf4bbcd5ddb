/* SPDX-License-Identifier: MIT */
/* Reductions of views: accelerators reduce units of a view to a number each,
 * and the host joins the numbers.
 *
 * Units have 4096 to 131072 elements, which only the view's extent decides, so
 * bits do not depend on the accelerators. Each gives one number. GPUs of CUDA
 * write these to the host's pinned memory (hri_array_create_results), since a
 * copy behind the kernel would take as long as a short kernel. NORM of doubles
 * is computed again with a scale if the squares overflow or underflow.
 *
 * A function of the caller's joins elements on accelerators alone: units become
 * an element each, and these are reduced again until there is one. */
#include <headrace/reduce.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "calls/views.h"
#include "kernels/kernels.h"
#include "split/split.h"

static const char call[] = "reduce";

extern const char hri_reduce_with_text[]; /* kernels/dialect/reduce_with.c */

/* A reduction under way. */
typedef struct reducing {
    hr_context *context;
    const hr_split_options *options;
    hri_progress progress;
    hr_type type; /* of the elements that kernels see */
    hri_layout layout;
    double scale;
    hr_array *out;   /* rows x row_units */
    hr_array *found; /* rows x row_units: numbers of elements in their units;
                        NULL: not wanted */
    bool dry;        /* nothing was computed */
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
    HRI_TRY(hri_type_check(call, NULL, type));
    if (is_complex(type) && reduction != HR_REDUCE_NORM &&
        reduction != HR_REDUCE_DISTANCE) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: of %s only NORM and DISTANCE are offered",
                        hr_type_name(type));
    }
    return HR_OK;
}

static hr_status check_views(const hr_context *context, hr_reduction reduction,
                             hr_type type, const hr_view *a, const hr_view *b)
{
    HRI_TRY(check_kind(reduction, type));
    HRI_TRY(hri_view_check(a, context, type, call, "view a"));
    if (hri_reduction_takes_two(reduction) != (b != NULL)) {
        return hri_fail(HR_ERROR_INVALID, "reduce: view b is %s",
                        b == NULL ? "NULL, but this reduction reads two views"
                                  : "given, but this reduction reads one view");
    }
    if (b == NULL) {
        return HR_OK;
    }
    HRI_TRY(hri_view_check(b, context, type, call, "view b"));
    return hri_views_check_extents(a, "view a", b, "view b", call);
}

/* ---- views as kernels take them */

/* Make a view of complex numbers one of their parts. */
static hr_status make_parts(reducing *r)
{
    if (!is_complex(r->type)) {
        return HR_OK;
    }
    r->type = r->type == HR_C32 ? HR_F32 : HR_F64;
    for (uint32_t i = 0; i < r->layout.count; i++) {
        hr_view *view = &r->layout.views[i];
        HRI_TRY(hr_view_reinterpret(*view, hr_type_size(r->type), view));
    }
    return HR_OK;
}

/* ---- the launch */

static bool has_cells(const reducing *r)
{
    return r->layout.views[0].extent.rank == 1;
}

static hr_extent domain_of(const reducing *r)
{
    const int64_t items =
        has_cells(r) ? HRI_REDUCE_CELL_ITEMS : HRI_REDUCE_ITEMS;
    return hr_extent2(r->layout.rows, r->layout.row_units * items);
}

static hr_status launch_units(reducing *r, hr_reduction kind, bool exact)
{
    const bool cells = has_cells(r);
    const int64_t items = cells ? HRI_REDUCE_CELL_ITEMS : HRI_REDUCE_ITEMS;
    const hr_extent tile = hr_extent2(1, items);
    const hri_units units = {(int64_t)kind, r->layout.unit, r->scale};
    int64_t rows[4] = {1, 1, 1, 1};
    hr_argument arguments[4];
    uint32_t count = 0;
    for (; count < r->layout.count; count++) {
        arguments[count] = hr_in(r->layout.views[count]);
        rows[count] = r->layout.unit.rows;
    }
    arguments[count++] = hr_out(hr_view_of(r->out));
    if (r->found != NULL) {
        arguments[count++] = hr_out(hr_view_of(r->found));
    }
    arguments[count++] = hr_value(&units, sizeof units);
    hri_splitting s = {.context = r->context,
                       .kernel =
                           hri_reduction_kernel(kind, r->type, exact, cells),
                       .domain = domain_of(r),
                       .arguments = arguments,
                       .call = call,
                       .rows = rows,
                       .tile = &tile,
                       .usable = hri_accelerator_check_double,
                       .progress = &r->progress};
    const hr_status status = hri_split_run(&s, count, r->options);
    r->dry = s.options.dry_run;
    return status;
}

/* The numbers of units, joined. */
typedef struct joined {
    double value;
    uint64_t exact;
    int64_t unit;  /* where an element is to be found: the first unit that gave
                      the value, or a NaN if the value is one */
    int64_t place; /* number of that element in its unit */
} joined;

static bool is_same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

static joined join(hr_reduction kind, bool exact, const void *numbers,
                   int64_t count)
{
    joined j = {0};
    if (exact) {
        j.exact = hri_reduction_join_exact(kind, numbers, count);
        return j;
    }
    const double *x = numbers;
    j.value = hri_reduction_join(kind, x, count);
    while (hri_reduction_finds(kind) && j.unit + 1 < count &&
           !is_same(x[j.unit], j.value)) {
        j.unit++;
    }
    return j;
}

static hr_status create_results(reducing *r, bool finds)
{
    const hr_extent extent = hr_extent2(r->layout.rows, r->layout.row_units);
    HRI_TRY(
        hri_array_create_results(r->context, sizeof(double), extent, &r->out));
    return finds ? hri_array_create_results(r->context, sizeof(int32_t), extent,
                                            &r->found)
                 : HR_OK;
}

/* Wait for the results of units, and join them. */
static hr_status read_results(const reducing *r, hr_reduction kind, bool exact,
                              joined *result)
{
    hr_mapping mapping = {0};
    HRI_TRY(hr_map(hr_view_of(r->out), HR_IN, &mapping));
    *result =
        join(kind, exact, mapping.data, r->layout.rows * r->layout.row_units);
    HRI_TRY(hr_unmap(&mapping));
    if (r->found == NULL) {
        return HR_OK;
    }
    HRI_TRY(hr_map(hr_view_of(r->found), HR_IN, &mapping));
    result->place = ((const int32_t *)mapping.data)[result->unit];
    return hr_unmap(&mapping);
}

static hr_status find_numbers(reducing *r, hr_reduction kind, bool exact,
                              joined *result)
{
    HRI_TRY(create_results(r, hri_reduction_finds(kind)));
    HRI_TRY(launch_units(r, kind, exact));
    return r->dry ? HR_OK : read_results(r, kind, exact, result);
}

/* Reduce all units, and wait. */
static hr_status reduce_units(reducing *r, hr_reduction kind, bool exact,
                              joined *result)
{
    const hr_status status = find_numbers(r, kind, exact, result);
    hr_array_destroy(r->out);
    hr_array_destroy(r->found);
    r->out = r->found = NULL;
    return status;
}

/* ---- results */

/* The square root of the sum of squares. If these are too large or too small,
 * everything is divided by a power of two near the largest element. */
static hr_status find_norm(reducing *r, double *norm)
{
    const double least = 0x1p-900; /* what underflows is far below this */
    joined sum = {0}, most = {0};
    r->scale = 1;
    HRI_TRY(reduce_units(r, HR_REDUCE_NORM, false, &sum));
    *norm = sqrt(sum.value);
    if (r->dry || (sum.value >= least && sum.value < INFINITY)) {
        return HR_OK;
    }
    HRI_TRY(reduce_units(r, HR_REDUCE_MAX_ABS, false, &most));
    if (most.value == 0 || !isfinite(most.value)) {
        *norm = most.value;
        return HR_OK;
    }
    const int exponent = (int)hri_max(ilogb(most.value), -1000);
    r->scale = ldexp(1, -exponent);
    HRI_TRY(reduce_units(r, HR_REDUCE_NORM, false, &sum));
    *norm = ldexp(sqrt(sum.value), exponent);
    return HR_OK;
}

/* The number of a unit's first element, by rows. */
static int64_t first_of(const hri_layout *l, int64_t unit)
{
    const hr_extent *all = &l->views[0].extent;
    const hri_unit *u = &l->unit;
    if (all->rank == 1) {
        return unit * u->cols;
    }
    const int64_t across = hri_ceil_div(all->size[2], u->cols);
    const int64_t in_row = unit % l->row_units;
    const int64_t row = unit / l->row_units * u->rows;
    const int64_t line = in_row / across * u->lines;
    return (row * all->size[1] + line) * all->size[2] +
           in_row % across * u->cols;
}

static hr_status find_result(reducing *r, hr_reduction kind, hr_reduced *result)
{
    const bool sum = kind == HR_REDUCE_SUM || kind == HR_REDUCE_DOT ||
                     kind == HR_REDUCE_DISTANCE || kind == HR_REDUCE_PRODUCT ||
                     kind == HR_REDUCE_SUM_ABS;
    const bool exact = is_integer(r->type) && sum;
    joined j = {0};
    if (kind == HR_REDUCE_NORM) {
        return find_norm(r, &result->value);
    }
    HRI_TRY(reduce_units(r, kind, exact, &j));
    if (r->dry) {
        return HR_OK;
    }
    if (exact) {
        memcpy(&result->integer, &j.exact, sizeof j.exact);
        result->value = (double)result->integer;
    } else {
        result->value = j.value;
        result->integer = is_integer(r->type) ? (int64_t)j.value : 0;
    }
    if (hri_reduction_finds(kind)) { /* a unit's elements follow each other */
        result->index = first_of(&r->layout, j.unit) + j.place;
    }
    return HR_OK;
}

hr_status hr_reduce(hr_context *context, hr_reduction reduction, hr_type type,
                    hr_view a, const hr_view *b,
                    const hr_split_options *options, hr_reduced *result)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || result == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduce: %s is NULL",
                        context == NULL ? "the context" : "the result");
    }
    HRI_TRY(check_views(context, reduction, type, &a, b));
    hr_reduced reduced = {.index = -1};
    reducing r = {.context = context,
                  .options = options,
                  .type = type,
                  .layout = {.count = b != NULL ? 2 : 1,
                             .views = {a, b != NULL ? *b : a}},
                  .scale = 1};
    HRI_TRY(make_parts(&r));
    const int64_t all = hr_extent_count(a.extent);
    HRI_TRY(hri_layout_choose(&r.layout, call,
                              hri_unit_elements(all, HRI_REDUCE_CELL_ITEMS),
                              hri_unit_elements(all, HRI_REDUCE_ITEMS)));
    /* the points of one launch; some norms take more */
    HRI_TRY(hri_split_read_progress(
        options, call, (double)hr_extent_count(domain_of(&r)), &r.progress));
    HRI_TRY(
        hri_progress_end(&r.progress, find_result(&r, reduction, &reduced)));
    if (!r.dry) {
        *result = reduced;
    }
    return HR_OK;
}

/* ---- by a function of the caller's */

/* A reduction by a function of the caller's, under way. */
typedef struct reducing_with {
    hr_context *context;
    hr_split_options options; /* of all rounds but the first */
    hr_type type;
    const hr_kernel *kernels[2]; /* of lines and of cells */
    hri_layout layout;
    hr_array *out; /* of the last round; NULL: there was none */
    bool dry;      /* nothing was computed */
} reducing_with;

static hr_status check_view(const hr_context *context, hr_type type,
                            const hr_view *view)
{
    const char *element = hri_type_element(type);
    if (element == NULL || type == HR_F16 || type == HR_BF16) {
        HRI_TRY(hri_type_check(call, NULL, type));
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: %s is kept as bits, which no function "
                        "of two elements gets",
                        hr_type_name(type));
    }
    return hri_view_check(view, context, type, call, "the view");
}

/* The expression begins in line 1: compilers name its own lines. */
static hr_status make_kernels(reducing_with *r, const char *expression)
{
    static const char file[] = "reduction";
    static const char format[] =
        "typedef %s element; HR_FUNCTION element "
        "joined(const element a, const element b) { return (%s\n); }\n%s";
    const size_t bytes =
        sizeof format + strlen(expression) + strlen(hri_reduce_with_text) + 16;
    char *text = malloc(bytes);
    if (text == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "reduce: no memory for the kernel");
    }
    snprintf(text, bytes, format, hri_type_element(r->type), expression,
             hri_reduce_with_text);
    hr_status status = hri_text_kernel(r->context, text, "reduce_lines", file,
                                       &r->kernels[false]);
    if (status == HR_OK) {
        status = hri_text_kernel(r->context, text, "reduce_cells", file,
                                 &r->kernels[true]);
    }
    free(text);
    return status;
}

static hr_status launch_round(reducing_with *r, hr_array *out,
                              const hr_split_options *options)
{
    const hri_layout *l = &r->layout;
    const hr_extent tile = hr_extent2(1, HRI_REDUCE_ITEMS);
    const int64_t rows[3] = {l->unit.rows, 1, 1};
    const hr_argument arguments[] = {hr_in(l->views[0]),
                                     hr_out(hr_view_of(out)),
                                     hr_value(&l->unit, sizeof l->unit)};
    hri_splitting s = {.context = r->context,
                       .kernel = r->kernels[l->views[0].extent.rank == 1],
                       .domain =
                           hr_extent2(l->rows, l->row_units * HRI_REDUCE_ITEMS),
                       .arguments = arguments,
                       .call = call,
                       .rows = rows,
                       .tile = &tile,
                       .usable = r->type == HR_F64 || r->type == HR_C64
                                     ? hri_accelerator_check_double
                                     : NULL};
    hr_status status = hri_split_run(&s, 3, options);
    r->options.accelerators = s.options.accelerators;
    r->options.accelerator_count = s.options.accelerator_count;
    r->options.threads = s.options.threads;
    r->dry = s.options.dry_run;
    return status;
}

/* Reduce each unit of a view to an element of a new array. */
static hr_status run_round(reducing_with *r, hr_view view,
                           const hr_split_options *options)
{
    hr_array *out = NULL;
    r->layout = (hri_layout){.count = 1, .views = {view}};
    const int64_t elements =
        hri_unit_elements(hr_extent_count(view.extent), HRI_REDUCE_ITEMS);
    HRI_TRY(hri_layout_choose(&r->layout, call, elements, elements));
    HRI_TRY(hr_array_create_anywhere(
        r->context, view.element_bytes,
        hr_extent2(r->layout.rows, r->layout.row_units), &out));
    const hr_status status = launch_round(r, out, options);
    hr_array_destroy(r->out);
    r->out = out;
    return status;
}

static hr_status run_rounds(reducing_with *r, const hr_view *view,
                            const hr_split_options *options, void *result)
{
    hr_mapping mapping = {0};
    HRI_TRY(run_round(r, *view, options));
    while (!r->dry && r->layout.rows * r->layout.row_units > 1) {
        HRI_TRY(run_round(r, hr_view_of(r->out), &r->options));
    }
    if (r->dry) {
        return HR_OK;
    }
    HRI_TRY(hr_map(hr_view_of(r->out), HR_IN, &mapping));
    memcpy(result, mapping.data, view->element_bytes);
    return hr_unmap(&mapping);
}

hr_status hr_reduce_with(hr_context *context, const char *expression,
                         hr_type type, hr_view view,
                         const hr_split_options *options, void *result)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || expression == NULL || result == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduce: %s is NULL",
                        context == NULL      ? "the context"
                        : expression == NULL ? "the expression"
                                             : "the result");
    }
    reducing_with r = {
        .context = context, .type = type, .options = HR_SPLIT_OPTIONS_INIT};
    HRI_TRY(check_view(context, type, &view));
    HRI_TRY(make_kernels(&r, expression));
    const hr_status status = run_rounds(&r, &view, options, result);
    hr_array_destroy(r.out);
    return status;
}
