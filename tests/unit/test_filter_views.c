/* SPDX-License-Identifier: MIT */
/* Pictures in arrays: the same bits as in matrices, what is moved from filter
 * to filter, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/random.h"
#include "test.h"

enum {
    ROWS = 300,
    COLS = 130,
    REACH = 4,
    EXTENT = 2 * REACH + 1,
    STEPS = 3,
    BANDS = 3
};

static const size_t picture_bytes = (size_t)ROWS * COLS * sizeof(float);

static hr_array *array_over(hr_context *context, void *data)
{
    hr_array *array = NULL;
    CHECK(hr_array_wrap(context, data, sizeof(float), hr_extent2(ROWS, COLS), 0,
                        &array) == HR_OK);
    return array;
}

static hr_filter_options clamped(hr_filter_method method,
                                 hr_filter_report *report)
{
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    options.edges = HR_EDGES_CLAMPED;
    options.method = method;
    options.report = report;
    return options;
}

static void fill_picture(float *picture)
{
    random_source random = {11};
    for (int i = 0; i < ROWS * COLS; i++) {
        picture[i] = (float)random_unit(&random);
    }
}

/* STEPS filters, each of what the one before made, in matrices. */
static void filter_matrices(hr_context *context, const hr_window *window,
                            hr_filter_method method, float *pictures[2])
{
    const hr_filter_options options = clamped(method, NULL);
    for (int i = 0; i < STEPS; i++) {
        CHECK(hr_filter(
                  context, window, 0.02,
                  hr_matrix_row_major(pictures[i % 2], HR_F32, ROWS, COLS, 0),
                  hr_matrix_row_major(pictures[(i + 1) % 2], HR_F32, ROWS, COLS,
                                      0),
                  &options) == HR_OK);
    }
}

/* What the first filter moves, and what later ones move, which find what it
 * left. The weights and the rows beyond the picture come once, and go on to the
 * other bands. Rows that two bands read move between them. The first and last
 * rows come, for the rows beyond. */
static void check_traffic(int step, const hr_filter_report *report,
                          const hr_traffic *before, const hr_traffic *after)
{
    const int64_t n = EXTENT, rank = report->rank;
    const uint64_t row = COLS * sizeof(float), ends = 2 * REACH * row;
    const int64_t weights = rank == 0 ? n * n + 1 : 2 * rank * n;
    const uint64_t tables = ends + (uint64_t)weights * sizeof(float);
    CHECK(report->accelerators == BANDS);
    CHECK(after->up - before->up ==
          (step == 0 ? picture_bytes + tables : tables));
    CHECK(after->down - before->down == (step == 0 ? 0 : ends));
    CHECK(after->peer - before->peer ==
          (BANDS - 1) * (2 * REACH * row + tables));
    CHECK(report->host_to_device == after->up - before->up);
    CHECK(report->device_to_host == after->down - before->down);
}

static void compare_bits(const char *list, hr_filter_method method)
{
    hr_context *context = test_context(list, 0);
    const bool moves = hr_accelerator_count(context) == BANDS;
    hr_window *window = NULL;
    float *data[4];
    TEST_CASE(list);
    CHECK(hr_window_radial(REACH, &window) == HR_OK);
    for (int i = 0; i < 4; i++) {
        data[i] = calloc(1, picture_bytes);
    }
    fill_picture(data[0]);
    memcpy(data[2], data[0], picture_bytes);
    filter_matrices(context, window, method, data);
    hr_array *arrays[] = {array_over(context, data[2]),
                          array_over(context, data[3])};
    hr_filter_report report = HR_FILTER_REPORT_INIT;
    const hr_filter_options options = clamped(method, &report);
    for (int i = 0; i < STEPS; i++) {
        const hr_traffic before = hr_context_traffic(context);
        CHECK(hr_filter_views(
                  context, window, 0.02, HR_F32, hr_view_of(arrays[i % 2]),
                  hr_view_of(arrays[(i + 1) % 2]), &options) == HR_OK);
        const hr_traffic after = hr_context_traffic(context);
        if (moves) {
            check_traffic(i, &report, &before, &after);
        } else {
            CHECK(memcmp(&before, &after, sizeof before) == 0);
        }
    }
    CHECK(hr_synchronize(hr_view_of(arrays[STEPS % 2])) == HR_OK);
    CHECK(memcmp(data[STEPS % 2], data[2 + STEPS % 2], picture_bytes) == 0);
    for (int i = 0; i < 4; i++) {
        if (i < 2) {
            hr_array_destroy(arrays[i]);
        }
        free(data[i]);
    }
    hr_window_destroy(window);
    hr_context_destroy(context);
}

static void refuse_views(void)
{
    TEST_CASE("views that cannot be filtered");
    hr_context *context = test_context("2xhost", 0),
               *other = test_context("host", 0);
    float *data[] = {calloc(1, picture_bytes), calloc(1, picture_bytes)};
    hr_array *arrays[] = {array_over(context, data[0]),
                          array_over(context, data[1])};
    const hr_view in = hr_view_of(arrays[0]), out = hr_view_of(arrays[1]);
    hr_window *w = NULL;
    hr_view view = out;
    CHECK(hr_window_box(1, &w) == HR_OK);
    CHECK(hr_filter_views(context, w, 1.0, HR_F32, in, out, NULL) == HR_OK);
    CHECK_FAILS(hr_filter_views(context, w, 1.0, HR_F32, in, in, NULL),
                HR_ERROR_INVALID, "one array");
    CHECK_FAILS(hr_filter_views(other, w, 1.0, HR_F32, in, out, NULL),
                HR_ERROR_INVALID, "another context");
    CHECK_FAILS(hr_filter_views(context, w, 1.0, HR_F64, in, out, NULL),
                HR_ERROR_INVALID, "have 4 bytes");
    CHECK_FAILS(hr_filter_views(context, w, 1.0, HR_I32, in, out, NULL),
                HR_ERROR_UNSUPPORTED, "i32");
    CHECK_FAILS(hr_filter_views(context, w, 1.0, (hr_type)99, in, out, NULL),
                HR_ERROR_UNSUPPORTED, "filter: unknown type 99 of in");
    view.extent.rank = 1;
    CHECK_FAILS(hr_filter_views(context, w, 1.0, HR_F32, in, view, NULL),
                HR_ERROR_INVALID, "rank 1");
    view = out;
    view.extent.size[0]--;
    CHECK_FAILS(hr_filter_views(context, w, 1.0, HR_F32, in, view, NULL),
                HR_ERROR_INVALID, "299x130");
    view.array = NULL;
    CHECK_FAILS(hr_filter_views(context, w, 1.0, HR_F32, view, out, NULL),
                HR_ERROR_INVALID, "no array");
    CHECK_FAILS(hr_filter_views(context, NULL, 1.0, HR_F32, in, out, NULL),
                HR_ERROR_INVALID, "window is NULL");
    CHECK_FAILS(hr_filter_views(NULL, w, 1.0, HR_F32, in, out, NULL),
                HR_ERROR_INVALID, "context is NULL");
    hr_window_destroy(w);
    for (int i = 0; i < 2; i++) {
        hr_array_destroy(arrays[i]);
        free(data[i]);
    }
    hr_context_destroy(other);
    hr_context_destroy(context);
}

int main(void)
{
    for (int m = HR_FILTER_DIRECT; m <= HR_FILTER_SEPARABLE; m++) {
        TEST(compare_bits("host", (hr_filter_method)m));
        TEST(compare_bits("3xhost", (hr_filter_method)m));
    }
    TEST(refuse_views());
    return test_end();
}
