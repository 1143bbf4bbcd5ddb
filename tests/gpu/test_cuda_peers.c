/* SPDX-License-Identifier: MIT */
/* Two GPUs: boxes copied from one to the other by the queue of either, ordered
 * only by events. */
#include "backends/cuda/cuda.h"
#include "support/conformance.h"
#include "support/random.h"

enum { AREA = 1 << 20, ROUNDS = 40 };

static void order_queues(const conformance_opened *first,
                         const conformance_opened *second)
{
    CHECK(first->queue->ops->record(first->queue, first->event) == HR_OK);
    CHECK(second->queue->ops->wait(second->queue, first->event) == HR_OK);
}

static hri_copy random_box(random_source *source)
{
    hri_copy c = {.width = (size_t)random_between(source, 1, 900),
                  .height = (size_t)random_between(source, 1, 12),
                  .depth = (size_t)random_between(source, 1, 6)};
    c.to_pitch = c.width + (size_t)random_between(source, 0, 60);
    c.from_pitch = c.width + (size_t)random_between(source, 0, 60);
    c.to_slice = c.to_pitch * (c.height + (size_t)random_between(source, 0, 2));
    c.from_slice =
        c.from_pitch * c.height + (size_t)random_between(source, 0, 1) * 17;
    c.to.offset = (size_t)random_between(source, 0, 5000);
    c.from.offset = (size_t)random_between(source, 0, 5000);
    return c;
}

static void copy_plainly(const hri_copy *c, unsigned char *to,
                         const unsigned char *from)
{
    for (size_t z = 0; z < c->depth; z++) {
        for (size_t y = 0; y < c->height; y++) {
            memcpy(to + c->to.offset + z * c->to_slice + y * c->to_pitch,
                   from + c->from.offset + z * c->from_slice +
                       y * c->from_pitch,
                   c->width);
        }
    }
}

/* From a's buffer to b's; mover is one of them. */
static void copy_across(conformance_opened *a, conformance_opened *b,
                        conformance_opened *mover, random_source *source,
                        unsigned char *memory[3])
{
    hri_copy box = random_box(source);
    random_fill_bytes(source, memory[0], AREA);
    random_fill_bytes(source, memory[1], AREA);
    conformance_upload(a->queue, a->buffer, memory[0]);
    conformance_upload(b->queue, b->buffer, memory[1]);
    order_queues(mover == a ? b : a, mover);
    copy_plainly(&box, memory[1], memory[0]);
    box.from.buffer = a->buffer;
    box.to.buffer = b->buffer;
    CHECK(mover->queue->ops->copy(mover->queue, &box) == HR_OK);
    if (mover != b) {
        order_queues(mover, b);
    }
    conformance_download(b->queue, memory[2], b->buffer);
    CHECK(b->queue->ops->finish(b->queue) == HR_OK);
    CHECK(memcmp(memory[2], memory[1], AREA) == 0);
}

int main(void)
{
    uint32_t count = 0;
    unsigned char *memory[3];
    random_source source = {7};
    if (hri_backend_cuda.probe(&count) != HR_OK || count < 2) {
        return test_skip("there are no two GPUs");
    }
    conformance_opened a = conformance_open(&hri_backend_cuda, 0, AREA);
    conformance_opened b = conformance_open(&hri_backend_cuda, 1, AREA);
    if (!a.device->ops->is_peer(a.device, b.device)) {
        return test_skip("the first two GPUs do not reach each other");
    }
    CHECK(b.device->ops->is_peer(b.device, a.device));
    for (int i = 0; i < 3; i++) {
        memory[i] = conformance_memory(AREA);
    }
    TEST_CASE("boxes go from GPU to GPU");
    for (int i = 0; i < ROUNDS; i++) {
        TEST(copy_across(&a, &b, &a, &source, memory));
        TEST(copy_across(&a, &b, &b, &source, memory));
        TEST(copy_across(&b, &a, &a, &source, memory));
        TEST(copy_across(&b, &a, &b, &source, memory));
    }
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
    conformance_close(&a);
    conformance_close(&b);
    return test_end();
}
