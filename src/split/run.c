/* SPDX-License-Identifier: MIT */
/* hr_run: a split launch over the caller's memory, with the results home when
 * it returns. */
#include <headrace/run.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/arithmetic.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "split/split.h"
#include "trace/nvtx.h"
#include "trace/trace.h"

static hr_argument data_of(hr_access access, const void *data, const char *type,
                           size_t element_bytes, const hr_extent *extent,
                           size_t row_bytes)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW,
        .access = access,
        .view = {.extent = *extent,
                 .element_bytes = element_bytes,
                 .type = hri_element_name(type, element_bytes)},
        .value = data,
        .bytes = row_bytes,
        .whole = access == HR_IN,
        .data = true};
}

hr_argument hr_in_data(const void *data, const char *type, size_t element_bytes,
                       hr_extent extent, size_t row_bytes)
{
    return data_of(HR_IN, data, type, element_bytes, &extent, row_bytes);
}

hr_argument hr_out_data(void *data, const char *type, size_t element_bytes,
                        hr_extent extent, size_t row_bytes)
{
    return data_of(HR_OUT, data, type, element_bytes, &extent, row_bytes);
}

hr_argument hr_inout_data(void *data, const char *type, size_t element_bytes,
                          hr_extent extent, size_t row_bytes)
{
    return data_of(HR_INOUT, data, type, element_bytes, &extent, row_bytes);
}

typedef struct running {
    hr_context *context;
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    hr_argument arguments[HR_MAX_PARAMETERS]; /* views alone, no host memory */
    hr_array *arrays[HR_MAX_PARAMETERS]; /* around host memory; NULL: none */
} running;

/* ---- host memory */

/* Rows of host memory that are pitch bytes apart, at least one of each. */
typedef struct memory {
    int64_t start, rows, width, pitch;
} memory;

/* The host memory of an array. False: it has none. */
static bool find_memory(const hr_array *array, memory *m)
{
    const hri_store *s = &array->stores[HRI_HOST];
    *m = (memory){.start = (int64_t)(uintptr_t)s->host,
                  .rows = array->size[0] * array->size[1],
                  .width = array->size[2],
                  .pitch = (int64_t)s->pitch};
    if (m->pitch == m->width) { /* one row, however long */
        m->width *= m->rows;
        m->rows = 1;
    }
    return s->host != NULL;
}

/* Whether rows of a and b meet. Both have the same pitch, or one of them a
 * single row. Row j of b begins `distance` + (j - i) pitch behind row i of a.
 */
static bool rows_meet(const memory *a, const memory *b)
{
    const int64_t pitch = a->rows > 1 ? a->pitch : b->pitch;
    const int64_t distance = b->start - a->start;
    const int64_t before_end = a->width - 1 - distance;
    int64_t most = before_end / pitch - (before_end % pitch < 0);
    most = hri_min(most, b->rows - 1);
    return most > -a->rows && distance + most * pitch > -b->width;
}

static bool memory_meets(const memory *a, const memory *b)
{
    bool met = false;
    if (a->pitch == b->pitch || a->rows == 1 || b->rows == 1) {
        return rows_meet(a, b);
    }
    for (int64_t i = 0; i < a->rows && !met; i++) {
        const memory row = {a->start + i * a->pitch, 1, a->width, a->width};
        met = rows_meet(&row, b);
    }
    return met;
}

/* Check host memory i against the argument before it. Arrays of the caller's
 * around the same memory count with all of it. */
static hr_status check_overlap(const running *r, uint32_t i, uint32_t j)
{
    const hr_argument *a = &r->arguments[i], *b = &r->arguments[j];
    memory x, y;
    if (b->kind != HR_PARAMETER_VIEW || b->view.array == NULL ||
        (r->arrays[i] == NULL && r->arrays[j] == NULL) ||
        a->view.array == b->view.array ||
        (a->access == HR_IN && b->access == HR_IN) ||
        !find_memory(a->view.array, &x) || !find_memory(b->view.array, &y) ||
        !memory_meets(&x, &y)) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_INVALID, "%s: the host memory of %s overlaps %s",
                    r->kernel->name, r->parameters[i].name,
                    r->parameters[j].name);
}

static hr_status check_overlaps(const running *r)
{
    for (uint32_t i = 1; i < r->kernel->parameter_count; i++) {
        const bool view = r->arguments[i].kind == HR_PARAMETER_VIEW &&
                          r->arguments[i].view.array != NULL;
        for (uint32_t j = 0; j < i && view; j++) {
            HRI_TRY(check_overlap(r, i, j));
        }
    }
    return HR_OK;
}

/* Whether an element is given that is a row of them: x of float x[3][4]. */
static bool is_row(const hr_parameter *p, const hr_view *v)
{
    const uint32_t rank = v->extent.rank;
    return rank > 1 && p->bytes > 0 && v->extent.size[rank - 1] > 1 &&
           v->element_bytes == p->bytes * (size_t)v->extent.size[rank - 1];
}

/* Make a view of the host memory of an argument. */
static hr_status wrap_argument(running *r, uint32_t i)
{
    hr_argument *a = &r->arguments[i];
    const hr_view *v = &a->view;
    if (is_row(&r->parameters[i], v)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is a pointer to rows of %zu bytes, not to a "
                        "%s of %zu; give &%s[0][0]",
                        r->kernel->name, r->parameters[i].name,
                        v->element_bytes, r->parameters[i].type,
                        r->parameters[i].bytes, r->parameters[i].name);
    }
    hr_status status =
        hr_array_wrap_typed(r->context, a->value, v->type, v->element_bytes,
                            v->extent, a->bytes, &r->arrays[i]);
    if (status != HR_OK) {
        return hri_fail(status, "%s: %s: %s", r->kernel->name,
                        r->parameters[i].name, hr_last_error());
    }
    a->view = hr_view_of(r->arrays[i]);
    a->data = false;
    hri_argument_flatten(&r->parameters[i], a);
    return HR_OK;
}

/* ---- bands */

/* Give bands of memory alone, if points are known to read only their own row of
 * it. What is written stays as the program gave it. */
static hr_status narrow(running *r, const hr_extent *domain)
{
    const hri_indexings *read = NULL;
    HRI_TRY(hri_kernel_check_context(r->kernel, r->context));
    HRI_TRY(hri_kernel_read(r->context, r->kernel, &read));
    for (uint32_t i = 0; i < r->kernel->parameter_count; i++) {
        hr_argument *a = &r->arguments[i];
        if (r->arrays[i] != NULL && a->access == HR_IN && read->own_row[i] &&
            a->view.extent.size[r->parameters[i].list] == domain->size[0]) {
            a->whole = false;
        }
    }
    return HR_OK;
}

/* ---- the call */

/* Make views of all host memory. */
static hr_status wrap_all(running *r, const hr_extent *domain)
{
    for (uint32_t i = 0; i < r->kernel->parameter_count; i++) {
        if (r->arguments[i].data) {
            HRI_TRY(wrap_argument(r, i));
        }
    }
    pthread_mutex_lock(&r->context->lock);
    hr_status status = check_overlaps(r);
    if (status == HR_OK) {
        status = narrow(r, domain);
    }
    pthread_mutex_unlock(&r->context->lock);
    return status;
}

/* Bring home what was written. Wait for all of it, also after an error. */
static hr_status bring_home(const running *r)
{
    hri_error error = {0};
    for (uint32_t i = 0; i < r->kernel->parameter_count; i++) {
        const hr_argument *a = &r->arguments[i];
        if (a->kind == HR_PARAMETER_VIEW && (a->access & HR_OUT) != 0) {
            hri_error_keep(&error, hr_synchronize(a->view));
        }
    }
    return hri_error_raise(&error);
}

/* A domain that is none is refused later. */
static double points_of(const hr_extent *domain)
{
    double points = 1.0;
    for (uint32_t d = 0; d < domain->rank && d < HR_MAX_RANK; d++) {
        points *= (double)domain->size[d];
    }
    return points;
}

static hr_status run_and_finish(running *r, const hr_extent *domain,
                                const hr_split_options *options,
                                uint64_t start_ns)
{
    hri_progress progress;
    hri_splitting s = {.context = r->context,
                       .waits = true,
                       .kernel = r->kernel,
                       .domain = *domain,
                       .arguments = r->arguments,
                       .progress = &progress};
    HRI_TRY(wrap_all(r, domain));
    HRI_TRY(hri_split_read_progress(options, r->kernel->name, points_of(domain),
                                    &progress));
    HRI_TRY(hri_split_run(&s, r->kernel->parameter_count, options));
    if (s.options.dry_run) {
        return HR_OK;
    }
    HRI_TRY(hri_progress_end(&progress, bring_home(r)));
    hri_split_trace(&s, start_ns);
    return HR_OK;
}

static hr_status run_on_memory(running *r, const hr_extent *domain,
                               const hr_split_options *options)
{
    const uint64_t start_ns = hri_trace_now(r->context->trace != NULL);
    hri_range_begin(r->kernel->name);
    hri_error error = {0};
    hri_error_keep(&error, run_and_finish(r, domain, options, start_ns));
    for (uint32_t i = 0; i < r->kernel->parameter_count; i++) {
        hr_array_destroy(r->arrays[i]);
    }
    hri_range_end();
    return hri_error_raise(&error);
}

hr_status hr_run(hr_context *context, const hr_kernel *kernel, hr_extent domain,
                 const hr_argument *arguments, size_t count,
                 const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    running r = {.context = context, .kernel = kernel};
    if (kernel == NULL || arguments == NULL) {
        return hri_fail(HR_ERROR_INVALID, "run: %s is NULL",
                        kernel == NULL ? "the kernel"
                                       : "the list of arguments");
    }
    if (context == NULL) {
        HRI_TRY(hr_context_default(&r.context));
    }
    if (count != kernel->parameter_count) {
        hri_splitting s = {.context = r.context,
                           .kernel = kernel,
                           .domain = domain,
                           .arguments = arguments};
        return hri_split_run(&s, count, options); /* which says so */
    }
    r.parameters = kernel->parameters(kernel);
    for (uint32_t i = 0; i < count; i++) {
        r.arguments[i] = arguments[i];
    }
    return run_on_memory(&r, &domain, options);
}
