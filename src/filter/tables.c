/* SPDX-License-Identifier: MIT */
/* Tables of weights in the type of the picture, in the order that kernels
 * need. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/array.h>

#include "base/size.h"
#include "base/status.h"
#include "filter/fft.h"
#include "filter/job.h"
#include "filter/kernels.h"

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
