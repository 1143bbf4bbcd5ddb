/* SPDX-License-Identifier: MIT */
/* The tests' own random numbers are what they say. */
#include "support/random.h"

#include "support/reference.h"
#include "test.h"

enum { ROWS = 7, COLS = 9, STRIDE = 11 };

static void splitmix_gives_its_known_numbers(void)
{
    /* The first of seed 1234567, as published with the algorithm. */
    static const uint64_t want[] = {UINT64_C(6457827717110365317),
                                    UINT64_C(3203168211198807973),
                                    UINT64_C(9817491932198370423)};
    random_source source = {1234567};
    TEST_CASE("splitmix64's numbers");
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        CHECK(random_next(&source) == want[i]);
    }
}

static void integers_stay_inside(void)
{
    random_source source = {1};
    int seen[5] = {0};
    TEST_CASE("integers between, both ends included");
    for (int i = 0; i < 200; i++) {
        int64_t value = random_between(&source, -2, 2);
        if (CHECK(value >= -2 && value <= 2)) {
            seen[value + 2]++;
        }
    }
    for (int i = 0; i < 5; i++) {
        CHECK(seen[i] > 0);
    }
    CHECK(random_between(&source, 5, 5) == 5);
    TEST_CASE("the whole range does not divide by zero");
    (void)random_between(&source, INT64_MIN, INT64_MAX);
}

static double most_of(hr_type type)
{
    return type == HR_I8 ? 128 : type == HR_I32 ? 1000 : 1;
}

static void matrices_are_filled_between_their_padding(hr_type type)
{
    unsigned char bytes[ROWS * STRIDE * 16];
    random_source source = {(uint64_t)type};
    size_t size = hr_type_size(type), line = STRIDE * size;
    hr_matrix m = hr_matrix_row_major(bytes, type, ROWS, COLS, STRIDE);
    double least = 0, most = 0, re, im;
    TEST_CASE(hr_type_name(type));
    memset(bytes, 0xee, sizeof bytes);
    random_fill_matrix(&source, &m);
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t col = 0; col < COLS; col++) {
            reference_load(&m, row, col, &re, &im);
            least = re < least ? re : least;
            most = re > most ? re : most;
            CHECK(im >= -1 && im <= 1);
        }
        for (size_t i = COLS * size; i < line; i++) {
            CHECK(bytes[(size_t)row * line + i] == 0xee);
        }
    }
    CHECK(least >= -most_of(type) && least < -0.5 * most_of(type));
    CHECK(most <= most_of(type) && most > 0.5 * most_of(type));
}

int main(void)
{
    TEST(splitmix_gives_its_known_numbers());
    TEST(integers_stay_inside());
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        TEST(matrices_are_filled_between_their_padding(type));
    }
    return test_end();
}
