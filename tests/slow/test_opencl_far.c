/* SPDX-License-Identifier: MIT */
/* Fills and products beyond 4 GiB of one buffer, where drivers and kernels that
 * count in 32 bits fail. For devices with enough memory. */
#include "base/cpus.h"
#include "hal/hal.h"
#include "support/conformance.h"

static const size_t buffer_bytes = ((size_t)9 << 30) + 13;

static uint8_t byte_at(hri_queue *queue, hri_buffer *buffer, size_t offset)
{
    uint8_t byte = 99;
    hri_copy copy =
        conformance_row(hri_at_host(&byte, 0), hri_at(buffer, offset), 1);
    conformance_must(queue->ops->copy(queue, &copy), "copy");
    conformance_must(queue->ops->finish(queue), "finish");
    return byte;
}

static void fills_reach_all_of_a_buffer(hri_queue *queue, hri_buffer *buffer)
{
    const size_t gib = (size_t)1 << 30, last = buffer_bytes - 1;
    const size_t inside[] = {100,     gib - 1,     gib,         2 * gib,
                             4 * gib, 4 * gib + 1, 8 * gib - 1, last - 100};
    TEST_CASE("fills reach all of a buffer, and no further");
    CHECK(queue->ops->fill(queue, buffer, 0, buffer_bytes, 1) == HR_OK);
    CHECK(queue->ops->fill(queue, buffer, 100, buffer_bytes - 200, 7) == HR_OK);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        CHECK(byte_at(queue, buffer, inside[i]) == 7);
    }
    CHECK(byte_at(queue, buffer, 99) == 1);
    CHECK(byte_at(queue, buffer, last - 99) == 1);
    CHECK(byte_at(queue, buffer, last) == 1);
}

/* All of A and B is 1, so each element is alpha k. */
static void far_corners_are_right(hri_queue *queue, hri_buffer *ones,
                                  hri_buffer *result, bool columns)
{
    enum { M = 70000, N = 33, K = 100, LD = 30000 };
    const int64_t far_apart = (int64_t)120000; /* M rows: 8.4e9 bytes */
    hri_gemm g = {
        .type = HR_I8,
        .c_type = HR_I32,
        .m = M,
        .n = N,
        .k = K,
        .alpha = hr_real(2),
        .a = {hri_at(ones, 5), far_apart, 1, false},
        .b = {hri_at(ones, 0), N, 1, false},
        .c = {hri_at(result, 4), LD, 1, false},
    };
    if (columns) { /* whose last ones start beyond 8 GiB */
        g.a = (hri_operand){hri_at(ones, 5), 1, (int64_t)85 << 20, false};
        g.b = (hri_operand){hri_at(ones, 0), 1, (int64_t)260 << 20, false};
    }
    int32_t corner[N + 1] = {0};
    hri_copy copy = conformance_row(
        hri_at_host(corner, 0),
        hri_at(result, 4 + (size_t)(M - 1) * LD * sizeof *corner),
        sizeof corner);
    CHECK(queue->ops->fill(queue, ones, 0, buffer_bytes, 1) == HR_OK);
    CHECK(queue->ops->fill(queue, result, 0, buffer_bytes, 0) == HR_OK);
    CHECK(queue->ops->gemm(queue, &g) == HR_OK);
    CHECK(queue->ops->copy(queue, &copy) == HR_OK);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(corner[0] == 2 * K && corner[N - 1] == 2 * K && corner[N] == 0);
}

static void check_device(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    hri_buffer *ones = conformance_buffer(device, buffer_bytes);
    hri_buffer *result = conformance_buffer(device, buffer_bytes);
    fills_reach_all_of_a_buffer(queue, ones);
    TEST_CASE("far corners, row-major");
    far_corners_are_right(queue, ones, result, false);
    TEST_CASE("far corners, column-major");
    far_corners_are_right(queue, ones, result, true);
    queue->ops->destroy(queue);
    device->ops->release(ones);
    device->ops->release(result);
}

int main(void)
{
    uint32_t count = 0, used = 0;
    if (hri_backend_opencl.probe(&count) != HR_OK) {
        return test_skip(hr_last_error());
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = NULL;
        conformance_must(hri_backend_opencl.open(i, HRI_MAX_THREADS, &device),
                         "open");
        const hri_device_info *info = &device->info;
        if (info->allocation_bytes < buffer_bytes ||
            info->free_bytes / 3 < buffer_bytes) {
            test_note("skip: %s has no room for two buffers of %zu bytes\n",
                      info->path, buffer_bytes);
        } else {
            TEST(check_device(device));
            used++;
        }
        device->ops->close(device);
    }
    return used > 0 ? test_end()
                    : test_skip("no OpenCL device is large enough");
}
