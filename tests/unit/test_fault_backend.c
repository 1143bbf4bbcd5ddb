/* SPDX-License-Identifier: MIT */
/* The wrapper backend does what it is told, around the host. */
#include <pthread.h>

#include "base/clock.h"
#include "base/status.h"
#include "support/fault_backend.h"
#include "support/simulate.h"
#include "test.h"

enum { BYTES = 1000 };

static const hri_backend *wrapped;

/* A device with a queue, an event and a buffer, made by calls 1 to 4. */
typedef struct setting {
    hri_device *device;
    hri_queue *queue;
    hri_event *event;
    hri_buffer *buffer;
} setting;

static hr_status setting_init(setting *s)
{
    *s = (setting){0};
    HRI_TRY(wrapped->open(0, 2, &s->device));
    hri_device *d = s->device;
    HRI_TRY(d->ops->create_queue(d, false, &s->queue));
    HRI_TRY(d->ops->create_event(d, true, &s->event));
    return d->ops->allocate(d, BYTES, &s->buffer);
}

static void setting_finish(setting *s)
{
    if (s->queue != NULL) {
        s->queue->ops->destroy(s->queue);
    }
    if (s->event != NULL) {
        s->event->ops->destroy(s->event);
    }
    if (s->device != NULL) {
        s->device->ops->release(s->buffer);
        s->device->ops->close(s->device);
    }
}

static hr_status copy_bytes(const setting *s, void *host, bool up, size_t bytes)
{
    hri_place buffer = hri_at(s->buffer, 0), memory = hri_at_host(host, 0);
    hri_copy box = {.to = up ? buffer : memory,
                    .from = up ? memory : buffer,
                    .width = bytes,
                    .height = 1,
                    .depth = 1};
    return s->queue->ops->copy(s->queue, &box);
}

/* Everything a small engine would do; the first status that is not HR_OK. */
static hr_status work_as_engine(setting *s, unsigned char *host)
{
    HRI_TRY(setting_init(s));
    HRI_TRY(s->queue->ops->fill(s->queue, s->buffer, 0, BYTES, 5));
    HRI_TRY(copy_bytes(s, host, false, BYTES));
    HRI_TRY(s->queue->ops->record(s->queue, s->event));
    HRI_TRY(s->queue->ops->wait(s->queue, s->event));
    HRI_TRY(s->event->ops->wait(s->event));
    return s->queue->ops->finish(s->queue);
}

static void fail_every_call(void)
{
    static const fault_slot slots[] = {FAULT_OPEN,         FAULT_CREATE_QUEUE,
                                       FAULT_CREATE_EVENT, FAULT_ALLOCATE,
                                       FAULT_FILL,         FAULT_COPY,
                                       FAULT_RECORD,       FAULT_WAIT,
                                       FAULT_EVENT_WAIT,   FAULT_FINISH};
    size_t calls = sizeof slots / sizeof slots[0];
    for (size_t i = 0; i <= calls; i++) {
        setting s;
        unsigned char host[BYTES];
        TEST_CASE(i < calls ? fault_slot_name(slots[i]) : "no fault");
        fault_backend_reset();
        fault_backend_fail_call(i + 1, HR_ERROR_BACKEND);
        CHECK(work_as_engine(&s, host) ==
              (i < calls ? HR_ERROR_BACKEND : HR_OK));
        CHECK(i == calls || strstr(hr_last_error(), "on request") != NULL);
        CHECK(fault_backend_calls() == (i < calls ? i + 1 : calls));
        if (i < calls) {
            CHECK(strstr(hr_last_error(), fault_slot_name(slots[i])) != NULL);
            CHECK(fault_backend_count(slots[i]) == 1);
        }
        setting_finish(&s);
        CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    }
}

static void lose_device(void)
{
    setting s;
    unsigned char host[BYTES];
    uint32_t count;
    hri_device_info info;
    TEST_CASE("a lost device fails everything");
    fault_backend_reset();
    CHECK(setting_init(&s) == HR_OK);
    CHECK(copy_bytes(&s, host, true, BYTES) == HR_OK);
    fault_backend_lose(6);
    CHECK(copy_bytes(&s, host, true, BYTES) == HR_ERROR_LOST);
    CHECK(s.queue->ops->finish(s.queue) == HR_ERROR_LOST);
    CHECK(s.event->ops->wait(s.event) == HR_ERROR_LOST);
    CHECK(wrapped->probe(&count) == HR_ERROR_LOST);
    CHECK(wrapped->describe(0, &info) == HR_ERROR_LOST);
    setting_finish(&s);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

static void fail_operation(void)
{
    setting s;
    unsigned char host[BYTES] = {1};
    bool done = false;
    TEST_CASE("an operation fails after it was enqueued");
    fault_backend_reset();
    fault_backend_fail_operation(2, HR_ERROR_BACKEND);
    CHECK(setting_init(&s) == HR_OK);
    CHECK(s.queue->ops->fill(s.queue, s.buffer, 0, BYTES, 7) == HR_OK);
    CHECK(copy_bytes(&s, host, false, BYTES) == HR_OK);
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
    CHECK_FAILS(s.event->ops->wait(s.event), HR_ERROR_BACKEND, "operation 2");
    CHECK_FAILS(s.event->ops->query(s.event, &done), HR_ERROR_BACKEND,
                "operation 2");
    CHECK_FAILS(s.queue->ops->finish(s.queue), HR_ERROR_BACKEND, "operation 2");
    CHECK(host[0] == 1);
    TEST_CASE("a queue that waits for a failed one fails");
    hri_queue *other = NULL;
    CHECK(s.device->ops->create_queue(s.device, false, &other) == HR_OK);
    CHECK(other->ops->finish(other) == HR_OK);
    CHECK(other->ops->wait(other, s.event) == HR_OK);
    CHECK(other->ops->finish(other) == HR_ERROR_BACKEND);
    other->ops->destroy(other);
    setting_finish(&s);
}

static void limit_memory(void)
{
    setting s;
    hri_buffer *buffer = NULL;
    TEST_CASE("pretended memory runs out");
    fault_backend_reset();
    fault_backend_pretend_staged(true);
    fault_backend_limit(BYTES + 100, BYTES);
    CHECK(setting_init(&s) == HR_OK);
    CHECK(s.device->info.staged && s.device->info.free_bytes == BYTES + 100);
    CHECK(s.device->info.allocation_bytes == BYTES);
    CHECK_FAILS(s.device->ops->allocate(s.device, 101, &buffer),
                HR_ERROR_OUT_OF_MEMORY, "1000 are in use");
    CHECK(s.device->ops->allocate(s.device, 100, &buffer) == HR_OK);
    s.device->ops->release(buffer);
    s.device->ops->release(s.buffer);
    CHECK_FAILS(s.device->ops->allocate(s.device, BYTES + 1, &s.buffer),
                HR_ERROR_OUT_OF_MEMORY, "1000 for one buffer");
    CHECK(s.device->ops->allocate(s.device, BYTES, &s.buffer) == HR_OK);
    setting_finish(&s);
}

static void count_bytes(void)
{
    setting s, t;
    unsigned char host[BYTES] = {0};
    TEST_CASE("bytes are counted by direction");
    fault_backend_reset();
    CHECK(setting_init(&s) == HR_OK && setting_init(&t) == HR_OK);
    CHECK(copy_bytes(&s, host, true, 300) == HR_OK);
    CHECK(copy_bytes(&s, host, true, 200) == HR_OK);
    CHECK(copy_bytes(&s, host, false, 20) == HR_OK);
    hri_copy box = {.to = hri_at(t.buffer, 0),
                    .from = hri_at(s.buffer, 0),
                    .width = 5,
                    .height = 4,
                    .depth = 3,
                    .to_pitch = 5,
                    .from_pitch = 9,
                    .to_slice = 20,
                    .from_slice = 36};
    CHECK(s.queue->ops->copy(s.queue, &box) == HR_OK);
    box.to = hri_at(s.buffer, 500);
    box.depth = 1;
    CHECK(s.queue->ops->copy(s.queue, &box) == HR_OK);
    CHECK(s.queue->ops->finish(s.queue) == HR_OK);
    CHECK(fault_backend_bytes(FAULT_UP) == 500);
    CHECK(fault_backend_bytes(FAULT_DOWN) == 20);
    CHECK(fault_backend_bytes(FAULT_PEER) == 60);
    CHECK(fault_backend_bytes(FAULT_LOCAL) == 20);
    CHECK(fault_backend_operations() == 5);
    setting_finish(&s);
    setting_finish(&t);
}

static void add_one(void *data)
{
    ++*(int *)data;
}

static void hook_call(void)
{
    setting s;
    int hooked = 0;
    TEST_CASE("a hook is called before one call");
    fault_backend_reset();
    fault_backend_at((fault_point){0, 5}, add_one, &hooked);
    CHECK(setting_init(&s) == HR_OK && hooked == 0);
    CHECK(s.queue->ops->fill(s.queue, s.buffer, 0, BYTES, 5) == HR_OK);
    CHECK(hooked == 1 && s.queue->ops->finish(s.queue) == HR_OK);
    CHECK(hooked == 1);
    setting_finish(&s);
}

static hr_status multiply_one(const setting *s)
{
    hri_operand one = {hri_at(s->buffer, 0), 1, 1, false};
    hri_gemm gemm = {.type = HR_F32,
                     .c_type = HR_F32,
                     .m = 1,
                     .n = 1,
                     .k = 1,
                     .a = one,
                     .b = one,
                     .c = {hri_at(s->buffer, 64), 1, 1, false}};
    return s->queue->ops->gemm(s->queue, &gemm);
}

enum { LATER_NS = 20000000, MOMENT_NS = 100000 };

/* Since then, or a moment longer: turns of threads take time. */
static bool has_passed(uint64_t start_ns, uint64_t ns)
{
    const uint64_t passed_ns = hri_clock_ns() - start_ns;
    return passed_ns >= ns && passed_ns < ns + MOMENT_NS;
}

/* NULL when it went well. */
static void *multiply_twice_later(void *data)
{
    hri_sleep_ns(LATER_NS);
    return multiply_one(data) == HR_OK && multiply_one(data) == HR_OK ? NULL
                                                                      : data;
}

static void hold_device(void)
{
    setting s[3];
    pthread_t thread;
    void *failed = NULL;
    TEST_CASE("products of one device wait for those of others");
    fault_backend_reset();
    fault_backend_hold(1, 2);
    CHECK(setting_init(&s[0]) == HR_OK && setting_init(&s[1]) == HR_OK);
    uint64_t start = hri_clock_ns();
    CHECK(pthread_create(&thread, NULL, multiply_twice_later, &s[0]) == 0);
    CHECK(multiply_one(&s[1]) == HR_OK);
    CHECK(has_passed(start, LATER_NS));
    CHECK(pthread_join(thread, &failed) == 0 && failed == NULL);
    TEST_CASE("but not when a fault has happened");
    fault_backend_hold(1, 99);
    fault_backend_fail_call(fault_backend_calls() + 1, HR_ERROR_BACKEND);
    start = hri_clock_ns();
    CHECK(s[0].queue->ops->finish(s[0].queue) == HR_ERROR_BACKEND);
    CHECK(multiply_one(&s[1]) == HR_OK);
    CHECK(has_passed(start, 0));
    TEST_CASE("nor when nothing more happens");
    fault_backend_reset();
    CHECK(setting_init(&s[2]) == HR_OK);
    fault_backend_hold(0, 1);
    start = hri_clock_ns();
    CHECK(multiply_one(&s[2]) == HR_OK && !has_passed(start, 0));
    TEST_CASE("a product takes as long as the test says");
    fault_backend_hold(0, 0);
    fault_backend_rate(0, 4.0);
    start = hri_clock_ns();
    CHECK(multiply_one(&s[2]) == HR_OK);
    CHECK(has_passed(start, UINT64_C(500000000)));
    setting_finish(&s[2]);
    setting_finish(&s[0]);
    setting_finish(&s[1]);
}

static void tell_breaches(void)
{
    setting s, t;
    unsigned char host[2 * BYTES] = {0};
    hri_gemm gemm = {.type = HR_F32, .c_type = HR_F64};
    fault_backend_reset();
    CHECK(setting_init(&s) == HR_OK && setting_init(&t) == HR_OK);
    TEST_CASE("a copy past the end");
    CHECK_FAILS(copy_bytes(&s, host, true, BYTES + 1), HR_ERROR_INVALID,
                "past");
    TEST_CASE("a fill past the end");
    CHECK_FAILS(s.queue->ops->fill(s.queue, s.buffer, BYTES, 1, 0),
                HR_ERROR_INVALID, "past");
    TEST_CASE("a fill of a stranger's buffer");
    CHECK_FAILS(s.queue->ops->fill(s.queue, t.buffer, 0, 1, 0),
                HR_ERROR_INVALID, "another device");
    TEST_CASE("a product that is not offered");
    CHECK_FAILS(s.queue->ops->gemm(s.queue, &gemm), HR_ERROR_INVALID,
                "not offered");
    TEST_CASE("a product past the end");
    gemm = (hri_gemm){.type = HR_F32,
                      .c_type = HR_F32,
                      .m = 10,
                      .n = 30,
                      .c = {hri_at(s.buffer, 0), 30, 1, false}};
    CHECK_FAILS(s.queue->ops->gemm(s.queue, &gemm), HR_ERROR_INVALID, "past");
    TEST_CASE("a record of a stranger's event");
    CHECK_FAILS(s.queue->ops->record(s.queue, t.event), HR_ERROR_INVALID,
                "another device");
    CHECK(fault_backend_breaches() == 6);
    setting_finish(&s);
    setting_finish(&t);
    CHECK(fault_backend_breaches() == 6);
}

int main(void)
{
    sim_seed(1);
    wrapped = fault_backend_wrap(&hri_backend_host);
    TEST_CASE("one wrapper for one backend");
    CHECK(wrapped == fault_backend_wrap(&hri_backend_host));
    TEST(fail_every_call());
    TEST(lose_device());
    TEST(fail_operation());
    TEST(limit_memory());
    TEST(count_bytes());
    TEST(hook_call());
    TEST(hold_device());
    TEST(tell_breaches());
    fault_backend_reset();
    return test_end();
}
