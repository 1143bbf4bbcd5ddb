/* SPDX-License-Identifier: MIT */
#include "filter/rate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/status.h"
#include "filter/piece.h"
#include "model/tuning.h"

enum {
    REACH = 24, /* of what is measured */
    COLS = 1024,
    LEAST_ROWS = 256, /* four times as many until it takes long enough */
    MOST_ROWS = 16384
};

/* What takes at least so long is not ruled by latency. */
static const double long_enough = 1e-2;

/* Jobs of fewer products, directly, are planned with a rate that is known or
 * guessed: they take less time than measuring. For transforms it is guessed so
 * low that their library is not even loaded. */
static const double small_products = 1e9, guessed_rate = 1e10,
                    guessed_transform_rate = 1e8;

static const char *const names[HRI_FILTER_RATES] = {
    "filter-direct-f32", "filter-separable-f32", "filter-fft-f32",
    "filter-direct-f64", "filter-separable-f64", "filter-fft-f64"};

static uint32_t rate_index(const hri_filter_job *job)
{
    return (job->in.type == HR_F64 ? HRI_FILTER_RATES / 2u : 0u) +
           (uint32_t)job->method - (uint32_t)HR_FILTER_DIRECT;
}

/* The shortest of some launches of a piece after a first one, which brings its
 * data. */
static hr_status time_launch(hri_filter_piece *piece, const hri_filter_job *job,
                             const hri_filter_tables *tables, hr_queue *queue,
                             double *seconds)
{
    enum { TRIES = 4 };
    hr_status status = HR_OK;
    for (int i = 0; i < TRIES && status == HR_OK; i++) {
        const uint64_t start = hri_clock_ns();
        status = hri_filter_piece_launch(piece, job, tables, queue);
        if (status == HR_OK) {
            status = hr_queue_finish(queue);
        }
        const double own = (double)(hri_clock_ns() - start + 1) * 1e-9;
        *seconds = i <= 1 || own < *seconds ? own : *seconds;
    }
    return status;
}

/* Products a second of a picture of `rows` rows. */
static hr_status measure_rows(hri_filter_job *job,
                              const hri_accelerator *accelerator,
                              hr_queue *queue, int64_t rows, double *rate,
                              double *seconds)
{
    hri_filter_tables tables = {0};
    hri_filter_piece piece = {0};
    job->in.rows = job->out.rows = rows;
    hr_status status = hri_filter_tables_init(&tables, job);
    if (status == HR_OK) {
        status = hri_filter_piece_init(&piece, job, accelerator, 0, rows);
    }
    if (status == HR_OK) {
        status = time_launch(&piece, job, &tables, queue, seconds);
    }
    hr_status finished = hri_filter_piece_finish(&piece);
    hri_filter_tables_finish(&tables);
    status = status == HR_OK ? finished : status;
    if (status == HR_OK) {
        *rate =
            (double)rows * (double)COLS * hri_filter_products(job) / *seconds;
    }
    return status;
}

/* Larger and larger pictures; one that does not fit ends it. *settled: what was
 * found will be true of others, too. */
static hr_status measure_pictures(hri_filter_job *job, hri_accelerator *a,
                                  double *rate, bool *settled)
{
    hr_queue *queue = NULL;
    double seconds = 0.0;
    *rate = 0.0;
    hr_status status = hr_queue_create(
        job->context, (uint32_t)(a - job->context->accelerators), &queue);
    for (int64_t rows = LEAST_ROWS;
         rows <= MOST_ROWS && seconds < long_enough && status == HR_OK;
         rows *= 4) {
        status = measure_rows(job, a, queue, rows, rate, &seconds);
    }
    hr_queue_destroy(queue);
    *settled = status == HR_OK && job->context->checker == NULL;
    if (status == HR_ERROR_OUT_OF_MEMORY) {
        *rate = *rate > 0.0 ? *rate : guessed_rate;
        status = HR_OK;
    }
    return status;
}

static hr_status measure(const hri_filter_job *like, hri_accelerator *a,
                         double *rate, bool *settled)
{
    const hr_type type = like->in.type;
    const size_t count = (size_t)MOST_ROWS * COLS;
    hri_filter_job job = {.context = like->context,
                          .scale = 1.0,
                          .method = like->method,
                          .options = {.edges = HR_EDGES_CLAMPED}};
    void *in = calloc(count, hr_type_size(type));
    void *out = calloc(count, hr_type_size(type));
    hr_status status = hr_window_radial(REACH, &job.window);
    if (status == HR_OK && (in == NULL || out == NULL)) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    if (status == HR_OK && job.method == HR_FILTER_SEPARABLE) {
        status =
            hri_factors_find(job.window, 1e-6, 2 * REACH + 1, &job.factors);
    }
    if (status == HR_OK) {
        job.in = hr_matrix_row_major(in, type, MOST_ROWS, COLS, 0);
        job.out = hr_matrix_row_major(out, type, MOST_ROWS, COLS, 0);
        status = measure_pictures(&job, a, rate, settled);
    }
    hri_filter_job_finish(&job);
    free(in);
    free(out);
    return status;
}

/* All on one device are alike. */
static void set_rate(hri_accelerator *accelerator, uint32_t index, double rate)
{
    for (hri_accelerator *a = accelerator; a != NULL;
         a = hri_next_sibling(a, accelerator)) {
        a->filter_rates[index] = rate;
    }
}

/* Weights times elements. */
static bool is_small(const hri_filter_job *job)
{
    const double n = (double)hri_filter_extent(job);
    return n * n * (double)job->out.rows * (double)job->out.cols <
           small_products;
}

hr_status hri_filter_rate(const hri_filter_job *job,
                          hri_accelerator *accelerator, double *rate)
{
    const uint32_t index = rate_index(job);
    hr_context *context = job->context;
    bool settled = false;
    pthread_mutex_lock(&context->lock);
    double known = accelerator->filter_rates[index];
    if (known == 0.0 &&
        hri_tuning_find(names[index], accelerator->key, &known)) {
        set_rate(accelerator, index, known);
    }
    pthread_mutex_unlock(&context->lock);
    hr_status status = HR_OK;
    if (known == 0.0 && is_small(job)) {
        known = job->method == HR_FILTER_FFT ? guessed_transform_rate
                                             : guessed_rate;
    } else if (known == 0.0) {
        status = measure(job, accelerator, &known, &settled);
        if (status == HR_OK) {
            pthread_mutex_lock(&context->lock);
            set_rate(accelerator, index, known);
            if (settled) {
                hri_tuning_keep(names[index], accelerator->key, known);
            }
            pthread_mutex_unlock(&context->lock);
        }
    }
    if (status == HR_OK) {
        *rate = known;
    }
    return status;
}
