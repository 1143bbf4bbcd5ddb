/* SPDX-License-Identifier: MIT */
/* What filters cost, and how they are cut. */
#include "filter/cost.h"

#include <math.h>
#include <stdlib.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/progress.h"
#include "base/size.h"
#include "base/status.h"
#include "distribute/distribute.h"
#include "filter/chunk.h"
#include "filter/fft.h"
#include "model/model.h"

/* ---- rates: how fast accelerators filter */

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
    hri_filter_chunk chunk;
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
    HRI_TRY(hr_window_radial(REACH, &job->window));
    if (p->in == NULL || p->out == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    if (job->method == HR_FILTER_SEPARABLE) {
        HRI_TRY(
            hri_factors_find(job->window, 1e-6, 2 * REACH + 1, &job->factors));
    }
    job->in = hr_matrix_row_major(p->in, type, rows, cols, 0);
    job->out = hr_matrix_row_major(p->out, type, rows, cols, 0);
    const ptrdiff_t index = p->accelerator - job->context->accelerators;
    return hri_queue_open(job->context, (uint32_t)index, false,
                          hri_measure_name, &p->queue);
}

static hr_status prepare_pictures(void *data, int64_t rows)
{
    pictures *p = data;
    p->tables = (hri_filter_tables){0};
    p->chunk = (hri_filter_chunk){0};
    if (p->queue == NULL) {
        HRI_TRY(open_pictures(p));
    }
    p->job.in.rows = p->job.out.rows = rows;
    HRI_TRY(hri_filter_tables_init(&p->tables, &p->job));
    return hri_filter_chunk_init(&p->chunk, &p->job, p->accelerator, 0, rows);
}

/* Filter once. The first time also copies the data. */
static hr_status filter_pictures(void *data, double *seconds)
{
    pictures *p = data;
    (void)seconds; /* the time that callers see is what counts */
    HRI_TRY(hri_filter_chunk_launch(&p->chunk, &p->job, &p->tables, p->queue));
    return hr_queue_finish(p->queue);
}

static hr_status finish_pictures(void *data)
{
    pictures *p = data;
    hr_status status = hri_filter_chunk_finish(&p->chunk);
    hri_filter_tables_finish(&p->tables);
    return status;
}

static double count_products(const void *data, int64_t rows)
{
    const pictures *p = data;
    return (double)rows * (double)p->job.out.cols *
           hri_filter_products(&p->job);
}

static void release_pictures(void *data)
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
    const hri_trial trial = {.prepare = prepare_pictures,
                             .run = filter_pictures,
                             .finish = finish_pictures,
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
        .units = count_products,
        .release = release_pictures,
        .data = &p,
        .bytes = sizeof p};
    return hri_model_ask(accelerator, &question, rate);
}

/* ---- bands */

enum { CHUNKS = 4 }; /* of a band, beside its two ends */

/* Rows of an end. Few rows are best, but with too few of them most of what an
 * end reads is read by its neighbour, too. */
static int64_t end_rows(const hri_filter_job *job)
{
    const int64_t block = hri_filter_block(job);
    return hri_round_up(hri_max(8 * job->window->reach, 256), block);
}

/* Find what the accelerator's link and memory do, and its overheads. The caller
 * holds the context's lock. */
static hr_status ask_model(const hri_filter_job *job, hri_filter_band *band)
{
    hri_accelerator *a = band->accelerator;
    const bool measure = !hri_model_skips_measuring(hri_filter_work(job));
    const bool staged = a->device->info.staged; /* pictures are in ordinary
                                                   memory */
    band->use = (hri_link_use){.accelerator = a};
    if (!a->in_place && job->views[0].array == NULL) {
        HRI_TRY(hri_model_know_link(job->context, a));
        band->use = hri_model_link_use(a, staged, staged);
    }
    HRI_TRY(hri_model_overheads(a, measure, &band->overheads));
    return measure && a->in_place
               ? hri_bandwidth_know(job->context, a, &band->memory)
               : HR_OK;
}

/* Find what the accelerator does with the device to itself. What is not known
 * is measured, unless the job is small. */
static hr_status know_band(const hri_filter_job *job, hri_filter_band *band)
{
    HRI_TRY(hri_filter_rate(job, band->accelerator, &band->rate));
    pthread_mutex_lock(&job->context->lock);
    const hr_status status = ask_model(job, band);
    pthread_mutex_unlock(&job->context->lock);
    return status;
}

/* Bytes of a row of one of the pictures. */
static double row_bytes(const hr_matrix *picture)
{
    return (double)picture->cols * (double)hr_type_size(picture->type);
}

/* How many accelerators share its device. Virtual ones of the device were asked
 * for to take part, so all of them count. Others count when they take part. */
static double sharers(const hri_filter_band *bands, uint32_t count, uint32_t i)
{
    const hri_accelerator *a = bands[i].accelerator;
    double same = bands[i].siblings;
    for (uint32_t j = 0; j < count; j++) {
        const hri_accelerator *other = bands[j].accelerator;
        same += other->device_index != a->device_index &&
                hri_accelerators_same_kind(other, a);
    }
    return same;
}

/* Set the seconds for a row of the first `count` bands when they work side by
 * side. uses has room for as many. The host's CPUs copy to buffers in host
 * memory. */
static void set_rows(const hri_filter_job *job, hri_filter_band *bands,
                     uint32_t count, hri_link_use *uses)
{
    const double products = (double)job->out.cols * hri_filter_products(job);
    const double up = row_bytes(&job->in), down = row_bytes(&job->out);
    for (uint32_t i = 0; i < count; i++) {
        uses[i] = bands[i].use;
    }
    hri_model_link_uses(job->context, uses, count);
    double same = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        hri_filter_band *b = &bands[i];
        if (i == 0 || b->accelerator->device_index !=
                          bands[i - 1].accelerator->device_index) {
            same = sharers(bands, count, i);
        }
        const hri_link *link = &uses[i].beside;
        const double there = hri_cost_bytes(up, link->up),
                     home = hri_cost_bytes(down, link->down);
        b->compute = same * products / b->rate;
        if (hri_in_host_memory(b->accelerator)) {
            b->link = there + home;
            b->row = b->compute + b->link;
        } else {
            b->link =
                fmax(fmax(there, home), hri_cost_bytes(up + down, link->both));
            b->row = fmax(b->compute, b->link);
        }
    }
}

/* The fastest first. If two in one list are equal, the earlier one is first. */
static int by_row(const void *x, const void *y)
{
    const hri_filter_band *a = x, *b = y;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->accelerator > b->accelerator) -
           (a->accelerator < b->accelerator);
}

/* Seconds of host memory for the rows of accelerators in place, and for the
 * copies of the others at the same time. */
static double host_memory(const hri_filter_job *job,
                          const hri_filter_band *bands, uint32_t count,
                          double speed)
{
    hri_host_load load = {0};
    for (uint32_t i = 0; i < count; i++) {
        const hri_filter_band *b = &bands[i];
        const double rows = (double)job->out.rows / speed / b->row;
        const double bytes =
            rows * (row_bytes(&job->in) + row_bytes(&job->out));
        load.rate = fmax(load.rate, b->memory);
        load.in_place += b->accelerator->in_place ? bytes : 0.0;
        load.staged += b->use.staged_up ? bytes : 0.0;
        load.copied += b->link > 0.0 && !b->use.staged_up ? bytes : 0.0;
    }
    return hri_host_memory_seconds(&load);
}

/* Seconds to transform the window: one of a block's two transforms, on one
 * CPU. */
static double setup_seconds(const hri_filter_job *job, const hri_filter_band *b)
{
    if (job->method != HR_FILTER_FFT) {
        return 0.0;
    }
    const double elements = (double)job->out.rows * (double)job->out.cols;
    const double blocks = hri_fft_blocks(job, hri_fft_edge(job));
    const double processors = b->accelerator->device->info.compute_units;
    return 0.5 * processors * elements * hri_filter_products(job) / blocks /
           b->rate;
}

/* Seconds for the first `count` bands together. Their rows are in proportion to
 * speeds, and each band also computes on rows of its neighbours. */
static double seconds_of(const hri_filter_job *job, hri_filter_band *bands,
                         uint32_t count, hri_link_use *uses)
{
    double speed = 0.0, most = 0.0;
    set_rows(job, bands, count, uses);
    for (uint32_t i = 0; i < count; i++) {
        speed += 1.0 / bands[i].row;
    }
    const double rows = (double)job->out.rows;
    for (uint32_t i = 0; i < count; i++) {
        const hri_filter_band *b = &bands[i];
        const hri_overheads *o = &b->overheads;
        double own = rows / speed + o->launch + 2.0 * o->copy + o->wait;
        if (!b->accelerator->in_place) {
            /* the first chunk comes, and the last goes, while nothing is worked
             * on */
            const double band = rows / speed / b->row;
            const double ends = hri_in_host_memory(b->accelerator)
                                    ? 0.0
                                    : fmin(band, (double)end_rows(job));
            own += b->link * (ends + 2.0 * (double)job->window->reach);
        }
        most = own > most ? own : most;
    }
    return fmax(most, host_memory(job, bands, count, speed)) +
           setup_seconds(job, &bands[0]);
}

/* For holds_blocks: a job, and an accelerator's memory for chunks. */
typedef struct chunk_room {
    const hri_filter_job *job;
    const hri_accelerator *accelerator;
    uint64_t bytes;
} chunk_room;

static hr_status holds_blocks(void *data, int64_t blocks, bool *holds)
{
    const chunk_room *r = data;
    const int64_t rows = blocks * hri_filter_block(r->job);
    *holds = hri_filter_chunk_bytes(r->job, r->accelerator, rows) <= r->bytes;
    return HR_OK;
}

/* The most rows, in whole blocks, with chunks that fit into `room` bytes. 0:
 * none. */
static int64_t rows_that_fit(const hri_filter_job *job,
                             const hri_accelerator *a, int64_t rows,
                             uint64_t room)
{
    chunk_room r = {job, a, room};
    const int64_t block = hri_filter_block(job);
    int64_t most = 0;
    (void)hri_bisect(0, hri_ceil_div(rows, block) + 1, holds_blocks, &r, &most);
    return most * block;
}

/* Bytes that an array needs for rows [first, last) of a view and does not
 * hold. */
static uint64_t bytes_to_come(const hri_filter_job *job, int which,
                              const hri_accelerator *a, int64_t first,
                              int64_t last)
{
    const hr_view *view = &job->views[which];
    const hr_array *array = view->array;
    const hri_box *held = &array->stores[hri_place_of(job->context, a)].held;
    const int64_t row = array->size[2], top = view->offset_bytes / row;
    return held->lo[1] <= top + first && top + last <= held->hi[1]
               ? 0
               : (uint64_t)(last - first) * (uint64_t)row;
}

/* Bytes that pictures in arrays take of a band's room: all rows of the band
 * stay there. */
static uint64_t bytes_that_stay(const hri_filter_job *job,
                                const hri_filter_band *b)
{
    const int64_t reach = job->window->reach;
    uint64_t bytes = 0;
    if (job->views[0].array != NULL) {
        pthread_mutex_lock(&job->context->lock);
        bytes =
            bytes_to_come(job, 0, b->accelerator,
                          hri_max(job->top + b->first - reach, 0),
                          hri_min(job->top + b->last + reach, job->in.rows)) +
            bytes_to_come(job, 1, b->accelerator, b->first, b->last);
        pthread_mutex_unlock(&job->context->lock);
    }
    return bytes;
}

/* Set the rows of a band's ends, and return the height of the chunks in
 * between. These are equal, and none of them is lower than an end. */
static int64_t cut_into_chunks(const hri_filter_job *job, hri_filter_band *b)
{
    const int64_t block = hri_filter_block(job);
    const int64_t rows = b->last - b->first, least = end_rows(job);
    const int64_t between = rows - 2 * least;
    if (between < least) { /* one chunk, or two halves */
        b->ends = between < 0 ? rows : hri_ceil_div(rows, 2 * block) * block;
        return b->ends;
    }
    b->ends = least;
    return hri_ceil_div(between, hri_min(between / least, CHUNKS));
}

/* Make chunks brief in a call that tells its progress. Separable filters
 * compute `reach` rows on either side of a chunk twice. So their chunks stay
 * high enough that this does not take most of the time. */
static void keep_brief(const hri_filter_job *job, hri_filter_band *b)
{
    const double most = hri_progress_seconds();
    const int64_t least = hri_filter_rank(job) > 0 ? 4 * job->window->reach : 1;
    if (job->options.progress != NULL && b->row * (double)b->height > most) {
        const int64_t rows = hri_max((int64_t)(most / b->row), least);
        const int64_t brief = hri_round_up(rows, hri_filter_block(job));
        b->height = hri_min(b->height, brief);
        b->ends = hri_min(b->ends, b->height);
    }
}

/* Set the height of chunks. There are a few, so that some are copied while
 * others are worked on. */
static hr_status set_height(const hri_filter_job *job, hri_filter_band *b)
{
    const int64_t rows = b->last - b->first;
    b->height = b->ends = rows;
    if (b->accelerator->in_place) {
        keep_brief(job, b);
        return HR_OK;
    }
    const uint64_t stay = bytes_that_stay(job, b);
    int64_t wanted = rows;
    if (job->views[0].array == NULL) { /* else nothing is copied */
        wanted = cut_into_chunks(job, b);
    }
    b->height = rows_that_fit(job, b->accelerator, wanted,
                              b->room > stay ? b->room - stay : 0);
    b->ends = hri_min(b->ends, b->height);
    keep_brief(job, b);
    if (b->height > 0) {
        return HR_OK;
    }
    const uint64_t needed =
        stay +
        hri_filter_chunk_bytes(job, b->accelerator, hri_filter_block(job));
    return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                    "filter: %lld rows of pictures in arrays, with working "
                    "memory, need %llu bytes, but %s may hold %llu bytes more",
                    (long long)rows, (unsigned long long)needed,
                    b->accelerator->path, (unsigned long long)b->room);
}

/* Whether the accelerator can do a band. There must be room for a block of
 * rows, and for the scratch memory of a strip. */
static hr_status check_room(const hri_filter_job *job, hri_filter_band *b)
{
    const hri_accelerator *a = b->accelerator;
    const uint64_t scratch = hri_filter_chunk_scratch(job, a);
    if (scratch > HRI_MAX_TILE_BYTES) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "filter: %lld separable filters of %lld weights need "
                        "%llu bytes to work in, more than %d",
                        (long long)job->factors.rank,
                        (long long)hri_filter_extent(job),
                        (unsigned long long)scratch, HRI_MAX_TILE_BYTES);
    }
    if (a->in_place) {
        return HR_OK;
    }
    const uint64_t least =
        hri_filter_chunk_bytes(job, a, hri_filter_block(job));
    pthread_mutex_lock(&job->context->lock);
    b->room = hri_accelerator_room(b->accelerator);
    pthread_mutex_unlock(&job->context->lock);
    if (least <= b->room) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                    "filter: rows of %lld elements with a reach of %lld "
                    "need %llu bytes, but %s may hold %llu bytes more",
                    (long long)job->in.cols, (long long)job->window->reach,
                    (unsigned long long)least, a->path,
                    (unsigned long long)b->room);
}

/* List the accelerators that can take part in plan->bands. Returns how
 * many. */
static hr_status list_bands(const hri_filter_job *job,
                            hri_accelerator *const *accelerators,
                            uint32_t count, hri_filter_plan *plan,
                            uint32_t *found)
{
    hr_status refused = HR_OK;
    *found = 0;
    for (uint32_t i = 0; i < count; i++) {
        hri_filter_band *b = &plan->bands[*found];
        *b = (hri_filter_band){.accelerator = accelerators[i]};
        const hr_status fits = check_room(job, b);
        if (fits != HR_OK) {
            refused = fits;
            continue;
        }
        for (uint32_t j = 0; j < count; j++) {
            b->siblings +=
                accelerators[j]->device_index == accelerators[i]->device_index;
        }
        HRI_TRY(know_band(job, b));
        ++*found;
    }
    return *found > 0 ? HR_OK : refused;
}

/* What a plan is made with. The candidates of a set are the first bands. */
typedef struct choice {
    const hri_filter_job *job;
    hri_filter_band *bands;
    hri_link_use *uses;        /* [bands] */
    hri_candidate *candidates; /* [bands] */
    hri_share *shares;         /* [bands] */
} choice;

static hr_status predict(void *data, const hri_candidate *set, uint32_t count,
                         double *seconds)
{
    const choice *c = data;
    (void)set;
    *seconds = seconds_of(c->job, c->bands, count, c->uses);
    return HR_OK;
}

/* Sort the bands, and find how many of the first ones take part. */
static hr_status choose_bands(choice *c, uint32_t count, hri_filter_plan *plan)
{
    hri_set set = {0};
    for (uint32_t i = 0; i < count; i++) {
        set_rows(c->job, &c->bands[i], 1, c->uses);
    }
    qsort(c->bands, count, sizeof c->bands[0], by_row);
    /* seconds for a row count already how siblings slow each other, so each
     * band is a device of its own here */
    for (uint32_t i = 0; i < count; i++) {
        c->candidates[i] = (hri_candidate){
            .index = i, .device = i, .seconds = c->bands[i].row};
    }
    HRI_TRY(hri_choose_set(c->candidates, count, predict, c, &set));
    plan->count = set.count > 0 ? set.count : 1;
    plan->seconds = set.seconds;
    set_rows(c->job, c->bands, plan->count, c->uses);
    const hri_filter_band *b = &c->bands[0];
    plan->bound = b->link > b->compute ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
    return HR_OK;
}

/* Give the first `count` bands their rows, in whole blocks. Rows that do not
 * fit into memory at once are done in lower chunks, so memory does not limit
 * them. */
static hr_status cut_bands(const choice *c, const hri_filter_plan *plan)
{
    bool held;
    const hri_distribution d = {.caller = "filter",
                                .units = c->job->out.rows,
                                .grain = hri_filter_block(c->job),
                                .shares = c->shares,
                                .count = plan->count};
    for (uint32_t i = 0; i < plan->count; i++) {
        d.shares[i].weight = 1.0 / c->bands[i].row;
        d.shares[i].most = INT64_MAX;
    }
    HRI_TRY(hri_distribute(&d, &held));
    for (uint32_t i = 0; i < plan->count; i++) {
        hri_filter_band *b = &c->bands[i];
        b->first = d.shares[i].first;
        b->last = b->first + d.shares[i].count;
        if (b->last > b->first) {
            HRI_TRY(set_height(c->job, b));
        }
    }
    return HR_OK;
}

static hr_status make_plan(choice *c, hri_accelerator *const *accelerators,
                           uint32_t count, hri_filter_plan *plan)
{
    if (c->uses == NULL || c->candidates == NULL || c->shares == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    HRI_TRY(list_bands(c->job, accelerators, count, plan, &count));
    HRI_TRY(choose_bands(c, count, plan));
    return cut_bands(c, plan);
}

hr_status hri_filter_plan_make(const hri_filter_job *job,
                               hri_accelerator *const *accelerators,
                               uint32_t count, hri_filter_plan *plan)
{
    choice c = {.job = job,
                .bands = plan->bands,
                .uses = calloc(count, sizeof *c.uses),
                .candidates = calloc(count, sizeof *c.candidates),
                .shares = calloc(count, sizeof *c.shares)};
    const hr_status status = make_plan(&c, accelerators, count, plan);
    free(c.uses);
    free(c.candidates);
    free(c.shares);
    return status;
}
