/* SPDX-License-Identifier: MIT */
/* Measuring how fast accelerators filter. */
#include <stdlib.h>

#include "arrays/array.h"
#include "base/size.h"
#include "base/status.h"
#include "filter/cost.h"
#include "filter/fft.h"
#include "filter/piece.h"

enum {
    REACH = 24, /* of the window that is measured */
    COLS = 1024,
    MIN_EDGE = 128,  /* of blocks of transforms; the window is a small part of
                        it */
    MIN_ROWS = 256,  /* the first size; each next one has four times as many */
    MAX_ROWS = 16384 /* of COLS columns */
};

/* Pictures of zeros to try filters on. */
typedef struct pictures {
    hri_filter_job job;
    hri_accelerator *accelerator;
    hr_queue *queue;
    void *in, *out;
    hri_filter_tables tables;
    hri_filter_piece piece;
} pictures;

/* Open what all sizes need. */
static hr_status open_pictures(pictures *p)
{
    hri_filter_job *job = &p->job;
    const hr_type type = job->in.type;
    const int64_t cols = job->in.cols;
    const int64_t rows = hri_max(MAX_ROWS * COLS / cols, job->edge);
    const size_t count = (size_t)(rows * cols);
    p->in = calloc(count, hr_type_size(type));
    p->out = calloc(count, hr_type_size(type));
    hr_status status = hr_window_radial(REACH, &job->window);
    if (status == HR_OK && (p->in == NULL || p->out == NULL)) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    if (status == HR_OK && job->method == HR_FILTER_SEPARABLE) {
        status =
            hri_factors_find(job->window, 1e-6, 2 * REACH + 1, &job->factors);
    }
    job->in = hr_matrix_row_major(p->in, type, rows, cols, 0);
    job->out = hr_matrix_row_major(p->out, type, rows, cols, 0);
    const ptrdiff_t index = p->accelerator - job->context->accelerators;
    return status == HR_OK ? hri_queue_open(job->context, (uint32_t)index,
                                            false, hri_measure_name, &p->queue)
                           : status;
}

static hr_status prepare(void *data, int64_t rows)
{
    pictures *p = data;
    hr_status status = p->queue == NULL ? open_pictures(p) : HR_OK;
    p->job.in.rows = p->job.out.rows = rows;
    p->tables = (hri_filter_tables){0};
    p->piece = (hri_filter_piece){0};
    if (status == HR_OK) {
        status = hri_filter_tables_init(&p->tables, &p->job);
    }
    return status == HR_OK ? hri_filter_piece_init(&p->piece, &p->job,
                                                   p->accelerator, 0, rows)
                           : status;
}

/* Run one try. The first one also copies the data. */
static hr_status run(void *data, double *seconds)
{
    pictures *p = data;
    (void)seconds; /* the time that callers see is what counts */
    hr_status status =
        hri_filter_piece_launch(&p->piece, &p->job, &p->tables, p->queue);
    return status == HR_OK ? hr_queue_finish(p->queue) : status;
}

static hr_status finish(void *data)
{
    pictures *p = data;
    hr_status status = hri_filter_piece_finish(&p->piece);
    hri_filter_tables_finish(&p->tables);
    return status;
}

static double products(const void *data, int64_t rows)
{
    const pictures *p = data;
    return (double)rows * (double)p->job.out.cols *
           hri_filter_products(&p->job);
}

static void release(void *data)
{
    pictures *p = data;
    hr_queue_destroy(p->queue);
    hri_filter_job_finish(&p->job);
    free(p->in);
    free(p->out);
}

double hri_filter_work(const hri_filter_job *job)
{
    const double n = (double)hri_filter_extent(job);
    return n * n * (double)job->out.rows * (double)job->out.cols;
}

hr_status hri_filter_rate(const hri_filter_job *job,
                          hri_accelerator *accelerator, double *rate)
{
    static const char *const names[2][3] = {
        {"filter-direct-f32", "filter-separable-f32", "filter-fft-f32"},
        {"filter-direct-f64", "filter-separable-f64", "filter-fft-f64"}};
    /* large transforms leave the cache, so each edge is measured by itself, on
     * whole blocks */
    const int64_t edge =
        job->method == HR_FILTER_FFT ? hri_max(hri_fft_edge(job), MIN_EDGE) : 0;
    const int64_t block = hri_max(edge - 2 * REACH, 0);
    const int64_t cols = edge > 0 ? 2 * block : COLS;
    const hri_trial trial = {.prepare = prepare,
                             .run = run,
                             .finish = finish,
                             .first = edge > 0 ? block : MIN_ROWS,
                             .most = hri_max(MAX_ROWS * COLS / cols, block),
                             .growth = 4,
                             .enough = hri_long_for_launches};
    pictures p = {.job = {.context = job->context,
                          .scale = 1.0,
                          .method = job->method,
                          .edge = edge,
                          .options = {.edges = HR_EDGES_CLAMPED},
                          .in = {.type = job->in.type, .cols = cols}},
                  .accelerator = accelerator};
    const hri_question question = {
        .name = names[job->in.type == HR_F64][job->method - HR_FILTER_DIRECT],
        .shape = edge,
        .operations = hri_filter_work(job),
        .guess = hri_guess(job->method == HR_FILTER_FFT ? HRI_GUESS_TRANSFORM
                                                        : HRI_GUESS_FILTER),
        .keep = job->context->checker == NULL,
        .trial = &trial,
        .units = products,
        .release = release,
        .data = &p,
        .bytes = sizeof p};
    return hri_model_ask(accelerator, &question, rate);
}
