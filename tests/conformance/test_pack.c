/* SPDX-License-Identifier: MIT */
/* Matrices packed transposed: every element, and nothing beside them. */
#include <math.h>
#include <string.h>

#include "support/conformance.h"
#include "support/random.h"

enum {
    CASES = 40,
    MAX_EXTENT = 300,
    SPARE = 20,
    BYTES = 16 * (MAX_EXTENT + 20) * (MAX_EXTENT + 20)
};

/* Random numbers, not bits: libraries may turn one NaN into another. Of f32
 * also the smallest, and both infinities. */
static void fill_area(unsigned char *area, hr_type type, random_source *random)
{
    static const float special[] = {0x1p-149f, -0x1.fffffcp-127f, INFINITY,
                                    -INFINITY, 0x1.fffffep127f};
    for (size_t i = 0; i < BYTES; i++) {
        area[i] = (unsigned char)random_next(random);
    }
    for (size_t i = 0; i < BYTES / sizeof(float) && type == HR_F32; i++) {
        uint64_t r = random_next(random);
        float x = r % 8 < 5 ? special[r % 8] : (float)(int32_t)(r >> 32) + 0.5f;
        memcpy(area + i * sizeof x, &x, sizeof x);
    }
}

/* One matrix of a type, with strides that leave something between its lines. */
static void pack_once(hri_device *device, hri_queue *queue, hr_type type,
                      random_source *random, int index)
{
    const size_t size = hr_type_size(type);
    unsigned char *source = conformance_memory(BYTES);
    unsigned char *want = conformance_memory(BYTES);
    unsigned char *got = conformance_memory(BYTES);
    hri_buffer *from = conformance_buffer(device, BYTES);
    hri_buffer *to = conformance_buffer(device, BYTES);
    hri_pack t = {.type = type,
                  .from = {.place = hri_at(from, 0), .col_stride = 1},
                  .to = hri_at(to, 0)};
    t.rows = index == 0 ? 1 : random_between(random, 1, MAX_EXTENT);
    t.cols = index == 1 ? 1 : random_between(random, 1, MAX_EXTENT);
    t.to_stride = t.rows + random_between(random, 0, SPARE);
    t.from.row_stride = t.cols + random_between(random, 0, SPARE);
    fill_area(source, type, random);
    fill_area(want, type, random);
    conformance_upload(queue, from, source);
    conformance_upload(queue, to, want);
    CHECK(queue->ops->finish(queue) == HR_OK);
    for (int64_t r = 0; r < t.rows; r++) {
        for (int64_t c = 0; c < t.cols; c++) {
            memcpy(want + (size_t)(c * t.to_stride + r) * size,
                   source + (size_t)(r * t.from.row_stride + c) * size, size);
        }
    }
    CHECK(queue->ops->pack(queue, &t) == HR_OK);
    conformance_download(queue, got, to);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(memcmp(got, want, BYTES) == 0);
    device->ops->release(from);
    device->ops->release(to);
    free(source);
    free(want);
    free(got);
}

static void packs_conform(hri_device *device)
{
    random_source random = {20261122};
    hri_queue *queue = conformance_queue(device);
    hri_pack t = {.type = HR_I8};
    TEST_CASE("matrices are packed, or that is not offered");
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        for (int i = 0; i < CASES && (device->info.packed >> type & 1); i++) {
            TEST(pack_once(device, queue, type, &random, i));
        }
    }
    for (int i = 0; i < CASES && device->info.host; i++) {
        TEST(pack_once(device, queue, i % 2 ? HR_C64 : HR_I8, &random, i));
    }
    if (device->info.packed == 0 && !device->info.host) {
        CHECK(queue->ops->pack(queue, &t) == HR_ERROR_UNSUPPORTED);
    }
    queue->ops->destroy(queue);
}

int main(void)
{
    return conformance_main(packs_conform);
}
