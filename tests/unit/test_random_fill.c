/* SPDX-License-Identifier: MIT */
/* Random numbers in kernels and as fills on the accelerators of argv[1]: known
 * answers of Philox, the same bits everywhere and in any pieces, and the
 * distributions. */
#include <math.h>

#include "hal/hal.h"
#include "runtime/runtime.h"
#include "support/bed.h"

extern const hr_kernel philox_words, random_f32, random_f64, normals_of;

enum { N = 40000, MANY = 1 << 20, BINS = 256, KINDS = 5, BITS = 4096 };

static const uint64_t seed = UINT64_C(0x9876543210fedcba), stream = 77;

/* What hr_random_fill offers, and the same made one by one. */
static const struct {
    const char *name;
    hr_distribution distribution;
    hr_type type;
    uint64_t hash; /* of the first N numbers */
} kinds[KINDS] = {
    {"bits", HR_RANDOM_BITS, HR_I32, UINT64_C(0x9fc2cd99a9c03199)},
    {"uniform f32", HR_RANDOM_UNIFORM, HR_F32, UINT64_C(0xf8f1780207acef26)},
    {"normal f32", HR_RANDOM_NORMAL, HR_F32, UINT64_C(0xd46e384400877aec)},
    {"uniform f64", HR_RANDOM_UNIFORM, HR_F64, UINT64_C(0x77a76ad007759a62)},
    {"normal f64", HR_RANDOM_NORMAL, HR_F64, UINT64_C(0x90405be9653fff7e)},
};

static const double root_half = 0.70710678118654752;

static union {
    unsigned u32[N];
    float f32[N];
    double f64[N];
    unsigned char bytes[N * sizeof(double)];
} want[KINDS], got;

static int kinds_of(const bed *b)
{
    return bed_has_double(b) ? KINDS : 3;
}

static size_t size_of(int kind)
{
    return hr_type_size(kinds[kind].type);
}

static hr_random numbers_of(int kind, uint64_t offset)
{
    return (hr_random){kinds[kind].distribution, seed, stream, offset};
}

/* Fill a view over all accelerators, in uneven bands, and bring it home. */
static void fill_in_bands(const bed *b, int kind, hr_view view, uint64_t offset)
{
    static const double weights[8] = {1, 2, 1, 3, 1, 2, 1, 3};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    CHECK(hr_random_fill(b->context, view, kinds[kind].type,
                         numbers_of(kind, offset), &options) == HR_OK);
    CHECK(hr_synchronize(view) == HR_OK);
}

/* ---- what is right */

/* FNV-1a. */
static uint64_t hash_of(const void *data, size_t bytes)
{
    const unsigned char *c = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ c[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Launch a kernel that makes N numbers from `offset` on, of each of the
 * kinds from `first` to before `end`. */
static void fill_by_kernel(const bed *b, const hr_kernel *kernel, int first,
                           int end, uint64_t offset)
{
    hr_array *arrays[3] = {NULL};
    hr_argument arguments[6];
    const size_t views = (size_t)(end - first);
    for (size_t i = 0; i < views; i++) {
        arrays[i] =
            bed_wrap(b, &want[first + (int)i], size_of(first), hr_extent1(N));
        arguments[i] = hr_out(hr_view_of(arrays[i]));
    }
    arguments[views] = hr_value(&seed, sizeof seed);
    arguments[views + 1] = hr_value(&stream, sizeof stream);
    arguments[views + 2] = hr_value(&offset, sizeof offset);
    CHECK(hr_launch(b->queues[b->count - 1], kernel, hr_extent1(N), NULL,
                    arguments, views + 3) == HR_OK);
    for (size_t i = 0; i < views; i++) {
        CHECK(hr_synchronize(hr_view_of(arrays[i])) == HR_OK);
        hr_array_destroy(arrays[i]);
    }
}

/* Make what fills are compared with, by kernels compiled with -ffast-math. */
static void make_all(const bed *b, uint64_t offset)
{
    fill_by_kernel(b, &random_f32, 0, 3, offset);
    if (bed_has_double(b)) {
        fill_by_kernel(b, &random_f64, 3, KINDS, offset);
    }
}

/* ---- the generator */

/* Answers of Random123 [Salmon2011]. */
static void philox_gives_its_known_answers(bed *b)
{
    static const struct {
        uint64_t seed, stream, counter;
        unsigned words[4];
    } known[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         UINT64_MAX,
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {UINT64_C(0x299f31d0a4093822),
         UINT64_C(0x0370734413198a2e),
         UINT64_C(0x85a308d3243f6a88),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    TEST_CASE("Philox's known answers");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        for (uint32_t a = 0; a < b->count; a++) {
            unsigned words[4] = {0};
            hr_array *in = bed_wrap(b, &known[i].counter, 8, hr_extent1(1));
            hr_array *out = bed_wrap(b, words, 4, hr_extent2(1, 4));
            const hr_argument arguments[] = {
                hr_in(hr_view_of(in)), hr_out(hr_view_of(out)),
                hr_value(&known[i].seed, 8), hr_value(&known[i].stream, 8)};
            CHECK(hr_launch(b->queues[a], &philox_words, hr_extent1(1), NULL,
                            arguments, 4) == HR_OK);
            CHECK(hr_synchronize(hr_view_of(out)) == HR_OK);
            CHECK(memcmp(words, known[i].words, sizeof words) == 0);
            hr_array_destroy(in);
            hr_array_destroy(out);
        }
    }
}

/* ---- the same bits */

static void fills_have_the_bits_of_kernels(bed *b)
{
    static const uint64_t offsets[] = {0, 3, (UINT64_C(1) << 63) - N};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        make_all(b, offsets[i]);
        for (int kind = 0; kind < kinds_of(b); kind++) {
            const size_t bytes = N * size_of(kind);
            TEST_CASE(kinds[kind].name);
            hr_array *array = bed_wrap(b, &got, size_of(kind), hr_extent1(N));
            fill_in_bands(b, kind, hr_view_of(array), offsets[i]);
            CHECK(memcmp(&got, &want[kind], bytes) == 0);
            if (offsets[i] == 0 &&
                !CHECK(hash_of(&got, bytes) == kinds[kind].hash)) {
                fprintf(stderr, "  the hash is 0x%llx\n",
                        (unsigned long long)hash_of(&got, bytes));
            }
            hr_array_destroy(array);
        }
    }
}

/* The first elements of the array, as views of each rank. */
static void check_extent(bed *b, int kind, hr_extent extent, uint64_t offset)
{
    const size_t size = size_of(kind);
    const size_t count = (size_t)hr_extent_count(extent);
    memset(&got, 0xAB, sizeof got);
    hr_array *array = bed_wrap(b, &got, size, extent);
    fill_in_bands(b, kind, hr_view_of(array), offset);
    CHECK(memcmp(&got, want[kind].bytes + offset * size, count * size) == 0);
    CHECK(got.bytes[count * size] == 0xAB);
    hr_array_destroy(array);
}

static void ranks_and_sizes_count_by_rows(bed *b)
{
    const hr_extent extents[] = {
        hr_extent1(1),        hr_extent1(2),       hr_extent1(4095),
        hr_extent1(4096),     hr_extent1(4097),    hr_extent1(3 * 4096),
        hr_extent2(1, 1),     hr_extent2(1000, 3), hr_extent2(3, 1000),
        hr_extent2(37, 41),   hr_extent2(8, 64),   hr_extent3(1, 1, 7),
        hr_extent3(5, 11, 9), hr_extent3(7, 1, 1), hr_extent3(3, 5, 1023)};
    make_all(b, 0);
    for (int kind = 0; kind < kinds_of(b); kind++) {
        TEST_CASE(kinds[kind].name);
        for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
            for (uint64_t offset = 0; offset < 6; offset += 1 + offset) {
                check_extent(b, kind, extents[i], offset);
            }
        }
    }
}

static void pieces_with_offsets_are_the_whole(bed *b)
{
    static const int64_t ends[] = {1, 4, 103, 5000, 20001, N};
    make_all(b, 0);
    for (int kind = 0; kind < kinds_of(b); kind++) {
        TEST_CASE(kinds[kind].name);
        hr_array *array = bed_wrap(b, &got, size_of(kind), hr_extent1(N));
        memset(&got, 0, sizeof got);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            const int64_t first = i > 0 ? ends[i - 1] : 0;
            hr_view piece;
            CHECK(hr_view_section(hr_view_of(array), &first,
                                  hr_extent1(ends[i] - first),
                                  &piece) == HR_OK);
            fill_in_bands(b, kind, piece, (uint64_t)first);
        }
        CHECK(memcmp(&got, &want[kind], N * size_of(kind)) == 0);
        hr_array_destroy(array);
    }
}

/* Whether element (i, j, k) of the array has the number that it got in a
 * section, or the byte that was there. */
static bool is_right(int kind, const int64_t at[3], const int64_t origin[3],
                     hr_extent inside, hr_extent whole)
{
    const size_t size = size_of(kind);
    const int64_t place =
        (at[0] * whole.size[1] + at[1]) * whole.size[2] + at[2];
    const unsigned char *element = got.bytes + (size_t)place * size;
    int64_t number = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t x = at[d] - origin[d];
        if (x < 0 || x >= inside.size[d]) {
            return element[0] == 0xCD && element[size - 1] == 0xCD;
        }
        number = number * inside.size[d] + x;
    }
    return memcmp(element, want[kind].bytes + (size_t)number * size, size) == 0;
}

static void sections_leave_their_gaps(bed *b)
{
    const hr_extent whole = hr_extent3(9, 13, 21),
                    inside = hr_extent3(6, 7, 10);
    const int64_t origin[] = {2, 5, 6};
    make_all(b, 0);
    for (int kind = 0; kind < kinds_of(b); kind++) {
        int64_t at[3];
        hr_view section;
        bool right = true;
        TEST_CASE(kinds[kind].name);
        memset(&got, 0xCD, sizeof got);
        hr_array *array = bed_wrap(b, &got, size_of(kind), whole);
        CHECK(hr_view_section(hr_view_of(array), origin, inside, &section) ==
              HR_OK);
        fill_in_bands(b, kind, section, 0);
        for (at[0] = 0; at[0] < whole.size[0]; at[0]++) {
            for (at[1] = 0; at[1] < whole.size[1]; at[1]++) {
                for (at[2] = 0; at[2] < whole.size[2]; at[2]++) {
                    right = right && is_right(kind, at, origin, inside, whole);
                }
            }
        }
        CHECK(right);
        hr_array_destroy(array);
    }
}

/* ---- the distributions */

/* Whether z is where x says, in double: |z| has probability x to be less, and
 * `rest` to be more. z is off by 0.6 units in the last place, which are 2 u or
 * less of it. Such errors grow by z^2 + 1 at most in a probability. erf, erfc
 * and their arguments are rounded, too. */
static bool lies_there(double z, double x, double rest, double u)
{
    const double most = (z * z + 1) * (1.2 * u + 0x1p-53) + 8 * 0x1p-53;
    return fabs(erf(fabs(z) * root_half) - x) <= most * x &&
           fabs(erfc(fabs(z) * root_half) - rest) <= most * rest;
}

/* Bits of all sizes at both ends of the distribution. */
static uint64_t bits_of(random_source *random, int i)
{
    const uint64_t x = random_next(random);
    const uint64_t sign = UINT64_C(1) << 63;
    return (x & sign) | (i % 2 == 0 ? (x & ~sign) >> i / 2 % 64
                                    : ~sign & ~((x & ~sign) >> i / 2 % 64));
}

static void normal_numbers_are_quantiles(bed *b)
{
    static uint64_t bits[BITS];
    static float floats[BITS];
    static double doubles[BITS];
    if (!bed_has_double(b)) {
        return;
    }
    TEST_CASE("quantiles");
    for (int i = 0; i < BITS; i++) {
        bits[i] = bits_of(&b->random, i);
    }
    bits[0] = 0;
    bits[1] = UINT64_MAX;
    bits[2] = UINT64_MAX >> 1;
    hr_array *arrays[] = {bed_wrap(b, bits, 8, hr_extent1(BITS)),
                          bed_wrap(b, floats, 4, hr_extent1(BITS)),
                          bed_wrap(b, doubles, 8, hr_extent1(BITS))};
    const hr_argument arguments[] = {hr_in(hr_view_of(arrays[0])),
                                     hr_out(hr_view_of(arrays[1])),
                                     hr_out(hr_view_of(arrays[2]))};
    CHECK(hr_launch(b->queues[b->count - 1], &normals_of, hr_extent1(BITS),
                    NULL, arguments, 3) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[2])) == HR_OK);
    for (int i = 0; i < BITS; i++) {
        const uint64_t x = bits[i] << 1 | 1;
        const uint32_t narrow = (uint32_t)(bits[i] >> 32) << 1 | 1;
        CHECK(lies_there(doubles[i], (double)x * 0x1p-64,
                         (double)(0 - x) * 0x1p-64, 0x1p-53));
        CHECK(lies_there(floats[i], narrow * 0x1p-32, (0U - narrow) * 0x1p-32,
                         0x1p-24));
        CHECK((signbit(doubles[i]) != 0) == (bits[i] >> 63 != 0));
        CHECK((signbit(floats[i]) != 0) == (bits[i] >> 63 != 0));
    }
    CHECK(floats[1] < -6.33f && floats[1] > -6.35f);
    CHECK(doubles[2] > 9.14 && doubles[2] < 9.16);
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
}

/* Where a number lies in its distribution, in [0, 1). */
static double place_of(int kind, const void *data, int i)
{
    const double x = kind == 0 ? ((const unsigned *)data)[i] * 0x1p-32
                     : size_of(kind) == 4 ? ((const float *)data)[i]
                                          : ((const double *)data)[i];
    return kinds[kind].distribution == HR_RANDOM_NORMAL
               ? 0.5 * erfc(-x * root_half)
               : x;
}

/* Mean, variance, the correlation of neighbours and chi-square of places,
 * within five standard deviations of what they should be. The numbers are the
 * same in each run. */
static void numbers_are_spread_evenly(bed *b)
{
    static double data[MANY];
    for (int kind = 0; kind < kinds_of(b); kind++) {
        int bins[BINS] = {0};
        double sum = 0, squares = 0, products = 0, before = 0, chi = 0;
        hr_array *array = bed_wrap(b, data, size_of(kind), hr_extent1(MANY));
        TEST_CASE(kinds[kind].name);
        fill_in_bands(b, kind, hr_view_of(array), 0);
        for (int i = 0; i < MANY; i++) {
            const double p = place_of(kind, data, i);
            CHECK(p >= 0 && p < 1);
            bins[(int)(p * BINS)]++;
            sum += p - 0.5;
            squares += (p - 0.5) * (p - 0.5);
            products += (p - 0.5) * before;
            before = p - 0.5;
        }
        for (int i = 0; i < BINS; i++) {
            const double even = (double)MANY / BINS;
            chi += (bins[i] - even) * (bins[i] - even) / even;
        }
        CHECK(fabs(sum) < 5 * sqrt(MANY / 12.0));
        CHECK(fabs(squares - MANY / 12.0) < 5 * sqrt(MANY / 180.0));
        CHECK(fabs(products) < 5 * sqrt(MANY / 144.0));
        CHECK(fabs(chi - (BINS - 1)) < 5 * sqrt(2.0 * (BINS - 1)));
        hr_array_destroy(array);
    }
}

static void normal_numbers_have_their_moments(bed *b)
{
    static float data[MANY];
    double moments[5] = {0};
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(MANY));
    TEST_CASE("moments");
    fill_in_bands(b, 2, hr_view_of(array), 0);
    for (int i = 0; i < MANY; i++) {
        double power = 1;
        for (int k = 1; k <= 4; k++) {
            power *= data[i];
            moments[k] += power;
        }
    }
    /* 0, 1, 0 and 3; the variances of powers are 1, 2, 15 and 96. */
    CHECK(fabs(moments[1]) < 5 * sqrt(MANY));
    CHECK(fabs(moments[2] - MANY) < 5 * sqrt(2.0 * MANY));
    CHECK(fabs(moments[3]) < 5 * sqrt(15.0 * MANY));
    CHECK(fabs(moments[4] - 3.0 * MANY) < 5 * sqrt(96.0 * MANY));
    hr_array_destroy(array);
}

/* ---- rules */

static void bad_input_is_refused(bed *b)
{
    const hr_extent tile = hr_extent1(64);
    hr_split_options tiled = HR_SPLIT_OPTIONS_INIT, small = tiled;
    hr_array *array = NULL;
    int ints[8] = {0};
    tiled.tile = &tile;
    small.size = 1;
    TEST_CASE("bad input");
    CHECK((hr_array_wrap_typed)(b->context, ints, "int", 4, hr_extent1(8), 0,
                                &array) == HR_OK);
    const hr_view view = hr_view_of(array), none = {0};
    hr_view empty = view;
    empty.extent.size[0] = 0;
    const struct {
        hr_context *context;
        hr_view view;
        int distribution, type;
        uint64_t offset;
        const hr_split_options *options;
        hr_status status;
        const char *word;
    } bad[] = {
        {NULL, view, 1, HR_I32, 0, NULL, HR_ERROR_INVALID,
         "the context is NULL"},
        {b->context, none, 1, HR_I32, 0, NULL, HR_ERROR_INVALID,
         "the view belongs to no array"},
        {b->context, empty, 1, HR_I32, 0, NULL, HR_ERROR_INVALID,
         "the view has no elements"},
        {b->context, view, 0, HR_I32, 0, NULL, HR_ERROR_INVALID,
         "unknown distribution 0"},
        {b->context, view, 4, HR_I32, 0, NULL, HR_ERROR_INVALID,
         "unknown distribution 4"},
        {b->context, view, 1, 99, 0, NULL, HR_ERROR_UNSUPPORTED,
         "unknown type 99"},
        {b->context, view, 1, HR_F32, 0, NULL, HR_ERROR_UNSUPPORTED,
         "bits are offered for i32 alone, not f32"},
        {b->context, view, 2, HR_I32, 0, NULL, HR_ERROR_UNSUPPORTED, "not i32"},
        {b->context, view, 3, HR_F16, 0, NULL, HR_ERROR_UNSUPPORTED,
         "only f32 and f64"},
        {b->context, view, 2, HR_F64, 0, NULL, HR_ERROR_INVALID,
         "elements of 4 bytes, but f64 has 8"},
        {b->context, view, 2, HR_F32, 0, NULL, HR_ERROR_INVALID,
         "the view has elements of int, not of f32"},
        {b->context, view, 1, HR_I32, (UINT64_C(1) << 63) - 7, NULL,
         HR_ERROR_INVALID, "8 elements from number 9223372036854775801 on"},
        {b->context, view, 1, HR_I32, UINT64_MAX, NULL, HR_ERROR_INVALID,
         "exceed 2^63"},
        {b->context, view, 1, HR_I32, 0, &tiled, HR_ERROR_INVALID, "tile"},
        {b->context, view, 1, HR_I32, 0, &small, HR_ERROR_INVALID, "size"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const hr_random random = {(hr_distribution)bad[i].distribution, 1, 2,
                                  bad[i].offset};
        CHECK_FAILS(hr_random_fill(bad[i].context, bad[i].view,
                                   (hr_type)bad[i].type, random,
                                   bad[i].options),
                    bad[i].status, bad[i].word);
    }
    CHECK(ints[0] == 0 && ints[7] == 0);
    hr_array_destroy(array);
}

static void dry_runs_write_nothing(bed *b)
{
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    float data[5000] = {0};
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(5000));
    options.dry_run = true;
    options.report = &report;
    TEST_CASE("dry run");
    CHECK(hr_random_fill(b->context, hr_view_of(array), HR_F32,
                         numbers_of(1, 0), &options) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(report.used >= 1 && report.used <= 2); /* it has two rows */
    CHECK(report.share_count == b->count);
    CHECK(data[0] == 0 && data[4999] == 0);
    hr_array_destroy(array);
}

static void all_cases(bed *b)
{
    TEST(philox_gives_its_known_answers(b));
    TEST(fills_have_the_bits_of_kernels(b));
    TEST(ranks_and_sizes_count_by_rows(b));
    TEST(pieces_with_offsets_are_the_whole(b));
    TEST(sections_leave_their_gaps(b));
    TEST(normal_numbers_are_quantiles(b));
    TEST(numbers_are_spread_evenly(b));
    TEST(normal_numbers_have_their_moments(b));
    TEST(bad_input_is_refused(b));
    TEST(dry_runs_write_nothing(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "host", all_cases);
}
