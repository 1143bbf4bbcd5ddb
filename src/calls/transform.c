/* SPDX-License-Identifier: MIT */
/* A statement for each element: the kernel around it, and its run. */
#include <headrace/transform.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "calls/views.h"
#include "kernels/kernels.h"
#include "kernels/words.h"

static const char name[] = "transform"; /* of the kernel, and of its file */

/* An argument's name, in the list of names. */
typedef struct word {
    const char *at;
    int length;
} word;

typedef struct transforming {
    const char *statement;
    const hr_argument *arguments;
    uint32_t count;
    word names[HR_MAX_PARAMETERS];
    hr_extent extent;
} transforming;

/* ---- rules */

static hr_status check_names(const transforming *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (hri_same_word(t->names[i].at, t->names[j].at)) {
                return hri_fail(HR_ERROR_INVALID,
                                "transform: two arguments have the name %.*s",
                                t->names[i].length, t->names[i].at);
            }
        }
    }
    return HR_OK;
}

static hr_status read_names(transforming *t, const char *names, size_t count)
{
    const char *at = hri_skip_space(names);
    uint32_t found = 0;
    bool more = *at != '\0';
    for (; more && found < HR_MAX_PARAMETERS; found++) {
        const size_t length = hri_word_length(at);
        const char *next = hri_skip_space(at + length);
        if (length == 0 || isdigit((unsigned char)*at) ||
            (*next != ',' && *next != '\0') || strncmp(at, "hr_", 3) == 0 ||
            strncmp(at, "HR_", 3) == 0) {
            return hri_fail(HR_ERROR_INVALID,
                            "transform: \"%.*s\" in the list of names is not "
                            "a name of yours",
                            (int)strcspn(at, ","), at);
        }
        t->names[found] = (word){at, (int)length};
        more = *next == ',';
        at = more ? hri_skip_space(next + 1) : next;
    }
    if (more || found != count) {
        return hri_fail(
            HR_ERROR_INVALID,
            "transform: the list has %s%u name%s, for %zu argument%s",
            more ? "more than " : "", found, hri_plural(found), count,
            hri_plural(count));
    }
    t->count = found;
    return check_names(t);
}

/* The extent with its first dimensions joined, until kernels have the rank. */
static hr_extent in_space(hr_extent extent)
{
    while (extent.rank > HR_MAX_KERNEL_RANK) {
        extent.size[0] *= extent.size[1];
        extent.rank--;
        for (uint32_t d = 1; d < extent.rank; d++) {
            extent.size[d] = extent.size[d + 1];
        }
    }
    return extent;
}

static hr_status check_extent(const transforming *t, uint32_t first, uint32_t i)
{
    const hr_extent *a = &t->arguments[first].view.extent;
    const hr_extent *b = &t->arguments[i].view.extent;
    const word *x = &t->names[first], *y = &t->names[i];
    if (a->rank != b->rank) {
        return hri_fail(HR_ERROR_INVALID,
                        "transform: %.*s has rank %u, but %.*s has %u",
                        x->length, x->at, a->rank, y->length, y->at, b->rank);
    }
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->size[d] != b->size[d]) {
            return hri_fail(HR_ERROR_INVALID,
                            "transform: %.*s has size %lld in dimension %u, "
                            "but %.*s has %lld",
                            x->length, x->at, (long long)a->size[d], d,
                            y->length, y->at, (long long)b->size[d]);
        }
    }
    return HR_OK;
}

static const char *type_of(const hr_argument *a)
{
    return a->kind == HR_PARAMETER_VIEW ? a->view.type : a->type;
}

static hr_status check_argument(const transforming *t, uint32_t i)
{
    const hr_argument *a = &t->arguments[i];
    const word *w = &t->names[i];
    if (a->kind != HR_PARAMETER_VIEW && a->kind != HR_PARAMETER_VALUE) {
        return hri_fail(HR_ERROR_INVALID,
                        "transform: %.*s is neither a view nor a value",
                        w->length, w->at);
    }
    if (type_of(a) == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "transform: the type of %.*s is not known; "
                        "hr_value_typed, hr_in_data and hr_array_wrap_typed "
                        "tell it",
                        w->length, w->at);
    }
    const uint32_t rank = a->view.extent.rank;
    if (a->kind == HR_PARAMETER_VIEW && (rank < 1 || rank > HR_MAX_RANK)) {
        return hri_fail(HR_ERROR_INVALID,
                        "transform: %.*s has rank %u, not 1 to %d", w->length,
                        w->at, rank, HR_MAX_RANK);
    }
    return HR_OK;
}

static hr_status check_arguments(transforming *t)
{
    uint32_t first = t->count;
    bool writes = false;
    for (uint32_t i = 0; i < t->count; i++) {
        HRI_TRY(check_argument(t, i));
        if (t->arguments[i].kind == HR_PARAMETER_VIEW) {
            first = first < t->count ? first : i;
            writes = writes || (t->arguments[i].access & HR_OUT) != 0;
            HRI_TRY(check_extent(t, first, i));
        }
    }
    if (!writes) {
        return hri_fail(HR_ERROR_INVALID,
                        "transform: no argument is OUT or INOUT, so nothing "
                        "would be written");
    }
    t->extent = in_space(t->arguments[first].view.extent);
    return HR_OK;
}

/* Make a narrow view one row, or host memory, which is then packed. False: it
 * is not narrow. */
static bool make_row(hr_argument *a)
{
    hr_view *v = &a->view;
    if (a->data) {
        const size_t row =
            v->element_bytes * (size_t)v->extent.size[v->extent.rank - 1];
        if (a->bytes != 0 && a->bytes != row) {
            return false;
        }
        a->bytes = 0;
        (void)hri_packed_strides(v->extent, v->element_bytes, v->stride_bytes);
    }
    return hri_view_is_narrow(v) && hri_view_flatten(v, 0, 1);
}

/* Take all views as one row each, if all are narrow. */
static void flatten_views(transforming *t, hr_argument *flat)
{
    for (uint32_t i = 0; i < t->count; i++) {
        flat[i] = t->arguments[i];
        if (flat[i].kind == HR_PARAMETER_VIEW && !make_row(&flat[i])) {
            return;
        }
    }
    t->arguments = flat;
    t->extent = hr_extent1(hr_extent_count(t->extent));
}

/* ---- the kernel */

static void print_access(FILE *to, const transforming *t, uint32_t i)
{
    fprintf(to, "HR_AT%u(hr_of_%.*s", t->extent.rank, t->names[i].length,
            t->names[i].at);
    for (uint32_t d = 0; d < t->extent.rank; d++) {
        fprintf(to, ", hr_i%u", d);
    }
    fprintf(to, ")");
}

/* Views have names of their own, which the statement does not have. So the text
 * shows that a point uses its own row alone. */
static void print_parameter(FILE *to, const transforming *t, uint32_t i)
{
    const hr_argument *a = &t->arguments[i];
    const word *w = &t->names[i];
    if (a->kind == HR_PARAMETER_VALUE) {
        fprintf(to, ", (VALUE, %s, 0, %.*s)", type_of(a), w->length, w->at);
    } else {
        fprintf(to, ", (%s, %s, %u, hr_of_%.*s)",
                a->access == HR_IN    ? "IN"
                : a->access == HR_OUT ? "OUT"
                                      : "INOUT",
                type_of(a), t->extent.rank, w->length, w->at);
    }
}

/* The statement begins in line 1: compilers name its own lines. */
static void print_kernel(FILE *to, const transforming *t)
{
    fprintf(to, "HR_KERNEL%u(%s", t->count, name);
    for (uint32_t i = 0; i < t->count; i++) {
        print_parameter(to, t, i);
    }
    fprintf(to, ") { HR_EACH%u(", t->extent.rank);
    for (uint32_t d = 0; d < t->extent.rank; d++) {
        fprintf(to, "%shr_i%u", d > 0 ? ", " : "", d);
    }
    fprintf(to, ") { ");
    for (uint32_t i = 0; i < t->count; i++) {
        const hr_argument *a = &t->arguments[i];
        if (a->kind == HR_PARAMETER_VIEW) {
            fprintf(to, "%s%s %.*s", a->access == HR_IN ? "const " : "",
                    type_of(a), t->names[i].length, t->names[i].at);
            if ((a->access & HR_IN) != 0) {
                fprintf(to, " = ");
                print_access(to, t, i);
            }
            fprintf(to, "; ");
        }
    }
    fprintf(to, "%s\n;", t->statement);
    for (uint32_t i = 0; i < t->count; i++) {
        const hr_argument *a = &t->arguments[i];
        if (a->kind == HR_PARAMETER_VIEW && (a->access & HR_OUT) != 0) {
            fprintf(to, " ");
            print_access(to, t, i);
            fprintf(to, " = %.*s;", t->names[i].length, t->names[i].at);
        }
    }
    fprintf(to, " } }\n");
}

static hr_status make_kernel(hr_context *context, const transforming *t,
                             const hr_kernel **kernel)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    bool printed = to != NULL;
    if (printed) {
        print_kernel(to, t);
        printed = ferror(to) == 0;
        printed = fclose(to) == 0 && printed;
    }
    hr_status status = printed
                           ? hri_text_kernel(context, text, name, name, kernel)
                           : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                      "transform: no memory for its kernel");
    free(text);
    return status;
}

/* ---- the call */

hr_status hr_transform(hr_context *context, const char *statement,
                       const char *names, const hr_argument *arguments,
                       size_t count, const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    transforming t = {.statement = statement, .arguments = arguments};
    hr_argument flat[HR_MAX_PARAMETERS];
    const hr_kernel *kernel = NULL;
    if (statement == NULL || names == NULL || arguments == NULL) {
        return hri_fail(HR_ERROR_INVALID, "transform: %s is NULL",
                        statement == NULL ? "the statement"
                        : names == NULL   ? "the list of names"
                                          : "the list of arguments");
    }
    HRI_TRY(read_names(&t, names, count));
    HRI_TRY(check_arguments(&t));
    if (context == NULL) {
        HRI_TRY(hr_context_default(&context));
    }
    if (options == NULL || options->tile == NULL) {
        flatten_views(&t, flat);
    }
    HRI_TRY(make_kernel(context, &t, &kernel));
    return hr_run(context, kernel, t.extent, t.arguments, count, options);
}
