/* SPDX-License-Identifier: MIT */
/* Reports of products as text. */
#include <headrace/headrace.h>

#include <string.h>

#include "test.h"

static const hr_gemm_share shares[] = {{.accelerator = 1,
                                        .seconds_busy = 0.0123,
                                        .flops = 2e9,
                                        .tiles = 12,
                                        .tiles_stolen = 3,
                                        .host_to_device = 18 << 20,
                                        .device_to_host = 1536,
                                        .peer = 5,
                                        .memory_bytes = 3 << 20,
                                        .memory_limit = 4 << 20},
                                       {.accelerator = 7}};

static hr_gemm_report example_report(void)
{
    hr_gemm_report r = HR_GEMM_REPORT_INIT;
    r.shares = (hr_gemm_share *)shares;
    r.share_capacity = r.share_count = 2;
    r.seconds = 0.0268;
    r.flops = 7.24e9;
    r.bound = HR_BOUND_LINK;
    r.compulsory = 27 << 20;
    r.host_to_device = 18 << 20;
    r.device_to_host = 9 << 20;
    r.peer = 5;
    r.ratio = 1.0;
    r.pinned_bytes = 10 << 20;
    r.block_rows = 1536;
    r.block_cols = 768;
    r.tile_rows = 512;
    r.tile_cols = 256;
    r.tile_depth = 128;
    return r;
}

static const char figures[] =
    "time        26.8 ms\n"
    "rate        270 GFLOP/s, bound by link\n"
    "host links  up 18.0 MiB, down 9.00 MiB; compulsory 27.0 MiB, ratio "
    "1.000\n"
    "peer links  5 B\n"
    "pinned      10.0 MiB for staging\n"
    "blocks      1536x768 of C at one time, in tiles of 512x256, 128 deep\n";

static const char table[] =
    "\n"
    "accelerator     busy          rate  tiles  stolen        up      down  "
    "peer             memory\n"
    "#1           12.3 ms   163 GFLOP/s     12       3  18.0 MiB  1.50 KiB   "
    "5 B  3.00 MiB/4.00 MiB\n"
    "#7               0 s  0.00 MFLOP/s      0       0       0 B       0 B   "
    "0 B           in place\n";

static const char *text_of(const hr_context *context, const hr_gemm_report *r)
{
    static char text[4096];
    const size_t length = hr_gemm_report_text(context, r, text, sizeof text);
    CHECK(length == strlen(text));
    return text;
}

static void whole_text(void)
{
    TEST_CASE("lines of figures, then a row for each accelerator");
    hr_gemm_report r = example_report();
    char want[sizeof figures + sizeof table];
    snprintf(want, sizeof want, "%s%s", figures, table);
    CHECK(strcmp(text_of(NULL, &r), want) == 0);
    r.share_capacity = 0; /* the caller has no room for shares */
    CHECK(strcmp(text_of(NULL, &r), figures) == 0);
    r.lost = 3;
    r.late = 1;
    r.recomputed = 40;
    CHECK(strstr(text_of(NULL, &r),
                 "\nlost accelerators: 2 failed, 1 late; tiles that others "
                 "computed for them: 40\n") != NULL);
    r.flops = 0;
    CHECK(strstr(text_of(NULL, &r), "rate        none: nothing to multiply") !=
          NULL);
}

static void paths_are_told(void)
{
    TEST_CASE("accelerators of a context have their paths");
    const hr_gemm_report r = example_report();
    hr_context *context = test_context("2xhost", 0);
    const char *row = strstr(text_of(context, &r), "\nhost#1 ");
    CHECK(row != NULL && strstr(row, "\n#7 ") != NULL); /* it has none */
    hr_context_destroy(context);
}

static void text_is_cut(void)
{
    TEST_CASE("what does not fit is cut off, as by snprintf");
    const hr_gemm_report r = example_report();
    char text[2048];
    const size_t length = hr_gemm_report_text(NULL, &r, NULL, 0);
    CHECK(length > 0 && length + 2 < sizeof text);
    const char *all = text_of(NULL, &r);
    for (size_t size = 1; size <= length + 1; size++) {
        memset(text, '#', sizeof text);
        CHECK(hr_gemm_report_text(NULL, &r, text, size) == length);
        CHECK(strlen(text) == size - 1 && memcmp(text, all, size - 1) == 0);
        CHECK(text[size] == '#');
    }
}

static void refused_arguments(void)
{
    TEST_CASE("what is refused");
    char text[8] = "before";
    hr_gemm_report r = example_report();
    CHECK(hr_gemm_report_text(NULL, NULL, text, sizeof text) == 0);
    CHECK(text[0] == '\0');
    CHECK(strstr(hr_last_error(), "gemm: the report is NULL") != NULL);
    r.size = 3;
    CHECK(hr_gemm_report_text(NULL, &r, text, sizeof text) == 0);
    CHECK(strstr(hr_last_error(), "gemm report") != NULL);
}

int main(void)
{
    TEST(whole_text());
    TEST(paths_are_told());
    TEST(text_is_cut());
    TEST(refused_arguments());
    return test_end();
}
