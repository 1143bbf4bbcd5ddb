/* SPDX-License-Identifier: MIT */
/* A filter to be done: what the caller asked for in a normal form, and what its
 * kernels need beside the picture. */
#ifndef HRI_FILTER_JOB_H
#define HRI_FILTER_JOB_H

#include <headrace/view.h>

#include "filter/window.h"

/* Both matrices are row-major; out is what is written, whose element (0, 0)
 * lies at (top, left) of in. Where the pictures are views of arrays, matrices
 * have their shapes alone, and views[0] and views[1] are what in and out are;
 * else their array is NULL. */
typedef struct hri_filter_job {
    hr_context *context;
    hr_filter_options options;
    double scale;
    hr_matrix in, out;
    hr_view views[2];
    int64_t top, left;
    const hr_window *asked; /* the caller's, */
    hr_window *window;      /* and a copy of it, or its transpose */
    bool transposed;
    hr_filter_method method;
    hri_factors factors; /* none where method is direct */
    int64_t edge;        /* of transforms; 0: as suits the picture */
    void *by_rows;       /* in's elements, where they had to be brought about */
} hri_filter_job;

/* Check what the caller asked for, and bring it into the normal form, without a
 * method yet. views: the pictures are. plan: matrices need no data. The job is
 * to be finished in any case. */
hr_status hri_filter_job_init(hri_filter_job *job, bool views, bool plan);
void hri_filter_job_finish(hri_filter_job *job);

/* Bring in's elements about where its rows lie by columns. */
hr_status hri_filter_job_transpose(hri_filter_job *job);

/* 2 reach + 1 */
int64_t hri_filter_extent(const hri_filter_job *job);

/* Rows [first, first + count) of in or out (0, 1), which is a view. */
hr_view hri_filter_view_rows(const hri_filter_job *job, int which,
                             int64_t first, int64_t count);

/* How many separable filters; 0: another method. */
int64_t hri_filter_rank(const hri_filter_job *job);

/* Multiplications and additions for an element of out, or what makes up for
 * them. */
double hri_filter_products(const hri_filter_job *job);

/* Bands begin at multiples of so many rows: what lies in one block of rows has
 * one order of summation, however the picture is cut. */
int64_t hri_filter_block(const hri_filter_job *job);

typedef struct hri_fft hri_fft; /* fft.h */

/* Numbers of the picture's type in host memory, and arrays over them. */
typedef struct hri_table {
    void *data;
    hr_array *array;
} hri_table;

typedef struct hri_filter_tables {
    hri_table apron;  /* the rows above and below the picture: 2 reach of them;
                         one element where none are read */
    hri_table across; /* of separable filters, the weights of all for a
                         column, and then for the next one */
    bool folded;      /* across has half of symmetric filters: from the
                         middle on, whose own are halved */
    hri_table down;   /* filter by filter, or all weights by rows; for
                         kernels/dialect/filter.c */
    hri_table strip_down; /* the same backwards, or by columns; for strips */
    hri_fft *fft;         /* of HR_FILTER_FFT alone */
} hri_filter_tables;

/* To be finished in any case. */
hr_status hri_filter_tables_init(hri_filter_tables *tables,
                                 const hri_filter_job *job);
void hri_filter_tables_finish(hri_filter_tables *tables);

#endif
