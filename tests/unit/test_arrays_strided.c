/* SPDX-License-Identifier: MIT */
/* Arrays over strided memory on the accelerators of argv[1]: random strides of
 * rank 1 to 6 beside plain loops. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/random.h"
#include "test.h"

extern const hr_kernel lists_flat1;

enum { ROUNDS = 60, BYTES = 40000 };

typedef struct bed {
    hr_context *context;
    hr_queue *queue;
    random_source random;
    unsigned char memory[BYTES], want[BYTES];
    int64_t first; /* where element 0 is */
    int64_t stride[HR_MAX_RANK];
    hr_extent extent;
} bed;

static int64_t any(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* Dimensions in any order, with gaps, forwards and backwards. */
static void make_memory(bed *b)
{
    uint32_t order[HR_MAX_RANK];
    int64_t step = (int64_t)sizeof(int) * any(b, 1, 2), size[HR_MAX_RANK];
    const uint32_t rank = (uint32_t)any(b, 1, HR_MAX_RANK);
    b->first = any(b, 0, 3) * 4;
    for (uint32_t d = 0; d < rank; d++) {
        const uint32_t other = (uint32_t)any(b, 0, d);
        order[d] = order[other];
        order[other] = d;
        size[d] = any(b, 1, rank > 3 ? 3 : 6);
    }
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t d = order[i];
        const bool backwards = any(b, 0, 1) != 0;
        b->stride[d] = backwards ? -step : step;
        b->first += backwards ? (size[d] - 1) * step : 0;
        step = step * size[d] + 4 * any(b, 0, 1);
    }
    b->extent = hr_extent_of(rank, size);
    CHECK(b->first + step < BYTES);
    random_fill_bytes(&b->random, b->memory, BYTES);
    memcpy(b->want, b->memory, BYTES);
}

/* Where element n of a section that starts at origin lies. */
static int64_t at_of(const bed *b, const int64_t *origin,
                     const hr_extent *extent, int64_t n)
{
    int64_t at = b->first;
    for (uint32_t d = extent->rank; d-- > 0;) {
        at += (origin[d] + n % extent->size[d]) * b->stride[d];
        n /= extent->size[d];
    }
    return at;
}

static unsigned load_int(const unsigned char *memory, int64_t at)
{
    unsigned value;
    memcpy(&value, memory + at, sizeof value);
    return value;
}

static void store_int(unsigned char *memory, int64_t at, unsigned value)
{
    memcpy(memory + at, &value, sizeof value);
}

static void random_section(bed *b, int64_t *origin, hr_extent *extent)
{
    *extent = b->extent;
    for (uint32_t d = 0; d < extent->rank; d++) {
        origin[d] = any(b, 0, extent->size[d] - 1);
        extent->size[d] = any(b, 1, extent->size[d] - origin[d]);
    }
}

/* a := 2 a + 1, by way of two packed arrays. */
static void compute_all(const bed *b, hr_array *a, hr_array *packed,
                        hr_array *c)
{
    const int64_t count = hr_extent_count(b->extent);
    const hr_argument arguments[] = {hr_in(hr_view_of(packed)),
                                     hr_out(hr_view_of(c))};
    CHECK(hr_copy(hr_view_of(a), hr_view_of(packed)) == HR_OK);
    CHECK(hr_launch(b->queue, &lists_flat1, hr_extent1(count), NULL, arguments,
                    2) == HR_OK);
    CHECK(hr_copy(hr_view_of(c), hr_view_of(a)) == HR_OK);
}

static void expect_all(bed *b, const int64_t *origin, const hr_extent *part)
{
    for (int64_t n = 0; n < hr_extent_count(*part); n++) {
        const int64_t at = at_of(b, origin, part, n);
        store_int(b->want, at, 2 * load_int(b->want, at) + 1);
    }
}

/* A kernel writes all elements, but only those of a section come home. Then the
 * caller changes some, and says so. */
static void try_strides(bed *b)
{
    const int64_t zero[HR_MAX_RANK] = {0};
    int64_t origin[HR_MAX_RANK];
    hr_extent part;
    hr_array *a = NULL, *packed = NULL, *c = NULL;
    hr_view section;
    make_memory(b);
    CHECK(hr_array_wrap_strided(b->context, b->memory + b->first, "int", 4,
                                b->extent, b->stride, &a) == HR_OK);
    CHECK(hr_array_create(b->queue, 4, b->extent, &packed) == HR_OK);
    CHECK(hr_array_create(b->queue, 4, b->extent, &c) == HR_OK);
    CHECK(hr_array_data(a) == b->memory + b->first);
    random_section(b, origin, &part);
    CHECK(hr_view_section(hr_view_of(a), origin, part, &section) == HR_OK);
    compute_all(b, a, packed, c);
    CHECK(any(b, 0, 1) != 0 ? hr_synchronize(section) == HR_OK
                            : hr_synchronize_async(section, NULL) == HR_OK);
    expect_all(b, origin, &part);
    int ordinary = 0; /* then memory has been written at once */
    hr_mapping m;
    CHECK(hr_map(hr_view_of(a), HR_IN, &m) == HR_OK);
    ordinary = m.data == b->memory + b->first;
    CHECK(hr_unmap(&m) == HR_OK);
    /* the checker gives another copy, so it does not tell */
    CHECK(ordinary || getenv("HEADRACE_CHECK") != NULL ||
          memcmp(b->want, b->memory, BYTES) == 0);

    CHECK(hr_synchronize(hr_view_of(a)) == HR_OK);
    random_section(b, origin, &part);
    CHECK(hr_view_section(hr_view_of(a), origin, part, &section) == HR_OK);
    for (int64_t n = 0; n < hr_extent_count(part); n++) {
        store_int(b->memory, at_of(b, origin, &part, n), (unsigned)n);
    }
    CHECK(hr_invalidate(section) == HR_OK);
    memcpy(b->want, b->memory, BYTES);
    compute_all(b, a, packed, c);
    CHECK(hr_synchronize(hr_view_of(a)) == HR_OK);
    expect_all(b, zero, &b->extent);
    CHECK(memcmp(b->want, b->memory, BYTES) == 0);
    hr_array_destroy(a);
    hr_array_destroy(packed);
    hr_array_destroy(c);
}

static void try_random_strides(bed *b)
{
    TEST_CASE("strided memory beside plain loops");
    for (int n = 0; n < ROUNDS && test_state.failures == 0; n++) {
        try_strides(b);
    }
}

/* Elements of rows are no copy, and parts of elements are brought home. */
static void try_rows(bed *b)
{
    static int own[60];
    static const struct {
        hr_extent extent;
        int64_t stride[3];
        bool rows;
    } cases[] = {
        {{1, {6}}, {4}, true},
        {{1, {6}}, {8}, false},
        {{1, {6}}, {-4}, false},
        {{1, {1}}, {-4}, true},
        {{2, {3, 4}}, {16, 4}, true},
        {{2, {3, 4}}, {20, 4}, true},
        {{2, {3, 4}}, {12, 4}, false},
        {{2, {3, 4}}, {4, 12}, false},
        {{2, {3, 1}}, {8, 0}, true},
        {{3, {2, 3, 4}}, {60, 20, 4}, true},
        {{3, {2, 3, 4}}, {64, 20, 4}, false},
        {{3, {2, 1, 4}}, {24, 0, 4}, true},
    };
    TEST_CASE("which strides are those of rows");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hr_array *a = NULL;
        hr_mapping m;
        int *data = own + 20;
        CHECK(hr_array_wrap_strided(b->context, data, "int", 4, cases[i].extent,
                                    cases[i].stride, &a) == HR_OK);
        CHECK(hr_map(hr_view_of(a), HR_IN, &m) == HR_OK);
        CHECK((m.data == (void *)data) ==
              (cases[i].rows && getenv("HEADRACE_CHECK") == NULL));
        CHECK(hr_unmap(&m) == HR_OK);
        hr_array_destroy(a);
    }
}

static void try_parts(bed *b)
{
    short own[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t stride[] = {-8}, origin[] = {1};
    hr_array *a = NULL;
    hr_view halves, one;
    hr_mapping m;
    TEST_CASE("parts of elements");
    CHECK(hr_array_wrap_strided(b->context, own + 8, NULL, 4, hr_extent1(3),
                                stride, &a) == HR_OK);
    CHECK(hr_view_reinterpret(hr_view_of(a), 2, &halves) == HR_OK);
    CHECK(hr_map(halves, HR_INOUT, &m) == HR_OK);
    for (int i = 0; i < 6; i++) {
        ((short *)m.data)[i] = (short)(((short *)m.data)[i] + 100);
    }
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_view_section(halves, origin, hr_extent1(2), &one) == HR_OK);
    CHECK(hr_synchronize(one) == HR_OK);
    static const short want[] = {0, 1, 2, 3, 104, 5, 6, 7, 8, 109, 10, 11};
    CHECK(memcmp(own, want, sizeof own) == 0);
    hr_array_destroy(a);
}

static void try_refusals(bed *b)
{
    static int own[8];
    const int64_t stride[] = {8, INT64_MAX};
    hr_array *a = NULL;
    TEST_CASE("refusals");
    CHECK_FAILS(hr_array_wrap_strided(b->context, NULL, NULL, 4, hr_extent1(3),
                                      stride, &a),
                HR_ERROR_INVALID, "data is NULL");
    CHECK_FAILS(hr_array_wrap_strided(b->context, own, NULL, 4, hr_extent1(3),
                                      NULL, &a),
                HR_ERROR_INVALID, "strides are NULL");
    CHECK_FAILS(hr_array_wrap_strided(b->context, own, NULL, 4,
                                      hr_extent2(2, 3), stride, &a),
                HR_ERROR_INVALID, "more than 2^62 bytes apart");
    CHECK_FAILS(hr_array_wrap_strided(b->context, own, NULL, 0, hr_extent1(3),
                                      stride, &a),
                HR_ERROR_INVALID, "elements of 0 bytes");
    CHECK_FAILS(hr_array_wrap_strided(b->context, own, NULL, 4, hr_extent1(0),
                                      stride, &a),
                HR_ERROR_INVALID, "dimension 0 has size 0");
    CHECK_FAILS(hr_array_wrap_strided(b->context, own, NULL, 4, hr_extent1(3),
                                      stride, NULL),
                HR_ERROR_INVALID, "array is NULL");
    CHECK_FAILS(
        hr_array_wrap_strided(NULL, own, NULL, 4, hr_extent1(3), stride, &a),
        HR_ERROR_INVALID, "the context or queue is NULL");
    CHECK(a == NULL);
}

int main(int count, char **arguments)
{
    static bed b = {.random = {2026}};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = count > 1 ? arguments[1] : "3xhost";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    for (uint32_t i = 0; i < hr_accelerator_count(b.context); i++) {
        if (CHECK(hr_queue_create(b.context, i, &b.queue) == HR_OK)) {
            TEST(try_random_strides(&b));
        }
        hr_queue_destroy(b.queue);
    }
    TEST(try_rows(&b));
    TEST(try_parts(&b));
    TEST(try_refusals(&b));
    hr_context_destroy(b.context);
    return test_end();
}
