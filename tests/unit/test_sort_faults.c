/* SPDX-License-Identifier: MIT */
/* Sorts when any call to an accelerator fails, at once or later: results that
 * are given are right, nothing hangs and nothing leaks. */
#include <string.h>

#include <headrace/headrace.h>

#include "support/faults.h"

enum { N = 20000, ARRAYS = 3 };

/* Keys, what they are sorted into, and values. */
static int data[ARRAYS][N];

static int key_at(int i)
{
    return (int)((unsigned)i * 7919U % 997U);
}

static hr_status create(hr_context **context, hr_array **arrays)
{
    hr_status status = faults_context(context);
    for (int i = 0; i < ARRAYS && status == HR_OK; i++) {
        status = hr_array_wrap(*context, data[i], sizeof(int), hr_extent1(N), 0,
                               &arrays[i]);
    }
    return status;
}

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        data[0][i] = key_at(i);
        data[1][i] = 0x7f7f7f7f;
        data[2][i] = i;
    }
}

/* Whether each row of keys is sorted; values are their places, NULL: there are
 * none. */
static bool is_right(const int *keys, const int *values, int rows)
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

static hr_status synchronize(hr_status status, const hr_view *views)
{
    for (int i = 0; i < ARRAYS && status == HR_OK; i++) {
        status = hr_synchronize(views[i]);
    }
    return status;
}

/* Whether one of the sorts fails: long rows, then one row that bands share,
 * with values. Keys of the second are changed, so it comes last. */
static bool fails(hr_context *context, hr_array *const *arrays)
{
    enum { ROWS = 2 };
    static const double weights[] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_view one[ARRAYS], two[ARRAYS];
    options.weights = weights;
    for (int i = 0; i < ARRAYS; i++) {
        one[i] = hr_view_of(arrays[i]);
        CHECK(hr_view_reshape(one[i], hr_extent2(ROWS, N / ROWS), &two[i]) ==
              HR_OK);
    }
    hr_status status = synchronize(
        hr_sort(context, HR_SORT_ASCENDING, HR_I32, two[0], two[1], &options),
        two);
    CHECK(status == HR_OK ? is_right(data[1], NULL, ROWS)
                          : hr_last_error()[0] != '\0');
    if (status == HR_OK) {
        status = synchronize(hr_sort_by_key(context, HR_SORT_ASCENDING, HR_I32,
                                            one[0], HR_I32, one[2], &options),
                             one);
        CHECK(status == HR_OK ? is_right(data[0], data[2], 1)
                              : hr_last_error()[0] != '\0');
    }
    return status != HR_OK;
}

static void fail_each(fault_way how, const char *name)
{
    faults f = {.how = how};
    TEST_CASE(name);
    while (faults_next(&f)) {
        hr_context *context = NULL;
        hr_array *arrays[ARRAYS] = {NULL};
        fill();
        faults_note(&f, create(&context, arrays) != HR_OK ||
                            fails(context, arrays));
        for (int i = 0; i < ARRAYS; i++) {
            hr_array_destroy(arrays[i]);
        }
        hr_context_destroy(context);
    }
    faults_end(&f);
}

/* What does not fit is refused before anything is sorted. Without weights
 * there are as many bands as it takes. */
static void no_memory(void)
{
    enum { LARGE = 150000 };
    static int large[LARGE];
    static const double weights[] = {0, 1, 0};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_array *arrays[ARRAYS] = {NULL}, *array = NULL;
    TEST_CASE("no memory");
    fault_backend_reset();
    CHECK(create(&context, arrays) == HR_OK);
    CHECK(hr_array_wrap(context, large, sizeof(int), hr_extent1(LARGE), 0,
                        &array) == HR_OK);
    for (int i = 0; i < LARGE; i++) {
        large[i] = LARGE - i;
    }
    const hr_view v = hr_view_of(array);
    options.weights = weights;
    CHECK_FAILS(hr_sort(context, HR_SORT_ASCENDING, HR_I32, v, v, &options),
                HR_ERROR_OUT_OF_MEMORY,
                "sort: 150000 elements take 1200000 bytes of host#1, which has "
                "room for 1048576");
    CHECK(hr_synchronize(v) == HR_OK && large[0] == LARGE);
    CHECK(hr_sort(context, HR_SORT_ASCENDING, HR_I32, v, v, NULL) == HR_OK);
    CHECK(hr_synchronize(v) == HR_OK);
    bool right = true;
    for (int i = 0; i < LARGE && right; i++) {
        right = large[i] == i + 1;
    }
    CHECK(right);
    hr_array_destroy(array);
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(arrays[i]);
    }
    hr_context_destroy(context);
}

/* Accelerators without double get no band; with weights they are named. */
static void without_double(void)
{
    TEST_CASE("no double");
    static const double weights[] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_array *arrays[ARRAYS] = {NULL};
    fault_backend_reset();
    CHECK(create(&context, arrays) == HR_OK);
    fault_backend_pretend_no_double(true);
    options.weights = weights;
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(hr_sort(context, HR_SORT_ASCENDING, HR_I32,
                            hr_view_of(arrays[0]), hr_view_of(arrays[1]),
                            i == 0 ? NULL : &options),
                    HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
    }
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(arrays[i]);
    }
    hr_context_destroy(context);
}

int main(void)
{
    TEST(fail_each(CALL, "a call fails"));
    TEST(fail_each(OPERATION, "an operation fails later"));
    TEST(fail_each(LOSE, "the device is lost"));
    TEST(no_memory());
    TEST(without_double());
    return test_end();
}
