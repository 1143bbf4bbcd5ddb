/* SPDX-License-Identifier: MIT */
#include "filter/chunk.h"

#include <stdlib.h>

#include <headrace/kernel.h>
#include <headrace/view.h>

#include "arrays/array.h"
#include "base/progress.h"
#include "base/size.h"
#include "filter/fft.h"
#include "filter/kernels.h"

/* The tiles of kernels/dialect/filter.inc (HIGH and BROAD there, and TALL in
 * bytes). OWN and SIDE are the sums of an item, below each other and beside
 * each other. */
enum { TILE_ROWS = 4, TILE_COLS = 32, TALL_BYTES = 32, OWN = 16, SIDE = 8 };

/* What allocations may need beside their bytes, and rows beside their
 * length. */
enum { ROW_BYTES = 512, SPARE_BYTES = 4096 };

bool hri_filter_strips(const hr_context *context,
                       const hri_accelerator *accelerator)
{
    return accelerator->device->info.host && context->checker == NULL;
}

/* Find the rows of in that rows [first, last) of out need, without the
 * apron. */
static void find_rows(const hri_filter_job *job, int64_t first, int64_t last,
                      int64_t *from, int64_t *to)
{
    const int64_t reach = job->window->reach;
    *from = hri_max(job->top + first - reach, 0);
    *to = hri_min(job->top + last + reach, job->in.rows);
}

/* Make a view of rows [first, last) of in (0) or out (1). */
static hr_status view_rows(hri_filter_chunk *chunk, const hri_filter_job *job,
                           int which, int64_t first, int64_t last)
{
    const hr_matrix *m = which == 0 ? &job->in : &job->out;
    hr_view *view = which == 0 ? &chunk->in : &chunk->out;
    if (job->views[which].array != NULL) {
        *view = hri_filter_view_rows(job, which, first, last - first);
        return HR_OK;
    }
    const size_t element = hr_type_size(m->type);
    const size_t row = (size_t)m->row_stride * element;
    HRI_TRY(hr_array_wrap(job->context, (char *)m->data + (size_t)first * row,
                          element, hr_extent2(last - first, m->cols),
                          last - first > 1 ? row : 0, &chunk->own[which]));
    *view = hr_view_of(chunk->own[which]);
    return HR_OK;
}

hr_status hri_filter_chunk_init(hri_filter_chunk *chunk,
                                const hri_filter_job *job,
                                const hri_accelerator *accelerator,
                                int64_t first, int64_t last)
{
    int64_t from, to;
    find_rows(job, first, last, &from, &to);
    *chunk = (hri_filter_chunk){.first = first, .last = last};
    HRI_TRY(view_rows(chunk, job, 0, from, to));
    HRI_TRY(view_rows(chunk, job, 1, first, last));
    if (hri_filter_rank(job) == 0 ||
        hri_filter_strips(job->context, accelerator)) {
        return HR_OK;
    }
    return hr_array_create_anywhere(
        job->context, hr_type_size(job->in.type),
        hr_extent3(job->factors.rank, last - first + 2 * job->window->reach,
                   job->out.cols),
        &chunk->planes);
}

uint64_t hri_filter_chunk_scratch(const hri_filter_job *job,
                                  const hri_accelerator *accelerator)
{
    int64_t elements = 0;
    if (job->method == HR_FILTER_FFT) {
        elements = hri_fft_scratch(hri_fft_edge(job));
    } else if (hri_filter_strips(job->context, accelerator)) {
        elements = hri_strip_scratch(job->window->reach, hri_filter_rank(job));
    }
    return (uint64_t)elements * hr_type_size(job->in.type);
}

/* A chunk on its way to a queue, and the arguments of its kernels. */
typedef struct work {
    const hri_filter_job *job;
    const hri_filter_tables *tables;
    hr_queue *queue;
    int64_t rows;
    bool single; /* elements are float */
    hri_filter_shape shape;
    hr_argument in, apron, out, constant, scratch;
} work;

static hr_argument table_of(const hri_table *table)
{
    return hr_in(hr_view_of(table->array));
}

/* Launch enough items for all threads. Strips lie side by side. If there are
 * few strips, each is cut into parts of at least a window's height. */
static hr_status launch_strips(work *w)
{
    enum { ITEMS_EACH = 8 };
    const int64_t strips = hri_ceil_div(w->job->out.cols, HRI_STRIP_COLS);
    const int64_t wanted =
        ITEMS_EACH * (int64_t)w->queue->accelerator->device->info.compute_units;
    const int64_t cuts = hri_ceil_div(wanted, strips);
    const int64_t least = hri_max(2 * w->shape.reach, HRI_STRIP_BLOCK);
    const int64_t height = hri_max(hri_ceil_div(w->rows, cuts), least);
    w->shape.height = hri_round_up(height, HRI_STRIP_BLOCK);
    const hr_argument arguments[] = {w->in,
                                     w->apron,
                                     table_of(&w->tables->across),
                                     table_of(&w->tables->strip_down),
                                     w->out,
                                     hr_value(&w->shape, sizeof w->shape),
                                     w->constant,
                                     w->scratch};
    const hr_extent one = hr_extent2(1, 1);
    return hr_launch(w->queue,
                     w->single ? &hri_filter_strip_float
                               : &hri_filter_strip_double,
                     hr_extent2(hri_ceil_div(w->rows, w->shape.height),
                                hri_min(strips, wanted)),
                     &one, arguments, 8);
}

/* Launch two items for each thread. Items take blocks in turn. */
static hr_status launch_fft(const work *w)
{
    enum { ITEMS_EACH = 2 };
    const int64_t valid = hri_filter_block(w->job);
    const int64_t blocks =
        hri_ceil_div(w->rows, valid) * hri_ceil_div(w->job->out.cols, valid);
    const int64_t most =
        ITEMS_EACH * (int64_t)w->queue->accelerator->device->info.compute_units;
    const hri_fft *fft = w->tables->fft;
    const hr_argument arguments[] = {
        w->in,       w->apron,
        w->out,      hr_value(&w->shape, sizeof w->shape),
        w->constant, hr_value(fft, sizeof *fft),
        w->scratch};
    const hr_extent one = hr_extent1(1);
    return hr_launch(w->queue,
                     w->single ? &hri_filter_fft_float : &hri_filter_fft_double,
                     hr_extent1(hri_min(blocks, most)), &one, arguments, 7);
}

static hr_status launch_direct(const work *w)
{
    const hr_extent tile = hr_extent2(TILE_ROWS, TILE_COLS);
    const hr_argument arguments[] = {w->in,
                                     w->apron,
                                     table_of(&w->tables->down),
                                     w->out,
                                     hr_value(&w->shape, sizeof w->shape),
                                     w->constant};
    return hr_launch(w->queue,
                     w->single ? &hri_filter_direct_float
                               : &hri_filter_direct_double,
                     hr_extent2(hri_ceil_div(w->rows, OWN), w->job->out.cols),
                     &tile, arguments, 6);
}

static hr_status launch_separable(const work *w, hr_view planes)
{
    const int64_t cols = w->job->out.cols;
    const hr_extent tile = hr_extent2(TILE_ROWS, TILE_COLS);
    const hr_extent tall = hr_extent2(
        TALL_BYTES / (int64_t)hr_type_size(w->job->in.type), TILE_COLS);
    const hr_argument shape = hr_value(&w->shape, sizeof w->shape);
    const hr_argument across[] = {
        w->in,          w->apron, table_of(&w->tables->across),
        hr_out(planes), shape,    w->constant};
    const hr_argument down[] = {hr_in(planes), table_of(&w->tables->down),
                                w->out, shape};
    HRI_TRY(hr_launch(
        w->queue,
        w->single ? &hri_filter_across_float : &hri_filter_across_double,
        hr_extent2(w->rows + 2 * w->shape.reach, hri_ceil_div(cols, SIDE)),
        &tile, across, 6));
    return hr_launch(
        w->queue, w->single ? &hri_filter_down_float : &hri_filter_down_double,
        hr_extent2(hri_ceil_div(w->rows, OWN), cols), &tall, down, 4);
}

hr_status hri_filter_chunk_launch(hri_filter_chunk *chunk,
                                  const hri_filter_job *job,
                                  const hri_filter_tables *tables,
                                  hr_queue *queue)
{
    const double wide = job->options.constant;
    const float narrow = (float)wide;
    const bool single = job->in.type == HR_F32;
    work w = {.job = job,
              .tables = tables,
              .queue = queue,
              .rows = chunk->last - chunk->first,
              .single = single,
              .shape = {.reach = job->window->reach,
                        .rank = hri_filter_rank(job),
                        .rows = job->in.rows,
                        .cols = job->in.cols,
                        .top = job->top + chunk->first,
                        .left = job->left,
                        .edges = job->options.edges,
                        .folded = tables->folded},
              .in = hr_in(chunk->in),
              .apron = table_of(&tables->apron),
              .out = hr_out(chunk->out),
              .constant = single ? hr_value(&narrow, sizeof narrow)
                                 : hr_value(&wide, sizeof wide),
              .scratch = hr_tile_bytes(
                  (size_t)hri_filter_chunk_scratch(job, queue->accelerator))};
    int64_t to;
    find_rows(job, chunk->first, chunk->last, &w.shape.first, &to);
    chunk->queue = queue;
    if (job->method == HR_FILTER_FFT) {
        return launch_fft(&w);
    }
    if (hri_filter_strips(job->context, queue->accelerator)) {
        return launch_strips(&w);
    }
    return job->method == HR_FILTER_DIRECT
               ? launch_direct(&w)
               : launch_separable(&w, hr_view_of(chunk->planes));
}

hr_status hri_filter_chunk_finish(hri_filter_chunk *chunk)
{
    hr_status status = HR_OK;
    if (chunk->own[1] != NULL) {
        status = hr_synchronize(chunk->out);
    } else if (chunk->queue != NULL) {
        status = hr_queue_finish(chunk->queue);
    }
    hr_array_destroy(chunk->planes);
    hr_array_destroy(chunk->own[1]);
    hr_array_destroy(chunk->own[0]);
    *chunk = (hri_filter_chunk){0};
    return status;
}

uint64_t hri_filter_chunk_bytes(const hri_filter_job *job,
                                const hri_accelerator *accelerator,
                                int64_t rows)
{
    const uint64_t element = hr_type_size(job->in.type);
    const uint64_t in_row = (uint64_t)job->in.cols * element + ROW_BYTES;
    const uint64_t out_row = (uint64_t)job->out.cols * element + ROW_BYTES;
    const int64_t n = hri_filter_extent(job), rank = hri_filter_rank(job);
    rows = hri_min(rows, job->out.rows);
    const int64_t between = rows + n - 1;
    const int64_t seen = hri_min(between, job->in.rows);
    uint64_t chunk = 0;
    if (job->views[0].array == NULL) { /* else it is there already */
        chunk = (uint64_t)seen * in_row + (uint64_t)rows * out_row;
    }
    if (!hri_filter_strips(job->context, accelerator)) {
        chunk += (uint64_t)(rank * between) * out_row;
    }
    const uint64_t weights =
        (uint64_t)(n * (rank > 0 ? 2 * rank : n)) * element;
    return 2 * chunk + (uint64_t)n * in_row + weights +
           8 * (uint64_t)SPARE_BYTES;
}

int64_t hri_filter_chunk_end(const hri_filter_job *job,
                             const hri_filter_band *b, int64_t next)
{
    const int64_t block = hri_filter_block(job);
    int64_t rows = b->ends;
    if (next > b->first && b->last - next > b->ends) {
        rows = hri_round_up(b->last - next - b->ends, block);
        rows = hri_min(rows, b->height);
    }
    return hri_min(next + rows, b->last);
}

/* ---- executors: accelerators that work on their bands of rows */

/* An accelerator that works on its band of out, from row `next` on. It has two
 * queues, so that one chunk is copied while the other is worked on. */
typedef struct executor {
    hri_call call;
    const hri_filter_job *job;
    hri_progress *progress;
    const hri_filter_tables *tables;
    const hri_filter_band *band;
    hr_queue *queues[2];
    hri_filter_chunk chunks[2];
    int64_t next;
    uint64_t count; /* chunks begun so far */
} executor;

/* Wait for a chunk, if there is one. */
static hr_status finish_chunk(executor *e, hri_filter_chunk *chunk)
{
    const int64_t elements = (chunk->last - chunk->first) * e->job->out.cols;
    HRI_TRY(hri_filter_chunk_finish(chunk));
    hri_progress_add(e->progress, (uint64_t)elements);
    return HR_OK;
}

static hr_status begin_chunk(executor *e, hri_filter_chunk *chunk,
                             hr_queue *queue)
{
    const int64_t first = e->next;
    e->next = hri_filter_chunk_end(e->job, e->band, first);
    HRI_TRY(finish_chunk(e, chunk));
    HRI_TRY(hri_filter_chunk_init(chunk, e->job, e->band->accelerator, first,
                                  e->next));
    HRI_TRY(hri_filter_chunk_launch(chunk, e->job, e->tables, queue));
    /* it goes home as soon as it is done */
    return chunk->own[1] != NULL ? hr_synchronize_async(chunk->out, NULL)
                                 : HR_OK;
}

/* Begin the next chunk once the last but one is done. False when nothing is
 * left, something failed, or the program cancelled. */
static bool begin_next(executor *e)
{
    if (e->next >= e->band->last || e->call.error.status != HR_OK ||
        hri_progress_stopped(e->progress)) {
        return false;
    }
    const int half = (int)(e->count % 2);
    e->count++;
    hri_error_keep(&e->call.error,
                   begin_chunk(e, &e->chunks[half], e->queues[half]));
    return true;
}

/* Wait for the last chunks, and free what the executor has. */
static void finish_executor(executor *e)
{
    for (uint64_t i = 0; i < 2; i++) { /* the older chunk first */
        hri_error_keep(&e->call.error,
                       finish_chunk(e, &e->chunks[(e->count + i) % 2]));
    }
    for (int i = 0; i < 2; i++) {
        hr_queue_destroy(e->queues[i]);
    }
}

static hr_status run_executor(void *e)
{
    while (begin_next(e)) {
    }
    return HR_OK;
}

static void run_one_at_a_time(executor *executors, uint32_t count)
{
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < count; i++) {
            more = begin_next(&executors[i]) || more;
        }
    }
}

/* Open the executors' queues, and let them work. Each keeps its own error. */
static hr_status start_executors(const hri_filter_job *job,
                                 hri_progress *progress, executor *executors,
                                 uint32_t count)
{
    hr_context *context = job->context;
    for (uint32_t i = 0; i < 2 * count; i++) {
        executor *e = &executors[i / 2];
        const ptrdiff_t index = e->band->accelerator - context->accelerators;
        HRI_TRY(hri_queue_open(context, (uint32_t)index, false, "filter",
                               &e->queues[i % 2]));
    }
    if (job->options.one_thread) {
        run_one_at_a_time(executors, count);
    } else {
        (void)hri_progress_call(progress, run_executor, executors, count,
                                sizeof *executors);
    }
    return HR_OK;
}

static hr_status run_executors(const hri_filter_job *job,
                               const hri_filter_tables *tables,
                               const hri_filter_plan *plan,
                               hri_progress *progress, executor *executors)
{
    const uint32_t count = plan->count;
    for (uint32_t i = 0; i < count; i++) {
        const hri_filter_band *b = &plan->bands[i];
        executors[i] = (executor){.job = job,
                                  .progress = progress,
                                  .tables = tables,
                                  .band = b,
                                  .next = b->first};
        /* the first one runs on the calling thread, unless that tells */
        executors[i].call.threads = i > 0 || hri_progress_is_told(progress)
                                        ? &b->accelerator->threads
                                        : NULL;
    }
    const hr_status started = start_executors(job, progress, executors, count);
    for (uint32_t i = 0; i < count; i++) {
        finish_executor(&executors[i]);
    }
    HRI_TRY(started);
    for (uint32_t i = 0; i < count; i++) {
        HRI_TRY(hri_error_raise(&executors[i].call.error));
    }
    return HR_OK;
}

hr_status hri_filter_run(hri_filter_job *job, const hri_filter_plan *plan)
{
    hri_filter_tables tables = {0};
    hri_progress progress;
    hri_progress_init(&progress, "filter", job->options.progress,
                      job->options.progress_data,
                      (double)job->out.rows * (double)job->out.cols);
    if (!hri_progress_tell(&progress, 0.0)) {
        return hri_error_raise(&progress.error);
    }
    hr_status status;
    executor *executors = calloc(plan->count, sizeof *executors);
    if (executors == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
        goto done;
    }
    status = hri_filter_job_transpose(job);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_filter_tables_init(&tables, job);
    if (status != HR_OK) {
        goto done;
    }
    status = run_executors(job, &tables, plan, &progress, executors);
done:
    hri_filter_tables_finish(&tables);
    free(executors);
    return hri_progress_end(&progress, status);
}
