/* SPDX-License-Identifier: MIT */
/* Launches over the accelerators of argv[1] that are refused, before anything
 * is moved. */
#include "runtime/runtime.h"
#include "support/bed.h"
#include "support/refused.h"
#include "support/split.h"

/* A launch of split1 over 8 rows. */
typedef struct request {
    hr_context *context;
    hr_extent domain;
    hr_argument arguments[5];
    size_t count;
    hr_split_options options;
    hr_split_report report;
} request;

enum { AROUND, TABLE, SUM, LAST };

static hr_context *context;
static hr_array *arrays[4];
static hr_traffic traffic; /* before all launches */

static hr_view rows_of(int array, int64_t first, int64_t count)
{
    hr_view view = {0};
    CHECK(hr_view_section(hr_view_of(arrays[array]), &first, hr_extent1(count),
                          &view) == HR_OK);
    return view;
}

static request good(void)
{
    traffic = hr_context_traffic(context);
    static const reach none;
    return (request){.context = context,
                     .domain = hr_extent1(8),
                     .arguments = {hr_in(rows_of(AROUND, 0, 8)),
                                   hr_whole(hr_in(rows_of(TABLE, 0, 8))),
                                   hr_inout(rows_of(SUM, 0, 8)),
                                   hr_out(rows_of(LAST, 0, 8)),
                                   hr_value(&none, sizeof none)},
                     .count = 5,
                     .options = HR_SPLIT_OPTIONS_INIT,
                     .report = HR_SPLIT_REPORT_INIT};
}

static hr_status call(request *r)
{
    r->options.report = &r->report;
    return hr_launch_split(r->context, &split1, r->domain, r->arguments,
                           r->count, &r->options);
}

static bool untouched(const request *r)
{
    const hr_traffic now = hr_context_traffic(context);
    return memcmp(&now, &traffic, sizeof now) == 0 && r->report.seconds == 0;
}

static void refused_views(void)
{
    REFUSED(r.arguments[AROUND] = hr_in(rows_of(SUM, 8, 6)), HR_ERROR_INVALID,
            "around has 6 rows, but the domain has 8; if points read any row, "
            "say hr_whole");
    REFUSED(r.arguments[SUM] = hr_whole(r.arguments[SUM]), HR_ERROR_INVALID,
            "sum is written, so each accelerator takes its own rows, not all "
            "rows");
    REFUSED(r.arguments[LAST] = hr_near(r.arguments[LAST], 0, 1),
            HR_ERROR_INVALID, "last is written");
    REFUSED(r.arguments[AROUND] = hr_near(r.arguments[AROUND], 0, -1),
            HR_ERROR_INVALID, "0 rows before and -1 after");
    /* bands of one row of them would not meet */
    REFUSED(r.arguments[LAST] = hr_out(rows_of(SUM, 2, 8)), HR_ERROR_INVALID,
            "last overlaps sum");
    REFUSED(r.arguments[TABLE].access = HR_OUT, HR_ERROR_INVALID,
            "table is declared IN, but given as OUT");
}

static void list_accelerators(request *r, const uint32_t *accelerators,
                              uint32_t count)
{
    r->options.accelerators = accelerators;
    r->options.accelerator_count = count;
}

static void refused_options(void)
{
    static const uint32_t far[] = {99}, twice[] = {0, 0};
    static const double negative[8] = {-1};
    static const hr_extent tile = {2, {2, 2}};
    REFUSED(r.options.size = 4, HR_ERROR_INVALID, "split options: size is 4");
    REFUSED(r.report.size = 3, HR_ERROR_INVALID, "split report: size is 3");
    REFUSED(list_accelerators(&r, far, 0), HR_ERROR_INVALID,
            "a list of 0 accelerators");
    REFUSED(list_accelerators(&r, far, 1), HR_ERROR_INVALID,
            "accelerator index 99 is not below");
    REFUSED(list_accelerators(&r, twice, 2), HR_ERROR_INVALID,
            "accelerator 0 is listed twice");
    REFUSED(r.options.weights = negative, HR_ERROR_INVALID, "weight 0 is -1");
    REFUSED(r.options.tile = &tile, HR_ERROR_COMPUTE_DOMAIN,
            "the tiles have rank 2");
    REFUSED(r.domain.size[0] = 0, HR_ERROR_COMPUTE_DOMAIN,
            "size 0 in dimension 0");
    REFUSED(r.count = 4, HR_ERROR_INVALID, "5 parameters, but 4 arguments");
    REFUSED(r.context = NULL, HR_ERROR_INVALID, "context is NULL");
}

/* Domains that are larger than a view that the kernel indexes with them. */
static void refuse_domains(bed *b)
{
    static int cells[8][16], factors[12];
    hr_array *factor = NULL, *array = NULL;
    TEST_CASE("domains that are larger than the views");
    CHECK(hr_array_wrap(b->context, factors, sizeof(int), hr_extent1(12), 0,
                        &factor) == HR_OK);
    CHECK(hr_array_wrap(b->context, cells, sizeof(int), hr_extent2(8, 16), 0,
                        &array) == HR_OK);
    const hr_argument arguments[] = {hr_whole(hr_in(hr_view_of(factor))),
                                     hr_inout(hr_view_of(array))};
    CHECK(hr_launch_split(b->context, &split_scaled, hr_extent2(8, 12),
                          arguments, 2, NULL) == HR_OK);
    CHECK_FAILS(hr_launch_split(b->context, &split_scaled, hr_extent2(8, 13),
                                arguments, 2, NULL),
                HR_ERROR_COMPUTE_DOMAIN,
                "split_scaled: the domain has size 13 in dimension 1, but "
                "factor, indexed with it, has 12 in dimension 0");
    CHECK_FAILS(hr_launch_split(b->context, &split_scaled, hr_extent2(9, 12),
                                arguments, 2, NULL),
                HR_ERROR_COMPUTE_DOMAIN,
                "split_scaled: the domain has size 9 in dimension 0, but "
                "cells, indexed with it, has 8 in dimension 0");
    hr_array_destroy(factor);
    hr_array_destroy(array);
}

/* An accelerator whose buffers are too small for the least chunk, whatever its
 * memory. Messages begin with the call where Headrace brings the kernel. */
static void refuse_buffers(bed *b)
{
    enum { COUNT = 1 << 16 };
    static float data[COUNT];
    hri_accelerator *a = &b->context->accelerators[0];
    const uint64_t before = a->device->info.allocation_bytes;
    const uint32_t one[] = {0};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_reduced reduced;
    hr_array *array = NULL;
    TEST_CASE("buffers that are too small");
    if (a->in_place) {
        test_note("%s works in host memory, without buffers\n", a->path);
        return;
    }
    options.accelerators = one;
    options.accelerator_count = 1;
    CHECK(hr_array_wrap(b->context, data, 4, hr_extent1(COUNT), 0, &array) ==
          HR_OK);
    a->device->info.allocation_bytes = 1000;
    CHECK_FAILS(hr_reduce(b->context, HR_REDUCE_SUM, HR_F32, hr_view_of(array),
                          NULL, &options, &reduced),
                HR_ERROR_OUT_OF_MEMORY,
                "reduce: the least part needs a buffer of 16384 bytes, but ");
    a->device->info.allocation_bytes = before;
    CHECK(hr_reduce(b->context, HR_REDUCE_SUM, HR_F32, hr_view_of(array), NULL,
                    &options, &reduced) == HR_OK);
    hr_array_destroy(array);
}

static void all_cases(bed *b)
{
    static int data[4][16];
    context = b->context;
    for (int i = 0; i < 4; i++) {
        CHECK(hr_array_wrap(context, data[i], sizeof(int), hr_extent1(16), 0,
                            &arrays[i]) == HR_OK);
    }
    TEST(refused_options());
    TEST(refused_views());
    for (int i = 0; i < 4; i++) {
        hr_array_destroy(arrays[i]);
    }
    TEST(refuse_domains(b));
    TEST(refuse_buffers(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "3xhost", all_cases);
}
