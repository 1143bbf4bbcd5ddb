/* SPDX-License-Identifier: MIT */
/* Buffers and pinned memory. */
#include "support/conformance.h"
#include "support/random.h"

enum { BUFFERS = 24, LARGE = 5 << 20 };

/* Sizes around what allocators like to round to, and one large. */
static size_t size_of_buffer(size_t index)
{
    static const size_t sizes[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, LARGE};
    return sizes[index % (sizeof sizes / sizeof sizes[0])];
}

static void buffers_are_distinct(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    hri_buffer *buffers[BUFFERS];
    unsigned char *bytes = conformance_memory(LARGE);
    TEST_CASE("buffers keep what is written, each its own");
    for (size_t i = 0; i < BUFFERS; i++) {
        buffers[i] = conformance_buffer(device, size_of_buffer(i));
        CHECK(buffers[i]->bytes == size_of_buffer(i));
        CHECK(buffers[i]->device == device);
        random_source source = {i};
        random_fill_bytes(&source, bytes, buffers[i]->bytes);
        conformance_upload(queue, buffers[i], bytes);
        CHECK(queue->ops->finish(queue) == HR_OK);
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        unsigned char *want = conformance_memory(buffers[i]->bytes);
        random_source source = {i};
        random_fill_bytes(&source, want, buffers[i]->bytes);
        conformance_download(queue, bytes, buffers[i]);
        CHECK(queue->ops->finish(queue) == HR_OK);
        CHECK(memcmp(bytes, want, buffers[i]->bytes) == 0);
        free(want);
        device->ops->release(buffers[i]);
    }
    free(bytes);
    queue->ops->destroy(queue);
}

/* On a CPU this is not tested: the system promises memory that it does not
 * have, and the address sanitizer finds what is not released. */
static void memory_comes_back(hri_device *device)
{
    size_t bytes = device->info.allocation_bytes / 2;
    uint64_t rounds = device->info.memory_bytes / bytes + 2;
    if (device->info.host || device->info.emulated) {
        printf("skip: filling the memory of %s proves nothing\n",
               device->info.path);
        return;
    }
    TEST_CASE("released memory can be had again");
    for (uint64_t i = 0; i < rounds; i++) {
        hri_buffer *buffer = NULL;
        if (!CHECK(device->ops->allocate(device, bytes, &buffer) == HR_OK)) {
            return;
        }
        device->ops->release(buffer);
    }
}

static void too_much_is_refused(hri_device *device)
{
    hri_buffer *buffer = NULL;
    void *host = NULL;
    TEST_CASE("a buffer larger than any memory is refused");
    CHECK_FAILS(device->ops->allocate(device, SIZE_MAX / 2, &buffer),
                HR_ERROR_OUT_OF_MEMORY, "9223372036854775807");
    CHECK(buffer == NULL);
    TEST_CASE("pinned memory larger than any memory is refused");
    CHECK_FAILS(device->ops->allocate_pinned(device, SIZE_MAX / 2, &host),
                HR_ERROR_OUT_OF_MEMORY, "9223372036854775807");
    CHECK(host == NULL);
    device->ops->release(NULL);
    device->ops->release_pinned(device, NULL);
}

static void pinned_memory_is_memory(hri_device *device, size_t bytes)
{
    hri_queue *queue = conformance_queue(device);
    hri_buffer *buffer = conformance_buffer(device, bytes);
    unsigned char *want = conformance_memory(bytes);
    void *up = NULL, *down = NULL;
    random_source source = {bytes};
    conformance_must(device->ops->allocate_pinned(device, bytes, &up), "up");
    conformance_must(device->ops->allocate_pinned(device, bytes, &down),
                     "down");
    TEST_CASE("copies go from and to pinned memory");
    CHECK(up != down);
    random_fill_bytes(&source, want, bytes);
    memcpy(up, want, bytes);
    memset(down, 0, bytes);
    conformance_upload(queue, buffer, up);
    conformance_download(queue, down, buffer);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(memcmp(down, want, bytes) == 0);
    CHECK(memcmp(up, want, bytes) == 0);
    device->ops->release_pinned(device, up);
    device->ops->release_pinned(device, down);
    device->ops->release(buffer);
    queue->ops->destroy(queue);
    free(want);
}

/* Memory of allocate_pinned is pinned, unless the device cannot tell. Other
 * memory is pinned only where all memory is. */
static void pinned_memory_is_known(hri_device *device)
{
    const hri_device_ops *ops = device->ops;
    char *ordinary = conformance_memory(LARGE);
    void *pinned = NULL;
    conformance_must(ops->allocate_pinned(device, LARGE, &pinned), "pinned");
    TEST_CASE("what is pinned is told from what is not");
    CHECK(ops->is_pinned(device, ordinary, LARGE) == !device->info.staged);
    CHECK(ops->is_pinned(device, pinned, LARGE) ==
          ops->is_pinned(device, (char *)pinned + LARGE - 1, 1));
    CHECK(device->info.staged || ops->is_pinned(device, pinned, LARGE));
    ops->release_pinned(device, pinned);
    free(ordinary);
}

static void memory_conforms(hri_device *device)
{
    TEST(buffers_are_distinct(device));
    TEST(memory_comes_back(device));
    TEST(too_much_is_refused(device));
    TEST(pinned_memory_is_known(device));
    TEST(pinned_memory_is_memory(device, 1));
    TEST(pinned_memory_is_memory(device, 4097));
    TEST(pinned_memory_is_memory(device, LARGE));
}

int main(void)
{
    return conformance_main(memory_conforms);
}
