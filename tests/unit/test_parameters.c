/* SPDX-License-Identifier: MIT */
/* Kernels of up to HR_MAX_PARAMETERS parameters on the accelerators of argv[1],
 * on each alone and in bands over all. */
#include <stdlib.h>
#include <string.h>

#include "support/bed.h"

extern const hr_kernel nine, eighteen, thirty_two;

typedef struct factors {
    int first, second;
} factors;

enum { ROWS = 77, COLS = 5, VIEWS = 29, DIRECTIONS = 9 };

/* Views of ints, each of its own array, and the memory they are over. */
typedef struct table {
    hr_array *array;
    hr_view view;
    int *own;
    int64_t count;
} table;

static table table_of(hr_context *context, hr_extent extent, uint64_t seed)
{
    table t = {.count = hr_extent_count(extent)};
    random_source random = {seed + 1};
    t.own = calloc((size_t)t.count, sizeof *t.own);
    for (int64_t i = 0; i < t.count; i++) {
        t.own[i] = (int)random_between(&random, 0, 1000);
    }
    CHECK(hr_array_wrap(context, t.own, sizeof *t.own, extent, 0, &t.array) ==
          HR_OK);
    t.view = hr_view_of(t.array);
    return t;
}

static void free_tables(table *tables, int count)
{
    for (int i = 0; i < count; i++) {
        hr_array_destroy(tables[i].array);
        free(tables[i].own);
    }
}

static hr_queue *queue; /* of the accelerator that is tried; NULL: over all */

static void launch_at(const bed *b, const hr_kernel *kernel, hr_extent domain,
                      int64_t items, const hr_argument *arguments, size_t count)
{
    hr_extent tile = hr_extent1(items);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.tile = items > 0 ? &tile : NULL;
    CHECK(
        (queue != NULL
             ? hr_launch(queue, kernel, domain, options.tile, arguments, count)
             : hr_launch_split(b->context, kernel, domain, arguments, count,
                               &options)) == HR_OK);
}

static void try_nine(const bed *b)
{
    enum { IN = 7 };
    TEST_CASE("nine");
    table t[IN + 1];
    hr_argument arguments[IN + 2];
    const int scale = 3;
    for (int i = 0; i <= IN; i++) {
        t[i] = table_of(b->context, hr_extent1(ROWS), (uint64_t)i);
        arguments[i] = hr_in(t[i].view);
    }
    arguments[IN] = hr_value(&scale, sizeof scale);
    arguments[IN + 1] = hr_out(t[IN].view);
    launch_at(b, &nine, hr_extent1(ROWS), 0, arguments, IN + 2);
    CHECK(hr_synchronize(t[IN].view) == HR_OK);
    int wrong = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        int sum = 0;
        for (int v = 0; v < IN; v++) {
            sum += (v + 1) * t[v].own[i];
        }
        wrong += t[IN].own[i] != scale * sum;
    }
    CHECK(wrong == 0);
    free_tables(t, IN + 1);
}

static void try_eighteen(const bed *b)
{
    TEST_CASE("eighteen");
    table t[2 * DIRECTIONS];
    hr_argument arguments[2 * DIRECTIONS];
    for (int i = 0; i < 2 * DIRECTIONS; i++) {
        t[i] = table_of(b->context, hr_extent2(ROWS, COLS), (uint64_t)i);
        arguments[i] =
            i < DIRECTIONS ? hr_whole(hr_in(t[i].view)) : hr_out(t[i].view);
    }
    launch_at(b, &eighteen, hr_extent2(ROWS, COLS), 0, arguments,
              2 * DIRECTIONS);
    int wrong = 0;
    for (int q = 0; q < DIRECTIONS; q++) {
        const table *from = &t[q], *to = &t[DIRECTIONS + q];
        const int away = (q % 3 == 2) - (q % 3 == 1);
        CHECK(hr_synchronize(to->view) == HR_OK);
        for (int64_t i = 0; i < ROWS; i++) {
            const int64_t row = (i + away + ROWS) % ROWS;
            for (int64_t j = 0; j < COLS; j++) {
                wrong += to->own[i * COLS + j] !=
                         (q + 1) * from->own[row * COLS + j];
            }
        }
    }
    CHECK(wrong == 0);
    free_tables(t, 2 * DIRECTIONS);
}

static hr_extent extent_of(int view)
{
    return view % 3 == 0   ? hr_extent1(ROWS)
           : view % 3 == 1 ? hr_extent2(ROWS, 2)
                           : hr_extent3(ROWS, 2, 3);
}

/* The element of a row that the kernel reads is the row's last. */
static int last_of_row(const table *t, int64_t row)
{
    const int64_t length = t->count / ROWS;
    return t->own[row * length + length - 1];
}

static void try_thirty_two(const bed *b)
{
    enum { TILE = 16 };
    TEST_CASE("thirty-two");
    table t[VIEWS + 1];
    hr_argument arguments[HR_MAX_PARAMETERS];
    const factors by = {5, 7};
    for (int i = 0; i < VIEWS; i++) {
        t[i] = table_of(b->context, extent_of(i), (uint64_t)i);
        arguments[i] = hr_in(t[i].view);
    }
    t[VIEWS] = table_of(b->context, hr_extent1(ROWS), VIEWS);
    arguments[VIEWS] = hr_value(&by, sizeof by);
    arguments[VIEWS + 1] = hr_tile_bytes(TILE * sizeof(int));
    arguments[VIEWS + 2] = hr_out(t[VIEWS].view);
    launch_at(b, &thirty_two, hr_extent1(ROWS), TILE, arguments,
              HR_MAX_PARAMETERS);
    CHECK(hr_synchronize(t[VIEWS].view) == HR_OK);
    int wrong = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        int sum = by.second;
        for (int v = 0; v < VIEWS; v++) {
            sum += (v + 1) * last_of_row(&t[v], i);
        }
        wrong += t[VIEWS].own[i] != by.first * sum;
    }
    CHECK(wrong == 0);
    free_tables(t, VIEWS + 1);
}

static void try_all(const bed *b)
{
    try_nine(b);
    try_eighteen(b);
    try_thirty_two(b);
}

static void all_cases(bed *b)
{
    for (uint32_t i = 0; i <= b->count; i++) {
        queue = i < b->count ? b->queues[i] : NULL;
        TEST(try_all(b));
    }
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "3xhost", all_cases);
}
