/* SPDX-License-Identifier: MIT */
/* Ordinary memory and accelerators that copy it slowly: it goes through pinned
 * memory, by threads, and no call blocks that does not ask to wait. */
#include <stdint.h>
#include <string.h>

#include "support/staged_machine.h"

extern const hr_kernel axpy;

/* ---- boxes */

static const struct {
    const char *name;
    int64_t size[3], origin[3], part[3];
    size_t row_bytes; /* of the caller's arrays; 0: no gaps */
    bool staged;
} boxes[] = {
    {"one row", {1, 1, 5 * MIB + 7}, {0, 0, 0}, {1, 1, 5 * MIB + 7}, 0, true},
    {"rows", {1, 1500, 1001}, {0, 0, 0}, {1, 1500, 1001}, 0, true},
    {"rows apart", {1, 1500, 1001}, {0, 0, 0}, {1, 1500, 1001}, 1013, true},
    {"parts of rows", {1, 1500, 1001}, {0, 99, 3}, {1, 1333, 977}, 1013, true},
    {"long rows", {1, 3, 3 * MIB + 1}, {0, 1, 5}, {1, 2, 2 * MIB + 9}, 0, true},
    {"thin rows", {1, 400000, 7}, {0, 0, 2}, {1, 400000, 3}, 0, true},
    {"slices", {40, 300, 101}, {1, 0, 0}, {38, 300, 101}, 0, true},
    {"slices apart", {40, 300, 111}, {1, 3, 5}, {38, 290, 101}, 113, true},
    {"least", {1, 1, 2 * MIB}, {0, 0, 5}, {1, 1, MIB}, 0, true},
    {"a byte less", {1, 1, 2 * MIB}, {0, 0, 5}, {1, 1, MIB - 1}, 0, false},
    {"small", {1, 20, 30}, {0, 2, 3}, {1, 7, 11}, 0, false},
};

static size_t row_of(size_t i)
{
    return boxes[i].row_bytes != 0 ? boxes[i].row_bytes
                                   : (size_t)boxes[i].size[2];
}

/* Where byte (x, y, z) of the part is in the caller's memory. */
static size_t offset_of(size_t i, int64_t x, int64_t y)
{
    const int64_t *o = boxes[i].origin;
    return (size_t)((x + o[0]) * boxes[i].size[1] + y + o[1]) * row_of(i) +
           (size_t)o[2];
}

/* A part of an array goes up and comes home into another one. */
static void carry_part(const machine *m, size_t i, unsigned char *from,
                       unsigned char *to)
{
    const int64_t *size = boxes[i].size, *part = boxes[i].part;
    const hr_extent whole = hr_extent3(size[0], size[1], size[2]);
    const hr_extent box = hr_extent3(part[0], part[1], part[2]);
    hr_array *source = NULL, *there = NULL, *home = NULL;
    hr_view a, b;
    CHECK(hr_array_wrap(m->context, from, 1, whole, boxes[i].row_bytes,
                        &source) == HR_OK);
    CHECK(hr_array_wrap(m->context, to, 1, whole, boxes[i].row_bytes, &home) ==
          HR_OK);
    CHECK(hr_array_create(m->queues[1], 1, box, &there) == HR_OK);
    CHECK(hr_view_section(hr_view_of(source), boxes[i].origin, box, &a) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(home), boxes[i].origin, box, &b) == HR_OK);
    CHECK(hr_copy(a, hr_view_of(there)) == HR_OK);
    CHECK(hr_copy(hr_view_of(there), b) == HR_OK);
    hr_array_destroy(source);
    hr_array_destroy(there);
    hr_array_destroy(home);
}

static void carry_box(size_t i)
{
    const int64_t *size = boxes[i].size, *part = boxes[i].part;
    const size_t bytes = (size_t)(size[0] * size[1]) * row_of(i);
    const uint64_t moved = (uint64_t)(part[0] * part[1] * part[2]);
    machine m = open_machine();
    unsigned char *from = numbers(bytes, 1), *to = numbers(bytes, 2);
    unsigned char *wanted = malloc(bytes);
    TEST_CASE(boxes[i].name);
    CHECK(wanted != NULL);
    memcpy(wanted, to, bytes);
    for (int64_t x = 0; x < part[0]; x++) {
        for (int64_t y = 0; y < part[1]; y++) {
            memcpy(wanted + offset_of(i, x, y), from + offset_of(i, x, y),
                   (size_t)part[2]);
        }
    }
    carry_part(&m, i, from, to);
    CHECK(memcmp(to, wanted, bytes) == 0);
    CHECK(fault_backend_bytes(FAULT_UP) == moved);
    CHECK(fault_backend_bytes(FAULT_DOWN) == moved);
    CHECK(hr_context_traffic(m.context).up == moved &&
          hr_context_traffic(m.context).down == moved);
    CHECK(fault_backend_largest_ordinary() == (boxes[i].staged ? 0 : moved));
    close_machine(&m);
    free(from);
    free(to);
    free(wanted);
}

static void copy_pinned(void)
{
    TEST_CASE("pinned memory goes as it is");
    machine m = open_machine();
    hr_array *pinned = NULL, *there = NULL;
    const hr_extent extent = hr_extent1(3 * MIB);
    hr_mapping map;
    CHECK(hr_array_create_staging(m.queues[0], 1, extent, &pinned) == HR_OK);
    CHECK(hr_array_create(m.queues[0], 1, extent, &there) == HR_OK);
    CHECK(hr_map(hr_view_of(pinned), HR_OUT, &map) == HR_OK);
    memset(map.data, 5, 3 * MIB);
    CHECK(hr_unmap(&map) == HR_OK);
    CHECK(hr_copy(hr_view_of(pinned), hr_view_of(there)) == HR_OK);
    CHECK(fault_backend_count(FAULT_COPY) == 1);
    CHECK(fault_backend_largest_ordinary() == 0);
    hr_array_destroy(pinned);
    hr_array_destroy(there);
    close_machine(&m);
}

/* ---- no call blocks */

/* Copies of ordinary memory to both accelerators are enqueued. While they are
 * stopped, more work that depends on them is enqueued. */
static void enqueue_without_waiting(size_t bytes)
{
    machine m = open_machine();
    const hr_extent extent = hr_extent1((int64_t)bytes);
    unsigned char *from = numbers(bytes, 3), *to = numbers(bytes, 4);
    hr_array *source = NULL, *home = NULL, *there[ACCELERATORS];
    hr_event *up[ACCELERATORS], *event = NULL;
    bool done = true;
    TEST_CASE("nobody is held");
    CHECK(hr_array_wrap(m.context, from, 1, extent, 0, &source) == HR_OK);
    CHECK(hr_array_wrap(m.context, to, 1, extent, 0, &home) == HR_OK);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        CHECK(hr_array_create(m.queues[i], 1, extent, &there[i]) == HR_OK);
    }
    fault_backend_stop_copies(true);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        CHECK(hr_copy_async(hr_view_of(source), hr_view_of(there[i]), &up[i]) ==
              HR_OK);
    }
    fault_backend_await_stopped(3); /* both are copying */
    CHECK(fault_backend_bytes(FAULT_UP) == 0);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        CHECK(hr_event_query(up[i], &done) == HR_OK && !done);
        CHECK(hr_queue_wait(m.queues[1 - i], up[i]) == HR_OK);
        hr_event_destroy(up[i]);
    }
    CHECK(hr_copy_async(hr_view_of(there[0]), hr_view_of(there[1]), NULL) ==
          HR_OK);
    CHECK(hr_copy_async(hr_view_of(there[1]), hr_view_of(home), &event) ==
          HR_OK);
    CHECK(hr_event_query(event, &done) == HR_OK && !done);
    fault_backend_stop_copies(false);
    CHECK(hr_event_wait(event) == HR_OK);
    CHECK(memcmp(from, to, bytes) == 0);
    hr_event_destroy(event);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        CHECK(hr_queue_finish(m.queues[i]) == HR_OK);
        hr_array_destroy(there[i]);
    }
    hr_array_destroy(source);
    hr_array_destroy(home);
    close_machine(&m);
    free(from);
    free(to);
}

/* One thread launches a kernel on every accelerator. The operands lie in
 * ordinary memory. They are copied to all at the same time, and the kernels get
 * the values that were given to the calls. */
static void launch_together(void)
{
    enum { N = 400000 };
    typedef struct point {
        float x;
        int n;
    } point;
    machine m = open_machine();
    const hr_extent extent = hr_extent1(N);
    float *x = malloc(N * sizeof(float)), *y[ACCELERATORS];
    hr_array *source[ACCELERATORS], *result[ACCELERATORS];
    float factor = 0.0F;
    point p = {0.5F, 0};
    TEST_CASE("launches travel together");
    for (int k = 0; k < N; k++) {
        x[k] = (float)(k % 1000);
    }
    fault_backend_stop_copies(true);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        y[i] = calloc(N, sizeof(float));
        CHECK(hr_array_wrap(m.context, x, sizeof(float), extent, 0,
                            &source[i]) == HR_OK);
        CHECK(hr_array_wrap(m.context, y[i], sizeof(float), extent, 0,
                            &result[i]) == HR_OK);
        const hr_argument arguments[] = {
            hr_in(hr_view_of(source[i])), hr_inout(hr_view_of(result[i])),
            hr_value(&factor, sizeof factor), hr_value(&p, sizeof p)};
        factor = (float)(i + 2);
        p.n = 2 * (int)i;
        CHECK(hr_launch(m.queues[i], &axpy, extent, NULL, arguments, 4) ==
              HR_OK);
    }
    factor = 99.0F;
    fault_backend_await_stopped(3);
    CHECK(fault_backend_count(FAULT_LAUNCH) == 0);
    fault_backend_stop_copies(false);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        CHECK(hr_synchronize(hr_view_of(result[i])) == HR_OK);
        long wrong = 0;
        for (int k = 0; k < N; k++) {
            wrong += y[i][k] != (float)(i + 2) * x[k] + (float)i;
        }
        CHECK(wrong == 0);
        hr_array_destroy(source[i]);
        hr_array_destroy(result[i]);
        free(y[i]);
    }
    CHECK(fault_backend_largest_ordinary() == 0);
    close_machine(&m);
    free(x);
}

/* ---- products use the same pinned memory */

static void multiply_beside_copies(void)
{
    enum { N = 600 };
    machine m = open_machine();
    const hr_extent extent = hr_extent2(N, N);
    const size_t bytes = sizeof(float) * N * N;
    float *a = malloc(bytes), *c = malloc(bytes), *home = malloc(bytes);
    hr_array *source = NULL, *there = NULL, *back = NULL;
    hr_event *event = NULL;
    TEST_CASE("products and copies take turns");
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7);
        c[i] = home[i] = 0.0F;
    }
    hr_matrix all = hr_matrix_row_major(a, HR_F32, N, N, N);
    hr_matrix result = hr_matrix_row_major(c, HR_F32, N, N, N);
    CHECK(hr_array_wrap(m.context, a, 4, extent, 0, &source) == HR_OK);
    CHECK(hr_array_wrap(m.context, home, 4, extent, 0, &back) == HR_OK);
    CHECK(hr_array_create(m.queues[0], 4, extent, &there) == HR_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(hr_copy_async(hr_view_of(source), hr_view_of(there), NULL) ==
              HR_OK);
        CHECK(hr_copy_async(hr_view_of(there), hr_view_of(back), &event) ==
              HR_OK);
        CHECK(hr_gemm(m.context, hr_real(1), all, all, hr_real(0), result,
                      NULL) == HR_OK);
        CHECK(hr_event_wait(event) == HR_OK);
        hr_event_destroy(event);
        CHECK(memcmp(a, home, bytes) == 0);
        CHECK(c[N + 1] > 0.0F);
        memset(home, 0, bytes);
        CHECK(hr_invalidate(hr_view_of(back)) == HR_OK);
    }
    hr_array_destroy(source);
    hr_array_destroy(there);
    hr_array_destroy(back);
    close_machine(&m);
    free(a);
    free(c);
    free(home);
}

/* ---- much at once */

enum { ARRAYS = 4, BYTES = 1300000, STEPS = 300 };

/* Values wander between arrays by copies of parts, some staged and some not. No
 * call waits for them. Each array knows what it must hold. */
static void copy_much_at_once(void)
{
    machine m = open_machine();
    random_source random = {5};
    const hr_extent extent = hr_extent1(BYTES);
    unsigned char *memory[ARRAYS], *model[ARRAYS];
    hr_array *arrays[ARRAYS] = {NULL};
    TEST_CASE("much at once");
    for (int i = 0; i < ARRAYS; i++) {
        memory[i] = numbers(BYTES, (uint64_t)i);
        model[i] = numbers(BYTES, (uint64_t)i);
        CHECK(hr_array_wrap(m.context, memory[i], 1, extent, 0, &arrays[i]) ==
              HR_OK);
    }
    for (int step = 0; step < STEPS; step++) {
        int from = (int)random_between(&random, 0, ARRAYS - 1);
        int to = (from + (int)random_between(&random, 1, ARRAYS - 1)) % ARRAYS;
        int64_t size = random_between(&random, 0, 1) != 0 ? 1250000 : 1000;
        int64_t origin = random_between(&random, 0, BYTES - size);
        hr_queue *queue = m.queues[random_between(&random, 0, 1)];
        hr_view a, b;
        CHECK(hr_view_section(hr_view_of(arrays[from]), &origin,
                              hr_extent1(size), &a) == HR_OK);
        CHECK(hr_view_section(hr_view_of(arrays[to]), &origin, hr_extent1(size),
                              &b) == HR_OK);
        CHECK(hr_prefetch(a, queue) == HR_OK);
        if (random_between(&random, 0, 3) == 0) {
            CHECK(hr_copy_async(a, b, NULL) == HR_OK);
            memcpy(model[to] + origin, model[from] + origin, (size_t)size);
        }
        if (random_between(&random, 0, 7) == 0) {
            CHECK(hr_synchronize(b) == HR_OK);
            CHECK(memcmp(memory[to] + origin, model[to] + origin,
                         (size_t)size) == 0);
        }
    }
    for (int i = 0; i < ARRAYS; i++) {
        CHECK(hr_synchronize(hr_view_of(arrays[i])) == HR_OK);
        CHECK(memcmp(memory[i], model[i], BYTES) == 0);
        hr_array_destroy(arrays[i]);
        free(memory[i]);
        free(model[i]);
    }
    close_machine(&m);
}

/* Two queues of one accelerator bring arrays there, one behind the other, with
 * kernels and copies between them, and take turns at the pinned memory. */
static void share_pinned_memory(void)
{
    enum { UPLOADS = 12, N = 700000 };
    TEST_CASE("queues take turns at pinned memory");
    machine m = open_machine();
    const hr_extent extent = hr_extent1(N);
    hr_queue *queues[2] = {m.queues[0], NULL};
    float *x[UPLOADS], *y[UPLOADS], factor = 3.0F;
    hr_array *from[UPLOADS], *to[UPLOADS], *home[UPLOADS];
    struct {
        float x;
        int n;
    } p = {1.0F, 2};
    CHECK(hr_queue_create(m.context, 0, &queues[1]) == HR_OK);
    for (int i = 0; i < UPLOADS; i++) {
        x[i] = malloc(N * sizeof(float));
        y[i] = calloc(N, sizeof(float));
        for (int k = 0; k < N; k++) {
            x[i][k] = (float)((k + 7 * i) % 1000);
        }
        CHECK(hr_array_wrap(m.context, x[i], sizeof(float), extent, 0,
                            &from[i]) == HR_OK);
        CHECK(hr_array_wrap(m.context, y[i], sizeof(float), extent, 0,
                            &home[i]) == HR_OK);
        CHECK(hr_array_create(queues[i % 2], sizeof(float), extent, &to[i]) ==
              HR_OK);
    }
    for (int i = 0; i < UPLOADS; i++) {
        CHECK(hr_copy_async(hr_view_of(from[i]), hr_view_of(to[i]), NULL) ==
              HR_OK);
        CHECK(hr_prefetch(hr_view_of(from[i]), queues[i % 2]) == HR_OK);
        if (i % 4 == 3) {
            const hr_argument arguments[] = {
                hr_in(hr_view_of(from[i])), hr_inout(hr_view_of(to[i])),
                hr_value(&factor, sizeof factor), hr_value(&p, sizeof p)};
            CHECK(hr_launch(queues[i % 2], &axpy, extent, NULL, arguments, 4) ==
                  HR_OK);
        }
    }
    for (int i = 0; i < UPLOADS; i++) {
        CHECK(hr_copy_async(hr_view_of(to[i]), hr_view_of(home[i]), NULL) ==
              HR_OK);
    }
    for (int i = 0; i < UPLOADS; i++) {
        long wrong = 0;
        CHECK(hr_synchronize(hr_view_of(home[i])) == HR_OK);
        for (int k = 0; k < N; k++) {
            const float launched = 4.0F * x[i][k] + 2.0F;
            wrong += y[i][k] != (i % 4 == 3 ? launched : x[i][k]);
        }
        CHECK(wrong == 0);
        hr_array_destroy(from[i]);
        hr_array_destroy(to[i]);
        hr_array_destroy(home[i]);
        free(x[i]);
        free(y[i]);
    }
    CHECK(fault_backend_largest_ordinary() == 0);
    hr_queue_destroy(queues[1]);
    close_machine(&m);
}

int main(void)
{
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        TEST(carry_box(i));
    }
    TEST(copy_pinned());
    TEST(enqueue_without_waiting(5 * MIB + 3));
    enqueue_without_waiting(100 << 10); /* not staged, but drivers block */
    TEST(launch_together());
    TEST(multiply_beside_copies());
    TEST(copy_much_at_once());
    TEST(share_pinned_memory());
    return test_end();
}
