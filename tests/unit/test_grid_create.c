/* SPDX-License-Identifier: MIT */
/* What hr_grid_create refuses, a row for each rule: the status, a word of the
 * sentence, and no grid. */
#include <math.h>

#include <headrace/headrace.h>

#include "test.h"

typedef struct making {
    hr_context *context;
    hr_extent extent;
    hr_field fields[2];
    const hr_field *list;
    uint32_t count;
    hr_grid_options options;
    uint32_t accelerators[3];
    double weights[3];
} making;

static making good_making(hr_context *context)
{
    making m = {.context = context,
                .extent = hr_extent2(6, 5),
                .count = 2,
                .options = HR_GRID_OPTIONS_INIT,
                .accelerators = {0, 1, 0},
                .weights = {1, 1, 1}};
    for (int f = 0; f < 2; f++) {
        m.fields[f] = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    }
    return m;
}

static void no_context(making *m)
{
    m->context = NULL;
}
static void no_extent(making *m)
{
    m->extent.size[1] = 0;
}
static void rank_4(making *m)
{
    m->extent.rank = 4;
}
static void many_cells(making *m)
{
    m->extent = hr_extent2((int64_t)1 << 40, (int64_t)1 << 40);
}
static void no_fields(making *m)
{
    m->list = NULL;
}
static void count_0(making *m)
{
    m->count = 0;
}
static void count_65(making *m)
{
    m->count = HR_MAX_FIELDS + 1;
}
static void no_bytes(making *m)
{
    m->fields[1].element_bytes = 0;
}
static void many_bytes(making *m)
{
    m->fields[1].element_bytes = (size_t)1 << 31;
}
static void negative_halo(making *m)
{
    m->fields[1].after[1].halo = -1;
}
static void large_halo(making *m)
{
    m->fields[0].before[0].halo = (int64_t)1 << 31;
}
static void strange_boundary(making *m)
{
    m->fields[0].before[1].boundary = (hr_boundary)5;
}
static void options_size(making *m)
{
    m->options.size = 4;
}
static void no_list(making *m)
{
    m->options.accelerator_count = 1;
}
static void empty_list(making *m)
{
    m->options.accelerators = m->accelerators;
}
static void strange_accelerator(making *m)
{
    m->options.accelerators = m->accelerators;
    m->options.accelerator_count = 2;
    m->accelerators[1] = 2;
}
static void twice(making *m)
{
    m->options.accelerators = m->accelerators;
    m->options.accelerator_count = 3;
}
static void negative_weight(making *m)
{
    m->options.weights = m->weights;
    m->weights[1] = -1;
}
static void nan_weight(making *m)
{
    m->options.weights = m->weights;
    m->weights[0] = -NAN;
}
static void zero_weights(making *m)
{
    m->options.weights = m->weights;
    m->weights[0] = m->weights[1] = 0;
}
static void too_large(making *m)
{
    m->extent = hr_extent2((int64_t)1 << 40, 1000);
}
static void row_too_large(making *m)
{
    m->extent = hr_extent3(2, (int64_t)1 << 20, (int64_t)1 << 20);
    m->fields[0].element_bytes = m->fields[1].element_bytes = (size_t)1 << 30;
}
static void row_of_2_to_64(making *m)
{
    m->extent = hr_extent2(2, (int64_t)1 << 40);
    m->fields[0] = hr_field_of((size_t)1 << 24, 0, HR_BOUNDARY_CLAMP, NULL);
    m->fields[1] = m->fields[0];
}
static void halos_too_large(making *m)
{
    m->fields[0].before[0].halo = m->fields[0].after[1].halo = INT32_MAX;
}

static const struct {
    void (*spoil)(making *m);
    hr_status status;
    const char *word;
} makings[] = {
    {no_context, HR_ERROR_INVALID, "the context is NULL"},
    {no_extent, HR_ERROR_INVALID, "the extent is 6 x 0, but each"},
    {rank_4, HR_ERROR_INVALID, "rank 4, not 1 to 3"},
    {many_cells, HR_ERROR_INVALID,
     "1099511627776 x 1099511627776, which is more than 2^63 - 1 cells"},
    {no_fields, HR_ERROR_INVALID, "the list of fields is NULL"},
    {count_0, HR_ERROR_INVALID, "0 fields, not 1 to 64"},
    {count_65, HR_ERROR_INVALID, "65 fields, not 1 to 64"},
    {no_bytes, HR_ERROR_INVALID, "field 1 has elements of 0 bytes, not 1 to"},
    {many_bytes, HR_ERROR_INVALID, "field 1 has elements of 2147483648 bytes"},
    {negative_halo, HR_ERROR_INVALID, "field 1 has a halo of -1"},
    {large_halo, HR_ERROR_INVALID, "field 0 has a halo of 2147483648"},
    {strange_boundary, HR_ERROR_INVALID, "field 0 has the unknown boundary 5"},
    {options_size, HR_ERROR_INVALID, "start with HR_GRID_OPTIONS_INIT"},
    {no_list, HR_ERROR_INVALID, "1 accelerator, but no list"},
    {empty_list, HR_ERROR_INVALID, "a list of 0 accelerators"},
    {strange_accelerator, HR_ERROR_INVALID,
     "accelerator index 2 is not below 2"},
    {twice, HR_ERROR_INVALID, "accelerator 0 is listed twice"},
    {negative_weight, HR_ERROR_INVALID, "weight 1 is -1"},
    {nan_weight, HR_ERROR_INVALID, "weight 0 is nan"},
    {zero_weights, HR_ERROR_INVALID, "grid: all 2 weights are 0"},
    {too_large, HR_ERROR_OUT_OF_MEMORY, "2 accelerators have 2097152 bytes"},
    {row_too_large, HR_ERROR_OUT_OF_MEMORY, "2 accelerators have 2097152"},
    {row_of_2_to_64, HR_ERROR_OUT_OF_MEMORY,
     "2 fields take 2^64 bytes or more"},
    {halos_too_large, HR_ERROR_OUT_OF_MEMORY, "2 accelerators have 2097152"},
};

static void refuse_making(hr_context *context)
{
    TEST_CASE("grids that are none");
    hr_grid *const untouched = (hr_grid *)context;
    for (size_t i = 0; i < sizeof makings / sizeof makings[0]; i++) {
        making m = good_making(context);
        hr_grid *grid = untouched;
        m.list = m.fields;
        makings[i].spoil(&m);
        CHECK_FAILS(hr_grid_create(m.context, m.extent, m.list, m.count,
                                   &m.options, &grid),
                    makings[i].status, makings[i].word);
        CHECK(grid == untouched);
    }
    const making m = good_making(context);
    CHECK_FAILS(
        hr_grid_create(context, m.extent, m.fields, m.count, NULL, NULL),
        HR_ERROR_INVALID, "grid is NULL");
    hr_grid_destroy(NULL);
}

int main(void)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = "2xhost";
    options.memory_limit = 1 << 20;
    CHECK(hr_context_create(&options, &context) == HR_OK);
    TEST(refuse_making(context));
    hr_context_destroy(context);
    return test_end();
}
