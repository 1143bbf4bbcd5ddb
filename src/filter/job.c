/* SPDX-License-Identifier: MIT */
/* The rules for the arguments, the normal form, and what kernels need beside
 * the picture. */
#include "filter/job.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/array.h>

#include "arrays/array.h"
#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "filter/fft.h"
#include "filter/kernels.h"

typedef long long ll; /* for %lld */

static hr_status check_numbers(const hri_filter_job *job)
{
    const hr_filter_options *o = &job->options;
    const hr_type type = job->in.type;
    const bool single = type == HR_F32;
    if (!isfinite(job->scale) || (single && fabs(job->scale) > FLT_MAX)) {
        return hri_fail(HR_ERROR_INVALID,
                        "filter: the scale is %g, not a finite %s", job->scale,
                        hr_type_name(type));
    }
    if (!isfinite(o->tolerance) || o->tolerance < 0.0) {
        return hri_fail(HR_ERROR_INVALID,
                        "filter: the tolerance is %g, not finite and 0 or more",
                        o->tolerance);
    }
    if (o->edges < HR_EDGES_LEFT || o->edges > HR_EDGES_CONSTANT) {
        return hri_fail(HR_ERROR_INVALID, "filter: unknown edges %d",
                        (int)o->edges);
    }
    if (single && isfinite(o->constant) && fabs(o->constant) > FLT_MAX) {
        return hri_fail(HR_ERROR_INVALID,
                        "filter: the constant is %g, which f32 cannot hold",
                        o->constant);
    }
    if (o->method < HR_FILTER_AUTO || o->method > HR_FILTER_FFT) {
        return hri_fail(HR_ERROR_INVALID, "filter: unknown method %d",
                        (int)o->method);
    }
    return HR_OK;
}

/* Check the weights times the scale, since these are used for sums. */
static hr_status check_weights(const hri_filter_job *job)
{
    const hr_window *window = job->asked;
    const double most = job->in.type == HR_F32 ? FLT_MAX : DBL_MAX;
    const int64_t n = 2 * window->reach + 1;
    for (int64_t i = 0; i < n * n; i++) {
        if (fabs(job->scale * window->values[i]) > most) {
            return hri_fail(HR_ERROR_INVALID,
                            "filter: the scale %g times w(%lld, %lld) = %g is "
                            "more than %s can hold",
                            job->scale, (ll)(i / n - window->reach),
                            (ll)(i % n - window->reach), window->values[i],
                            hr_type_name(job->in.type));
        }
    }
    return HR_OK;
}

static hr_status check_types(hr_type in, hr_type out)
{
    HRI_TRY(hri_type_check("filter", "in", in));
    HRI_TRY(hri_type_check("filter", "out", out));
    if (in == out && (in == HR_F32 || in == HR_F64)) {
        return HR_OK;
    }
    return hri_fail(
        HR_ERROR_UNSUPPORTED,
        "filter: in is of %s and out of %s; both must be f32, or both f64",
        hr_type_name(in), hr_type_name(out));
}

/* Check matrices. `shapes`: they only have shapes. */
static hr_status check_matrices(const hri_filter_job *job, bool shapes)
{
    const hr_matrix *in = &job->in, *out = &job->out;
    HRI_TRY(hri_matrix_check("filter", "in", in));
    HRI_TRY(hri_matrix_check("filter", "out", out));
    if (in->rows != out->rows || in->cols != out->cols) {
        return hri_fail(
            HR_ERROR_INVALID, "filter: in is %lldx%lld, but out is %lldx%lld",
            (ll)in->rows, (ll)in->cols, (ll)out->rows, (ll)out->cols);
    }
    if (shapes || in->rows == 0 || in->cols == 0) {
        return HR_OK;
    }
    if (in->data == NULL || out->data == NULL) {
        return hri_fail(HR_ERROR_INVALID, "filter: %s is NULL",
                        in->data == NULL ? "in" : "out");
    }
    return hri_matrix_overlap(in, out)
               ? hri_fail(HR_ERROR_INVALID, "filter: out overlaps in")
               : HR_OK;
}

static hr_status copy_window(const hr_window *window, bool transposed,
                             hr_window **out)
{
    HRI_TRY(hr_window_create(window->reach, window->values, out));
    const int64_t n = 2 * window->reach + 1;
    for (int64_t i = 0; i < n && transposed; i++) {
        for (int64_t j = 0; j < n; j++) {
            (*out)->values[j * n + i] = window->values[i * n + j];
        }
    }
    return HR_OK;
}

/* Without values beyond the edges the output is smaller. */
static void cut_out(hri_filter_job *job)
{
    if (job->options.edges != HR_EDGES_LEFT) {
        return;
    }
    hr_matrix *out = &job->out;
    const int64_t reach = job->window->reach;
    job->top = job->left = reach;
    out->rows = hri_max(out->rows - 2 * reach, 0);
    out->cols = hri_max(out->cols - 2 * reach, 0);
    if (out->data != NULL && out->rows > 0 && out->cols > 0) {
        const size_t first = (size_t)(reach * (out->row_stride + 1));
        out->data = (char *)out->data + first * hr_type_size(out->type);
    }
    job->views[1].offset_bytes +=
        reach * (job->views[1].stride_bytes[0] + job->views[1].stride_bytes[1]);
    job->views[1].extent.size[1] = out->cols;
}

static hr_status check_view(const hri_filter_job *job, int which)
{
    const hr_view *view = &job->views[which];
    const char *name = which == 0 ? "in" : "out";
    const size_t element = hr_type_size(job->in.type);
    if (view->array == NULL || view->array->context != job->context) {
        return hri_fail(HR_ERROR_INVALID, "filter: %s belongs to %s", name,
                        view->array == NULL ? "no array" : "another context");
    }
    if (view->extent.rank != 2) {
        return hri_fail(HR_ERROR_INVALID, "filter: %s has rank %u, not 2", name,
                        view->extent.rank);
    }
    if (view->element_bytes != element ||
        view->stride_bytes[1] != (int64_t)element) {
        return hri_fail(
            HR_ERROR_INVALID,
            "filter: the elements of %s have %zu byte%s, %lld "
            "apart, but %s needs both to be %zu",
            name, view->element_bytes, hri_plural(view->element_bytes),
            (ll)view->stride_bytes[1], hr_type_name(job->in.type), element);
    }
    return HR_OK;
}

static hr_status check_views(const hri_filter_job *job)
{
    HRI_TRY(check_view(job, 0));
    HRI_TRY(check_view(job, 1));
    if (job->views[0].array == job->views[1].array) {
        return hri_fail(
            HR_ERROR_INVALID,
            "filter: in and out are views of one array, not of two");
    }
    return HR_OK;
}

hr_view hri_filter_view_rows(const hri_filter_job *job, int which,
                             int64_t first, int64_t count)
{
    hr_view view = job->views[which];
    view.offset_bytes += first * view.stride_bytes[0];
    view.extent.size[0] = count;
    return view;
}

hr_status hri_filter_job_init(hri_filter_job *job, bool views, bool plan)
{
    HRI_TRY(check_types(job->in.type, job->out.type));
    if (views) {
        HRI_TRY(check_views(job));
    }
    job->in = hri_matrix_tidy(job->in);
    job->out = hri_matrix_tidy(job->out);
    HRI_TRY(check_matrices(job, views || plan));
    HRI_TRY(check_numbers(job));
    HRI_TRY(check_weights(job));
    job->transposed = job->out.col_stride != 1;
    HRI_TRY(copy_window(job->asked, job->transposed, &job->window));
    if (job->transposed) {
        job->in = hr_matrix_transpose(job->in);
        job->out = hr_matrix_transpose(job->out);
    }
    cut_out(job);
    return HR_OK;
}

/* Copy a square, so that its lines stay in the first-level cache. */
static void pack_square(const hr_matrix *m, int64_t row, int64_t col,
                        int64_t edge, void *to)
{
    for (int64_t r = row; r < hri_min(row + edge, m->rows); r++) {
        for (int64_t c = col; c < hri_min(col + edge, m->cols); c++) {
            const int64_t at = r * m->row_stride + c * m->col_stride;
            if (m->type == HR_F32) {
                ((float *)to)[r * m->cols + c] = ((const float *)m->data)[at];
            } else {
                ((double *)to)[r * m->cols + c] = ((const double *)m->data)[at];
            }
        }
    }
}

hr_status hri_filter_job_transpose(hri_filter_job *job)
{
    enum { EDGE = 32 };
    hr_matrix *m = &job->in;
    if (m->col_stride == 1) {
        return HR_OK;
    }
    const size_t bytes =
        (size_t)m->rows * (size_t)m->cols * hr_type_size(m->type);
    job->by_rows = malloc(bytes);
    if (job->by_rows == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "filter: no memory to transpose %lldx%lld elements",
                        (ll)m->rows, (ll)m->cols);
    }
    for (int64_t row = 0; row < m->rows; row += EDGE) {
        for (int64_t col = 0; col < m->cols; col += EDGE) {
            pack_square(m, row, col, EDGE, job->by_rows);
        }
    }
    *m = hr_matrix_row_major(job->by_rows, m->type, m->rows, m->cols, 0);
    return HR_OK;
}

void hri_filter_job_finish(hri_filter_job *job)
{
    hr_window_destroy(job->window);
    hri_factors_free(&job->factors);
    free(job->by_rows);
    *job = (hri_filter_job){0};
}

double hri_filter_products(const hri_filter_job *job)
{
    const double n = (double)hri_filter_extent(job);
    if (job->method == HR_FILTER_DIRECT) {
        return n * n;
    }
    if (job->method == HR_FILTER_SEPARABLE) {
        const double rows = fmax((double)job->out.rows, 1.0);
        const double beside = 2.0 * (double)job->window->reach;
        return n * (double)job->factors.rank * (1.0 + (rows + beside) / rows);
    }
    const int64_t edge = hri_fft_edge(job);
    const double area = (double)edge * (double)edge;
    return hri_fft_blocks(job, edge) * 2.5 * area * log2(area) /
           ((double)job->out.rows * (double)job->out.cols);
}

int64_t hri_filter_block(const hri_filter_job *job)
{
    return job->method == HR_FILTER_FFT
               ? hri_fft_edge(job) - 2 * job->window->reach
               : HRI_STRIP_BLOCK;
}

/* ---- tables of weights in the type of the picture, in the order that kernels
 * need, and the apron */

static void put(const hri_table *table, hr_type type, int64_t at, double value)
{
    if (type == HR_F32) {
        ((float *)table->data)[at] = (float)value;
    } else {
        ((double *)table->data)[at] = value;
    }
}

static hr_status make_table(const hri_filter_job *job, hr_extent extent,
                            hri_table *table)
{
    const size_t element = hr_type_size(job->in.type);
    const size_t count = (size_t)hr_extent_count(extent);
    table->data = calloc(count, element);
    if (table->data == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "filter: no memory for a table of %zu numbers", count);
    }
    return hr_array_wrap(job->context, table->data, element, extent, 0,
                         &table->array);
}

/* The first and last rows of the picture, in host memory. */
typedef struct ends {
    int64_t count; /* rows in each end */
    int64_t last;  /* the index of the bottom's first row */
    const char *top, *bottom;
    size_t row_bytes;
    void *fetched; /* copies of a view's rows; NULL: the rows are the
                      caller's */
} ends;

/* Fetch rows of in, which is a view. */
static hr_status fetch_rows(const hri_filter_job *job, int64_t first,
                            int64_t count, void *to)
{
    hr_array *array = NULL;
    HRI_TRY(hr_array_wrap(job->context, to, hr_type_size(job->in.type),
                          hr_extent2(count, job->in.cols), 0, &array));
    hr_status status =
        hr_copy(hri_filter_view_rows(job, 0, first, count), hr_view_of(array));
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(array));
    }
    hr_array_destroy(array);
    return status;
}

static hr_status find_ends(const hri_filter_job *job, ends *e)
{
    const hr_matrix *in = &job->in;
    const size_t element = hr_type_size(in->type);
    e->count = hri_min(job->window->reach, in->rows);
    e->last = in->rows - e->count;
    if (job->views[0].array == NULL) {
        e->row_bytes = (size_t)in->row_stride * element;
        e->top = in->data;
        e->bottom = e->top + (size_t)e->last * e->row_bytes;
        return HR_OK;
    }
    e->row_bytes = (size_t)in->cols * element;
    const size_t bytes = (size_t)e->count * e->row_bytes;
    e->fetched = malloc(2 * bytes);
    if (e->fetched == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "filter: no memory for %zu bytes of rows", 2 * bytes);
    }
    e->top = e->fetched;
    e->bottom = e->top + bytes;
    HRI_TRY(fetch_rows(job, 0, e->count, e->fetched));
    return fetch_rows(job, e->last, e->count, (char *)e->fetched + bytes);
}

/* Fill the apron: the rows that windows read above and below the picture. */
static void fill_apron(const hri_filter_job *job, const ends *e,
                       const hri_table *apron)
{
    const hr_matrix *in = &job->in;
    const int64_t reach = job->window->reach;
    const size_t bytes = (size_t)in->cols * hr_type_size(in->type);
    for (int64_t i = 0; i < 2 * reach; i++) {
        char *to = (char *)apron->data + (size_t)i * bytes;
        const int64_t row =
            hri_edge_index(i < reach ? i - reach : in->rows + i - reach,
                           in->rows, job->options.edges);
        for (int64_t c = 0; c < in->cols && row < 0; c++) {
            put(apron, in->type, i * in->cols + c, job->options.constant);
        }
        if (row >= 0 && row < e->count) {
            memcpy(to, e->top + (size_t)row * e->row_bytes, bytes);
        } else if (row >= 0) {
            memcpy(to, e->bottom + (size_t)(row - e->last) * e->row_bytes,
                   bytes);
        }
    }
}

static hr_status make_apron(hri_filter_tables *t, const hri_filter_job *job)
{
    const int64_t reach = job->window->reach;
    if (job->options.edges == HR_EDGES_LEFT || reach == 0) {
        return make_table(job, hr_extent2(1, 1), &t->apron);
    }
    ends e = {0};
    HRI_TRY(make_table(job, hr_extent2(2 * reach, job->in.cols), &t->apron));
    const hr_status status =
        job->options.edges != HR_EDGES_CONSTANT ? find_ends(job, &e) : HR_OK;
    if (status == HR_OK) {
        fill_apron(job, &e, &t->apron);
    }
    free(e.fetched);
    return status;
}

/* Fill in all weights: by rows for kernels, by columns and backwards for
 * strips. */
static void fill_direct(const hri_filter_tables *t, const hri_filter_job *job)
{
    const int64_t n = hri_filter_extent(job);
    for (int64_t i = 0; i < n * n; i++) {
        const double own = job->scale * job->window->values[i];
        put(&t->down, job->in.type, i, own);
        put(&t->strip_down, job->in.type, i % n * n + n - 1 - i / n, own);
    }
}

/* Whether all rows of weights are symmetric. Then filters along rows are, too,
 * but for rounding. */
static bool is_symmetric(const hr_window *window)
{
    const int64_t n = 2 * window->reach + 1;
    bool same = true;
    for (int64_t i = 0; i < n && same; i++) {
        const double *row = window->values + i * n;
        for (int64_t j = 0; j < window->reach; j++) {
            same = same && row[j] == row[n - 1 - j];
        }
    }
    return same;
}

static void fill_separable(const hri_filter_tables *t,
                           const hri_filter_job *job)
{
    const hri_factors *f = &job->factors;
    const int64_t n = f->extent, reach = job->window->reach;
    const hr_type type = job->in.type;
    const double scale = ldexp(job->scale, f->exponent);
    for (int64_t k = 0; k < f->rank; k++) {
        for (int64_t i = 0; i < n; i++) {
            const double down = scale * f->down[k * n + i];
            double across = f->across[k * n + i];
            put(&t->down, type, k * n + i, down);
            put(&t->strip_down, type, k * n + n - 1 - i, down);
            if (!t->folded) {
                put(&t->across, type, i * f->rank + k, across);
            } else if (i >= reach) { /* the middle is its own pair */
                across = (across + f->across[k * n + n - 1 - i]) / 2.0;
                put(&t->across, type, (i - reach) * f->rank + k,
                    i > reach ? across : across / 2.0);
            }
        }
    }
}

static hr_status make_weights(hri_filter_tables *t, const hri_filter_job *job)
{
    const int64_t n = hri_filter_extent(job), rank = hri_filter_rank(job);
    const hr_extent all = hr_extent2(rank > 0 ? rank : n, n);
    HRI_TRY(make_table(job, all, &t->down));
    HRI_TRY(make_table(job, hr_extent1(all.size[0] * n), &t->strip_down));
    /* kernels need one of each argument, used or not */
    HRI_TRY(make_table(job, hr_extent1(rank > 0 ? rank * n : 1), &t->across));
    if (rank > 0) {
        t->folded = is_symmetric(job->window);
        fill_separable(t, job);
    } else {
        fill_direct(t, job);
    }
    return HR_OK;
}

hr_status hri_filter_tables_init(hri_filter_tables *tables,
                                 const hri_filter_job *job)
{
    HRI_TRY(make_apron(tables, job));
    if (job->method != HR_FILTER_FFT) {
        return make_weights(tables, job);
    }
    tables->fft = calloc(1, sizeof *tables->fft);
    return tables->fft != NULL
               ? hri_fft_init(tables->fft, job)
               : hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
}

void hri_filter_tables_finish(hri_filter_tables *t)
{
    hri_table *const all[] = {&t->apron, &t->across, &t->down, &t->strip_down};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        hr_array_destroy(all[i]->array);
        free(all[i]->data);
    }
    if (t->fft != NULL) {
        hri_fft_finish(t->fft);
        free(t->fft);
    }
    *t = (hri_filter_tables){0};
}
