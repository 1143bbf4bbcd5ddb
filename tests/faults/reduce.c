/* SPDX-License-Identifier: MIT */
/* Reductions, scans and sorts: results that are given are right. */
#include <math.h>

#include "faults/groups.h"
#include "support/faults.h"

enum { N = 20000, ROWS = 2, ARRAYS = 3 };

/* What is reduced, scanned or sorted, the result, and values. */
static int data[ARRAYS][N];

static hr_status wrap_data(hr_context *context, hr_array *arrays[ARRAYS])
{
    for (int i = 0; i < ARRAYS; i++) {
        HRI_TRY(hr_array_wrap(context, data[i], sizeof(int), hr_extent1(N), 0,
                              &arrays[i]));
    }
    return HR_OK;
}

static void destroy_arrays(hr_array *arrays[ARRAYS])
{
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(arrays[i]);
    }
}

/* ---- reductions */

static bool is_reduced(hr_reduction kind, const hr_reduced *got)
{
    return kind == HR_REDUCE_SUM ? got->integer == N / 2
           : kind == HR_REDUCE_ARGMAX
               ? got->index == 1 && got->integer == 1
               : fabs(got->value * got->value - N / 2) < 1e-9;
}

static hr_status reduce_as(hr_context *context, hr_reduction kind, hr_view view)
{
    const hr_split_options shares = faults_shares();
    hr_reduced got = {.value = 77};
    const hr_status status =
        hr_reduce(context, kind, HR_I32, view, NULL, &shares, &got);
    CHECK(status == HR_OK ? is_reduced(kind, &got) : got.value == 77);
    return status;
}

/* One that fails is of no concern to the next. */
static hr_status reduce_all(hr_context *context, const void *unused)
{
    static const hr_reduction kinds[] = {HR_REDUCE_SUM, HR_REDUCE_ARGMAX,
                                         HR_REDUCE_NORM};
    hr_array *arrays[ARRAYS] = {NULL};
    (void)unused;
    for (int i = 0; i < N; i++) {
        data[0][i] = i % 2;
    }
    hr_status status = wrap_data(context, arrays);
    if (status != HR_OK) {
        goto done;
    }
    for (int i = 0; i < 3; i++) {
        const hr_status one =
            reduce_as(context, kinds[i], hr_view_of(arrays[0]));
        status = status == HR_OK ? one : status;
    }
done:
    destroy_arrays(arrays);
    return status;
}

/* ---- scans */

static bool is_scanned(hr_extent extent)
{
    const int64_t cols = extent.size[extent.rank - 1];
    bool right = true;
    for (int64_t i = 0; i < N && right; i++) {
        const int64_t k = i % cols; /* data alternates; rows begin with 0 */
        right = data[1][i] == (int)((k + 1) / 2);
    }
    return right;
}

static hr_status scan_as(hr_context *context, hr_extent extent,
                         hr_array *const *arrays)
{
    const hr_split_options shares = faults_shares();
    hr_view from, to;
    CHECK(hr_view_reshape(hr_view_of(arrays[0]), extent, &from) == HR_OK);
    CHECK(hr_view_reshape(hr_view_of(arrays[1]), extent, &to) == HR_OK);
    HRI_TRY(hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32, from, to,
                    &shares));
    HRI_TRY(hr_synchronize(to));
    CHECK(is_scanned(extent));
    return HR_OK;
}

static hr_status scan_both(hr_context *context, const void *unused)
{
    hr_array *arrays[ARRAYS] = {NULL};
    (void)unused;
    for (int i = 0; i < N; i++) {
        data[0][i] = i % 2;
        data[1][i] = 0x7f7f7f7f;
    }
    hr_status status = wrap_data(context, arrays);
    if (status != HR_OK) {
        goto done;
    }
    status = scan_as(context, hr_extent1(N), arrays);
    const hr_status rows = scan_as(context, hr_extent2(4, N / 4), arrays);
    status = status == HR_OK ? rows : status;
done:
    destroy_arrays(arrays);
    return status;
}

/* ---- sorts */

static int key_at(int i)
{
    return (int)((unsigned)i * 7919U % 997U);
}

/* Whether each row of keys is sorted; values are their places, NULL: there are
 * none. */
static bool is_sorted(const int *keys, const int *values, int rows)
{
    static char seen[N];
    const int cols = N / rows;
    int64_t sum = 0;
    bool right = true;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < N && right; i++) {
        const bool first = i % cols == 0;
        right = first || keys[i - 1] <= keys[i];
        sum += keys[i] - key_at(i);
        if (values != NULL && right) {
            const int from = values[i];
            right = from >= 0 && from < N && !seen[from] &&
                    from / cols == i / cols && keys[i] == key_at(from) &&
                    (first || keys[i - 1] < keys[i] || values[i - 1] < from);
            seen[right ? from : 0] = 1;
        }
    }
    return right && sum == 0;
}

static hr_status synchronize_all(hr_array *const *arrays)
{
    for (int i = 0; i < ARRAYS; i++) {
        HRI_TRY(hr_synchronize(hr_view_of(arrays[i])));
    }
    return HR_OK;
}

/* Long rows, then one row that bands share, with values. Keys of the second are
 * changed, so it comes last. */
static hr_status sort_arrays(hr_context *context, hr_array **arrays)
{
    const hr_split_options shares = faults_shares();
    hr_view from, to;
    HRI_TRY(wrap_data(context, arrays));
    CHECK(hr_view_reshape(hr_view_of(arrays[0]), hr_extent2(ROWS, N / ROWS),
                          &from) == HR_OK);
    CHECK(hr_view_reshape(hr_view_of(arrays[1]), hr_extent2(ROWS, N / ROWS),
                          &to) == HR_OK);
    HRI_TRY(hr_sort(context, HR_SORT_ASCENDING, HR_I32, from, to, &shares));
    HRI_TRY(synchronize_all(arrays));
    CHECK(is_sorted(data[1], NULL, ROWS));
    HRI_TRY(hr_sort_by_key(context, HR_SORT_ASCENDING, HR_I32,
                           hr_view_of(arrays[0]), HR_I32, hr_view_of(arrays[2]),
                           &shares));
    HRI_TRY(synchronize_all(arrays));
    CHECK(is_sorted(data[0], data[2], 1));
    return HR_OK;
}

static hr_status sort_both(hr_context *context, const void *unused)
{
    hr_array *arrays[ARRAYS] = {NULL};
    (void)unused;
    for (int i = 0; i < N; i++) {
        data[0][i] = key_at(i);
        data[1][i] = 0x7f7f7f7f;
        data[2][i] = i;
    }
    const hr_status status = sort_arrays(context, arrays);
    destroy_arrays(arrays);
    return status;
}

/* Scans and sorts meet a lost accelerator where reductions do, in src/split and
 * src/runtime: they call no device themselves. */
static const fault_case cases[] = {
    {"reduce", reduce_all, .accelerators = "3xhost", .limit = 1 << 20},
    {"scan", scan_both, .accelerators = "3xhost", .limit = 1 << 20,
     .ways = FAULTS_CALL | FAULTS_OPERATION},
    {"sort", sort_both, .accelerators = "3xhost", .limit = 1 << 20,
     .ways = FAULTS_CALL | FAULTS_OPERATION},
};

/* What does not fit is refused before anything is sorted. Without weights
 * there are as many bands as it takes. */
static void refuse_without_memory(void)
{
    enum { LARGE = 150000 };
    static int large[LARGE];
    static const double weights[] = {0, 1, 0};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_array *array = NULL;
    TEST_CASE("no memory");
    fault_backend_reset();
    CHECK(faults_open(&cases[2], &context) == HR_OK);
    CHECK(hr_array_wrap(context, large, sizeof(int), hr_extent1(LARGE), 0,
                        &array) == HR_OK);
    for (int i = 0; i < LARGE; i++) {
        large[i] = LARGE - i;
    }
    const hr_view v = hr_view_of(array);
    options.weights = weights;
    CHECK_FAILS(hr_sort(context, HR_SORT_ASCENDING, HR_I32, v, v, &options),
                HR_ERROR_OUT_OF_MEMORY,
                "sort: host#1 needs 1258520 bytes for its part, but its limit "
                "is 1048576");
    CHECK(hr_synchronize(v) == HR_OK && large[0] == LARGE);
    CHECK(hr_sort(context, HR_SORT_ASCENDING, HR_I32, v, v, NULL) == HR_OK);
    CHECK(hr_synchronize(v) == HR_OK);
    bool right = true;
    for (int i = 0; i < LARGE && right; i++) {
        right = large[i] == i + 1;
    }
    CHECK(right);
    hr_array_destroy(array);
    hr_context_destroy(context);
}

/* Accelerators without double get no band; with weights they are named. */
static void refuse_without_double(void)
{
    const hr_split_options shares = faults_shares();
    const hr_split_options *const options[] = {NULL, &shares};
    hr_context *context = NULL;
    hr_array *arrays[ARRAYS] = {NULL};
    hr_reduced got = {.value = 77};
    TEST_CASE("no double");
    fault_backend_reset();
    CHECK(faults_open(&cases[0], &context) == HR_OK);
    CHECK(wrap_data(context, arrays) == HR_OK);
    fault_backend_pretend_no_double(true);
    const hr_view from = hr_view_of(arrays[0]), to = hr_view_of(arrays[1]);
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(hr_reduce(context, HR_REDUCE_SUM, HR_I32, from, NULL,
                              options[i], &got),
                    HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
        CHECK_FAILS(hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                            from, to, options[i]),
                    HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
        CHECK_FAILS(
            hr_sort(context, HR_SORT_ASCENDING, HR_I32, from, to, options[i]),
            HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
    }
    CHECK(got.value == 77);
    destroy_arrays(arrays);
    hr_context_destroy(context);
}

void faults_reduce(void)
{
    FAULTS_EACH(cases);
    TEST(refuse_without_memory());
    TEST(refuse_without_double());
}
