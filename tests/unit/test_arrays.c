/* SPDX-License-Identifier: MIT */
/* Queues, events, arrays and views, on the accelerators of argv[1]. */
#include <math.h>
#include <stdatomic.h>

#include "base/status.h"
#include "support/bed.h"

enum { ROWS = 37, COLS = 53, COUNT = ROWS * COLS };

/* The queue of the last accelerator. */
static hr_queue *last_queue(const bed *b)
{
    return b->queues[b->count - 1];
}

static float number_of(int i)
{
    return (float)i * 0.5f - 7.0f;
}

static void fill_numbers(float *data, int count)
{
    for (int i = 0; i < count; i++) {
        data[i] = number_of(i);
    }
}

static hr_view section_of(hr_view v, int64_t row, int64_t col, int64_t rows,
                          int64_t cols)
{
    const int64_t origin[] = {row, col};
    CHECK(hr_view_section(v, origin, hr_extent2(rows, cols), &v) == HR_OK);
    return v;
}

/* ---- copies */

static void copy_there_and_back(const bed *b)
{
    TEST_CASE("host memory to an array, to another accelerator, and back");
    float *from = malloc(COUNT * sizeof *from);
    float *to = calloc(COUNT, sizeof *to);
    hr_array *source, *here, *there, *target;
    hr_extent extent = hr_extent2(ROWS, COLS);
    fill_numbers(from, COUNT);
    CHECK(hr_array_wrap(b->context, from, 4, extent, 0, &source) == HR_OK);
    CHECK(hr_array_wrap(b->context, to, 4, extent, 0, &target) == HR_OK);
    CHECK(hr_array_create(b->queues[0], 4, extent, &here) == HR_OK);
    CHECK(hr_array_create(last_queue(b), 4, extent, &there) == HR_OK);
    CHECK(hr_copy(hr_view_of(source), hr_view_of(here)) == HR_OK);
    hr_event *event = NULL;
    CHECK(hr_copy_async(hr_view_of(here), hr_view_of(there), &event) == HR_OK);
    CHECK(hr_copy_async(hr_view_of(there), hr_view_of(target), NULL) == HR_OK);
    CHECK(hr_event_wait(event) == HR_OK);
    bool done = false;
    CHECK(hr_event_query(event, &done) == HR_OK && done);
    hr_event_destroy(event);
    CHECK(hr_synchronize(hr_view_of(target)) == HR_OK);
    CHECK(memcmp(from, to, COUNT * sizeof *from) == 0);
    hr_array_destroy(source);
    hr_array_destroy(here);
    hr_array_destroy(there);
    hr_array_destroy(target);
    free(from);
    free(to);
}

static void copy_sections(const bed *b)
{
    TEST_CASE("sections of an array, between rows that are further apart");
    enum { PITCH = COLS + 5 };
    float *from = malloc(ROWS * PITCH * sizeof *from);
    hr_array *source, *there;
    hr_mapping m;
    fill_numbers(from, ROWS * PITCH);
    CHECK(hr_array_wrap(b->context, from, 4, hr_extent2(ROWS, COLS), PITCH * 4,
                        &source) == HR_OK);
    CHECK(hr_array_create(last_queue(b), 4, hr_extent2(ROWS, COLS), &there) ==
          HR_OK);
    hr_view whole = hr_view_of(source), inner = section_of(whole, 3, 5, 10, 20);
    CHECK(hr_copy(inner, section_of(hr_view_of(there), 20, 30, 10, 20)) ==
          HR_OK);
    CHECK(hr_map(section_of(hr_view_of(there), 22, 31, 2, 3), HR_IN, &m) ==
          HR_OK);
    int ok = 1;
    for (int64_t i = 0; i < 2; i++) {
        for (int64_t j = 0; j < 3; j++) {
            const char *at = (const char *)m.data + i * m.stride_bytes[0] +
                             j * m.stride_bytes[1];
            float value;
            memcpy(&value, at, sizeof value);
            int64_t row = 3 + 2 + i, col = 5 + 1 + j;
            ok = ok && value == number_of((int)(row * PITCH + col));
        }
    }
    CHECK(ok);
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK_FAILS(hr_unmap(&m), HR_ERROR_INVALID, "nothing is mapped");
    hr_view packed;
    CHECK_FAILS(hr_view_reshape(whole, hr_extent1(2 * COLS), &packed),
                HR_ERROR_INVALID, "gaps");
    hr_array_destroy(source);
    hr_array_destroy(there);
    free(from);
}

static void copy_staging(const bed *b)
{
    TEST_CASE("staging arrays");
    hr_array *in, *out, *there;
    hr_extent extent = hr_extent3(3, 5, 7);
    CHECK(hr_array_create_staging(last_queue(b), 8, extent, &in) == HR_OK);
    CHECK(hr_array_create_staging(last_queue(b), 8, extent, &out) == HR_OK);
    CHECK(hr_array_create(last_queue(b), 8, extent, &there) == HR_OK);
    double *data = hr_array_data(in);
    for (int i = 0; i < 105; i++) {
        data[i] = sqrt(i);
    }
    CHECK(hr_invalidate(hr_view_of(in)) == HR_OK);
    CHECK(hr_copy(hr_view_of(in), hr_view_of(there)) == HR_OK);
    CHECK(hr_copy(hr_view_of(there), hr_view_of(out)) == HR_OK);
    CHECK(memcmp(hr_array_data(out), data, 105 * sizeof *data) == 0);
    CHECK(hr_array_extent(in).rank == 3 && hr_array_extent(in).size[2] == 7);
    CHECK(hr_array_element_bytes(in) == 8);
    hr_array_destroy(in);
    hr_array_destroy(out);
    hr_array_destroy(there);
}

static void reshape_views(const bed *b)
{
    TEST_CASE("a row of a cube becomes a column of squares");
    hr_array *cube, *other;
    hr_mapping m;
    hr_view slice, row, square, bytes;
    CHECK(hr_array_create_anywhere(b->context, 4, hr_extent3(4, 6, 8), &cube) ==
          HR_OK);
    CHECK(hr_array_create(last_queue(b), 4, hr_extent2(2, 4), &other) == HR_OK);
    CHECK(hr_map(hr_view_of(cube), HR_OUT, &m) == HR_OK);
    fill_numbers(m.data, 4 * 6 * 8);
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_view_project(hr_view_of(cube), 2, &slice) == HR_OK);
    CHECK(hr_view_project(slice, 5, &row) == HR_OK);
    CHECK(row.extent.rank == 1 && row.extent.size[0] == 8);
    CHECK(hr_view_reshape(row, hr_extent2(2, 4), &square) == HR_OK);
    CHECK(hr_copy(square, hr_view_of(other)) == HR_OK);
    CHECK(hr_map(hr_view_of(other), HR_IN, &m) == HR_OK);
    CHECK(((float *)m.data)[7] == number_of((2 * 6 + 5) * 8 + 7));
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_view_reinterpret(row, 1, &bytes) == HR_OK);
    CHECK(bytes.extent.size[0] == 32 && bytes.element_bytes == 1);
    CHECK(hr_view_reinterpret(row, 16, &bytes) == HR_OK);
    CHECK(bytes.extent.size[0] == 2);
    CHECK_FAILS(hr_view_reinterpret(row, 5, &bytes), HR_ERROR_INVALID,
                "rows of 32 bytes do not divide into elements of 5");
    hr_array_destroy(cube);
    hr_array_destroy(other);
}

/* ---- what follows the data */

static void count_traffic(const bed *b)
{
    TEST_CASE("only what is missing moves");
    float *data = calloc(COUNT, sizeof *data);
    hr_array *array;
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_array_wrap(b->context, data, 4, hr_extent2(ROWS, COLS), 0,
                        &array) == HR_OK);
    CHECK(hr_accelerator_describe(
              b->context, hr_queue_accelerator(last_queue(b)), &info) == HR_OK);
    const uint64_t all = info.in_place ? 0 : 1; /* nothing moves in place */
    hr_traffic before = hr_context_traffic(b->context), after;
    hr_view whole = hr_view_of(array);
    CHECK(hr_prefetch(section_of(whole, 0, 0, 10, 10), last_queue(b)) == HR_OK);
    after = hr_context_traffic(b->context);
    CHECK(after.up - before.up == all * 400);
    CHECK(hr_prefetch(section_of(whole, 5, 5, 10, 10), last_queue(b)) == HR_OK);
    after = hr_context_traffic(b->context);
    CHECK(after.up - before.up == all * (400 + 300));
    CHECK(hr_prefetch(whole, last_queue(b)) == HR_OK);
    CHECK(hr_prefetch(whole, last_queue(b)) == HR_OK);
    after = hr_context_traffic(b->context);
    CHECK(after.up - before.up == all * COUNT * 4);
    CHECK(hr_synchronize(whole) == HR_OK); /* the host has it all along */
    after = hr_context_traffic(b->context);
    CHECK(after.down == before.down && after.peer == before.peer);
    CHECK(hr_invalidate(section_of(whole, 1, 1, 2, 2)) == HR_OK);
    CHECK(hr_prefetch(whole, last_queue(b)) == HR_OK);
    after = hr_context_traffic(b->context);
    CHECK(after.up - before.up == all * (COUNT * 4 + 16));
    CHECK(hr_discard(whole) == HR_OK);
    CHECK(hr_synchronize(whole) == HR_OK);
    after = hr_context_traffic(b->context);
    CHECK(after.down == before.down);
    hr_array_destroy(array);
    free(data);
}

/* ---- events */

static void count_calls(void *data, hr_status status)
{
    atomic_fetch_add((atomic_int *)data, status == HR_OK ? 1 : 100);
}

/* An event that has been passed, in a context of its own. */
typedef struct elsewhere {
    hr_context *context;
    hr_queue *queue;
    hr_event *event;
} elsewhere;

static hr_status elsewhere_init(elsewhere *e)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "host";
    *e = (elsewhere){NULL, NULL, NULL};
    HRI_TRY(hr_context_create(&options, &e->context));
    HRI_TRY(hr_queue_create(e->context, 0, &e->queue));
    HRI_TRY(hr_queue_record(e->queue, &e->event));
    return hr_queue_finish(e->queue);
}

static void elsewhere_finish(elsewhere *e)
{
    hr_event_destroy(e->event);
    hr_queue_destroy(e->queue);
    hr_context_destroy(e->context);
}

static void use_events(const bed *b)
{
    elsewhere other;
    TEST_CASE("events");
    hr_event *first, *second;
    atomic_int calls = 0;
    double seconds = -1.0;
    CHECK(hr_queue_record(b->queues[0], &first) == HR_OK);
    CHECK(hr_event_then(first, count_calls, &calls) == HR_OK);
    CHECK(hr_event_then(first, count_calls, &calls) == HR_OK);
    CHECK(hr_queue_wait(last_queue(b), first) == HR_OK);
    CHECK(hr_queue_record(b->queues[0], &second) == HR_OK);
    CHECK(hr_queue_flush(b->queues[0]) == HR_OK);
    CHECK(hr_queue_finish(b->queues[0]) == HR_OK);
    CHECK(hr_queue_finish(last_queue(b)) == HR_OK);
    CHECK(hr_event_elapsed(first, second, &seconds) == HR_OK);
    CHECK(seconds >= 0.0);
    CHECK(elsewhere_init(&other) == HR_OK);
    CHECK_FAILS(hr_event_elapsed(first, other.event, &seconds),
                HR_ERROR_INVALID, "belong to two contexts");
    elsewhere_finish(&other);
    hr_event_destroy(first); /* waits for the functions */
    CHECK(atomic_load(&calls) == 2);
    hr_event_destroy(second);
    hr_event_destroy(NULL);
}

/* ---- what is refused */

static void refuse_queues(const bed *b)
{
    hr_queue *q = NULL;
    hr_event *e = NULL;
    double seconds;
    TEST_CASE("wrong arguments of queues and events");
    CHECK_FAILS(hr_queue_create(NULL, 0, &q), HR_ERROR_INVALID, "context");
    CHECK_FAILS(hr_queue_create(b->context, 99, &q), HR_ERROR_INVALID,
                "accelerator index 99 is not below");
    CHECK_FAILS(hr_queue_finish(NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_queue_flush(NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_queue_record(NULL, &e), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_queue_wait(b->queues[0], NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_event_wait(NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_event_query(NULL, NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_event_then(NULL, count_calls, NULL), HR_ERROR_INVALID,
                "NULL");
    CHECK_FAILS(hr_event_elapsed(NULL, NULL, &seconds), HR_ERROR_INVALID,
                "NULL");
}

static void refuse_arrays(const bed *b)
{
    TEST_CASE("wrong arguments of arrays");
    const int64_t origin[] = {0, 0};
    hr_array *a = NULL;
    CHECK_FAILS(hr_array_create(NULL, 4, hr_extent1(3), &a), HR_ERROR_INVALID,
                "NULL");
    CHECK_FAILS(hr_array_create(b->queues[0], 4, (hr_extent){0}, &a),
                HR_ERROR_INVALID, "the rank is 0, not 1 to 6");
    CHECK_FAILS(hr_array_create(b->queues[0], 4, (hr_extent){.rank = 7}, &a),
                HR_ERROR_INVALID, "the rank is 7, not 1 to 6");
    CHECK_FAILS(hr_array_create(b->queues[0], 4, hr_extent2(3, 0), &a),
                HR_ERROR_INVALID, "dimension 1 has size 0");
    CHECK_FAILS(hr_array_create(b->queues[0], 0, hr_extent1(3), &a),
                HR_ERROR_INVALID, "elements of 0 bytes");
    CHECK_FAILS(hr_array_create(b->queues[0], 8, hr_extent1(INT64_MAX), &a),
                HR_ERROR_INVALID,
                "9223372036854775807 elements of 8 bytes take more than 2^62");
    CHECK_FAILS(hr_array_create(b->queues[0], 8, hr_extent2(INT64_MAX, 2), &a),
                HR_ERROR_INVALID, "2^63 or more elements, of 8 bytes each");
    CHECK_FAILS(hr_array_wrap(b->context, NULL, 4, hr_extent1(3), 0, &a),
                HR_ERROR_INVALID, "data is NULL");
    CHECK_FAILS(hr_array_wrap(b->context, origin, 4, hr_extent2(2, 3), 11, &a),
                HR_ERROR_INVALID, "a row is 12 bytes, but rows are 11 apart");
    CHECK_FAILS(hr_array_wrap(b->context, origin, 4, hr_extent2(2, 3),
                              (size_t)1 << 61 | 1, &a),
                HR_ERROR_INVALID, "take more than 2^62 bytes");
    CHECK_FAILS(
        hr_array_wrap(b->context, origin, 4, hr_extent3(2, 2, 3), SIZE_MAX, &a),
        HR_ERROR_INVALID, "18446744073709551615 bytes apart");
    CHECK(a == NULL);
    CHECK(hr_extent_count(hr_extent3(INT64_MAX, 2, 2)) == 0);
    CHECK(hr_extent_count(hr_extent3(3, 4, 5)) == 60);
    hr_array_destroy(NULL);
    hr_queue_destroy(NULL);
}

static void refuse_views(const bed *b)
{
    TEST_CASE("wrong arguments of views");
    hr_array *a = NULL, *other = NULL;
    hr_view v, w;
    hr_mapping m;
    const int64_t origin[] = {0, 0}, beyond[] = {1, 0}, below[] = {-1, 0};
    CHECK(hr_array_create_anywhere(b->context, 4, hr_extent2(6, 8), &a) ==
          HR_OK);
    CHECK(hr_array_create_anywhere(b->context, 8, hr_extent2(6, 8), &other) ==
          HR_OK);
    v = hr_view_of(a);
    CHECK_FAILS(hr_view_section(v, beyond, hr_extent2(6, 8), &w),
                HR_ERROR_INVALID, "6 elements from 1 on exceed dimension 0");
    CHECK_FAILS(hr_view_section(v, below, hr_extent2(1, 1), &w),
                HR_ERROR_INVALID, "from -1 on");
    CHECK_FAILS(hr_view_section(v, beyond, hr_extent2(1, 0), &w),
                HR_ERROR_INVALID,
                "the extent has size 0 in dimension 1, not 1 or more");
    CHECK_FAILS(hr_view_section(v, origin, hr_extent1(2), &w), HR_ERROR_INVALID,
                "the extent has rank 1, but the view has 2");
    CHECK_FAILS(hr_view_section(v, NULL, hr_extent2(1, 1), &w),
                HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_view_section(hr_view_of(NULL), origin, hr_extent2(1, 1), &w),
                HR_ERROR_INVALID, "no array");
    CHECK_FAILS(hr_view_project(v, 6, &w), HR_ERROR_INVALID, "index 6");
    CHECK(hr_view_project(v, 5, &w) == HR_OK);
    CHECK_FAILS(hr_view_project(w, 0, &w), HR_ERROR_INVALID, "rank 1");
    CHECK_FAILS(hr_view_reshape(v, hr_extent1(49), &w), HR_ERROR_INVALID,
                "the extent has 49 elements, but the view has 48");
    CHECK_FAILS(hr_view_reshape(v, hr_extent2(INT64_MAX, INT64_MAX), &w),
                HR_ERROR_INVALID, "or 2^63 or more; the view has 48");
    CHECK_FAILS(hr_copy(v, hr_view_of(other)), HR_ERROR_INVALID,
                "elements of 4 bytes, but to has 8");
    CHECK_FAILS(hr_copy(v, section_of(v, 0, 0, 6, 7)), HR_ERROR_INVALID,
                "8 elements, but to has 7, in dimension 1");
    CHECK_FAILS(hr_copy(section_of(v, 0, 0, 3, 3), section_of(v, 2, 2, 3, 3)),
                HR_ERROR_INVALID, "overlap");
    CHECK_FAILS(hr_copy(v, w), HR_ERROR_INVALID, "rank");
    CHECK_FAILS(hr_synchronize(hr_view_of(NULL)), HR_ERROR_INVALID, "no array");
    CHECK_FAILS(hr_invalidate(v), HR_ERROR_INVALID, "no host memory");
    CHECK_FAILS(hr_prefetch(v, NULL), HR_ERROR_INVALID, "queue is NULL");
    CHECK_FAILS(hr_map(v, (hr_access)4, &m), HR_ERROR_INVALID, "access 4");
    CHECK_FAILS(hr_map(v, HR_IN, NULL), HR_ERROR_INVALID, "NULL");
    hr_array_destroy(a);
    hr_array_destroy(other);
}

static void refuse_too_large(const bed *b)
{
    TEST_CASE("more than the accelerator may hold");
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    hr_array *a = NULL;
    CHECK(hr_accelerator_describe(
              b->context, hr_queue_accelerator(last_queue(b)), &info) == HR_OK);
    if (info.in_place) {
        return; /* the system says what the host may hold */
    }
    CHECK_FAILS(hr_array_create(last_queue(b), 1,
                                hr_extent1((int64_t)info.memory_limit + 1), &a),
                HR_ERROR_OUT_OF_MEMORY, "bytes");
}

/* The program may write to its memory when hr_synchronize has returned: copies
 * out of it have ended, too. */
static void write_after_synchronize(const bed *b)
{
    enum { LARGE = 1 << 22 };
    TEST_CASE("reading ends before hr_synchronize does");
    float *from = malloc(LARGE * sizeof *from);
    hr_array *source, *there;
    hr_mapping m;
    for (int i = 0; i < LARGE; i++) {
        from[i] = 1.0f;
    }
    CHECK(hr_array_wrap(b->context, from, 4, hr_extent1(LARGE), 0, &source) ==
          HR_OK);
    CHECK(hr_array_create(last_queue(b), 4, hr_extent1(LARGE), &there) ==
          HR_OK);
    CHECK(hr_copy_async(hr_view_of(source), hr_view_of(there), NULL) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(source)) == HR_OK);
    memset(from, 0, LARGE * sizeof *from);
    CHECK(hr_invalidate(hr_view_of(source)) == HR_OK);
    CHECK(hr_map(hr_view_of(there), HR_IN, &m) == HR_OK);
    int ok = 1;
    for (int i = 0; i < LARGE; i++) {
        ok = ok && ((const float *)m.data)[i] == 1.0f;
    }
    CHECK(ok);
    CHECK(hr_unmap(&m) == HR_OK);
    hr_array_destroy(source);
    hr_array_destroy(there);
    free(from);
}

/* Memory that arrays hold is not there for products. */
static void multiply_beside_array(void)
{
    enum { N = 600, LIMIT = 8 << 20, HELD = 5 << 20 };
    TEST_CASE("a product beside an array");
    hr_queue *queue = NULL;
    hr_array *array = NULL;
    hr_context *context = test_context("1xhost", LIMIT);
    CHECK(hr_queue_create(context, 0, &queue) == HR_OK);
    CHECK(hr_array_create(queue, 1, hr_extent1(HELD), &array) == HR_OK);
    float *data = calloc((size_t)N * N, sizeof *data);
    hr_matrix m = hr_matrix_row_major(data, HR_F32, N, N, 0), c = m;
    c.data = calloc((size_t)N * N, sizeof *data);
    hr_gemm_options gemm = HR_GEMM_OPTIONS_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_share share;
    report.shares = &share;
    report.share_capacity = 1;
    gemm.report = &report;
    for (int i = 0; i < 2; i++) { /* the second finds what the first left */
        CHECK(hr_gemm(context, hr_real(1), m, m, hr_real(0), c, &gemm) ==
              HR_OK);
        CHECK(share.memory_bytes <= LIMIT - HELD);
        CHECK(share.memory_limit == LIMIT - HELD);
    }
    free(c.data);
    free(data);
    hr_array_destroy(array);
    hr_queue_destroy(queue);
    hr_context_destroy(context);
}

static void run_all(bed *b)
{
    TEST(copy_there_and_back(b));
    TEST(copy_sections(b));
    TEST(copy_staging(b));
    TEST(reshape_views(b));
    TEST(count_traffic(b));
    TEST(use_events(b));
    TEST(refuse_queues(b));
    TEST(refuse_arrays(b));
    TEST(refuse_views(b));
    TEST(refuse_too_large(b));
    TEST(write_after_synchronize(b));
    TEST(multiply_beside_array());
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "2xhost", run_all);
}
