/* SPDX-License-Identifier: MIT */
/* Queues: order inside one, order between several, and their end. */
#include <pthread.h>

#include "support/conformance.h"

enum { BYTES = 64 << 10, STEPS = 100, MANY = 3000, THREADS = 4 };

static bool is_all(const unsigned char *bytes, size_t count, int value)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != (uint8_t)value) {
            return false;
        }
    }
    return true;
}

static void download_at(hri_queue *queue, unsigned char *host, size_t step,
                        hri_buffer *buffer)
{
    hri_copy copy = conformance_row(hri_at_host(host, step * buffer->bytes),
                                    hri_at(buffer, 0), buffer->bytes);
    conformance_must(queue->ops->copy(queue, &copy), "copy");
}

static void all_steps_came(const unsigned char *host)
{
    for (int i = 0; i < STEPS; i++) {
        CHECK(is_all(host + (size_t)i * BYTES, BYTES, i));
    }
}

static void a_queue_keeps_its_order(hri_device *device, bool urgent)
{
    hri_queue *queue = conformance_queue_as(device, urgent);
    hri_buffer *a = conformance_buffer(device, BYTES);
    hri_buffer *b = conformance_buffer(device, BYTES);
    unsigned char *host = conformance_memory((size_t)STEPS * BYTES);
    hri_copy across = conformance_row(hri_at(b, 0), hri_at(a, 0), BYTES);
    TEST_CASE(urgent ? "commands of an urgent queue run in order"
                     : "commands of one queue run in order");
    CHECK(queue->ops->finish(queue) == HR_OK);
    for (int i = 0; i < STEPS; i++) {
        CHECK(queue->ops->fill(queue, a, 0, BYTES, (uint8_t)i) == HR_OK);
        CHECK(queue->ops->copy(queue, &across) == HR_OK);
        download_at(queue, host, (size_t)i, b);
    }
    CHECK(queue->ops->finish(queue) == HR_OK);
    all_steps_came(host);
    queue->ops->destroy(queue);
    device->ops->release(a);
    device->ops->release(b);
    free(host);
}

static void destroying_waits(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    hri_buffer *buffer = conformance_buffer(device, BYTES);
    unsigned char *host = conformance_memory((size_t)STEPS * BYTES);
    TEST_CASE("destroying a queue waits for everything");
    for (int i = 0; i < STEPS; i++) {
        CHECK(queue->ops->fill(queue, buffer, 0, BYTES, (uint8_t)i) == HR_OK);
        download_at(queue, host, (size_t)i, buffer);
    }
    queue->ops->destroy(queue);
    all_steps_came(host);
    queue = conformance_queue(device);
    const hri_queue_ops *ops = queue->ops;
    ops->destroy(queue);
    ops->destroy(NULL);
    device->ops->release(buffer);
    free(host);
}

static void a_queue_takes_many(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    hri_buffer *buffer = conformance_buffer(device, MANY);
    hri_event *event = conformance_event(device);
    unsigned char *host = conformance_memory(MANY);
    TEST_CASE("a queue takes thousands of commands");
    for (size_t i = 0; i < MANY; i++) {
        CHECK(queue->ops->fill(queue, buffer, i, 1, (uint8_t)(i % 251)) ==
              HR_OK);
        CHECK(queue->ops->record(queue, event) == HR_OK);
    }
    conformance_download(queue, host, buffer);
    CHECK(queue->ops->finish(queue) == HR_OK);
    size_t wrong = 0;
    for (size_t i = 0; i < MANY; i++) {
        wrong += host[i] != i % 251;
    }
    CHECK(wrong == 0);
    queue->ops->destroy(queue);
    event->ops->destroy(event);
    device->ops->release(buffer);
    free(host);
}

/* One queue fills a buffer, the other takes it home, by turns; only events keep
 * them in step. reader is a device that may read the buffer. */
static void events_keep_queues_in_step(hri_device *device, hri_device *reader,
                                       bool urgent)
{
    hri_queue *fills = conformance_queue_as(device, urgent);
    hri_queue *reads = conformance_queue(reader);
    hri_event *full = conformance_event(device);
    hri_event *empty = conformance_event(reader);
    hri_buffer *buffer = conformance_buffer(device, BYTES);
    hri_buffer *copy = conformance_buffer(reader, BYTES);
    unsigned char *host = conformance_memory((size_t)STEPS * BYTES);
    hri_copy across =
        conformance_row(hri_at(copy, 0), hri_at(buffer, 0), BYTES);
    for (int i = 0; i < STEPS; i++) {
        CHECK(fills->ops->wait(fills, empty) == HR_OK);
        CHECK(fills->ops->fill(fills, buffer, 0, BYTES, (uint8_t)i) == HR_OK);
        CHECK(fills->ops->record(fills, full) == HR_OK);
        CHECK(reads->ops->wait(reads, full) == HR_OK);
        CHECK(reads->ops->copy(reads, &across) == HR_OK);
        CHECK(reads->ops->record(reads, empty) == HR_OK);
        download_at(reads, host, (size_t)i, copy);
    }
    CHECK(reads->ops->finish(reads) == HR_OK);
    CHECK(fills->ops->finish(fills) == HR_OK);
    all_steps_came(host);
    fills->ops->destroy(fills);
    reads->ops->destroy(reads);
    full->ops->destroy(full);
    empty->ops->destroy(empty);
    device->ops->release(buffer);
    reader->ops->release(copy);
    free(host);
}

static void peers_keep_in_step(hri_device *device)
{
    hri_device *again = conformance_open_again();
    if (device->ops->is_peer(device, again)) {
        TEST_CASE("events keep queues of two devices in step");
        events_keep_queues_in_step(device, again, false);
    } else {
        printf("skip peers: %s is no peer of itself\n", device->info.path);
    }
    again->ops->close(again);
}

/* Whether the buffer is filled with a value and comes home so. */
static bool fill_and_read(hri_queue *queue, hri_buffer *buffer,
                          hri_event *event, unsigned char *host, int value)
{
    if (queue->ops->fill(queue, buffer, 0, BYTES, (uint8_t)value) != HR_OK) {
        return false;
    }
    conformance_download(queue, host, buffer);
    return queue->ops->record(queue, event) == HR_OK &&
           event->ops->wait(event) == HR_OK && is_all(host, BYTES, value);
}

/* Drives a queue of its own; the argument when all went well. */
static void *drive_queue(void *argument)
{
    hri_device *device = argument;
    hri_queue *queue = conformance_queue(device);
    hri_buffer *buffer = conformance_buffer(device, BYTES);
    hri_event *event = conformance_event(device);
    unsigned char *host = conformance_memory(BYTES);
    bool good = true;
    for (int i = 0; i < STEPS; i++) {
        good = fill_and_read(queue, buffer, event, host, i) && good;
    }
    queue->ops->destroy(queue);
    event->ops->destroy(event);
    device->ops->release(buffer);
    free(host);
    return good ? argument : NULL;
}

static void threads_work_at_once(hri_device *device)
{
    pthread_t threads[THREADS];
    TEST_CASE("threads drive queues of one device at once");
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, drive_queue, device) != 0) {
            exit(1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == device);
    }
}

static void queues_conform(hri_device *device)
{
    TEST(a_queue_keeps_its_order(device, false));
    TEST(a_queue_keeps_its_order(device, true));
    destroying_waits(device);
    TEST(a_queue_takes_many(device));
    TEST_CASE("events keep queues of one device in step");
    TEST(events_keep_queues_in_step(device, device, false));
    TEST_CASE("events keep an urgent queue and another in step");
    TEST(events_keep_queues_in_step(device, device, true));
    TEST(peers_keep_in_step(device));
    TEST(threads_work_at_once(device));
}

int main(void)
{
    return conformance_main(queues_conform);
}
