/* SPDX-License-Identifier: MIT */
/* Reductions by a function of the caller's: units become an element each, and
 * these are reduced again until there is one. */
#include <headrace/reduce.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "calls/reduction.h"
#include "calls/views.h"
#include "kernels/kernels.h"
#include "split/split.h"

extern const char hri_reduce_with_text[]; /* kernels/dialect/reduce_with.c */

/* A reduction under way. */
typedef struct reducing {
    hr_context *context;
    hr_split_options options; /* of all rounds but the first */
    hr_type type;
    const hr_kernel *kernels[2]; /* of lines and of cells */
    hri_layout layout;
    hr_array *out; /* of the last round; NULL: there was none */
    bool dry;      /* nothing was computed */
} reducing;

/* ---- rules */

static hr_status check_view(const hr_context *context, hr_type type,
                            const hr_view *view)
{
    const char *element = hri_type_element(type);
    if (element == NULL || type == HR_F16 || type == HR_BF16) {
        HRI_TRY(hri_type_check("reduce", NULL, type));
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: %s is kept as bits, which no function "
                        "of two elements gets",
                        hr_type_name(type));
    }
    return hri_view_check(view, context, type, "reduce", "the view");
}

/* ---- the kernels */

/* The expression begins in line 1: compilers name its own lines. */
static hr_status make_kernels(reducing *r, const char *expression)
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

/* ---- rounds */

static hr_status launch_round(reducing *r, hr_array *out,
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
                           hr_extent2(l->rows, l->pieces * HRI_REDUCE_ITEMS),
                       .arguments = arguments,
                       .call = "reduce",
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
static hr_status run_round(reducing *r, hr_view view,
                           const hr_split_options *options)
{
    hr_array *out = NULL;
    r->layout = (hri_layout){.count = 1, .views = {view}};
    const int64_t elements =
        hri_unit_elements(hr_extent_count(view.extent), HRI_REDUCE_ITEMS);
    HRI_TRY(hri_layout_choose(&r->layout, "reduce", elements, elements));
    HRI_TRY(hr_array_create_anywhere(
        r->context, view.element_bytes,
        hr_extent2(r->layout.rows, r->layout.pieces), &out));
    const hr_status status = launch_round(r, out, options);
    hr_array_destroy(r->out);
    r->out = out;
    return status;
}

static hr_status run_rounds(reducing *r, const hr_view *view,
                            const hr_split_options *options, void *result)
{
    hr_mapping mapping = {0};
    HRI_TRY(run_round(r, *view, options));
    while (!r->dry && r->layout.rows * r->layout.pieces > 1) {
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
    reducing r = {
        .context = context, .type = type, .options = HR_SPLIT_OPTIONS_INIT};
    HRI_TRY(check_view(context, type, &view));
    HRI_TRY(make_kernels(&r, expression));
    const hr_status status = run_rounds(&r, &view, options, result);
    hr_array_destroy(r.out);
    return status;
}
