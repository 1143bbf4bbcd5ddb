/* SPDX-License-Identifier: MIT */
/* The host's queues, with arithmetic that waits, counts and fails as the test
 * says. The functions of backends/host/arithmetic.h are defined here, so the
 * linker takes none of the library's. */
#include <pthread.h>
#include <string.h>

#include "backends/host/arithmetic.h"
#include "backends/host/host.h"
#include "base/cpus.h"
#include "base/pool.h"
#include "support/threads.h"
#include "test.h"

enum { BYTES = 512, COMMANDS = 5000, DEVICES = 3, QUEUES = 300 };

/* What the fake product does, told by its m. */
enum { WAIT_AT_GATE = 1, FAIL = 2, NOTHING = 3 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int running, most_running, calls;
    uint32_t threads;
    hri_gemm last;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

hr_status hri_host_arithmetic_load(void)
{
    return HR_OK;
}

const char *hri_host_arithmetic_name(void)
{
    return "fake";
}

bool hri_host_gemm_is_ordered(void)
{
    return false;
}

bool hri_host_gemm_sets_thread(void)
{
    return false;
}

void hri_host_gemm_pack(hri_pool *pool, const hri_pack *pack)
{
    (void)pool;
    (void)pack;
}

hr_status hri_host_gemm_builtin(hri_pool *pool, const hri_gemm *gemm)
{
    return hri_host_gemm(pool, gemm);
}

hr_status hri_host_gemm(hri_pool *pool, const hri_gemm *gemm)
{
    pthread_mutex_lock(&fake.lock);
    fake.calls++;
    fake.running++;
    if (fake.running > fake.most_running) {
        fake.most_running = fake.running;
    }
    fake.threads = hri_pool_threads(pool);
    fake.last = *gemm;
    pthread_cond_broadcast(&fake.changed);
    while (gemm->m == WAIT_AT_GATE && !fake.open) {
        pthread_cond_wait(&fake.changed, &fake.lock);
    }
    pthread_mutex_unlock(&fake.lock);
    /* Unlocked between, so that a second product would be seen. */
    pthread_mutex_lock(&fake.lock);
    fake.running--;
    pthread_mutex_unlock(&fake.lock);
    return gemm->m == FAIL
               ? hri_fail(HR_ERROR_OUT_OF_MEMORY, "the fake product fails")
               : HR_OK;
}

static void set_gate(bool open)
{
    pthread_mutex_lock(&fake.lock);
    fake.open = open;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

/* A device with three queues, two events and a buffer of zeros. */
typedef struct setting {
    hri_device *device;
    hri_queue *a, *b, *c;
    hri_event *event, *other;
    hri_buffer *buffer;
} setting;

static void setting_open(setting *s, uint32_t threads)
{
    CHECK(hri_backend_host.open(0, threads, &s->device) == HR_OK);
    const hri_device_ops *ops = s->device->ops;
    CHECK(ops->create_queue(s->device, false, &s->a) == HR_OK);
    CHECK(ops->create_queue(s->device, false, &s->b) == HR_OK);
    CHECK(ops->create_queue(s->device, false, &s->c) == HR_OK);
    CHECK(ops->create_event(s->device, true, &s->event) == HR_OK);
    CHECK(ops->create_event(s->device, true, &s->other) == HR_OK);
    CHECK(ops->allocate(s->device, BYTES, &s->buffer) == HR_OK);
    CHECK(s->a->ops->fill(s->a, s->buffer, 0, BYTES, 0) == HR_OK);
    CHECK(s->a->ops->finish(s->a) == HR_OK);
    set_gate(false);
}

static void setting_init(setting *s)
{
    setting_open(s, hri_thread_count());
}

static void setting_finish(setting *s)
{
    set_gate(true);
    s->a->ops->destroy(s->a);
    s->b->ops->destroy(s->b);
    s->c->ops->destroy(s->c);
    s->event->ops->destroy(s->event);
    s->other->ops->destroy(s->other);
    s->device->ops->release(s->buffer);
    s->device->ops->close(s->device);
}

static void enqueue_product(hri_queue *queue, int64_t kind)
{
    hri_gemm gemm = {.type = HR_F32, .c_type = HR_F32, .m = kind};
    CHECK(queue->ops->gemm(queue, &gemm) == HR_OK);
}

static void fill_buffer(const setting *s, hri_queue *queue, uint8_t value)
{
    CHECK(queue->ops->fill(queue, s->buffer, 0, BYTES, value) == HR_OK);
}

/* The first byte of the buffer, read by a queue of its own. */
static int first_byte(const setting *s)
{
    unsigned char byte = 0;
    hri_queue *queue = NULL;
    hri_copy copy = {.to = hri_at_host(&byte, 0),
                     .from = hri_at(s->buffer, 0),
                     .width = 1,
                     .height = 1,
                     .depth = 1};
    CHECK(s->device->ops->create_queue(s->device, false, &queue) == HR_OK);
    CHECK(queue->ops->copy(queue, &copy) == HR_OK);
    CHECK(queue->ops->finish(queue) == HR_OK);
    queue->ops->destroy(queue);
    return byte;
}

static bool is_done(hri_event *event)
{
    bool done = false;
    CHECK(event->ops->query(event, &done) == HR_OK);
    return done;
}

static void nothing_blocks_the_caller(setting *s)
{
    TEST_CASE("a busy queue takes commands, which wait for their turn");
    enqueue_product(s->a, WAIT_AT_GATE);
    for (int i = 0; i < COMMANDS; i++) {
        fill_buffer(s, s->a, (uint8_t)i);
    }
    CHECK(s->a->ops->record(s->a, s->event) == HR_OK);
    CHECK(s->b->ops->wait(s->b, s->event) == HR_OK);
    CHECK(s->b->ops->record(s->b, s->other) == HR_OK);
    CHECK(!is_done(s->event) && !is_done(s->other));
    CHECK(first_byte(s) == 0);
    set_gate(true);
    CHECK(s->other->ops->wait(s->other) == HR_OK);
    CHECK(is_done(s->event));
    CHECK(first_byte(s) == (COMMANDS - 1) % 256);
}

static void records_are_kept_apart(setting *s)
{
    TEST_CASE("a wait keeps its record when another queue records");
    enqueue_product(s->a, WAIT_AT_GATE);
    CHECK(s->a->ops->record(s->a, s->event) == HR_OK);
    CHECK(s->b->ops->wait(s->b, s->event) == HR_OK);
    CHECK(s->b->ops->record(s->b, s->other) == HR_OK);
    CHECK(s->c->ops->record(s->c, s->event) == HR_OK);
    CHECK(s->event->ops->wait(s->event) == HR_OK); /* that of c */
    CHECK(!is_done(s->other));
    set_gate(true);
    CHECK(s->other->ops->wait(s->other) == HR_OK);
}

static void errors_stick(setting *s)
{
    bool done = false;
    TEST_CASE("after a failure nothing happens, and all is told");
    CHECK(s->a->ops->record(s->a, s->other) == HR_OK);
    enqueue_product(s->a, FAIL);
    fill_buffer(s, s->a, 9);
    CHECK(s->a->ops->record(s->a, s->event) == HR_OK);
    CHECK_FAILS(s->event->ops->wait(s->event), HR_ERROR_OUT_OF_MEMORY,
                "the fake product fails");
    CHECK_FAILS(s->event->ops->query(s->event, &done), HR_ERROR_OUT_OF_MEMORY,
                "the fake product fails");
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(s->a->ops->finish(s->a), HR_ERROR_OUT_OF_MEMORY,
                    "the fake product fails");
    }
    CHECK(first_byte(s) == 0);
    TEST_CASE("a failure does not reach back");
    CHECK(s->other->ops->wait(s->other) == HR_OK && is_done(s->other));
    TEST_CASE("a failure leaves other queues alone");
    fill_buffer(s, s->b, 5);
    CHECK(s->b->ops->finish(s->b) == HR_OK && first_byte(s) == 5);
    TEST_CASE("a queue that waits for a failure fails");
    CHECK(s->b->ops->wait(s->b, s->event) == HR_OK);
    fill_buffer(s, s->b, 6);
    CHECK_FAILS(s->b->ops->finish(s->b), HR_ERROR_OUT_OF_MEMORY,
                "the fake product fails");
    CHECK(first_byte(s) == 5);
    TEST_CASE("an event recorded elsewhere forgets the failure");
    CHECK(s->c->ops->record(s->c, s->event) == HR_OK);
    CHECK(s->event->ops->wait(s->event) == HR_OK && is_done(s->event));
}

static uintptr_t address_of(const hri_place *place)
{
    return (uintptr_t)place->host + place->offset;
}

static void operands_are_addresses(setting *s)
{
    float host[4] = {0};
    hri_gemm gemm = {.type = HR_F32,
                     .c_type = HR_F32,
                     .m = NOTHING,
                     .a = {.place = hri_at(s->buffer, 64)},
                     .b = {.place = hri_at_host(host, 8)},
                     .c = {.place = hri_at(s->buffer, 0)}};
    TEST_CASE("operands reach the arithmetic as addresses");
    CHECK(s->a->ops->gemm(s->a, &gemm) == HR_OK);
    CHECK(s->a->ops->finish(s->a) == HR_OK);
    const hri_place *a = &fake.last.a.place, *c = &fake.last.c.place;
    const hri_place *b = &fake.last.b.place;
    CHECK(address_of(a) == address_of(c) + 64);
    CHECK(address_of(b) == (uintptr_t)host + 8);
    CHECK(address_of(c) % 64 == 0);
    TEST_CASE("the pool has a thread for each CPU");
    CHECK(fake.threads == hri_cpu_count());
}

static void products_run_one_at_a_time(void)
{
    setting s[DEVICES];
    TEST_CASE("products of all devices come one at a time");
    for (int i = 0; i < DEVICES; i++) {
        setting_init(&s[i]);
    }
    fake.calls = 0;
    for (int i = 0; i < 100 * DEVICES; i++) {
        enqueue_product(i % 2 == 0 ? s[i % DEVICES].a : s[i % DEVICES].b,
                        NOTHING);
    }
    for (int i = 0; i < DEVICES; i++) {
        setting_finish(&s[i]);
    }
    CHECK(fake.calls == 100 * DEVICES);
    CHECK(fake.most_running == 1);
}

/* Each queue waits for the one before, and multiplies. The first waits at the
 * gate. */
static void enqueue_chain(hri_queue **queues, hri_event **events)
{
    for (int i = 0; i < QUEUES; i++) {
        const hri_queue_ops *ops = queues[i]->ops;
        enqueue_product(queues[i], i == 0 ? WAIT_AT_GATE : NOTHING);
        CHECK(i == 0 || ops->wait(queues[i], events[i - 1]) == HR_OK);
        enqueue_product(queues[i], NOTHING);
        CHECK(ops->record(queues[i], events[i]) == HR_OK);
    }
}

static void queues_share_threads(void)
{
    enum { THREADS = 5 }; /* by HEADRACE_THREADS */
    hri_device *device;
    hri_queue *queues[QUEUES];
    hri_event *events[QUEUES];
    TEST_CASE("any number of queues needs only some threads");
    CHECK(hri_backend_host.open(0, THREADS, &device) == HR_OK);
    setenv("HEADRACE_THREADS", "5", 1);
    const int before = threads_count();
    for (int i = 0; i < QUEUES; i++) {
        CHECK(device->ops->create_queue(device, false, &queues[i]) == HR_OK);
        CHECK(device->ops->create_event(device, true, &events[i]) == HR_OK);
        CHECK(i != 5 || threads_count() == before + 6);
    }
    CHECK(threads_count() == before + 2 * THREADS);
    TEST_CASE("a queue whose turn comes wakes no other");
    set_gate(false);
    fake.calls = fake.most_running = 0;
    enqueue_chain(queues, events);
    CHECK(!is_done(events[0]));
    const long woken = threads_woken();
    set_gate(true);
    CHECK(queues[QUEUES - 1]->ops->finish(queues[QUEUES - 1]) == HR_OK);
    CHECK(threads_woken() - woken < 4 * QUEUES);
    CHECK(fake.calls == 2 * QUEUES && fake.most_running == 1);
    TEST_CASE("the threads end with the last queue");
    for (int i = 0; i < QUEUES; i++) {
        const int left = i < QUEUES - 1 ? 2 * THREADS : 0;
        CHECK(is_done(events[i]));
        queues[i]->ops->destroy(queues[i]);
        events[i]->ops->destroy(events[i]);
        CHECK(threads_count() == before + left);
    }
    unsetenv("HEADRACE_THREADS");
    device->ops->close(device);
}

/* ---- long copies */

enum { LONG = 1 << 18 };
static unsigned char long_from[LONG], long_to[LONG];

static void copy_long(hri_queue *queue)
{
    const hri_copy copy = {.to = hri_at_host(long_to, 0),
                           .from = hri_at_host(long_from, 0),
                           .width = LONG / 2,
                           .height = 2,
                           .depth = 1,
                           .to_pitch = LONG / 2,
                           .from_pitch = LONG / 2};
    CHECK(queue->ops->copy(queue, &copy) == HR_OK);
}

static void wait_for_product(void)
{
    pthread_mutex_lock(&fake.lock);
    while (fake.running == 0) {
        pthread_cond_wait(&fake.changed, &fake.lock);
    }
    pthread_mutex_unlock(&fake.lock);
}

static void long_copies_take_turns(void)
{
    setting s;
    TEST_CASE("a long copy waits for a product");
    setting_open(&s, 8);
    memset(long_from, 7, LONG);
    memset(long_to, 0, LONG);
    enqueue_product(s.a, WAIT_AT_GATE);
    wait_for_product();
    copy_long(s.b);
    CHECK(s.b->ops->record(s.b, s.event) == HR_OK);
    fill_buffer(&s, s.c, 3); /* short commands do not */
    CHECK(s.c->ops->finish(s.c) == HR_OK && first_byte(&s) == 3);
    CHECK(!is_done(s.event) && long_to[LONG - 1] == 0);
    set_gate(true);
    CHECK(s.event->ops->wait(s.event) == HR_OK && long_to[LONG - 1] == 7);
    TEST_CASE("and the next product for it, with all threads");
    enqueue_product(s.a, NOTHING);
    CHECK(s.a->ops->finish(s.a) == HR_OK && fake.threads == 8);
    setting_finish(&s);
}

/* Boxes in memory of EXTENT bytes, of which threads copy pieces. */
enum { EXTENT = 3 << 20 };
static unsigned char box_from[EXTENT], box_to[EXTENT], box_wanted[EXTENT];

static void copy_box(const hri_copy *box)
{
    for (size_t i = 0; i < EXTENT; i++) {
        box_from[i] = (unsigned char)(i * 2654435761U >> 13);
        box_to[i] = box_wanted[i] = 0x55;
    }
    for (size_t z = 0; z < box->depth; z++) {
        for (size_t y = 0; y < box->height; y++) {
            memcpy(box_wanted + z * box->to_slice + y * box->to_pitch,
                   box_from + z * box->from_slice + y * box->from_pitch,
                   box->width);
        }
    }
    setting s;
    hri_copy copy = *box;
    copy.to = hri_at_host(box_to, 0);
    copy.from = hri_at_host(box_from, 0);
    setting_open(&s, 8);
    CHECK(s.a->ops->copy(s.a, &copy) == HR_OK);
    CHECK(s.a->ops->finish(s.a) == HR_OK);
    CHECK(memcmp(box_to, box_wanted, EXTENT) == 0);
    setting_finish(&s);
}

static void long_copies_are_whole(void)
{
    static const struct {
        const char *name;
        hri_copy box;
    } rows[] = {
        {"one row", {.width = EXTENT - 7, .height = 1, .depth = 1}},
        {"one row of a piece", {.width = LONG, .height = 1, .depth = 1}},
        {"a piece and a byte", {.width = LONG + 1, .height = 1, .depth = 1}},
        {"short rows",
         {.to_pitch = 101,
          .from_pitch = 128,
          .width = 97,
          .height = 10007,
          .depth = 1}},
        {"rows longer than a piece",
         {.to_pitch = LONG + 9,
          .from_pitch = LONG + 100,
          .width = LONG + 5,
          .height = 5,
          .depth = 1}},
        {"slices",
         {.to_pitch = 100,
          .to_slice = 100 * 33,
          .from_pitch = 90,
          .from_slice = 90 * 31,
          .width = 80,
          .height = 30,
          .depth = 331}},
        {"rows without gaps",
         {.to_pitch = 1000,
          .from_pitch = 1000,
          .width = 1000,
          .height = 2999,
          .depth = 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        copy_box(&rows[i].box);
    }
}

static void with_setting(void (*function)(setting *))
{
    setting s = {0};
    setting_init(&s);
    function(&s);
    setting_finish(&s);
}

int main(void)
{
    TEST(with_setting(nothing_blocks_the_caller));
    TEST(with_setting(records_are_kept_apart));
    TEST(with_setting(errors_stick));
    TEST(with_setting(operands_are_addresses));
    TEST(products_run_one_at_a_time());
    TEST(queues_share_threads());
    TEST(long_copies_take_turns());
    TEST(long_copies_are_whole());
    return test_end();
}
