/* SPDX-License-Identifier: MIT */
/* Streaming a band that is larger than the memory of its accelerator.
 *
 * Chunks of rows pass through buffers on the accelerator, the slots of each
 * argument, which chunks use in turn. One queue brings rows to slots, the
 * default queue runs the kernel on them, and another queue takes results to
 * host memory. Slots are arrays, so all three wait for each other as any work
 * on arrays does. Only a few chunks are under way at a time. */
#include "arrays/array.h"
#include "base/size.h"
#include "split/split.h"

enum {
    MAX_SLOTS = 3,
    UNDER_WAY = 4, /* chunks: one goes up, one is computed, one goes home, and
                      one is enqueued */
    UNDER_WAY_HELD = 2, /* of a band that does not stream: one is computed while
                           the next one is enqueued */
    QUEUES = 3          /* up, kernels, home */
};

/* The slots of an argument. */
typedef struct ring {
    hr_array *slots[MAX_SLOTS]; /* all NULL: the argument does not stream */
    uint32_t count;
    hr_view view;  /* rows of the last chunk, in its slot */
    int64_t first; /* number of the first of these rows */
} ring;

/* A chunk that is under way. */
typedef struct chunk {
    hr_band rows;
    hri_fence *ends[QUEUES]; /* NULL: none */
} chunk;

typedef struct streaming {
    const hri_splitting *split;
    uint32_t index; /* of the participant */
    const hr_band *band;
    int64_t chunk;     /* rows at a time; 0: the band runs in chunks where it
                          lies */
    hri_rounds rounds; /* how many grains a chunk has */
    uint64_t lag;      /* chunks that are under way */
    hri_accelerator *accelerator;
    int place;
    hr_queue *up, *home; /* NULL: nothing streams */
    ring rings[HR_MAX_PARAMETERS];
    chunk chunks[UNDER_WAY];
    uint64_t begun;  /* chunks so far */
    int64_t next;    /* the first row of the next chunk */
    int64_t written; /* rows before this one have been written */
} streaming;

/* ---- slots */

/* Make the slots of argument k, if it streams. */
static hr_status make_slots(streaming *st, uint32_t k)
{
    const hri_splitting *s = st->split;
    const hr_argument *a = &s->arguments[k];
    ring *r = &st->rings[k];
    hr_queue queue = {.context = s->context, .accelerator = st->accelerator};
    hr_extent extent = a->view.extent;
    bool streams = false;
    pthread_mutex_lock(&s->context->lock);
    hr_status status = hri_split_streams(s, st->index, st->band, k, &streams);
    pthread_mutex_unlock(&s->context->lock);
    if (status != HR_OK || !streams) {
        return status;
    }
    extent.size[hri_split_dimension(s, k)] =
        hri_split_slot_rows(s, k, st->band, st->chunk);
    r->count = hri_split_slots(a->access);
    for (uint32_t i = 0; i < r->count; i++) {
        HRI_TRY(hr_array_create(&queue, a->view.element_bytes, extent,
                                &r->slots[i]));
    }
    return HR_OK;
}

/* Make the slots, or the memory for a band that does not stream. */
static hr_status prepare(streaming *st)
{
    const hri_splitting *s = st->split;
    const uint32_t index = st->band->accelerator;
    if (st->chunk == 0) {
        pthread_mutex_lock(&s->context->lock);
        const hr_status status = hri_split_hold(s, st->index, st->band);
        pthread_mutex_unlock(&s->context->lock);
        return status;
    }
    HRI_TRY(hri_queue_open(s->context, index, false, "up", &st->up));
    HRI_TRY(hri_queue_open(s->context, index, false, "down", &st->home));
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        HRI_TRY(make_slots(st, k));
    }
    return HR_OK;
}

static void release_slots(streaming *st)
{
    for (uint32_t k = 0; k < HR_MAX_PARAMETERS; k++) {
        for (uint32_t i = 0; i < MAX_SLOTS; i++) {
            hr_array_destroy(st->rings[k].slots[i]);
        }
    }
    hr_queue_destroy(st->up);
    hr_queue_destroy(st->home);
}

static bool is_streamed(const streaming *st, uint32_t k)
{
    return st->rings[k].count > 0;
}

/* `count` rows of a view from row `first` on. Rows are the indices of dimension
 * `d`. */
static hr_status take_rows(const hr_view *view, uint32_t d, int64_t first,
                           int64_t count, hr_view *rows)
{
    int64_t origin[HR_MAX_RANK] = {0};
    hr_extent extent = view->extent;
    origin[d] = first;
    extent.size[d] = count;
    return hr_view_section(*view, origin, extent, rows);
}

/* ---- a chunk */

/* Enqueue bringing rows of argument k, which start with row `first`, to a slot.
 * The chunk before may have brought some of them: those are copied from its
 * slot, so that none crosses the link twice. */
static hr_status bring_rows(streaming *st, uint32_t k, const hr_view *rows,
                            int64_t first, const hr_view *slot)
{
    const ring *r = &st->rings[k];
    const uint32_t d = hri_split_dimension(st->split, k);
    const int64_t count = rows->extent.size[d];
    const int64_t end =
        r->view.array != NULL ? r->first + r->view.extent.size[d] : first;
    const int64_t kept = hri_max(end - first, 0);
    hr_view from, to;
    if (kept > 0) {
        HRI_TRY(take_rows(&r->view, d, first - r->first, kept, &from));
        HRI_TRY(take_rows(slot, d, 0, kept, &to));
        HRI_TRY(hri_view_copy(&from, st->place, &to, st->place, st->up));
    }
    if (kept >= count) {
        return HR_OK;
    }
    HRI_TRY(take_rows(rows, d, kept, count - kept, &from));
    HRI_TRY(take_rows(slot, d, kept, count - kept, &to));
    return hri_view_copy(&from, HRI_HOST, &to, st->place, st->up);
}

/* Put the rows of argument k into a slot, which becomes the argument. */
static hr_status fill_slot(streaming *st, uint32_t k, hr_argument *argument,
                           int64_t first)
{
    ring *r = &st->rings[k];
    const hr_view rows = argument->view;
    const hr_view whole = hr_view_of(r->slots[st->begun % r->count]);
    const uint32_t d = hri_split_dimension(st->split, k);
    hr_view slot;
    HRI_TRY(take_rows(&whole, d, 0, rows.extent.size[d], &slot));
    slot.type = rows.type;
    if ((argument->access & HR_IN) != 0) {
        HRI_TRY(bring_rows(st, k, &rows, first, &slot));
    }
    r->view = argument->view = slot;
    r->first = first;
    return HR_OK;
}

/* Note the ends of a chunk on all queues. */
static hr_status note_ends(const streaming *st, hri_stream *kernels, chunk *c)
{
    hri_stream *const streams[QUEUES] = {
        st->up != NULL ? st->up->stream : NULL, kernels,
        st->home != NULL ? st->home->stream : NULL};
    hr_status status = HR_OK;
    for (int i = 0; i < QUEUES; i++) { /* all, even after a failure */
        const hr_status noted =
            streams[i] != NULL
                ? hri_fence_create_recorded(streams[i], &c->ends[i])
                : HR_OK;
        status = status == HR_OK ? noted : status;
    }
    return status;
}

static hr_status enqueue_chunk(streaming *st, hri_stream *kernels, chunk *c)
{
    const hri_splitting *s = st->split;
    hr_argument rows[HR_MAX_PARAMETERS], arguments[HR_MAX_PARAMETERS];
    hri_window windows[HR_MAX_PARAMETERS];
    const uint32_t count = s->kernel->parameter_count;
    HRI_TRY(hri_split_make_arguments(s, st->index, &c->rows, rows, windows));
    for (uint32_t k = 0; k < count; k++) {
        arguments[k] = rows[k];
        if (is_streamed(st, k)) {
            HRI_TRY(fill_slot(st, k, &arguments[k], windows[k].first[0]));
        }
    }
    HRI_TRY(hri_split_launch_rows(s, st->index, &c->rows, kernels, arguments,
                                  windows));
    for (uint32_t k = 0; k < count; k++) {
        if (is_streamed(st, k) && (rows[k].access & HR_OUT) != 0) {
            HRI_TRY(hri_view_copy(&st->rings[k].view, st->place, &rows[k].view,
                                  HRI_HOST, st->home));
        }
    }
    return HR_OK;
}

/* The rows of the next chunk. Where the band does not stream, they are whole
 * grains. */
static int64_t next_rows(streaming *st)
{
    const int64_t left = st->band->first + st->band->count - st->next;
    const int64_t grain = hri_split_grain(st->split);
    return hri_min(
        st->chunk > 0
            ? st->chunk
            : grain * hri_rounds_next(&st->rounds, hri_ceil_div(left, grain)),
        left);
}

/* Enqueue the next chunk. The context's lock is held. */
static hr_status begin_chunk(streaming *st)
{
    chunk *c = &st->chunks[st->begun % st->lag];
    hri_stream *kernels = NULL;
    hri_error error = {0};
    HRI_TRY(hri_accelerator_default_queue(st->accelerator, &kernels));
    *c = (chunk){.rows = {.first = st->next, .count = next_rows(st)}};
    hri_error_keep(&error, enqueue_chunk(st, kernels, c));
    hri_error_keep(&error, note_ends(st, kernels, c));
    st->next += c->rows.count;
    st->begun++;
    if (error.status != HR_OK) {
        c->rows.count = 0; /* it will not have been written */
    }
    return hri_error_raise(&error);
}

/* Wait for a chunk, if there is one. The context's lock is not held. */
static hr_status finish_chunk(streaming *st, chunk *c)
{
    hri_error error = {0};
    for (int i = 0; i < QUEUES; i++) {
        if (c->ends[i] != NULL) {
            hri_error_keep(&error, hri_fence_wait(c->ends[i]));
            hri_fence_drop(c->ends[i]);
            c->ends[i] = NULL;
        }
    }
    if (error.status == HR_OK) {
        hri_progress_add(
            st->split->progress,
            (uint64_t)(c->rows.count * hri_split_row_points(st->split)));
        if (c->rows.first == st->written) {
            st->written += c->rows.count;
        }
    }
    c->rows.count = 0;
    return hri_error_raise(&error);
}

/* ---- the band */

/* After an error, which the caller is told: what may not have been written has
 * no values. The context's lock is held. */
static void forget_rows(const streaming *st)
{
    const hri_splitting *s = st->split;
    const int64_t end = st->band->first + st->band->count;
    const hr_band lost = {.first = st->written, .count = end - st->written};
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        const hr_argument *a = &s->arguments[k];
        if (is_streamed(st, k)) {
            hri_uses_forget_failed(a->view.array);
        }
        if (is_streamed(st, k) && (a->access & HR_OUT) != 0 && lost.count > 0) {
            (void)hri_split_forget(s, k, &lost);
        }
    }
}

/* Make the memory, and enqueue all chunks unless the program cancels. Before
 * each chunk, wait for the one that was begun `lag` chunks earlier, so that
 * others can use the context. */
static hr_status run_chunks(streaming *st)
{
    pthread_mutex_t *lock = &st->split->context->lock;
    const int64_t end = st->band->first + st->band->count;
    HRI_TRY(prepare(st));
    while (st->next < end && !hri_progress_stopped(st->split->progress)) {
        HRI_TRY(finish_chunk(st, &st->chunks[st->begun % st->lag]));
        pthread_mutex_lock(lock);
        const hr_status status = begin_chunk(st);
        pthread_mutex_unlock(lock);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

hr_status hri_split_stream(const hri_splitting *s, uint32_t i)
{
    const hr_band *band = &s->bands[i];
    hri_accelerator *a = s->participants[i].accelerator;
    const int64_t chunk_rows = s->participants[i].chunk;
    streaming st = {.split = s,
                    .index = i,
                    .band = band,
                    .chunk = chunk_rows,
                    .lag = chunk_rows > 0 ? UNDER_WAY : UNDER_WAY_HELD,
                    .accelerator = a,
                    .place = hri_place_of(s->context, a),
                    .next = band->first,
                    .written = band->first};
    hri_error error = {0};
    hri_error_keep(&error, run_chunks(&st));
    for (uint64_t k = 0; k < st.lag; k++) { /* the oldest first */
        hri_error_keep(&error,
                       finish_chunk(&st, &st.chunks[(st.begun + k) % st.lag]));
    }
    if ((error.status != HR_OK || hri_progress_stopped(s->progress)) &&
        st.begun > 0) {
        pthread_mutex_lock(&s->context->lock);
        forget_rows(&st);
        pthread_mutex_unlock(&s->context->lock);
    }
    release_slots(&st);
    return hri_error_raise(&error);
}
