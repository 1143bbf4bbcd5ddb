/* SPDX-License-Identifier: MIT */
/* What hr_grid_create refuses: the status, words of the sentence, and no grid.
 */
#include <math.h>

#include "support/refused.h"

static hr_context *context;

typedef struct request {
    hr_context *context;
    hr_extent extent;
    hr_field fields[2];
    bool listed; /* or the list is NULL */
    uint32_t count;
    hr_grid_options options;
    hr_grid *grid;
} request;

static request good(void)
{
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    return (request){.context = context,
                     .extent = hr_extent2(6, 5),
                     .fields = {field, field},
                     .listed = true,
                     .count = 2,
                     .options = HR_GRID_OPTIONS_INIT};
}

static hr_status call(request *r)
{
    r->grid = (hr_grid *)r;
    return hr_grid_create(r->context, r->extent, r->listed ? r->fields : NULL,
                          r->count, &r->options, &r->grid);
}

static bool untouched(const request *r)
{
    return r->grid == (const hr_grid *)r;
}

static void shapes(void)
{
    const hr_field large =
        hr_field_of((size_t)1 << 24, 0, HR_BOUNDARY_CLAMP, NULL);
    const int64_t many = (int64_t)1 << 40, some = 1 << 20;
    REFUSED(r.context = NULL, HR_ERROR_INVALID, "the context is NULL");
    REFUSED(r.extent.size[1] = 0, HR_ERROR_INVALID,
            "the extent is 6 x 0, but each");
    REFUSED(r.extent.rank = 4, HR_ERROR_INVALID, "rank 4, not 1 to 3");
    REFUSED(r.extent = hr_extent2(many, many), HR_ERROR_INVALID,
            "1099511627776 x 1099511627776, which is more than 2^63 - 1 cells");
    REFUSED(r.extent = hr_extent2(many, 1000), HR_ERROR_OUT_OF_MEMORY,
            "2 fields do not fit into the 2097152 bytes of 2 accelerators; ");
    REFUSED((r.extent = hr_extent3(2, some, some),
             r.fields[0].element_bytes = r.fields[1].element_bytes = 1 << 30),
            HR_ERROR_OUT_OF_MEMORY, "2 fields take 2^64 bytes or more");
    REFUSED((r.extent = hr_extent2(2, many), r.fields[0] = r.fields[1] = large),
            HR_ERROR_OUT_OF_MEMORY, "2 fields take 2^64 bytes or more");
}

static void fields(void)
{
    REFUSED(r.listed = false, HR_ERROR_INVALID, "the list of fields is NULL");
    REFUSED(r.count = 0, HR_ERROR_INVALID, "0 fields, not 1 to 64");
    REFUSED(r.count = HR_MAX_FIELDS + 1, HR_ERROR_INVALID,
            "65 fields, not 1 to 64");
    REFUSED(r.fields[1].element_bytes = 0, HR_ERROR_INVALID,
            "field 1 has elements of 0 bytes, not 1 to");
    REFUSED(r.fields[1].element_bytes = (size_t)1 << 31, HR_ERROR_INVALID,
            "field 1 has elements of 2147483648 bytes");
    REFUSED(r.fields[1].after[1].halo = -1, HR_ERROR_INVALID,
            "field 1 has a halo of -1");
    REFUSED(r.fields[0].before[0].halo = (int64_t)1 << 31, HR_ERROR_INVALID,
            "field 0 has a halo of 2147483648");
    REFUSED(r.fields[0].before[1].boundary = (hr_boundary)5, HR_ERROR_INVALID,
            "field 0 has the unknown boundary 5");
    REFUSED(r.fields[0].before[0].halo = r.fields[0].after[1].halo = INT32_MAX,
            HR_ERROR_OUT_OF_MEMORY, "2 fields take 2^64 bytes or more");
}

static void list(request *r, const uint32_t *accelerators, uint32_t count)
{
    r->options.accelerators = accelerators;
    r->options.accelerator_count = count;
}

static void options(void)
{
    static const uint32_t all[] = {0, 1, 0}, beyond[] = {0, 2};
    static const double negative[] = {1, -1}, none[] = {0, 0};
    static const double nans[] = {-NAN, 1};
    REFUSED(r.options.size = 4, HR_ERROR_INVALID,
            "start with HR_GRID_OPTIONS_INIT");
    REFUSED(list(&r, NULL, 1), HR_ERROR_INVALID, "1 accelerator, but no list");
    REFUSED(list(&r, all, 0), HR_ERROR_INVALID, "a list of 0 accelerators");
    REFUSED(list(&r, beyond, 2), HR_ERROR_INVALID,
            "accelerator index 2 is not below 2");
    REFUSED(list(&r, all, 3), HR_ERROR_INVALID,
            "accelerator 0 is listed twice");
    REFUSED(r.options.weights = negative, HR_ERROR_INVALID, "weight 1 is -1");
    REFUSED(r.options.weights = nans, HR_ERROR_INVALID, "weight 0 is nan");
    REFUSED(r.options.weights = none, HR_ERROR_INVALID,
            "grid: all 2 weights are 0");
}

static void no_place(void)
{
    const request r = good();
    CHECK_FAILS(hr_grid_create(context, r.extent, r.fields, 2, NULL, NULL),
                HR_ERROR_INVALID, "grid is NULL");
    hr_grid_destroy(NULL);
}

int main(void)
{
    context = test_context("2xhost", 1 << 20);
    TEST(shapes());
    TEST(fields());
    TEST(options());
    TEST(no_place());
    hr_context_destroy(context);
    return test_end();
}
