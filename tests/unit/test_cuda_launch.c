/* SPDX-License-Identifier: MIT */
/* How many driver calls launches cost, over a fake driver. Fences are recorded
 * when something waits for them, and where they are needed. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "arrays/array.h"
#include "support/fake_cuda/use.h"
#include "test.h"

extern const hr_kernel transpose_tiled, matmul_naive, box;

enum { EDGE = 24, LAUNCHES = 200 };

typedef struct bed {
    fake_cuda_state *fake;
    hr_context *context;
    hr_queue *queues[2];
    int data[3][EDGE * EDGE];
    hr_array *arrays[3];
} bed;

static void launch_transpose(bed *b, int queue, int from, int to)
{
    const hr_extent tile = hr_extent2(8, 8);
    const hr_argument arguments[] = {hr_in(hr_view_of(b->arrays[from])),
                                     hr_out(hr_view_of(b->arrays[to]))};
    CHECK(hr_launch(b->queues[queue], &transpose_tiled, hr_extent2(EDGE, EDGE),
                    &tile, arguments, 2) == HR_OK);
}

static long count_records(const bed *b)
{
    return b->fake->records;
}

/* Entering the context, the launch, and leaving. */
static void launch_again(bed *b)
{
    TEST_CASE("launches on the same arrays record no events");
    launch_transpose(b, 0, 0, 1);
    long calls = b->fake->calls, before = count_records(b);
    for (int i = 0; i < LAUNCHES; i++) {
        launch_transpose(b, 0, 0, 1);
    }
    CHECK(b->fake->calls - calls == 3L * LAUNCHES);
    CHECK(count_records(b) == before);
    TEST_CASE("and one when they are waited for");
    CHECK(hr_queue_finish(b->queues[0]) == HR_OK);
    CHECK(count_records(b) == before + 1);
    CHECK(hr_queue_finish(b->queues[0]) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(b->arrays[1])) == HR_OK);
    CHECK(b->data[1][1] == b->data[0][EDGE]);
}

static void launch_to_and_fro(bed *b)
{
    TEST_CASE("launches that others wait for apart record one event each");
    for (int i = 0; i < 4; i++) { /* makes the events that are wanted */
        launch_transpose(b, 0, 1 + i % 2, 2 - i % 2);
    }
    long calls = b->fake->calls, before = count_records(b);
    for (int i = 0; i < LAUNCHES; i += 2) {
        launch_transpose(b, 0, 1, 2);
        launch_transpose(b, 0, 2, 1);
    }
    CHECK(count_records(b) - before <= LAUNCHES);
    CHECK(b->fake->calls - calls <= 6L * LAUNCHES);
}

static void launch_on_others(bed *b)
{
    TEST_CASE("another queue that reads has one recorded");
    launch_transpose(b, 0, 0, 1);
    long before = count_records(b);
    launch_transpose(b, 1, 1, 2);
    CHECK(count_records(b) == before + 1);
    launch_transpose(b, 1, 1, 2);
    CHECK(count_records(b) == before + 1);
    TEST_CASE("a queue's promise is kept when it is destroyed");
    hr_queue_destroy(b->queues[1]);
    CHECK(count_records(b) == before + 2);
    CHECK(hr_synchronize(hr_view_of(b->arrays[2])) == HR_OK);
    CHECK(memcmp(b->data[0], b->data[2], sizeof b->data[0]) == 0);
    TEST_CASE("an engine may have it urgent");
    CHECK(b->fake->urgent == 0);
    CHECK(hri_queue_open(b->context, 0, true, NULL, &b->queues[1]) == HR_OK);
    CHECK(b->fake->urgent == 1);
}

/* The event is recorded between the two launches, not after both. */
static void wait_for_first(bed *b)
{
    TEST_CASE("other work of the queue does not hold up who waits");
    launch_transpose(b, 0, 0, 1);
    long before = count_records(b);
    launch_transpose(b, 0, 0, 2);
    CHECK(count_records(b) == before + 1);
    CHECK(hr_synchronize(hr_view_of(b->arrays[1])) == HR_OK);
    CHECK(count_records(b) == before + 2); /* and the copy's own */
}

static void launch_product(bed *b, int from, int to)
{
    const hr_argument arguments[] = {hr_in(hr_view_of(b->arrays[from])),
                                     hr_in(hr_view_of(b->arrays[from])),
                                     hr_out(hr_view_of(b->arrays[to]))};
    CHECK(hr_launch(b->queues[0], &matmul_naive, hr_extent2(EDGE, EDGE), NULL,
                    arguments, 3) == HR_OK);
}

static void read_twice(bed *b)
{
    TEST_CASE("nor when both read one array twice");
    launch_product(b, 0, 1);
    long before = count_records(b);
    launch_product(b, 0, 2);
    CHECK(count_records(b) == before + 1);
}

/* Launch a kernel over a box, which takes so many launches of CUDA. */
static void launch_box(const bed *b, hr_extent extent, long launches)
{
    const int64_t count = hr_extent_count(extent);
    const hr_extent tile = hr_extent3(1, 1, 4);
    const int reach = 0; /* each element is added three times */
    hr_context *context = b->context;
    hr_array *arrays[2];
    double *from = malloc((size_t)count * sizeof *from);
    double *to = malloc((size_t)count * sizeof *to);
    for (int64_t k = 0; k < count; k++) {
        from[k] = (double)k;
        to[k] = -1.0;
    }
    CHECK(hr_array_wrap(context, from, sizeof *from, extent, 0, &arrays[0]) ==
          HR_OK);
    CHECK(hr_array_wrap(context, to, sizeof *to, extent, 0, &arrays[1]) ==
          HR_OK);
    const hr_argument arguments[] = {hr_in(hr_view_of(arrays[0])),
                                     hr_out(hr_view_of(arrays[1])),
                                     hr_value(&reach, sizeof reach)};
    const long before = b->fake->launches;
    CHECK(hr_launch(b->queues[0], &box, extent, &tile, arguments, 3) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(b->fake->launches - before == launches);
    bool right = true;
    for (int64_t k = 0; k < count; k++) {
        right = right && to[k] == 3.0 * from[k];
    }
    CHECK(right);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    free(from);
    free(to);
}

/* In a context of its own, whose threads do not disturb others. */
static void launch_many_blocks(bed *b)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "cuda:0";
    TEST_CASE("CUDA takes 65535 blocks in y and z: more come in parts");
    CHECK(hr_context_create(&options, &b->context) == HR_OK);
    CHECK(hr_queue_create(b->context, 0, &b->queues[0]) == HR_OK);
    launch_box(b, hr_extent3(65535, 1, 2), 1);
    launch_box(b, hr_extent3(65536, 1, 2), 2);
    launch_box(b, hr_extent3(1, 140000, 1), 3);
    launch_box(b, hr_extent3(65540, 2, 1), 2);
    hr_queue_destroy(b->queues[0]);
    hr_context_destroy(b->context);
}

static void fail_to_record(bed *b)
{
    TEST_CASE("an event that cannot be recorded is told");
    launch_transpose(b, 0, 0, 1);
    b->fake->fail_name = "cuEventRecord";
    b->fake->fail_result = 2;
    CHECK(hr_synchronize(hr_view_of(b->arrays[1])) == HR_ERROR_OUT_OF_MEMORY);
    CHECK(b->fake->fail_name == NULL);
    CHECK(hr_synchronize(hr_view_of(b->arrays[1])) == HR_ERROR_OUT_OF_MEMORY);
}

static void check_sum(const bed *b, hr_array *x)
{
    hr_reduced sum = {.value = 0};
    CHECK(hr_reduce(b->context, HR_REDUCE_SUM, HR_F32, hr_view_of(x), NULL,
                    NULL, &sum) == HR_OK);
    CHECK(sum.value == 2.0 * (double)hr_extent_count(hr_array_extent(x)));
}

static void transpose_and_map(const bed *b, hr_array *to)
{
    hr_mapping m = {0};
    hr_queue *queue = NULL;
    const hr_extent tile = hr_extent2(8, 8);
    const hr_argument arguments[] = {hr_in(hr_view_of(b->arrays[0])),
                                     hr_out(hr_view_of(to))};
    CHECK(hr_queue_default(b->context, 0, &queue) == HR_OK);
    CHECK(hr_launch(queue, &transpose_tiled, hr_extent2(EDGE, EDGE), &tile,
                    arguments, 2) == HR_OK);
    CHECK(hr_map(hr_view_of(to), HR_IN, &m) == HR_OK);
    CHECK(((const int *)m.data)[1] == b->data[0][EDGE]);
    CHECK(hr_unmap(&m) == HR_OK);
}

/* Entering the context and leaving it are calls, too. */
static void count_small_results(const bed *b)
{
    const float two = 2.0f;
    hr_array *x = NULL;
    CHECK(hr_array_create(b->queues[0], sizeof two, hr_extent1(5000), &x) ==
          HR_OK);
    CHECK(hr_fill(b->context, hr_view_of(x), HR_F32, &two, NULL) == HR_OK);

    TEST_CASE("a reduction: a kernel, which writes to the host, and an event");
    for (int i = 0; i < 8; i++) { /* the first ones make what is kept, and time
                                     the kernel */
        check_sum(b, x);
    }
    long calls = b->fake->calls, recorded = count_records(b);
    check_sum(b, x);
    CHECK(b->fake->calls - calls == 3 * 2 + 3); /* and a wait */
    CHECK(count_records(b) - recorded == 1);

    TEST_CASE("one of sixteen is timed, by one event more and a question");
    calls = b->fake->calls;
    recorded = count_records(b);
    for (int i = 0; i < 16; i++) {
        check_sum(b, x);
    }
    CHECK(b->fake->calls - calls == 16 * (3 * 2 + 3) + 3 + 3);
    CHECK(count_records(b) - recorded == 16 + 1);
    hr_array_destroy(x);

    TEST_CASE("a launch with its small result: a kernel, a copy and an event");
    CHECK(hr_array_create(b->queues[0], sizeof(int), hr_extent2(EDGE, EDGE),
                          &x) == HR_OK);
    transpose_and_map(b, x); /* makes an event, as does the next one */
    transpose_and_map(b, x);
    calls = b->fake->calls;
    recorded = count_records(b);
    transpose_and_map(b, x);
    CHECK(b->fake->calls - calls == 3 * 3 + 3);
    CHECK(count_records(b) - recorded == 1);
    hr_array_destroy(x);
}

static void bed_init(bed *b)
{
    b->context = test_context("cuda:0", 0);
    for (int i = 0; i < 2; i++) {
        CHECK(hr_queue_create(b->context, 0, &b->queues[i]) == HR_OK);
    }
    for (int i = 0; i < EDGE * EDGE; i++) {
        b->data[0][i] = i * 7919 % 1013;
    }
    for (int i = 0; i < 3; i++) {
        CHECK(hr_array_wrap(b->context, (void *)b->data[i], /* any type */
                            sizeof(int), hr_extent2(EDGE, EDGE), 0,
                            &b->arrays[i]) == HR_OK);
    }
}

int main(void)
{
    static bed b;
    b.fake = fake_cuda_use(FAKE_CUDA);
    bed_init(&b);
    TEST(launch_again(&b));
    TEST(launch_to_and_fro(&b));
    TEST(launch_on_others(&b));
    TEST(wait_for_first(&b));
    TEST(read_twice(&b));
    TEST(count_small_results(&b));
    TEST(fail_to_record(&b));
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(b.arrays[i]);
    }
    hr_queue_destroy(b.queues[0]);
    hr_queue_destroy(b.queues[1]);
    hr_context_destroy(b.context);
    TEST(launch_many_blocks(&b));
    TEST_CASE("nothing is left");
    CHECK(b.fake->objects == 0 && b.fake->retained == 0);
    return test_end();
}
