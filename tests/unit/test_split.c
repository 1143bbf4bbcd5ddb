/* SPDX-License-Identifier: MIT */
/* Bands of rows: what must hold of every split, and what is refused. */
#include <math.h>

#include "support/random.h"
#include "test.h"

enum { MAX_BANDS = 64 };

typedef struct split_case {
    int64_t size, before, after;
    uint32_t count;
    double weights[MAX_BANDS];
} split_case;

static int64_t random_size(random_source *r, int64_t most_bits)
{
    return random_between(r, 1, INT64_C(1) << random_between(r, 0, most_bits));
}

static split_case random_case(random_source *r)
{
    split_case c = {.size = random_size(r, 62),
                    .count = (uint32_t)random_between(r, 1, MAX_BANDS)};
    const int kind = (int)random_between(r, 0, 3);
    c.before = random_between(r, 0, 2) == 0 ? 0 : random_size(r, 62);
    c.after = random_between(r, 0, 2) == 0 ? 0 : random_size(r, 62);
    for (uint32_t i = 0; i < c.count; i++) {
        const double w = (double)random_between(r, 1, 1 << 20);
        c.weights[i] = kind == 0   ? 1
                       : kind == 1 ? w
                       : kind == 2 ? (random_between(r, 0, 1) != 0 ? w : 0)
                                   : ldexp(w, (int)random_between(r, -40, 900));
    }
    c.weights[random_between(r, 0, c.count - 1)] = 3;
    return c;
}

/* Rows lie in order and meet, and what is read is what the halos say. */
static int covers_rows(const split_case *c, const hr_band *bands)
{
    int64_t first = 0;
    int good = 1;
    for (uint32_t i = 0; i < c->count; i++) {
        const hr_band *b = &bands[i];
        const int64_t end = b->first + b->count;
        int64_t from = b->first > c->before ? b->first - c->before : 0;
        int64_t to = c->size - end > c->after ? end + c->after : c->size;
        if (b->count == 0) {
            from = to = b->first;
        }
        good = good && b->accelerator == i && b->first == first &&
               b->count >= 0 && b->read_first == from &&
               b->read_count == to - from;
        first = end;
    }
    return good && first == c->size;
}

/* Each band is within a row of its share, as far as doubles know it. */
static int is_fair(const split_case *c, const hr_band *bands)
{
    double whole = 0, size = (double)c->size;
    int good = 1;
    for (uint32_t i = 0; i < c->count; i++) {
        whole += c->weights[i];
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const double ideal = c->weights[i] / whole * size;
        good = good && fabs((double)bands[i].count - ideal) <
                           1 + size * MAX_BANDS * 0x1p-52;
        good = good && (c->weights[i] > 0 || bands[i].count == 0);
    }
    return good;
}

static void random_splits(int count)
{
    random_source r = {1};
    TEST_CASE("random splits");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        const split_case c = random_case(&r);
        hr_band bands[MAX_BANDS], again[MAX_BANDS];
        memset(bands, 0, sizeof bands);
        memset(again, 0, sizeof again);
        CHECK(hr_split(c.size, c.weights, c.count, c.before, c.after, bands) ==
              HR_OK);
        CHECK(hr_split(c.size, c.weights, c.count, c.before, c.after, again) ==
              HR_OK);
        CHECK(covers_rows(&c, bands) && is_fair(&c, bands));
        CHECK(memcmp(bands, again, sizeof bands) == 0);
        if (test_state.failures > 0) {
            printf("case %d\n", i);
        }
    }
}

/* Where sums are small, shares are exact: whole weights w of whole W give
 * size * w / W rounded down or up. */
static void exact_splits(int count)
{
    random_source r = {2};
    TEST_CASE("exact shares");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        const uint32_t n = (uint32_t)random_between(&r, 1, 9);
        const int64_t size = random_size(&r, 40);
        double weights[9];
        int64_t whole = 0;
        hr_band bands[9];
        for (uint32_t j = 0; j < n; j++) {
            weights[j] = (double)random_between(&r, j == 0, 1000);
            whole += (int64_t)weights[j];
        }
        CHECK(hr_split(size, weights, n, 0, 0, bands) == HR_OK);
        for (uint32_t j = 0; j < n; j++) {
            const int64_t product = size * (int64_t)weights[j];
            const int64_t more = bands[j].count - product / whole;
            CHECK(more == 0 || (more == 1 && product % whole != 0));
        }
    }
}

static void small_ones(void)
{
    hr_band b[4];
    const double rates[] = {3, 0, 1, 0};
    TEST_CASE("known splits");
    CHECK(hr_split(10, NULL, 4, 1, 2, b) == HR_OK);
    CHECK(b[0].count == 3 && b[1].count == 3 && b[2].count == 2);
    CHECK(b[1].read_first == 2 && b[1].read_count == 6);
    CHECK(b[3].first == 8 && b[3].read_first == 7 && b[3].read_count == 3);
    CHECK(hr_split(10, rates, 4, 0, 0, b) == HR_OK);
    CHECK(b[0].count == 8 && b[1].count == 0 && b[2].count == 2);
    CHECK(b[3].first == 10 && b[3].read_count == 0);
    CHECK(hr_split(2, NULL, 4, 9, 9, b) == HR_OK);
    CHECK(b[1].count == 1 && b[1].read_first == 0 && b[1].read_count == 2);
    CHECK(b[2].count == 0 && b[2].first == 2 && b[2].read_count == 0);
}

static void refused_arguments(void)
{
    static const double negative[] = {1, -2}, none[] = {0, 0};
    const double infinite[] = {1, INFINITY}, nan[] = {NAN, 1};
    hr_band b[2];
    TEST_CASE("refusals");
    CHECK_FAILS(hr_split(5, NULL, 2, 0, 0, NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_split(0, NULL, 2, 0, 0, b), HR_ERROR_INVALID, "0 rows");
    CHECK_FAILS(hr_split((INT64_C(1) << 62) + 1, NULL, 2, 0, 0, b),
                HR_ERROR_INVALID, "2^62");
    CHECK_FAILS(hr_split(5, NULL, 0, 0, 0, b), HR_ERROR_INVALID, "0 bands");
    CHECK_FAILS(hr_split(5, NULL, 2, -1, 0, b), HR_ERROR_INVALID, "-1 rows");
    CHECK_FAILS(hr_split(5, NULL, 2, 0, -7, b), HR_ERROR_INVALID, "-7 after");
    CHECK_FAILS(hr_split(5, negative, 2, 0, 0, b), HR_ERROR_INVALID,
                "weight 1 is -2");
    CHECK_FAILS(hr_split(5, infinite, 2, 0, 0, b), HR_ERROR_INVALID,
                "weight 1 is inf");
    CHECK_FAILS(hr_split(5, nan, 2, 0, 0, b), HR_ERROR_INVALID,
                "weight 0 is nan");
    CHECK_FAILS(hr_split(5, none, 2, 0, 0, b), HR_ERROR_INVALID,
                "all 2 weights are 0");
}

int main(void)
{
    TEST(small_ones());
    TEST(random_splits(20000));
    TEST(exact_splits(2000));
    TEST(refused_arguments());
    return test_end();
}
