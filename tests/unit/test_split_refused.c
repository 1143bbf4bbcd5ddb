/* SPDX-License-Identifier: MIT */
/* Launches over the accelerators of argv[1] that are refused, before anything
 * is moved. */
#include <string.h>

#include "runtime/runtime.h"
#include "support/bed.h"

extern const hr_kernel split_scaled, split1;

typedef struct reach {
    int before, after;
} reach;

/* The launch that all refusals start from: split1 over 8 rows. */
typedef struct sample {
    hr_context *context;
    hr_extent domain;
    hr_argument arguments[5];
    size_t count;
    hr_split_options options;
} sample;

static void refuse(const sample *s, hr_status status, const char *words)
{
    CHECK_FAILS(hr_launch_split(s->context, &split1, s->domain, s->arguments,
                                s->count, &s->options),
                status, words);
}

static void refuse_views(const sample *good, hr_array *longer)
{
    const int64_t behind[] = {8}, third[] = {2};
    hr_view six, shifted;
    sample s = *good;
    CHECK(hr_view_section(hr_view_of(longer), behind, hr_extent1(6), &six) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(longer), third, hr_extent1(8), &shifted) ==
          HR_OK);
    s.arguments[0] = hr_in(six);
    refuse(&s, HR_ERROR_INVALID,
           "around has 6 rows, but the domain has 8; if points read any row, "
           "say hr_whole");
    s = *good;
    s.arguments[2] = hr_whole(s.arguments[2]);
    refuse(&s, HR_ERROR_INVALID,
           "sum is written, so each accelerator takes its own rows, not all "
           "rows");
    s = *good;
    s.arguments[3] = hr_near(s.arguments[3], 0, 1);
    refuse(&s, HR_ERROR_INVALID, "last is written");
    s = *good;
    s.arguments[0] = hr_near(s.arguments[0], 0, -1);
    refuse(&s, HR_ERROR_INVALID, "0 rows before and -1 after");
    s = *good; /* bands of one row of them would not meet */
    s.arguments[3] = hr_out(shifted);
    refuse(&s, HR_ERROR_INVALID, "last overlaps sum");
    s = *good;
    s.arguments[1].access = HR_OUT;
    refuse(&s, HR_ERROR_INVALID, "table is declared IN, but given as OUT");
}

static void refuse_options(const sample *good)
{
    static const uint32_t far[] = {99}, twice[] = {0, 0};
    static const double negative[8] = {-1};
    const hr_extent tile = hr_extent2(2, 2);
    hr_split_report report = {.size = 3};
    sample s = *good;
    s.options.size = 4;
    refuse(&s, HR_ERROR_INVALID, "split options: size is 4");
    s = *good;
    s.options.report = &report;
    refuse(&s, HR_ERROR_INVALID, "split report: size is 3");
    s = *good;
    s.options.accelerators = far;
    refuse(&s, HR_ERROR_INVALID, "a list of 0 accelerators");
    s.options.accelerator_count = 1;
    refuse(&s, HR_ERROR_INVALID, "accelerator index 99 is not below");
    s.options.accelerators = twice;
    s.options.accelerator_count = 2;
    refuse(&s, HR_ERROR_INVALID, "accelerator 0 is listed twice");
    s = *good;
    s.options.weights = negative;
    refuse(&s, HR_ERROR_INVALID, "weight 0 is -1");
    s = *good;
    s.options.tile = &tile;
    refuse(&s, HR_ERROR_COMPUTE_DOMAIN, "the tiles have rank 2");
    s = *good;
    s.domain.size[0] = 0;
    refuse(&s, HR_ERROR_COMPUTE_DOMAIN, "size 0 in dimension 0");
    s = *good;
    s.count = 4;
    refuse(&s, HR_ERROR_INVALID, "5 parameters, but 4 arguments");
    s = *good;
    s.context = NULL;
    refuse(&s, HR_ERROR_INVALID, "context is NULL");
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

static void refusals(bed *b)
{
    enum { SUM = 2 };
    static int data[4][16];
    const int64_t first[] = {0};
    const reach r = {0, 0};
    hr_array *arrays[4] = {NULL};
    hr_view views[4];
    TEST_CASE("refusals");
    for (int i = 0; i < 4; i++) {
        CHECK(hr_array_wrap(b->context, data[i], sizeof(int), hr_extent1(16), 0,
                            &arrays[i]) == HR_OK);
        CHECK(hr_view_section(hr_view_of(arrays[i]), first, hr_extent1(8),
                              &views[i]) == HR_OK);
    }
    const sample s = {.context = b->context,
                      .domain = hr_extent1(8),
                      .arguments = {hr_in(views[0]), hr_whole(hr_in(views[1])),
                                    hr_inout(views[SUM]), hr_out(views[3]),
                                    hr_value(&r, sizeof r)},
                      .count = 5,
                      .options = HR_SPLIT_OPTIONS_INIT};
    const hr_traffic before = hr_context_traffic(b->context);
    refuse_options(&s);
    refuse_views(&s, arrays[SUM]);
    const hr_traffic after = hr_context_traffic(b->context);
    CHECK(memcmp(&before, &after, sizeof after) == 0);
    for (int i = 0; i < 4; i++) {
        hr_array_destroy(arrays[i]);
    }
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

static void all(bed *b)
{
    TEST(refusals(b));
    TEST(refuse_domains(b));
    TEST(refuse_buffers(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "3xhost", all);
}
