/* SPDX-License-Identifier: MIT */
/* Calls over the accelerators of argv[1] with too little memory: what their
 * messages say is enough is enough. */
#include "support/told.h"
#include "test.h"

enum { COUNT = 100000 };

static double a[COUNT], b[COUNT];

/* A call over two views with the extent. */
typedef struct row {
    const char *name;
    hr_status (*call)(const struct row *r, hr_view from, hr_view to);
    hr_extent extent;
    hr_type type;    /* of `from` */
    size_t to_bytes; /* of an element of `to`; 0: `to` is `from` */
} row;

static const char *list;
static hr_context *context;
static bool slow; /* one accelerator is */

static hr_status sort_row(const row *r, hr_view from, hr_view to)
{
    return hr_sort(context, HR_SORT_ASCENDING, r->type, from, to, NULL);
}

static hr_status sort_row_by_key(const row *r, hr_view from, hr_view to)
{
    return hr_sort_by_key(context, HR_SORT_ASCENDING, r->type, from, HR_F64, to,
                          NULL);
}

static hr_status scan_row(const row *r, hr_view from, hr_view to)
{
    return hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, r->type, from, to,
                   NULL);
}

static hr_status reduce_row(const row *r, hr_view from, hr_view to)
{
    hr_reduced reduced;
    (void)to;
    return hr_reduce(context, HR_REDUCE_NORM, r->type, from, NULL, NULL,
                     &reduced);
}

static hr_status create_grid(const row *r, hr_view from, hr_view to)
{
    const size_t bytes = hr_type_size(r->type);
    const hr_field field = hr_field_of(bytes, 1, HR_BOUNDARY_CLAMP, NULL);
    const hr_field fields[] = {field, field};
    hr_grid *made = NULL;
    (void)from, (void)to;
    const hr_status status =
        hr_grid_create(context, r->extent, fields, 2, NULL, &made);
    hr_grid_destroy(made);
    return status;
}

/* Few units are held at once, many are not: 4096 elements make one. */
static const row rows[] = {
    {"sort f32", sort_row, {1, {COUNT}}, HR_F32, 4},
    {"sort f32 in place", sort_row, {1, {COUNT}}, HR_F32, 0},
    {"sort f64", sort_row, {1, {23000}}, HR_F64, 8},
    {"sort i8", sort_row, {1, {5000}}, HR_I8, 1},
    {"sort f16", sort_row, {1, {COUNT}}, HR_F16, 2},
    {"sort long rows", sort_row, {2, {7, 5000}}, HR_F32, 4},
    {"sort short rows", sort_row, {2, {50, 100}}, HR_F32, 4},
    {"argsort f32", sort_row_by_key, {1, {COUNT}}, HR_F32, 8},
    {"argsort f64", sort_row_by_key, {1, {9000}}, HR_F64, 8},
    {"argsort i8", sort_row_by_key, {1, {5000}}, HR_I8, 8},
    {"argsort long rows", sort_row_by_key, {2, {7, 5000}}, HR_I32, 8},
    {"scan f32", scan_row, {1, {COUNT}}, HR_F32, 4},
    {"scan f32 of 6 units", scan_row, {1, {23000}}, HR_F32, 4},
    {"scan f32 of a unit", scan_row, {1, {4000}}, HR_F32, 4},
    {"scan f32 in place", scan_row, {1, {23000}}, HR_F32, 0},
    {"scan f32 into f64", scan_row, {1, {COUNT}}, HR_F32, 8},
    {"scan f64", scan_row, {1, {COUNT}}, HR_F64, 8},
    {"scan f64 in place", scan_row, {1, {COUNT}}, HR_F64, 0},
    {"scan i8 into i32 of 10 units", scan_row, {1, {40000}}, HR_I8, 4},
    {"scan i32", scan_row, {1, {9000}}, HR_I32, 4},
    {"scan rows", scan_row, {2, {50, 100}}, HR_F64, 8},
    {"norm f32", reduce_row, {1, {COUNT}}, HR_F32, 4},
    {"norm f64", reduce_row, {1, {COUNT}}, HR_F64, 8},
    {"grid f64", create_grid, {2, {200, 300}}, HR_F64, 8},
    {"grid f32 of rank 1", create_grid, {1, {COUNT}}, HR_F32, 4},
};

/* The last accelerator seems to be so slow that it would only be in the way. */
static void slow_last_one(void)
{
    const uint32_t count = context->accelerator_count;
    told_apart(context);
    for (uint32_t i = 0; i < count; i++) {
        told_link(&context->accelerators[i], i + 1 < count ? 1e10 : 1e-12);
    }
}

static hr_status call_with(const row *r, uint64_t limit)
{
    const size_t bytes = hr_type_size(r->type);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_array *from = NULL, *to = NULL;
    options.accelerators = list;
    options.memory_limit = limit;
    if (!test_open(&options, &context)) {
        return HR_ERROR_UNAVAILABLE;
    }
    if (slow) {
        slow_last_one();
    }
    CHECK(hr_array_wrap(context, a, bytes, r->extent, 0, &from) == HR_OK);
    CHECK(hr_array_wrap(context, b, r->to_bytes > 0 ? r->to_bytes : bytes,
                        r->extent, 0, &to) == HR_OK);
    const hr_status status =
        r->call(r, hr_view_of(from), hr_view_of(r->to_bytes > 0 ? to : from));
    if (status == HR_OK) {
        CHECK(hr_synchronize(hr_view_of(from)) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
    hr_context_destroy(context);
    return status;
}

/* The bytes that the message says are enough. 0: it says none. */
static uint64_t told_enough(void)
{
    const char *message = hr_last_error();
    const char *each = strstr(message, "; "), *needs = strstr(message, "needs");
    return each != NULL    ? strtoull(each + strlen("; "), NULL, 10)
           : needs != NULL ? strtoull(needs + strlen("needs"), NULL, 10)
                           : 0;
}

/* Accelerators that work in place have no limit, and refuse nothing. */
static void call_all(bool with_slow)
{
    slow = with_slow;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        for (size_t k = 0; k < sizeof a; k++) { /* small numbers of any type */
            ((unsigned char *)a)[k] = (unsigned char)(k * k / 5 % 64);
        }
        const hr_status status = call_with(&rows[i], 10);
        if (test_state.skipped) {
            return;
        }
        if (status != HR_OK) {
            CHECK(status == HR_ERROR_OUT_OF_MEMORY);
            const uint64_t limit = told_enough();
            if (!CHECK(limit > 10 && call_with(&rows[i], limit) == HR_OK)) {
                test_note("with %llu bytes: %s\n", (unsigned long long)limit,
                          hr_last_error());
            }
        }
    }
}

int main(int count, char **arguments)
{
    list = count > 1 ? arguments[1] : "2xhost";
    TEST(call_all(false));
    TEST(call_all(true));
    return test_end();
}
