/* SPDX-License-Identifier: MIT */
/* Launches that stream from ordinary memory, whose copies are staged: each byte
 * crosses once. */
#include "support/staged_machine.h"

extern const hr_kernel axpy;

enum { STREAMED = 5 << 20, CHUNK_BYTES = 2 * MIB };

typedef struct stream_bed {
    machine m;
    float *x, *y;
    hr_array *source, *result;
} stream_bed;

static void fill_streamed(const stream_bed *b)
{
    for (int k = 0; k < STREAMED; k++) {
        b->x[k] = (float)(k % 1013);
        b->y[k] = (float)(k % 1019);
    }
}

static bool streamed_well(const stream_bed *b)
{
    long wrong = 0;
    for (int k = 0; k < STREAMED; k++) {
        wrong += b->y[k] != 3.0F * b->x[k] + (float)(k % 1019) + 2.0F;
    }
    return wrong == 0;
}

static stream_bed open_streamed(void)
{
    stream_bed b = {.m = open_machine(),
                    .x = malloc(STREAMED * sizeof(float)),
                    .y = malloc(STREAMED * sizeof(float))};
    const hr_extent extent = hr_extent1(STREAMED);
    fill_streamed(&b);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        hri_accelerator *a = &b.m.context->accelerators[i];
        a->memory_limit = a->memory_used + (uint64_t)5 * CHUNK_BYTES;
    }
    CHECK(hr_array_wrap(b.m.context, b.x, sizeof(float), extent, 0,
                        &b.source) == HR_OK);
    CHECK(hr_array_wrap(b.m.context, b.y, sizeof(float), extent, 0,
                        &b.result) == HR_OK);
    return b;
}

static void close_streamed(stream_bed *b)
{
    hr_array_destroy(b->source);
    hr_array_destroy(b->result);
    close_machine(&b->m);
    free(b->x);
    free(b->y);
}

static hr_status launch_streamed(const stream_bed *b)
{
    static const double weights[ACCELERATORS] = {1, 1};
    const float factor = 3.0F;
    const struct {
        float x;
        int n;
    } p = {1.0F, 2};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    const hr_argument arguments[] = {
        hr_in(hr_view_of(b->source)), hr_inout(hr_view_of(b->result)),
        hr_value(&factor, sizeof factor), hr_value(&p, sizeof p)};
    return hr_launch_split(b->m.context, &axpy, hr_extent1(STREAMED), arguments,
                           4, &options);
}

/* Both accelerators bring their chunks one behind the other, and every byte
 * crosses once. */
static void launches_stream(void)
{
    TEST_CASE("a launch streams from ordinary memory");
    stream_bed b = open_streamed();
    CHECK(launch_streamed(&b) == HR_OK);
    CHECK(streamed_well(&b));
    CHECK(fault_backend_largest_ordinary() == 0);
    CHECK(fault_backend_bytes(FAULT_UP) == 2 * STREAMED * sizeof(float));
    CHECK(fault_backend_bytes(FAULT_DOWN) == STREAMED * sizeof(float));
    close_streamed(&b);
}

int main(void)
{
    TEST(launches_stream());
    return test_end();
}
