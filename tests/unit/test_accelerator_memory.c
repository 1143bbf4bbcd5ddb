/* SPDX-License-Identifier: MIT */
/* Memory of accelerators: the limit, the cache and the counters. */
#include "test.h"

#include "runtime/runtime.h"
#include "support/fake.h"
#include "support/random.h"

/* An accelerator on the fake cuda:0, of 1000000 bytes. */
static hri_accelerator start_accelerator(uint64_t limit)
{
    hri_accelerator accelerator = {.path = "cuda:0", .memory_limit = limit};
    fake_reset();
    CHECK(fake_backends[0].open(0, 2, &accelerator.device) == HR_OK);
    return accelerator;
}

/* Nothing is left, neither in the counters nor on the device. */
static void end_accelerator(hri_accelerator *accelerator)
{
    hri_memory_finish(accelerator);
    CHECK(accelerator->memory_used == 0 && accelerator->pinned_used == 0);
    CHECK(accelerator->memory_peak <= accelerator->memory_limit);
    CHECK(fake.backends[0].devices[0].most_bytes == accelerator->memory_peak);
    accelerator->device->ops->close(accelerator->device);
    CHECK(fake.live == 0);
}

static hri_buffer *allocate_buffer(hri_accelerator *accelerator, uint64_t bytes)
{
    hri_buffer *buffer = NULL;
    CHECK(hri_accelerator_allocate(accelerator, bytes, &buffer) == HR_OK);
    CHECK(buffer != NULL && buffer->bytes == bytes);
    return buffer;
}

static void check_cache(void)
{
    TEST_CASE("a buffer of the same size is used again");
    hri_accelerator a = start_accelerator(1000);
    hri_buffer *first = allocate_buffer(&a, 400);
    hri_accelerator_release(&a, first);
    CHECK(a.memory_used == 400 && a.allocations == 1);
    CHECK(hri_accelerator_room(&a) == 1000);
    CHECK(allocate_buffer(&a, 400) == first);
    CHECK(a.allocations == 1);

    TEST_CASE("one in use is not");
    hri_buffer *second = allocate_buffer(&a, 400);
    CHECK(second != first && a.allocations == 2 && a.memory_used == 800);
    CHECK(hri_accelerator_room(&a) == 200);

    TEST_CASE("one of another size is not, while there is room");
    hri_accelerator_release(&a, first);
    hri_buffer *third = allocate_buffer(&a, 200);
    CHECK(a.memory_used == 1000 && a.allocations == 3);

    TEST_CASE("trimming frees what is cached and nothing else");
    hri_accelerator_trim(&a);
    CHECK(a.memory_used == 600 && a.memory_peak == 1000);
    hri_accelerator_release(&a, second);
    hri_accelerator_release(&a, third);
    hri_accelerator_release(&a, NULL);
    end_accelerator(&a);
}

static void check_eviction(void)
{
    TEST_CASE("cached buffers give way, the oldest first, no more than needed");
    hri_accelerator a = start_accelerator(1000);
    hri_buffer *sizes[3] = {allocate_buffer(&a, 300), allocate_buffer(&a, 310),
                            allocate_buffer(&a, 320)};
    hri_accelerator_release(&a, sizes[1]);
    hri_accelerator_release(&a, sizes[0]);
    hri_accelerator_release(&a, sizes[2]);
    hri_buffer *large = allocate_buffer(&a, 350);
    CHECK(a.memory_used == 300 + 320 + 350);
    CHECK(a.memory_peak == 970);

    TEST_CASE("what was kept is still there");
    CHECK(allocate_buffer(&a, 300) == sizes[0] &&
          allocate_buffer(&a, 320) == sizes[2]);
    CHECK(a.allocations == 4);
    hri_accelerator_release(&a, large);
    end_accelerator(&a);
}

static void check_limit(void)
{
    hri_buffer *none = NULL;
    TEST_CASE("exactly the limit fits");
    hri_accelerator a = start_accelerator(1000);
    hri_buffer *buffer = allocate_buffer(&a, 1000);

    TEST_CASE("not a byte more, with the numbers");
    CHECK_FAILS(hri_accelerator_allocate(&a, 1, &none), HR_ERROR_OUT_OF_MEMORY,
                "cuda:0: a buffer of 1 byte does not fit into the 0 left of "
                "the limit of 1000 bytes");
    CHECK(none == NULL && a.allocations == 1);

    TEST_CASE("a failure leaves the cache alone");
    hri_accelerator_release(&a, buffer);
    CHECK_FAILS(hri_accelerator_allocate(&a, 1001, &none),
                HR_ERROR_OUT_OF_MEMORY, "1001");
    CHECK(a.memory_used == 1000);

    TEST_CASE("a buffer of no bytes");
    CHECK_FAILS(hri_accelerator_allocate(&a, 0, &none), HR_ERROR_INVALID,
                "0 bytes");
    end_accelerator(&a);

    TEST_CASE("more than the device's largest buffer");
    a = start_accelerator(1000);
    a.device->info.allocation_bytes = 600;
    CHECK_FAILS(hri_accelerator_allocate(&a, 601, &none),
                HR_ERROR_OUT_OF_MEMORY, "largest of 600 bytes");
    end_accelerator(&a);

    TEST_CASE("what works in place has no memory");
    a = start_accelerator(0);
    CHECK_FAILS(hri_accelerator_allocate(&a, 1, &none), HR_ERROR_OUT_OF_MEMORY,
                "limit of 0 bytes");
    end_accelerator(&a);
}

static void check_device_memory(void)
{
    hri_buffer *none = NULL;
    TEST_CASE("the cache goes when the device is full");
    hri_accelerator a = start_accelerator(2000000);
    hri_accelerator_release(&a, allocate_buffer(&a, 600000));
    hri_buffer *buffer = allocate_buffer(&a, 700000);
    CHECK(a.memory_used == 700000 && a.allocations == 2);

    TEST_CASE("without a cache the device's own words come back");
    CHECK_FAILS(hri_accelerator_allocate(&a, 400000, &none),
                HR_ERROR_OUT_OF_MEMORY, "fake: out of memory");
    CHECK(none == NULL && a.memory_used == 700000 && a.allocations == 2);

    TEST_CASE("it is asked once more, not for ever");
    hri_accelerator_release(&a, buffer);
    CHECK_FAILS(hri_accelerator_allocate(&a, 1200000, &none),
                HR_ERROR_OUT_OF_MEMORY, "1200000 bytes is more than");
    a.device->info.allocation_bytes = 2000000;
    long calls = fake.calls;
    CHECK_FAILS(hri_accelerator_allocate(&a, 1200000, &none),
                HR_ERROR_OUT_OF_MEMORY, "fake: out of memory");
    CHECK(fake.calls == calls + 2 && a.memory_used == 0);

    TEST_CASE("any other error comes back at once");
    hri_accelerator_release(&a, allocate_buffer(&a, 100));
    calls = fake.calls;
    fake.fail_call = fake.calls + 1;
    fake.fail_with = HR_ERROR_LOST;
    CHECK_FAILS(hri_accelerator_allocate(&a, 200, &none), HR_ERROR_LOST,
                "fake: call");
    CHECK(fake.calls == calls + 1 && a.memory_used == 100);
    end_accelerator(&a);
}

static void check_pinned(void)
{
    void *first = NULL, *second = NULL, *third = NULL;
    TEST_CASE("pinned memory is cached, and no limit counts it");
    hri_accelerator a = start_accelerator(10);
    CHECK(hri_accelerator_allocate_pinned(&a, 5000, &first) == HR_OK);
    CHECK(hri_accelerator_allocate_pinned(&a, 5000, &second) == HR_OK);
    CHECK(first != second && a.pinned_used == 10000 && a.memory_used == 0);
    hri_accelerator_release_pinned(&a, first);
    CHECK(hri_accelerator_allocate_pinned(&a, 5000, &third) == HR_OK);
    CHECK(third == first && a.allocations == 2);

    TEST_CASE("a new size frees what is cached of others");
    hri_accelerator_release_pinned(&a, first);
    CHECK(hri_accelerator_allocate_pinned(&a, 6000, &third) == HR_OK);
    CHECK(a.pinned_used == 11000);
    hri_accelerator_release_pinned(&a, second);
    hri_accelerator_release_pinned(&a, third);
    hri_accelerator_release_pinned(&a, NULL);
    CHECK(a.pinned_used == 11000);

    TEST_CASE("no bytes, and a device that refuses");
    CHECK_FAILS(hri_accelerator_allocate_pinned(&a, 0, &first),
                HR_ERROR_INVALID, "0 bytes");
    fake.fail_call = fake.calls + 1;
    fake.fail_with = HR_ERROR_BACKEND;
    CHECK_FAILS(hri_accelerator_allocate_pinned(&a, 7000, &first),
                HR_ERROR_BACKEND, "fake");
    end_accelerator(&a);
}

/* A buffer and an area at random: allocate it, or release it if it is there.
 * Both are allocated only in sizes that the limit allows. */
static void step_at_random(hri_accelerator *a, random_source *random,
                           hri_buffer *buffers[8], void *areas[8])
{
    size_t i = (size_t)random_between(random, 0, 7);
    uint64_t bytes = (uint64_t)random_between(random, 1, 6) * 50;
    uint64_t room = hri_accelerator_room(a);
    if (buffers[i] != NULL) {
        hri_accelerator_release(a, buffers[i]);
        buffers[i] = NULL;
    } else {
        hr_status status = hri_accelerator_allocate(a, bytes, &buffers[i]);
        CHECK(status == (bytes <= room ? HR_OK : HR_ERROR_OUT_OF_MEMORY));
        CHECK((status == HR_OK) == (buffers[i] != NULL));
    }
    i = (size_t)random_between(random, 0, 7);
    if (areas[i] != NULL) {
        hri_accelerator_release_pinned(a, areas[i]);
        areas[i] = NULL;
    } else {
        CHECK(hri_accelerator_allocate_pinned(a, bytes, &areas[i]) == HR_OK);
    }
    CHECK(a->memory_used == fake.backends[0].devices[0].held_bytes);
    CHECK(a->memory_used <= a->memory_limit);
}

static void check_queues(void)
{
    hri_queue *first = NULL, *second = NULL, *again = NULL;
    TEST_CASE("queues are used again");
    hri_accelerator a = start_accelerator(1000);
    hri_pools_init(&a);
    CHECK(hri_accelerator_take_queue(&a, HRI_QUEUE_UP, &first) == HR_OK);
    CHECK(hri_accelerator_take_queue(&a, HRI_QUEUE_DOWN, &second) == HR_OK);
    CHECK(first != second && a.allocations == 2);
    hri_accelerator_reclaim(&a);
    CHECK(hri_accelerator_take_queue(&a, HRI_QUEUE_UP, &again) == HR_OK);
    CHECK(again == first);
    CHECK(hri_accelerator_take_queue(&a, HRI_QUEUE_DOWN, &again) == HR_OK);
    CHECK(again == second && a.allocations == 2);
    hri_pools_close(&a);
    end_accelerator(&a);
}

static void check_random(void)
{
    hri_buffer *buffers[8] = {NULL};
    void *areas[8] = {NULL};
    random_source random = {1};
    TEST_CASE("at random the limit holds, and room is what can be had");
    hri_accelerator a = start_accelerator(1000);
    for (int i = 0; i < 5000; i++) {
        step_at_random(&a, &random, buffers, areas);
    }
    CHECK(a.memory_peak > 900);
    end_accelerator(&a);
}

int main(void)
{
    TEST(check_cache());
    TEST(check_eviction());
    TEST(check_limit());
    TEST(check_device_memory());
    TEST(check_pinned());
    TEST(check_queues());
    TEST(check_random());
    return test_end();
}
