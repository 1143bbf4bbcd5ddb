/* SPDX-License-Identifier: MIT */
/* Events: what they report and when, and what a second record changes. */
#include <pthread.h>
#include <time.h>

#include "support/conformance.h"

enum { BYTES = 256 << 10, ROUNDS = 20, WAITERS = 4 };

/* A device with two queues, a buffer and an event. */
typedef struct setting {
    hri_device *device;
    hri_queue *queue, *other;
    hri_buffer *buffer;
    hri_event *event;
    unsigned char *host;
} setting;

static void setting_init(setting *s, hri_device *device)
{
    s->device = device;
    s->queue = conformance_queue(device);
    s->other = conformance_queue(device);
    s->buffer = conformance_buffer(device, BYTES);
    s->event = conformance_event(device);
    s->host = conformance_memory(BYTES);
}

static void setting_finish(setting *s)
{
    s->queue->ops->destroy(s->queue);
    s->other->ops->destroy(s->other);
    s->event->ops->destroy(s->event);
    s->device->ops->release(s->buffer);
    free(s->host);
}

static void fill_buffer(hri_queue *queue, hri_buffer *buffer, int value)
{
    CHECK(queue->ops->fill(queue, buffer, 0, buffer->bytes, (uint8_t)value) ==
          HR_OK);
}

static bool is_all(const unsigned char *bytes, int value)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (bytes[i] != (uint8_t)value) {
            return false;
        }
    }
    return true;
}

static void a_new_event_is_done(setting *s)
{
    bool done = false;
    TEST_CASE("an event that was never recorded is done");
    CHECK(s->event->device == s->device);
    CHECK(s->event->ops->query(s->event, &done) == HR_OK && done);
    CHECK(s->event->ops->wait(s->event) == HR_OK);
    CHECK(s->queue->ops->wait(s->queue, s->event) == HR_OK);
    CHECK(s->queue->ops->finish(s->queue) == HR_OK);
    s->event->ops->destroy(NULL);
}

static void waiting_means_what_came_before(setting *s)
{
    TEST_CASE("wait returns when what was enqueued before has run");
    for (int i = 0; i < ROUNDS; i++) {
        bool done = false;
        fill_buffer(s->queue, s->buffer, i);
        conformance_download(s->queue, s->host, s->buffer);
        CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
        CHECK(s->event->ops->wait(s->event) == HR_OK);
        CHECK(is_all(s->host, i));
        CHECK(s->event->ops->query(s->event, &done) == HR_OK && done);
    }
}

static void recording_starts_the_work(setting *s)
{
    const struct timespec moment = {0, 1000000};
    bool done = false;
    TEST_CASE("an event becomes done though nobody waits");
    fill_buffer(s->queue, s->buffer, 77);
    conformance_download(s->queue, s->host, s->buffer);
    CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
    while (!done) {
        if (!CHECK(s->event->ops->query(s->event, &done) == HR_OK)) {
            return;
        }
        nanosleep(&moment, NULL);
    }
    CHECK(is_all(s->host, 77));
}

static void *wait_for(void *event)
{
    hri_event *e = event;
    return e->ops->wait(e) == HR_OK ? event : NULL;
}

static void many_may_wait(setting *s)
{
    pthread_t threads[WAITERS];
    TEST_CASE("several threads wait for one event");
    for (int i = 0; i < ROUNDS; i++) {
        fill_buffer(s->queue, s->buffer, i);
    }
    CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
    for (int i = 0; i < WAITERS; i++) {
        if (pthread_create(&threads[i], NULL, wait_for, s->event) != 0) {
            exit(1);
        }
    }
    for (int i = 0; i < WAITERS; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == s->event);
    }
}

static void a_wait_means_the_last_record(setting *s)
{
    TEST_CASE("a queue waits for the record that was last");
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
        fill_buffer(s->queue, s->buffer, i);
        CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
        CHECK(s->other->ops->wait(s->other, s->event) == HR_OK);
        conformance_download(s->other, s->host, s->buffer);
        CHECK(s->other->ops->finish(s->other) == HR_OK);
        CHECK(is_all(s->host, i));
    }
}

/* The second record can only be reached after the other queue is through: if
 * its wait came to mean the second record, neither would ever go on. */
static void a_later_record_changes_no_earlier_wait(setting *s)
{
    hri_event *back = conformance_event(s->device);
    TEST_CASE("recording again keeps the meaning of earlier waits");
    for (int i = 0; i < ROUNDS; i++) {
        fill_buffer(s->queue, s->buffer, i);
        CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
        CHECK(s->other->ops->wait(s->other, s->event) == HR_OK);
        conformance_download(s->other, s->host, s->buffer);
        CHECK(s->other->ops->record(s->other, back) == HR_OK);
        CHECK(s->queue->ops->wait(s->queue, back) == HR_OK);
        fill_buffer(s->queue, s->buffer, i + 1);
        CHECK(s->queue->ops->record(s->queue, s->event) == HR_OK);
        CHECK(s->event->ops->wait(s->event) == HR_OK);
        CHECK(is_all(s->host, i));
    }
    CHECK(s->other->ops->finish(s->other) == HR_OK);
    back->ops->destroy(back);
}

static void another_queue_may_record(setting *s)
{
    TEST_CASE("an event may be recorded by one queue, then by another");
    for (int i = 0; i < ROUNDS; i++) {
        hri_queue *queue = i % 2 == 0 ? s->queue : s->other;
        fill_buffer(queue, s->buffer, i);
        conformance_download(queue, s->host, s->buffer);
        CHECK(queue->ops->record(queue, s->event) == HR_OK);
        CHECK(s->event->ops->wait(s->event) == HR_OK);
        CHECK(is_all(s->host, i));
    }
}

/* Done when everything before has run. */
static void record_after_fill(setting *s, int number, hri_event *event)
{
    hri_queue *queue = number % 3 == 0 ? s->queue : s->other;
    fill_buffer(queue, s->buffer, number);
    CHECK(queue->ops->record(queue, event) == HR_OK);
    CHECK(event->ops->wait(event) == HR_OK);
}

static void time_does_not_go_back(setting *s)
{
    uint64_t ns = 1, last = 0;
    hri_event *first = conformance_event(s->device);
    TEST_CASE("an event that was never recorded has no time");
    record_after_fill(s, 0, s->event);
    CHECK_FAILS(first->ops->elapsed(first, s->event, &ns), HR_ERROR_INVALID,
                "never recorded");
    CHECK_FAILS(first->ops->elapsed(s->event, first, &ns), HR_ERROR_INVALID,
                "never recorded");
    CHECK(ns == 1);
    record_after_fill(s, 0, first);
    TEST_CASE("later events have later times");
    for (int i = 1; i < ROUNDS; i++) {
        record_after_fill(s, i, s->event);
        CHECK(first->ops->elapsed(first, s->event, &ns) == HR_OK);
        CHECK(ns >= last);
        last = ns;
    }
    TEST_CASE("complete events keep their times");
    CHECK(first->ops->elapsed(first, s->event, &ns) == HR_OK && ns == last);
    TEST_CASE("no time passes in an event, and none passes backwards");
    CHECK(first->ops->elapsed(first, first, &ns) == HR_OK && ns == 0);
    CHECK(first->ops->elapsed(s->event, first, &ns) == HR_OK &&
          (last == 0 || ns == 0));
    first->ops->destroy(first);
}

static void events_conform(hri_device *device)
{
    setting s;
    setting_init(&s, device);
    TEST(a_new_event_is_done(&s));
    TEST(waiting_means_what_came_before(&s));
    TEST(recording_starts_the_work(&s));
    TEST(many_may_wait(&s));
    TEST(a_wait_means_the_last_record(&s));
    TEST(a_later_record_changes_no_earlier_wait(&s));
    TEST(another_queue_may_record(&s));
    TEST(time_does_not_go_back(&s));
    setting_finish(&s);
}

int main(void)
{
    return conformance_main(events_conform);
}
