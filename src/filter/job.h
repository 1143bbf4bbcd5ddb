/* SPDX-License-Identifier: MIT */
/* A filter job: what the caller asked for, in a normal form, and what the
 * kernels need beside the picture.
 *
 * Bands begin at whole blocks of rows. In a block an element's place decides
 * the order of its sum, so results do not depend on the bands. */
#ifndef HRI_FILTER_JOB_H
#define HRI_FILTER_JOB_H

#include <headrace/view.h>

#include "filter/window.h"

/* A job. Both matrices are row-major. Only out is written. Its element (0, 0)
 * belongs to element (top, left) of in. If the pictures are views of arrays,
 * the views are in views[0] and views[1], and the matrices only have their
 * shapes. Otherwise the views' arrays are NULL. */
typedef struct hri_filter_job {
    hr_context *context;
    hr_filter_options options;
    double scale;
    hr_matrix in, out;
    hr_view views[2];
    int64_t top, left;
    const hr_window *asked; /* the caller's window */
    hr_window *window;      /* a copy of asked, or its transpose */
    bool transposed;
    hr_filter_method method;
    hri_factors factors; /* none if the method is direct */
    int64_t edge;        /* of blocks of transforms; 0: choose by the picture */
    void *by_rows;       /* in's elements in row-major order, if it was
                            column-major */
} hri_filter_job;

/* Check what the caller asked for, and make the normal form, without a method.
 * views: the pictures are views. plan: matrices need no data. Finish the job in
 * any case. */
hr_status hri_filter_job_init(hri_filter_job *job, bool views, bool plan);
void hri_filter_job_finish(hri_filter_job *job);

/* Bring in's elements into row-major order, if it is column-major. */
hr_status hri_filter_job_transpose(hri_filter_job *job);

/* 2 reach + 1 */
static inline int64_t hri_filter_extent(const hri_filter_job *job)
{
    return 2 * job->window->reach + 1;
}

/* Rows [first, first + count) of in (which = 0) or out (1), which is a view. */
hr_view hri_filter_view_rows(const hri_filter_job *job, int which,
                             int64_t first, int64_t count);

/* The number of separable filters. 0: another method. */
static inline int64_t hri_filter_rank(const hri_filter_job *job)
{
    return job->method == HR_FILTER_SEPARABLE ? job->factors.rank : 0;
}

/* Multiplications and additions for an element of out, or a number that takes
 * as long. */
double hri_filter_products(const hri_filter_job *job);

/* Bands begin at multiples of this many rows. So the order of summation in a
 * row does not depend on how the picture is cut. */
int64_t hri_filter_block(const hri_filter_job *job);

typedef struct hri_fft hri_fft; /* fft.h */

/* Numbers of the picture's type in host memory, and an array over them. */
typedef struct hri_table {
    void *data;
    hr_array *array;
} hri_table;

typedef struct hri_filter_tables {
    hri_table apron;  /* rows above and below the picture, 2 reach of each; one
                         element where none are read */
    hri_table across; /* of separable filters: the weights of all for one
                         column, then those for the next */
    bool folded;      /* across has only half of symmetric filters: from the
                         middle on, and half of the middle weight */
    hri_table down;   /* weights filter by filter, or all weights by rows; for
                         kernels/dialect/filter.inc */
    hri_table strip_down; /* weights filter by filter and backwards, or all
                             weights by columns; for strips */
    hri_fft *fft;         /* only for HR_FILTER_FFT */
} hri_filter_tables;

/* Finish the tables in any case. */
hr_status hri_filter_tables_init(hri_filter_tables *tables,
                                 const hri_filter_job *job);
void hri_filter_tables_finish(hri_filter_tables *tables);

#endif
