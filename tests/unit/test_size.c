/* SPDX-License-Identifier: MIT */
/* Sizes: checked arithmetic, and what reads as a number of bytes. */
#include "test.h"

#include "base/size.h"

static const struct {
    const char *text;
    uint64_t want; /* 0: is not a size */
} sizes[] = {
    {"1", 1},
    {"1000", 1000},
    {"12B", 12},
    {"3KiB", 3 << 10},
    {"512MiB", 512u << 20},
    {"2GiB", UINT64_C(2) << 30},
    {"4TiB", UINT64_C(4) << 40},
    {"3kB", 3000},
    {"5MB", 5000000},
    {"1.5GB", 1500000000},
    {"2TB", 2000000000000},
    {"0.5KiB", 512},
    {"1.9", 1},
    {"8388607TiB", UINT64_C(8388607) << 40},
    {"9223372036854774784", INT64_MAX - 1023},
    /* Each breaks one rule. */
    {"", 0},
    {"0", 0},
    {"0.5", 0},
    {"0MiB", 0},
    {"-1", 0},
    {"+1", 0},
    {" 1", 0},
    {"1 ", 0},
    {"1 MiB", 0},
    {"MiB", 0},
    {".5GiB", 0},
    {"1mib", 0},
    {"1KB", 0},
    {"1K", 0},
    {"1MiBB", 0},
    {"1MiB2", 0},
    {"1,5GB", 0},
    {"0x10", 0},
    {"0X10", 0},
    {"inf", 0},
    {"nan", 0},
    {"8388608TiB", 0},
    {"9223372036854775808", 0},
    {"99999999999999999999999", 0},
};

static void check_parse(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t bytes = 77;
        TEST_CASE(sizes[i].text);
        CHECK(hri_parse_bytes(sizes[i].text, &bytes) == (sizes[i].want != 0));
        CHECK(bytes == (sizes[i].want != 0 ? sizes[i].want : 77));
    }
}

static void check_arithmetic(void)
{
    uint64_t out;
    TEST_CASE("products and sums up to the last that fits");
    CHECK(hri_mul(UINT64_MAX / 3, 3, &out) && out == UINT64_MAX);
    CHECK(hri_mul(0, UINT64_MAX, &out) && out == 0);
    CHECK(!hri_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    CHECK(!hri_mul(UINT64_MAX / 3 + 1, 3, &out));
    CHECK(hri_add(UINT64_MAX - 1, 1, &out) && out == UINT64_MAX);
    CHECK(!hri_add(UINT64_MAX, 1, &out));

    TEST_CASE("the smaller, the larger, the quotient rounded up");
    CHECK(hri_min(-1, 1) == -1 && hri_min(INT64_MAX, INT64_MIN) == INT64_MIN);
    CHECK(hri_max(-1, 1) == 1 && hri_max(INT64_MAX, INT64_MIN) == INT64_MAX);
    CHECK(hri_ceil_div(0, 7) == 0 && hri_ceil_div(1, 7) == 1);
    CHECK(hri_ceil_div(7, 7) == 1 && hri_ceil_div(8, 7) == 2);
    CHECK(hri_ceil_div(INT64_MAX, 1) == INT64_MAX);
    CHECK(hri_ceil_div(INT64_MAX, 2) == INT64_MAX / 2 + 1);
}

int main(void)
{
    TEST(check_parse());
    TEST(check_arithmetic());
    return test_end();
}
