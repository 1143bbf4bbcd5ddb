/* SPDX-License-Identifier: MIT */
/* The threads of copy pools (staging.h), which hri_copy_pool_start starts. A
 * job of hri_copy_pool_put is taken chunk by chunk (take_chunk). To the
 * accelerator a thread fills pinned memory and enqueues the copy (carry_up); to
 * the host it enqueues the copy, waits for it, and empties pinned memory
 * (carry_down). */
#include "runtime/staging.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/size.h"
#include "hal/backend.h"
#include "trace/nvtx.h"
#include "trace/traced.h"

/* ---- chunks: a box (depth 1) goes through pinned memory in them. There the
 * rows of a chunk lie without gaps */

/* Move on to the next chunk of a box, of at most `bytes` bytes. The box has one
 * more. When rows is 0, go to the first chunk. */
static void next_chunk(const hri_copy *box, size_t bytes, hri_chunk *p)
{
    size_t width = box->width < bytes ? box->width : bytes;
    if (p->rows == 0) {
        *p = (hri_chunk){.width = width};
    } else if (p->start + p->width < box->width) {
        p->start += p->width;
    } else {
        p->row += p->rows;
        p->start = 0;
    }
    size_t left = box->width - p->start;
    p->width = left < width ? left : width;
    p->rows = p->width < box->width ? 1 : bytes / p->width;
    if (p->rows > box->height - p->row) {
        p->rows = box->height - p->row;
    }
}

static bool is_last_chunk(const hri_copy *box, const hri_chunk *p)
{
    return p->row + p->rows == box->height && p->start + p->width == box->width;
}

static hri_copy chunk_of(const hri_copy *box, const hri_chunk *p)
{
    hri_copy chunk = *box;
    chunk.to.offset += p->row * box->to_pitch + p->start;
    chunk.from.offset += p->row * box->from_pitch + p->start;
    chunk.width = p->width;
    chunk.height = p->rows;
    return chunk;
}

/* The copy of the chunk with pinned memory as its source, if `from`, or its
 * destination. */
static hri_copy pinned_chunk(const hri_copy *box, const hri_chunk *p,
                             void *pinned, bool from)
{
    hri_copy chunk = chunk_of(box, p);
    *(from ? &chunk.from : &chunk.to) = hri_at_host(pinned, 0);
    *(from ? &chunk.from_pitch : &chunk.to_pitch) = p->width;
    return chunk;
}

/* memcpy past the caches. What arrives at home is not read again soon, and
 * lines that are written whole need not be read first. A fence must follow. */
static void copy_past_caches(char *to, const char *from, size_t bytes)
{
#if defined(__SSE2__)
    size_t head = (16 - (uintptr_t)to % 16) % 16;
    if (bytes >= 256) {
        memcpy(to, from, head);
        size_t at = head;
        for (; at + 64 <= bytes; at += 64) {
            const __m128i *f = (const __m128i *)(const void *)(from + at);
            __m128i *t = (__m128i *)(void *)(to + at);
            __m128i a = _mm_loadu_si128(f), b = _mm_loadu_si128(f + 1);
            __m128i c = _mm_loadu_si128(f + 2), d = _mm_loadu_si128(f + 3);
            _mm_stream_si128(t, a);
            _mm_stream_si128(t + 1, b);
            _mm_stream_si128(t + 2, c);
            _mm_stream_si128(t + 3, d);
        }
        memcpy(to + at, from + at, bytes - at);
        return;
    }
#endif
    memcpy(to, from, bytes);
}

/* Smaller boxes are copied through the caches: one thread is faster so, and the
 * caller finds them there. A product with a C of 64 KiB took 50 microseconds
 * from its arithmetic to its end past them, and 21 through them (H100, November
 * 2026). */
enum { PAST_CACHES = 4 << 20 };

/* Copy the chunk from pinned memory to host memory. */
static void copy_chunk_down(const hri_copy *box, const hri_chunk *p,
                            const void *pinned)
{
    hri_copy chunk = chunk_of(box, p);
    char *to = (char *)chunk.to.host + chunk.to.offset;
    if (box->width * box->height < PAST_CACHES) {
        chunk.from = hri_at_host(pinned, 0);
        chunk.from_pitch = p->width;
        hri_copy_rows(&chunk);
        return;
    }
    for (size_t r = 0; r < p->rows; r++) {
        copy_past_caches(to + r * chunk.to_pitch,
                         (const char *)pinned + r * p->width, p->width);
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* ---- the list of jobs */

/* A chunk that a thread works on. job is NULL when there is none. */
typedef struct work {
    hri_job *job;
    hri_chunk chunk;
} work;

/* Take the next chunk. If there is none, wait for one if `patient`. job is NULL
 * when no more will come. */
static work take_chunk(hri_copy_pool *pool, bool patient)
{
    work w = {0};
    hri_lock_soon(&pool->lock);
    while (patient && !pool->stopped && !pool->leaving && !pool->closed &&
           pool->first == NULL) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    hri_job *job = pool->stopped ? NULL : pool->first;
    if (job != NULL && pool->leaving && !job->torn) {
        job = NULL;
    }
    if (job != NULL) {
        next_chunk(&job->copy, job->chunk_bytes, &job->cursor);
        job->out++;
        w = (work){job, job->cursor};
        if (is_last_chunk(&job->copy, &job->cursor)) {
            pool->first = job->next;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return w;
}

/* Whether the thread may touch the caller's memory for a job, until
 * touch_ends. *threads: of the pool, that do so in the same way. */
static bool touch(hri_copy_pool *pool, hri_job *job, uint32_t *threads)
{
    hri_lock_soon(&pool->lock);
    const bool may = !pool->stopped && (!pool->leaving || job->torn);
    if (may && !pool->up && !job->torn) {
        job->torn = true;
        pool->torn++;
    }
    *threads += may;
    pthread_mutex_unlock(&pool->lock);
    return may;
}

static void touch_ends(hri_copy_pool *pool, uint32_t *threads)
{
    hri_lock_soon(&pool->lock);
    --*threads;
    if (*threads == 0 && pool->stopped) {
        pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* A chunk is done or has failed. The job may be gone when this returns. */
static void finish_chunk(hri_copy_pool *pool, hri_job *job, bool well)
{
    void (*done)(void *) = job->done;
    void *data = job->data;
    hri_lock_soon(&pool->lock);
    job->failed = job->failed || !well;
    const bool finished = --job->out == 0 && !job->failed &&
                          is_last_chunk(&job->copy, &job->cursor);
    job->finished = finished;
    const bool torn = finished && job->torn;
    if (job->out == 0) {
        pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    if (finished && done != NULL) {
        done(data);
    }
    if (torn) {
        hri_lock_soon(&pool->lock);
        pool->torn--;
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Whether the box of a job from the accelerator is in pinned memory already,
 * where a product has written it. */
static bool has_landed(const hri_copy_pool *pool, const hri_job *job)
{
    return !pool->up && job->copy.from.buffer == NULL;
}

/* The size of chunks: enough chunks for half of the copy pool's threads. The
 * other half works on the boxes before and after. */
static size_t choose_chunk(const hri_copy_pool *pool, const hri_job *job)
{
    const hri_copy *box = &job->copy;
    size_t even = 2 * box->width * box->height / pool->thread_count;
    if (pool->direct || has_landed(pool, job)) {
        return SIZE_MAX;
    }
    return even < HRI_MIN_CHUNK_BYTES ? HRI_MIN_CHUNK_BYTES
           : even < HRI_CHUNK_BYTES   ? even - even % HRI_PAGE_BYTES
                                      : HRI_CHUNK_BYTES;
}

void hri_copy_pool_put(hri_copy_pool *pool, hri_job *job, bool urgent)
{
    job->next = NULL;
    job->chunk_bytes = choose_chunk(pool, job);
    job->cursor = (hri_chunk){0};
    job->out = 0;
    job->failed = job->torn = job->waited = false;
    job->finished = job->copy.width == 0 || job->copy.height == 0;
    if (job->finished) {
        if (job->done != NULL) {
            job->done(job->data);
        }
        return;
    }
    pthread_mutex_lock(&pool->lock);
    if (pool->stopped) { /* the jobs that are left may be gone by now */
        pthread_mutex_unlock(&pool->lock);
        return;
    }
    if (urgent) {
        job->next = pool->first;
        pool->first = job;
    } else if (pool->first == NULL) {
        pool->first = job;
    } else {
        pool->last->next = job;
    }
    if (job->next == NULL) {
        pool->last = job;
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

bool hri_copy_pool_wait(hri_copy_pool *pool, hri_job *job)
{
    pthread_mutex_lock(&pool->lock);
    while (!job->finished && (!pool->stopped || job->out > 0)) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    bool finished = job->finished;
    pthread_mutex_unlock(&pool->lock);
    return finished;
}

void hri_copy_pool_release(hri_copy_pool *pool, hri_job *job)
{
    pthread_mutex_lock(&pool->lock);
    job->held = false;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* Wait until the job's copies may be enqueued. False: the pool was stopped. */
static bool wait_while_held(hri_copy_pool *pool, const hri_job *job)
{
    hri_lock_soon(&pool->lock);
    while (job->held && !pool->stopped) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    const bool may = !job->held;
    pthread_mutex_unlock(&pool->lock);
    return may;
}

/* ---- all at once */

typedef struct share {
    hri_call call; /* first: see hri_threads_call */
    const hri_gather *gather;
    size_t first, bytes;
    bool home;
} share;

static hr_status gather_share(void *argument)
{
    const share *s = argument;
    const hri_gather *g = s->gather;
    g->copy(g->data, g->side, g->item, (char *)g->pinned + s->first, s->first,
            s->bytes, s->home);
    return HR_OK;
}

hr_status hri_gather_all(hri_accelerator *accelerator, const hri_gather *gather,
                         size_t bytes, bool home)
{
    share all[HRI_MAX_COPY_THREADS];
    size_t threads = bytes / HRI_MIN_CHUNK_BYTES + 1;
    if (threads > accelerator->copy_threads) {
        threads = accelerator->copy_threads > 0 ? accelerator->copy_threads : 1;
    }
    const size_t each = hri_round_up_bytes(bytes / threads + 1, HRI_PAGE_BYTES);
    size_t count = 0;
    for (size_t first = 0; first < bytes; first += each, count++) {
        all[count] = (share){
            .call = {.threads = count > 0 ? &accelerator->threads : NULL},
            .gather = gather,
            .first = first,
            .bytes = first + each < bytes ? each : bytes - first,
            .home = home};
    }
    return hri_threads_call(gather_share, all, count, sizeof all[0]);
}

/* ---- threads */

/* Enqueue a copy of a job, and the event behind it. The queues are locked. */
static hr_status enqueue_copy(const hri_copy_pool *pool, hri_job *job,
                              const hri_copy *copy, hri_event *event)
{
    hri_queue *queue = job->queue;
    if (job->after != NULL && !pool->direct && !job->waited) {
        HRI_TRY(queue->ops->wait(queue, job->after));
        job->waited = true;
    }
    if (!has_landed(pool, job)) {
        HRI_TRY(queue->ops->copy(queue, copy));
    }
    return queue->ops->record(queue, event);
}

/* Enqueue the copy of the chunk. A direct copy pool enqueues the whole box. */
static hr_status enqueue_chunk(const hri_copy_pool *pool, hri_job *job,
                               const hri_chunk *p, void *pinned,
                               hri_event *event)
{
    const hri_copy copy = pool->direct
                              ? job->copy
                              : pinned_chunk(&job->copy, p, pinned, pool->up);
    hri_lock_soon(pool->queues);
    const hr_status status = enqueue_copy(pool, job, &copy, event);
    pthread_mutex_unlock(pool->queues);
    return status;
}

/* Whether the second chunk lies right behind the first one, in the accelerator
 * and in pinned memory, so that both travel as one. */
static bool continues(const work *first, const work *second)
{
    if (second->job == NULL || second->job->queue != first->job->queue ||
        second->job->after != NULL) {
        return false;
    }
    const hri_copy *a = &first->job->copy, *b = &second->job->copy;
    const size_t rows = first->chunk.rows + second->chunk.rows;
    return first->chunk.rows == a->height && second->chunk.rows == b->height &&
           first->chunk.width == a->width && a->width == b->width &&
           a->to_pitch == b->to_pitch && a->to.buffer == b->to.buffer &&
           b->to.offset == a->to.offset + a->height * a->to_pitch &&
           rows * a->width <= HRI_CHUNK_BYTES;
}

static void copy_to_pinned(const hri_copy_pool *pool, const work *w,
                           void *pinned)
{
    const hri_device *device = pool->accelerator->device;
    const uint64_t begin_ns = hri_trace_now(hri_is_traced(device));
    hri_range_begin("to pinned");
    const hri_gather *g = &w->job->gather;
    if (g->copy != NULL) {
        g->copy(g->data, g->side, g->item, pinned, w->chunk.start,
                w->chunk.width, false);
    } else {
        const hri_copy chunk =
            pinned_chunk(&w->job->copy, &w->chunk, pinned, false);
        hri_copy_rows(&chunk);
    }
    hri_range_end();
    hri_traced_write_here(device, HRI_TRACE_PACK, "to pinned", begin_ns,
                          w->chunk.rows * w->chunk.width);
}

/* Copy the chunk to pinned memory, and one that continues it. *next is the
 * chunk taken after it, which may be none. Returns whether it went along. */
static bool pack(hri_copy_thread *copy_thread, const work *w, void *pinned,
                 work *next)
{
    hri_copy_pool *pool = copy_thread->pool;
    copy_to_pinned(pool, w, pinned);
    *next = pool->alone ? take_chunk(pool, false) : (work){0};
    if (!continues(w, next)) {
        return false;
    }
    copy_to_pinned(pool, next, (char *)pinned + w->chunk.rows * w->chunk.width);
    return true;
}

/* Carry a chunk. *w becomes the next one that was taken, if any. */
static hr_status carry_chunk(hri_copy_thread *copy_thread, work *w)
{
    hri_copy_pool *pool = copy_thread->pool;
    const uint64_t at = copy_thread->sent % pool->depth;
    hri_event *event = copy_thread->events[at];
    void *pinned = copy_thread->pinned[at];
    const work this = *w;
    hr_status status = HR_OK;
    *w = (work){0};
    if (copy_thread->sent++ >= pool->depth) { /* its earlier copy may go on */
        status = event->ops->wait(event);
    }
    if (status != HR_OK || !touch(pool, this.job, &pool->touching)) {
        finish_chunk(pool, this.job, false);
        return status;
    }
    const bool both = pack(copy_thread, &this, pinned, w);
    touch_ends(pool, &pool->touching);
    hri_chunk chunk = this.chunk;
    chunk.rows += both ? w->chunk.rows : 0;
    const bool may = wait_while_held(pool, this.job);
    if (may) {
        status = enqueue_chunk(pool, this.job, &chunk, pinned, event);
    }
    const bool sent = may && status == HR_OK;
    finish_chunk(pool, this.job, sent);
    if (w->job != NULL && (both || !sent)) {
        finish_chunk(pool, w->job, sent);
        *w = (work){0};
    }
    return status;
}

static hr_status carry_up(hri_copy_thread *copy_thread, bool patient)
{
    hri_copy_pool *pool = copy_thread->pool;
    work w = take_chunk(pool, patient);
    while (w.job != NULL) {
        HRI_TRY(carry_chunk(copy_thread, &w));
        if (w.job == NULL) {
            w = take_chunk(pool, patient);
        }
    }
    return HR_OK;
}

/* The copies that a thread has under way to the caller's memory. */
typedef struct way_home {
    work of[HRI_COPIES];
    uint32_t sent, arrived;
} way_home;

static hr_status wait_for(const hri_copy_pool *pool, hri_event *event)
{
    return pool->helped ? hri_event_wait_awake(event, hri_brief_moment)
                        : event->ops->wait(event);
}

/* True: a job from the accelerator goes to the caller's memory by itself. */
static bool goes_home(const hri_copy_pool *pool, const hri_job *job)
{
    return pool->direct && job->gather.copy == NULL;
}

static hr_status land(const hri_copy_pool *pool, const hri_job *job,
                      const hri_chunk *chunk, void *pinned)
{
    const hri_gather *g = &job->gather;
    const bool landed = has_landed(pool, job);
    if (g->pinned != NULL) {
        return hri_gather_all(pool->accelerator, g, job->copy.width, true);
    }
    if (g->copy != NULL) {
        const hri_place *from = &job->copy.from;
        void *bytes = landed ? (char *)from->host + from->offset : pinned;
        g->copy(g->data, g->side, g->item, bytes, chunk->start, chunk->width,
                true);
    } else if (landed) {
        hri_copy_rows(&job->copy);
    } else {
        copy_chunk_down(&job->copy, chunk, pinned);
    }
    return HR_OK;
}

/* Wait for the oldest copy, and bring it to the caller's memory unless it is
 * direct. */
static hr_status receive(hri_copy_thread *copy_thread, way_home *way)
{
    hri_copy_pool *pool = copy_thread->pool;
    const uint32_t at = way->arrived++ % pool->depth;
    hri_job *job = way->of[at].job;
    const hri_chunk *chunk = &way->of[at].chunk;
    const hri_device *device = pool->accelerator->device;
    uint32_t *threads = pool->direct ? &pool->landing : &pool->touching;
    hr_status status = wait_for(pool, copy_thread->events[at]);
    const bool home = goes_home(pool, job);
    if (status != HR_OK || home || !touch(pool, job, threads)) {
        finish_chunk(pool, job, status == HR_OK && home);
        return status;
    }
    const uint64_t begin_ns = hri_trace_now(hri_is_traced(device));
    hri_range_begin("from pinned");
    status = land(pool, job, chunk, copy_thread->pinned[at]);
    hri_range_end();
    hri_traced_write_here(device, HRI_TRACE_PACK, "from pinned", begin_ns,
                          chunk->rows * chunk->width);
    finish_chunk(pool, job, status == HR_OK);
    touch_ends(pool, threads);
    return status;
}

/* Wait on this thread for what a direct copy must follow. It may go into memory
 * of the caller's, so it is enqueued only when nothing can hold it up. Copies
 * that are under way arrive meanwhile. */
static hr_status wait_to_send(hri_copy_thread *copy_thread, const hri_job *job,
                              way_home *way)
{
    bool done = job->after == NULL;
    while (!done && way->arrived < way->sent) {
        HRI_TRY(job->after->ops->query(job->after, &done));
        if (!done) {
            HRI_TRY(receive(copy_thread, way));
        }
    }
    return done ? HR_OK : wait_for(copy_thread->pool, job->after);
}

static hr_status send_home(hri_copy_thread *copy_thread, const work *w,
                           way_home *way)
{
    hri_copy_pool *pool = copy_thread->pool;
    hr_status status =
        pool->direct ? wait_to_send(copy_thread, w->job, way) : HR_OK;
    const bool goes = goes_home(pool, w->job);
    if (status != HR_OK || (goes && !touch(pool, w->job, &pool->touching))) {
        finish_chunk(pool, w->job, false);
        return status;
    }
    const uint32_t at = way->sent++ % pool->depth;
    way->of[at] = *w;
    status = enqueue_chunk(pool, w->job, &w->chunk, copy_thread->pinned[at],
                           copy_thread->events[at]);
    if (goes) {
        touch_ends(pool, &pool->touching);
    }
    return status;
}

/* Bring chunks home until none is left. */
static hr_status bring_home(hri_copy_thread *copy_thread, bool patient,
                            way_home *way)
{
    hri_copy_pool *pool = copy_thread->pool;
    for (;;) {
        work w = {0};
        if (way->sent - way->arrived < pool->depth) {
            w = take_chunk(pool, patient && way->sent == way->arrived);
        }
        if (w.job != NULL) {
            HRI_TRY(send_home(copy_thread, &w, way));
        } else if (way->arrived < way->sent) {
            HRI_TRY(receive(copy_thread, way));
        } else {
            return HR_OK;
        }
    }
}

static hr_status carry_down(hri_copy_thread *copy_thread, bool patient)
{
    hri_copy_pool *pool = copy_thread->pool;
    way_home way = {0};
    const hr_status status = bring_home(copy_thread, patient, &way);
    while (way.arrived < way.sent) { /* after an error */
        finish_chunk(pool, way.of[way.arrived++ % pool->depth].job, false);
    }
    return status;
}

static void carry(hri_copy_thread *copy_thread, bool patient)
{
    hri_copy_pool *pool = copy_thread->pool;
    hr_status status = pool->up ? carry_up(copy_thread, patient)
                                : carry_down(copy_thread, patient);
    if (status != HR_OK) {
        pool->fail(pool->fail_data, status);
    }
}

static void *copy_thread_main(void *argument)
{
    carry(argument, true);
    return NULL;
}

void hri_copy_pool_help(hri_copy_pool *pool)
{
    if (pool->accelerator != NULL) {
        carry(&pool->threads[0], false);
    }
}

/* ---- the copy pool */

/* No more threads than chunks: waking one takes as long as copying some. */
static uint32_t useful_threads(const hri_copy_pool *pool)
{
    const hri_accelerator *a = pool->accelerator;
    const uint32_t all = pool->stream == 0
                             ? a->copy_threads
                             : a->staging[pool->up ? HRI_UP : HRI_DOWN].threads;
    const uint64_t chunks = pool->bytes / HRI_MIN_CHUNK_BYTES + 1;
    if (pool->alone) {
        return 1;
    }
    return pool->bytes == 0 || chunks > all ? all : (uint32_t)chunks;
}

hr_status hri_copy_pool_init(hri_copy_pool *pool)
{
    hri_accelerator *a = pool->accelerator;
    pool->thread_count = pool->direct ? 1 : useful_threads(pool);
    pool->depth = pool->direct                    ? HRI_COPIES
                  : pool->stream != 0 && pool->up ? HRI_STREAM_CHUNKS
                                                  : HRI_THREAD_CHUNKS;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        pool->threads[i].pool = pool;
    }
    if (!pool->direct) {
        hri_staging_take(pool);
        return HR_OK;
    }
    for (uint32_t i = 0; i < HRI_COPIES; i++) {
        HRI_TRY(hri_accelerator_take_event(a, &pool->threads[0].events[i]));
    }
    return HR_OK;
}

void hri_copy_pool_finish(hri_copy_pool *pool)
{
    if (pool->accelerator == NULL) {
        return;
    }
    if (!pool->direct) {
        hri_staging_give(pool);
    }
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    pool->accelerator = NULL;
}

hr_status hri_copy_pool_start(hri_copy_pool *pool)
{
    const uint32_t threads = pool->thread_count - pool->helped;
    for (; pool->started < threads; pool->started++) {
        hri_copy_thread *copy_thread =
            &pool->threads[pool->started + pool->helped];
        copy_thread->thread = hri_threads_start(&pool->accelerator->threads,
                                                copy_thread_main, copy_thread);
        if (copy_thread->thread == NULL) {
            return hri_fail(
                HR_ERROR_OUT_OF_MEMORY,
                "copy pool: the system refused thread %u of %u that "
                "copy for %s",
                pool->started + 1, threads, pool->accelerator->path);
        }
    }
    return HR_OK;
}

/* Set *end, which is pool->closed or pool->stopped, and wake the threads. */
static void tell(hri_copy_pool *pool, bool *end)
{
    pthread_mutex_lock(&pool->lock);
    *end = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void hri_copy_pool_stop(hri_copy_pool *pool)
{
    if (pool->accelerator != NULL) {
        tell(pool, &pool->stopped);
    }
}

bool hri_copy_pool_wind_down(hri_copy_pool *pool)
{
    if (pool->accelerator == NULL) {
        return true;
    }
    pthread_mutex_lock(&pool->lock);
    pool->leaving = true;
    pthread_cond_broadcast(&pool->changed);
    const bool gone =
        pool->touching == 0 && pool->landing == 0 && pool->torn == 0;
    pthread_mutex_unlock(&pool->lock);
    return gone;
}

void hri_copy_pool_release_memory(hri_copy_pool *pool)
{
    if (pool->accelerator == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stopped = true;
    pthread_cond_broadcast(&pool->changed);
    while (pool->landing > 0 || (pool->touching > 0 && !pool->direct)) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

void hri_copy_pool_join(hri_copy_pool *pool)
{
    if (pool->accelerator == NULL) {
        return;
    }
    tell(pool, &pool->closed);
    for (uint32_t i = 0; i < pool->started; i++) {
        hri_thread_join(pool->threads[i + pool->helped].thread);
    }
    pool->started = 0;
}
