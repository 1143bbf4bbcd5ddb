/* SPDX-License-Identifier: MIT */
/* Fences and streams: how many events are recorded, what may go first, what
 * happens to errors, and what is deferred. */
#include <pthread.h>

#include "arrays/array.h"
#include "support/fake.h"
#include "support/fault_backend.h"
#include "support/threads.h"
#include "test.h"
extern const hr_kernel axpy;

enum { KIB = 1 << 10, MIB = 1 << 20 };

static hr_context *open_context(const hri_backend *inner, const char *set,
                                bool staged)
{
    static const hri_backend *list[2];
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = set;
    options.memory_limit = 256 << 20;
    list[0] = fault_backend_wrap(inner);
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    CHECK(hri_context_create_from(list, &options, &context) == HR_OK);
    return context;
}

static hri_stream *open_stream(hr_context *context, uint32_t accelerator)
{
    hri_stream *stream = NULL;
    CHECK(hri_stream_create(&context->accelerators[accelerator], false,
                            &stream) == HR_OK);
    return stream;
}

static void close_stream(hri_stream *stream)
{
    hri_stream_end_pending(stream);
    hri_stream_destroy(stream);
}

static hri_fence *hold_pending(hri_stream *stream)
{
    hri_fence *fence = NULL;
    CHECK(hri_fence_create(stream, &fence) == HR_OK);
    return fence;
}

static hri_fence *record_fence(hri_stream *stream)
{
    hri_fence *fence = NULL;
    CHECK(hri_fence_create_recorded(stream, &fence) == HR_OK);
    return fence;
}

static uint64_t count_records(void)
{
    return fault_backend_count(FAULT_RECORD);
}

static hri_buffer *allocate_buffer(hr_context *context, uint32_t i,
                                   uint64_t bytes)
{
    hri_buffer *buffer = NULL;
    CHECK(hri_accelerator_allocate(&context->accelerators[i], bytes, &buffer) ==
          HR_OK);
    return buffer;
}

static hr_status copy_bytes(hri_stream *stream, hri_place to, hri_place from,
                            size_t bytes)
{
    const hri_copy box = {
        .to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
    return hri_stream_copy(stream, &box);
}

/* ---- lazy recording */

static void record_when_waited_for(void)
{
    TEST_CASE("a fence is recorded once, when something waits for it");
    hr_context *context = open_context(&hri_backend_host, "2xhost", false);
    hri_stream *a = open_stream(context, 0), *b = open_stream(context, 0);
    hri_fence *fence = hold_pending(a);
    bool done = true;
    for (int i = 0; i < 10; i++) {
        hri_fence *again = hold_pending(a);
        CHECK(again == fence);
        hri_fence_drop(again);
    }
    CHECK(hri_fence_query(fence, &done) == HR_OK && !done);
    CHECK(count_records() == 0 && fault_backend_count(FAULT_CREATE_EVENT) == 0);
    CHECK(hri_stream_wait(a, fence) == HR_OK && count_records() == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(hri_stream_wait(b, fence) == HR_OK);
    }
    CHECK(count_records() == 1 && fault_backend_count(FAULT_WAIT) == 10);
    CHECK(fault_backend_count(FAULT_EVENT_WAIT) == 0);
    CHECK(fault_backend_count(FAULT_EVENT_QUERY) == 0);
    CHECK(hri_fence_record(fence) == HR_OK && count_records() == 1);
    CHECK(hri_fence_wait(fence) == HR_OK);
    CHECK(hri_fence_query(fence, &done) == HR_OK && done);
    hri_fence_drop(fence);
    close_stream(a);
    close_stream(b);
    fault_backend_close(context);
}

static void record_before_waiting(void)
{
    TEST_CASE("a stream that waits has recorded its own fence before");
    hr_context *context = open_context(&hri_backend_host, "2xhost", false);
    hri_stream *a = open_stream(context, 0), *b = open_stream(context, 0);
    hri_fence *first = hold_pending(a), *other = hold_pending(b);
    CHECK(hri_stream_wait(a, other) == HR_OK);
    CHECK(count_records() == 2 && first->pending == NULL);
    hri_fence *second = hold_pending(a);
    CHECK(second != first && second->pending == a);
    hri_fence_drop(first);
    hri_fence_drop(second);
    hri_fence_drop(other);
    close_stream(a);
    close_stream(b);
    fault_backend_close(context);
}

static void count_holders(void)
{
    TEST_CASE("a fence that nobody holds any more is never recorded");
    hr_context *context = open_context(&hri_backend_host, "2xhost", false);
    hri_stream *stream = open_stream(context, 0);
    hri_fence *fence = hold_pending(stream);
    hri_fence_hold(fence);
    CHECK(hold_pending(stream) == fence && atomic_load(&fence->holders) == 3);
    hri_fence_drop(fence);
    hri_fence_drop(fence);
    CHECK(stream->pending == fence);
    hri_fence_drop(fence);
    CHECK(stream->pending == NULL && count_records() == 0);
    TEST_CASE("events are used again");
    for (int i = 0; i < 50; i++) {
        fence = record_fence(stream);
        CHECK(hri_fence_wait(fence) == HR_OK);
        hri_fence_drop(fence);
    }
    CHECK(count_records() == 50 &&
          fault_backend_count(FAULT_CREATE_EVENT) == 2);
    close_stream(stream);
    fault_backend_close(context);
}

/* ---- launches of arrays */

enum { N = 64 };

typedef struct point {
    float x;
    int n;
} point;

/* y += 2 x + 1 */
static hr_status launch_axpy(hr_queue *queue, hr_array *x, hr_array *y)
{
    static const float a = 2.0F;
    static const point p = {0.5F, 2};
    const hr_argument arguments[] = {
        hr_in(hr_view_of(x)), hr_inout(hr_view_of(y)), hr_value(&a, sizeof a),
        hr_value(&p, sizeof p)};
    return hr_launch(queue, &axpy, hr_array_extent(x), NULL, arguments, 4);
}

static void launch_without_records(void)
{
    enum { LAUNCHES = 1000 };
    hr_context *context = open_context(&hri_backend_host, "2xhost", false);
    hr_queue *queue = NULL;
    hr_array *arrays[3];
    static float data[3][N];
    TEST_CASE("launches on the same arrays record nothing");
    memset(data, 0, sizeof data);
    CHECK(hr_queue_create(context, 0, &queue) == HR_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(hr_array_wrap(context, data[i], sizeof(float), hr_extent1(N), 0,
                            &arrays[i]) == HR_OK);
    }
    CHECK(launch_axpy(queue, arrays[0], arrays[1]) == HR_OK);
    CHECK(count_records() == 2); /* of the copies of both */
    for (int i = 1; i < LAUNCHES; i++) {
        CHECK(launch_axpy(queue, arrays[0], arrays[1]) == HR_OK);
    }
    CHECK(count_records() == 2 &&
          fault_backend_count(FAULT_LAUNCH) == LAUNCHES);
    TEST_CASE("one on others records those before, and its copy");
    CHECK(launch_axpy(queue, arrays[0], arrays[2]) == HR_OK);
    CHECK(count_records() == 4);
    TEST_CASE("who waits for the first does not wait for the last");
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(count_records() == 5); /* the copy home */
    CHECK(data[1][0] == (float)LAUNCHES);
    CHECK(hr_synchronize(hr_view_of(arrays[2])) == HR_OK);
    CHECK(count_records() == 7 && data[2][N - 1] == 1.0F);
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    CHECK(count_records() == 7);
    hr_queue_destroy(queue);
    fault_backend_close(context);
}

/* ---- errors, and streams that go */

static void destroy_stream_first(void)
{
    hr_context *context = open_context(&hri_backend_host, "2xhost", false);
    hri_stream *stream = open_stream(context, 0);
    bool done = false;
    uint64_t ns = 0;
    TEST_CASE("a fence outlives its stream");
    hri_fence *fence = hold_pending(stream);
    close_stream(stream);
    CHECK(count_records() == 1 && fence->pending == NULL);
    CHECK(hri_fence_query(fence, &done) == HR_OK && done);
    CHECK(hri_fence_wait(fence) == HR_OK);
    hri_fence_drop(fence);

    TEST_CASE("one that cannot be recorded then has the stream's error");
    stream = open_stream(context, 0);
    hri_buffer *buffer = allocate_buffer(context, 0, 64);
    fence = hold_pending(stream);
    fault_backend_fail_operation(fault_backend_operations() + 1,
                                 HR_ERROR_BACKEND);
    CHECK(copy_bytes(stream, hri_at(buffer, 0), hri_at(buffer, 32), 32) ==
          HR_OK);
    fault_backend_fail_call(fault_backend_calls() + 1, HR_ERROR_OUT_OF_MEMORY);
    close_stream(stream);
    CHECK(fence->pending == NULL && fence->event == NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(hri_fence_wait(fence) == HR_ERROR_BACKEND);
        CHECK(hri_fence_query(fence, &done) == HR_ERROR_BACKEND);
    }
    CHECK(hri_fence_elapsed(fence, fence, &ns) == HR_ERROR_INVALID);
    TEST_CASE("a stream that waits for it is told");
    stream = open_stream(context, 0);
    CHECK(hri_stream_wait(stream, fence) == HR_ERROR_BACKEND);
    CHECK(hri_stream_finish(stream) == HR_OK);
    close_stream(stream);
    hri_fence_drop(fence);
    hri_accelerator_release(&context->accelerators[0], buffer);
    fault_backend_close(context);
}

static void keep_errors(void)
{
    TEST_CASE("each holder is told of the error");
    hr_context *context = open_context(&hri_backend_host, "2xhost", false);
    hri_stream *a = open_stream(context, 0), *b = open_stream(context, 0);
    hri_buffer *buffer = allocate_buffer(context, 0, 64);
    bool done = false;
    fault_backend_fail_operation(1, HR_ERROR_BACKEND);
    CHECK(copy_bytes(a, hri_at(buffer, 0), hri_at(buffer, 32), 32) == HR_OK);
    hri_fence *fence = record_fence(a);
    CHECK(hri_fence_wait(fence) == HR_ERROR_BACKEND);
    CHECK(hri_fence_query(fence, &done) == HR_ERROR_BACKEND);
    CHECK(hri_stream_has_failed(a) && !hri_stream_has_failed(b));
    TEST_CASE("a stream that waits takes it over");
    CHECK(hri_stream_wait(b, fence) == HR_OK);
    hri_fence_drop(fence);
    fence = record_fence(b);
    CHECK(hri_fence_wait(fence) == HR_ERROR_BACKEND);
    CHECK(hri_stream_has_failed(b));
    CHECK(hri_stream_finish(b) == HR_ERROR_BACKEND);
    hri_fence_drop(fence);
    TEST_CASE("a fence that cannot be recorded stays pending");
    hri_stream *c = open_stream(context, 0);
    fence = hold_pending(c);
    for (uint64_t i = 1; i <= 2; i++) { /* the event, and its record */
        const uint64_t finished = fault_backend_count(FAULT_FINISH);
        hri_fence *held[2] = {record_fence(a),
                              record_fence(a)}; /* no event is left */
        fault_backend_fail_call(fault_backend_calls() + i,
                                HR_ERROR_OUT_OF_MEMORY);
        CHECK(hri_fence_record(fence) != HR_OK && fence->pending == c);
        CHECK(fault_backend_count(FAULT_FINISH) == finished + 1);
        hri_fence_drop(held[0]);
        hri_fence_drop(held[1]);
    }
    CHECK(hri_fence_record(fence) == HR_OK && hri_fence_wait(fence) == HR_OK);
    hri_fence_drop(fence);
    hri_accelerator_release(&context->accelerators[0], buffer);
    close_stream(a);
    close_stream(b);
    close_stream(c);
    fault_backend_close(context);
}

/* ---- devices that cannot wait for each other */

static void wait_for_strangers(void)
{
    TEST_CASE("the caller waits for a device that is no peer");
    fake_reset_instant();
    hr_context *context =
        open_context(fake_list[0], "cuda:0,cuda:1,cuda:2", false);
    hri_stream *a = open_stream(context, 0), *peer = open_stream(context, 1);
    hri_stream *stranger = open_stream(context, 2);
    hri_fence *fence = hold_pending(a);
    CHECK(hri_stream_wait(peer, fence) == HR_OK);
    CHECK(fault_backend_count(FAULT_WAIT) == 1);
    CHECK(fault_backend_count(FAULT_EVENT_WAIT) == 0);
    CHECK(fault_backend_count(FAULT_EVENT_QUERY) == 0);
    CHECK(hri_stream_wait(stranger, fence) == HR_OK);
    CHECK(fault_backend_count(FAULT_WAIT) == 1);
    CHECK(fault_backend_count(FAULT_EVENT_WAIT) == 0); /* it asks awake */
    CHECK(fault_backend_count(FAULT_EVENT_QUERY) == 1 && count_records() == 1);
    hri_fence_drop(fence);
    close_stream(a);
    close_stream(peer);
    close_stream(stranger);
    fault_backend_close(context);
}

/* ---- deferred queues */

/* Ordinary memory is copied on one stream, and from there to another
 * accelerator on a second stream, while copies are stopped. Then both go on. */
static void defer_waits(void)
{
    enum { BYTES = 200 * KIB };
    TEST_CASE("records and waits are deferred behind a copy");
    hr_context *context = open_context(&hri_backend_host, "2xhost", true);
    hri_stream *a = open_stream(context, 0), *b = open_stream(context, 1);
    hri_buffer *up = allocate_buffer(context, 0, BYTES);
    hri_buffer *over = allocate_buffer(context, 1, BYTES);
    char *from = malloc(BYTES), *to = calloc(1, BYTES);
    bool done = true;
    CHECK(a->defers && b->defers);
    memset(from, 5, BYTES);
    fault_backend_stop_copies(true);
    CHECK(copy_bytes(a, hri_at(up, 0), hri_at_host(from, 0), BYTES) == HR_OK);
    hri_fence *first = record_fence(a);
    fault_backend_await_stopped(1);
    CHECK(count_records() == 0);
    CHECK(hri_fence_is_deferred(first));
    CHECK(hri_fence_query(first, &done) == HR_OK && !done);
    CHECK(hri_stream_wait(b, first) == HR_OK);
    CHECK(!hri_deferred_is_empty(b));
    CHECK(copy_bytes(b, hri_at(over, 0), hri_at(up, 0), BYTES) == HR_OK);
    CHECK(copy_bytes(b, hri_at_host(to, 0), hri_at(over, 0), BYTES) == HR_OK);
    hri_fence *second = record_fence(b);
    TEST_CASE("a deferred wait keeps its fence");
    hri_fence_drop(first);
    hri_fence *later = record_fence(a);
    CHECK(later != first || atomic_load(&first->holders) > 1);
    fault_backend_stop_copies(false);
    CHECK(hri_fence_wait(second) == HR_OK && !hri_fence_is_deferred(second));
    CHECK(memcmp(from, to, BYTES) == 0);
    CHECK(hri_stream_finish(a) == HR_OK && hri_stream_finish(b) == HR_OK);
    CHECK(hri_deferred_is_empty(a));
    TEST_CASE("what comes later is not deferred");
    hri_fence *now = record_fence(a);
    CHECK(!hri_fence_is_deferred(now) && hri_fence_wait(now) == HR_OK);
    hri_fence_drop(now);
    hri_fence_drop(later);
    hri_fence_drop(second);
    close_stream(a);
    close_stream(b);
    hri_accelerator_release(&context->accelerators[0], up);
    hri_accelerator_release(&context->accelerators[1], over);
    fault_backend_close(context);
    free(from);
    free(to);
}

/* The stream is destroyed while everything is deferred. `later`: the fence
 * cannot be recorded when its turn comes. */
static void destroy_deferred_stream(bool later)
{
    TEST_CASE(later ? "a deferred record fails, and tells"
                    : "a stream goes before a deferred fence");
    hr_context *context = open_context(&hri_backend_host, "2xhost", true);
    hri_stream *stream = open_stream(context, 0);
    hri_buffer *buffer = allocate_buffer(context, 0, 100 * KIB);
    char *from = calloc(1, 100 * KIB);
    fault_backend_stop_copies(true);
    CHECK(copy_bytes(stream, hri_at(buffer, 0), hri_at_host(from, 0),
                     100 * KIB) == HR_OK);
    fault_backend_await_stopped(1);
    hri_fence *fence = record_fence(stream);
    if (later) { /* the copy itself is a call, too */
        fault_backend_fail_call(fault_backend_calls() + 2, HR_ERROR_BACKEND);
    }
    fault_backend_stop_copies(false);
    close_stream(stream);
    for (int i = 0; i < 2; i++) {
        CHECK(hri_fence_wait(fence) == (later ? HR_ERROR_BACKEND : HR_OK));
    }
    CHECK((fence->event == NULL) == later);
    hri_fence_drop(fence);
    hri_accelerator_release(&context->accelerators[0], buffer);
    fault_backend_close(context);
    free(from);
}

/* ---- threads */

enum { THREADS = 6, ROUNDS = 400 };

typedef struct crowd {
    pthread_mutex_t lock; /* guards what follows */
    hri_fence *fence;     /* held */
    bool over;
} crowd;

static hri_fence *hold_shown(crowd *c, bool *over)
{
    pthread_mutex_lock(&c->lock);
    hri_fence *fence = c->fence;
    if (fence != NULL) {
        hri_fence_hold(fence);
    }
    *over = c->over;
    pthread_mutex_unlock(&c->lock);
    return fence;
}

static void *wait_and_drop(void *data)
{
    crowd *c = data;
    long *failed = calloc(1, sizeof *failed);
    bool over = false;
    while (!over) {
        bool done = false;
        hri_fence *fence = hold_shown(c, &over);
        if (fence != NULL) {
            *failed += hri_fence_query(fence, &done) != HR_OK;
            *failed += hri_fence_wait(fence) != HR_OK;
            *failed += hri_fence_query(fence, &done) != HR_OK || !done;
            hri_fence_drop(fence);
        }
    }
    return failed;
}

static void show_fence(crowd *c, hri_fence *fence, bool over)
{
    pthread_mutex_lock(&c->lock);
    hri_fence *old = c->fence;
    c->fence = fence;
    c->over = over;
    pthread_mutex_unlock(&c->lock);
    hri_fence_drop(old);
}

/* One thread enqueues on two streams, each of which waits for the other. Many
 * threads wait for the fences. Every third copy is deferred where `staged`. */
static void wait_in_crowds(bool staged)
{
    enum { BYTES = 70 * KIB };
    TEST_CASE("many threads hold, ask, wait and drop");
    hr_context *context = open_context(&hri_backend_host, "2xhost", staged);
    hri_stream *streams[2] = {open_stream(context, 0), open_stream(context, 1)};
    hri_buffer *buffers[2] = {allocate_buffer(context, 0, BYTES),
                              allocate_buffer(context, 1, BYTES)};
    char *memory = calloc(1, BYTES);
    crowd c = {.over = false};
    pthread_t threads[THREADS];
    pthread_mutex_init(&c.lock, NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_and_drop, &c) == 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        hri_stream *a = streams[i % 2], *b = streams[1 - i % 2];
        hri_buffer *buffer = buffers[i % 2];
        const hri_place from =
            i % 3 == 0 ? hri_at_host(memory, 0) : hri_at(buffer, BYTES / 2);
        CHECK(copy_bytes(a, hri_at(buffer, 0), from,
                         i % 3 == 0 ? BYTES : BYTES / 2) == HR_OK);
        hri_fence *fence = record_fence(a);
        CHECK(hri_stream_wait(b, fence) == HR_OK);
        show_fence(&c, fence, false);
    }
    show_fence(&c, NULL, true);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        CHECK(pthread_join(threads[i], &failed) == 0);
        CHECK(failed != NULL && *(long *)failed == 0);
        free(failed);
    }
    for (uint32_t i = 0; i < 2; i++) {
        close_stream(streams[i]);
        hri_accelerator_release(&context->accelerators[i], buffers[i]);
    }
    pthread_mutex_destroy(&c.lock);
    fault_backend_close(context);
    free(memory);
}

/* ---- which threads there are */

/* What arrays do: launches, copies in both directions and within the
 * accelerator. */
static void use_arrays(hr_context *context, hr_queue *queue, int64_t count)
{
    const size_t bytes = (size_t)count * sizeof(float);
    float *x = calloc(1, bytes), *y = calloc(1, bytes);
    hr_array *source = NULL, *result = NULL, *there = NULL;
    const hr_extent extent = hr_extent1(count);
    CHECK(hr_array_wrap(context, x, sizeof *x, extent, 0, &source) == HR_OK);
    CHECK(hr_array_wrap(context, y, sizeof *y, extent, 0, &result) == HR_OK);
    CHECK(hr_array_create(queue, sizeof *x, extent, &there) == HR_OK);
    CHECK(launch_axpy(queue, source, result) == HR_OK);
    CHECK(hr_copy(hr_view_of(result), hr_view_of(there)) == HR_OK);
    CHECK(hr_copy(hr_view_of(there), hr_view_of(source)) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(result)) == HR_OK);
    CHECK(x[0] == 1.0F && y[count - 1] == 1.0F);
    hr_array_destroy(source);
    hr_array_destroy(result);
    hr_array_destroy(there);
    free(x);
    free(y);
}

/* A second queue adds the thread that the backend gives each queue. Where
 * ordinary memory is staged, those that copy it are there already. */
static void count_threads(const char *name, const char *set, bool staged)
{
    TEST_CASE(name);
    hr_context *context = open_context(&hri_backend_host, set, staged);
    const hri_accelerator *a = &context->accelerators[0];
    hr_queue *first = NULL, *second = NULL;
    CHECK(hr_queue_create(context, 0, &first) == HR_OK);
    use_arrays(context, first, 1000); /* small: nothing is staged or held up */
    CHECK(first->stream->defers == staged);
    const int before = threads_count();
    const uint64_t most = a->threads.most;
    CHECK(hr_queue_create(context, 0, &second) == HR_OK);
    use_arrays(context, second, MIB);
    CHECK(threads_count() - before == 1);
    CHECK((a->threads.most > most) == staged);
    CHECK(staged || a->threads.most == 0);
    hr_queue_destroy(first);
    hr_queue_destroy(second);
    fault_backend_close(context);
}

int main(void)
{
    TEST(record_when_waited_for());
    TEST(record_before_waiting());
    TEST(count_holders());
    TEST(launch_without_records());
    TEST(destroy_stream_first());
    TEST(keep_errors());
    TEST(wait_for_strangers());
    TEST(defer_waits());
    TEST(destroy_deferred_stream(false));
    TEST(destroy_deferred_stream(true));
    TEST(wait_in_crowds(false));
    TEST(wait_in_crowds(true));
    TEST(count_threads("the host alone defers nothing", "host", false));
    TEST(count_threads("nor do virtual accelerators of it", "2xhost", false));
    TEST(count_threads("staged memory is deferred", "2xhost", true));
    return test_end();
}
