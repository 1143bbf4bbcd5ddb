/* SPDX-License-Identifier: MIT */
/* hr_gemm_batch on random batches of every type, layout, shape and scalar, over
 * one set of accelerators, under memory caps, against a wider reference with
 * derived bounds.
 *
 *     test_gemm_batch SET
 *
 * SET is a list of accelerators such as "3xhost". */
#include "test.h"

#include <inttypes.h>
#include <math.h>

#include "runtime/runtime.h"
#include "support/pairs.h"
#include "support/plain.h"
#include "support/random.h"
#include "support/reference.h"
#include "support/told.h"

enum { CASES = TEST_TSAN ? 60 : 300 };
enum { SHARES = 8, MAX_COUNT = 40 };

static struct {
    int batches, shared, capped, refused, unsupported;
} seen; /* what the cases of a run had in them */

/* How the matrices of an operand lie. */
typedef enum placing {
    BY_STRIDE,
    INTERLEAVED, /* side by side in one large matrix */
    LISTED,      /* in any order */
    SHARED,      /* one for all */
    PLACINGS
} placing;

static const char *const placing_names[] = {"by stride", "interleaved",
                                            "listed", "shared"};

typedef struct operand {
    hr_matrices matrices;
    placing placing;
    int64_t count;
    unsigned char *memory, *before; /* all of it, and what it was */
    size_t bytes;
    void *list[MAX_COUNT];
} operand;

typedef struct batch {
    int pair;
    int64_t count, m, n, k;
    hr_scalar alpha, beta;
    operand operands[3];
    uint64_t cap;
} batch;

/* ---- making a case */

static hr_matrix matrix_of(const operand *o, int64_t index)
{
    hr_matrix m = o->matrices.matrix;
    const size_t size = hr_type_size(m.type);
    m.data = o->matrices.list != NULL
                 ? o->matrices.list[index]
                 : (char *)m.data + (size_t)(index * o->matrices.stride) * size;
    return m;
}

/* Elements from a matrix to the next one. */
static int64_t distance_of(const operand *o, int64_t lines, int64_t width,
                           int64_t pitch, int64_t gap)
{
    switch (o->placing) {
    case INTERLEAVED:
        return width;
    case SHARED:
        return 0;
    default:
        return lines * pitch + gap;
    }
}

static bool operand_init(operand *o, random_source *source, int64_t count,
                         hr_matrix shape, bool result)
{
    const bool row_major = random_between(source, 0, 1) == 0;
    const int64_t lines = row_major ? shape.rows : shape.cols;
    const int64_t width = row_major ? shape.cols : shape.rows;
    const size_t size = hr_type_size(shape.type);
    o->count = count;
    o->placing =
        (placing)random_between(source, 0, result ? LISTED : PLACINGS - 1);
    const int64_t pad = random_between(source, 0, 1) * 3;
    const int64_t pitch =
        (o->placing == INTERLEAVED && count > 0 ? count * width : width) + pad;
    const int64_t step =
        distance_of(o, lines, width, pitch, random_between(source, 0, 1) * 5);
    const int64_t elements = count * lines * (width + 3) + 8 * count + 8 +
                             lines * (count * width + 3);
    o->bytes = (size_t)elements * size;
    o->memory = malloc(o->bytes);
    o->before = malloc(o->bytes);
    if (o->memory == NULL || o->before == NULL) {
        return false;
    }
    random_fill_bytes(source, o->memory, o->bytes);
    shape = row_major ? hr_matrix_row_major(o->memory, shape.type, shape.rows,
                                            shape.cols, pitch)
                      : hr_matrix_column_major(o->memory, shape.type,
                                               shape.rows, shape.cols, pitch);
    shape.conjugate = random_between(source, 0, 2) == 0;
    o->matrices = hr_matrices_strided(shape, step);
    for (int64_t i = 0; i < count; i++) {
        const hr_matrix m = matrix_of(o, i);
        random_fill_matrix(source, &m);
        o->list[i] = m.data;
    }
    for (int64_t i = count - 1; i > 0 && o->placing == LISTED; i--) {
        const int64_t j = random_between(source, 0, i);
        void *other = o->list[j];
        o->list[j] = o->list[i];
        o->list[i] = other;
    }
    if (o->placing == LISTED) {
        shape.data = NULL;
        o->matrices = hr_matrices_listed(shape, o->list);
    }
    return true;
}

static void operand_remember(operand *o)
{
    memcpy(o->before, o->memory, o->bytes);
}

static int64_t random_extent(random_source *source)
{
    switch (random_between(source, 0, 9)) {
    case 0:
        return random_between(source, 0, 1);
    case 1:
    case 2:
        return 4 * random_between(source, 1, 12);
    case 3:
        return random_between(source, 60, 150);
    default:
        return random_between(source, 1, 33);
    }
}

/* Old values of C must not leak into the result when beta is 0, and infinities
 * of A count in their products alone. */
static void poison_batch(batch *b, random_source *source)
{
    const bool zero = b->beta.re == 0.0 && b->beta.im == 0.0;
    const hr_type c = pairs[b->pair].c;
    for (int64_t i = 0; i < b->count && zero && c != HR_I32; i++) {
        const hr_matrix m = matrix_of(&b->operands[2], i);
        for (int64_t j = 0; j < m.rows * m.cols; j++) {
            plain_store(&m, j / m.cols, j % m.cols, NAN, NAN);
        }
    }
    if (c != HR_I32 && b->count > 0 && b->m > 0 && b->k > 0 &&
        random_between(source, 0, 7) == 0) {
        const hr_matrix m = matrix_of(&b->operands[0], b->count / 2);
        plain_store(&m, b->m / 2, b->k / 2, INFINITY, 1.0);
    }
}

static bool batch_init(batch *b, random_source *source, int number)
{
    const int pair = number % PAIRS;
    const hr_type ab = pairs[pair].ab, c = pairs[pair].c;
    *b = (batch){.pair = pair};
    b->count = random_between(source, 0, 5) == 0
                   ? random_between(source, 0, 2)
                   : random_between(source, 3, MAX_COUNT);
    b->m = random_extent(source);
    b->n = random_extent(source);
    b->k = random_extent(source);
    if (random_between(source, 0, 4) == 0) { /* vendors have other kernels */
        b->m = 16 * random_between(source, 1, 6);
        b->n = 16 * random_between(source, 1, 6);
        b->k = 16 * random_between(source, 1, 6);
    }
    b->alpha = random_scalar(source, c);
    b->beta = random_scalar(source, c);
    bool ready =
        operand_init(&b->operands[0], source, b->count,
                     (hr_matrix){.type = ab, .rows = b->m, .cols = b->k},
                     false) &&
        operand_init(&b->operands[1], source, b->count,
                     (hr_matrix){.type = ab, .rows = b->k, .cols = b->n},
                     false) &&
        operand_init(&b->operands[2], source, b->count,
                     (hr_matrix){.type = c, .rows = b->m, .cols = b->n}, true);
    if (ready) {
        poison_batch(b, source);
        for (int i = 0; i < 3; i++) {
            operand_remember(&b->operands[i]);
        }
    }
    return ready;
}

static void batch_finish(batch *b)
{
    for (int i = 0; i < 3; i++) {
        free(b->operands[i].memory);
        free(b->operands[i].before);
    }
}

static void describe_batch(const batch *b, const char *set, int number)
{
    printf("%s, seed %d: %" PRId64 " x %s into %s, %" PRId64 "x%" PRId64
           "x%" PRId64 ", alpha %g%+gi, beta %g%+gi, cap %" PRIu64,
           set, number, b->count, hr_type_name(pairs[b->pair].ab),
           hr_type_name(pairs[b->pair].c), b->m, b->n, b->k, b->alpha.re,
           b->alpha.im, b->beta.re, b->beta.im, b->cap);
    for (int i = 0; i < 3; i++) {
        const operand *o = &b->operands[i];
        printf(", %c %s%s%s", "ABC"[i], placing_names[o->placing],
               o -> matrices.matrix.col_stride == 1 ? "" : " by columns",
               o->matrices.matrix.conjugate ? " conjugated" : "");
    }
    printf("\n");
}

/* ---- running it */

static hr_status multiply_batch(hr_context *context, const batch *b,
                                hr_gemm_report *report)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.memory_limit = b->cap;
    options.report = report;
    return hr_gemm_batch(context, b->count, b->alpha, b->operands[0].matrices,
                         b->operands[1].matrices, b->beta,
                         b->operands[2].matrices, &options);
}

static void check_shares(const batch *b, const hr_gemm_report *done)
{
    uint64_t up = 0, down = 0, tiles = 0;
    double flops = 0.0;
    for (uint32_t i = 0; i < done->share_count && i < SHARES; i++) {
        const hr_gemm_share *s = &done->shares[i];
        up += s->host_to_device;
        down += s->device_to_host;
        tiles += s->tiles;
        flops += s->flops;
        CHECK(b->cap == 0 || s->memory_limit == 0 || s->memory_bytes <= b->cap);
    }
    CHECK(done->ratio >= 1.0);
    CHECK(up == done->host_to_device && down == done->device_to_host);
    CHECK(flops == done->flops);
    CHECK(done->flops == 0.0 || tiles >= (uint64_t)b->count);
    CHECK(done->lost == 0 && done->recomputed == 0);
    seen.shared += done->share_count > 1;
}

/* The old C of a product, at the same place of the memory as it was. */
static hr_matrix old_matrix(const operand *o, int64_t index)
{
    hr_matrix m = matrix_of(o, index);
    m.data = o->before + ((unsigned char *)m.data - o->memory);
    return m;
}

static void check_product(const batch *b, int64_t index)
{
    reference wanted;
    reference_miss miss;
    const hr_matrix c = matrix_of(&b->operands[2], index);
    if (!CHECK(reference_init(
            &wanted, &(reference_problem){
                         b->alpha, b->beta, matrix_of(&b->operands[0], index),
                         matrix_of(&b->operands[1], index),
                         old_matrix(&b->operands[2], index)}))) {
        return;
    }
    const int64_t wrong = reference_compare(&wanted, &c, &miss);
    if (!CHECK(wrong == 0)) {
        char text[256];
        reference_describe(&miss, text, sizeof text);
        printf("product %" PRId64 ": %" PRId64 " wrong, first: %s\n", index,
               wrong, text);
    }
    reference_finish(&wanted);
}

static int64_t offset_of(const hr_matrix *m, int64_t row, int64_t col)
{
    return (row * m->row_stride + col * m->col_stride) *
           (int64_t)hr_type_size(m->type);
}

/* Nothing but elements of C has changed. */
static void check_surroundings(batch *b)
{
    operand *c = &b->operands[2];
    for (int64_t i = 0; i < b->count; i++) {
        const hr_matrix now = matrix_of(c, i), old = old_matrix(c, i);
        for (int64_t row = 0; row < now.rows; row++) {
            for (int64_t col = 0; col < now.cols; col++) {
                const int64_t at = offset_of(&now, row, col);
                memcpy((char *)now.data + at, (char *)old.data + at,
                       hr_type_size(now.type));
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        const operand *o = &b->operands[i];
        CHECK(memcmp(o->memory, o->before, o->bytes) == 0);
    }
}

/* From little on, beside what multiplying needs for itself. */
static uint64_t random_cap(const hr_context *context, random_source *source)
{
    const int64_t bits = random_between(source, 8, 22);
    uint64_t own = 0;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const uint64_t its = context->accelerators[i].device->info.gemm_bytes;
        own = its > own ? its : own;
    }
    return bits < 12 ? 0 : own + ((uint64_t)1 << bits);
}

static void run_case(hr_context *context, const char *set, int number)
{
    random_source source = {(uint64_t)number * 1000003 + 29};
    const long failures = test_state.failures;
    hr_gemm_share shares[SHARES];
    hr_gemm_report done = HR_GEMM_REPORT_INIT;
    batch b;
    done.shares = shares;
    done.share_capacity = SHARES;
    if (!CHECK(batch_init(&b, &source, number))) {
        batch_finish(&b);
        return;
    }
    told_random_rates(context, &source);
    b.cap = random_cap(context, &source);
    const hr_status status = multiply_batch(context, &b, &done);
    if (status == HR_ERROR_UNSUPPORTED) {
        seen.unsupported++;
    } else if (status == HR_ERROR_OUT_OF_MEMORY && b.cap > 0) {
        CHECK(strstr(hr_last_error(), "working set is ") != NULL);
        seen.refused++;
    } else if (CHECK(status == HR_OK)) {
        check_shares(&b, &done);
        for (int64_t i = 0; i < b.count; i++) {
            check_product(&b, i);
        }
        seen.batches++;
        seen.capped += b.cap > 0;
    } else {
        printf("%s\n", hr_last_error());
    }
    check_surroundings(&b);
    if (test_state.failures > failures) {
        describe_batch(&b, set, number);
    }
    batch_finish(&b);
}

/* On the host each small product has the bits of hr_gemm on one thread. */
static void compare_bits(hr_type type)
{
    enum { COUNT = 37, EDGE = 45 };
    const size_t bytes = COUNT * EDGE * EDGE * hr_type_size(type);
    hr_context *many = NULL, *one = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    random_source source = {11};
    unsigned char *memory[4];
    hr_matrix all[4], each[4];
    options.accelerators = "host";
    CHECK(hr_context_create(&options, &many) == HR_OK);
    options.threads = 1;
    CHECK(hr_context_create(&options, &one) == HR_OK);
    for (int i = 0; i < 4; i++) {
        memory[i] = calloc(bytes, 1);
        all[i] = hr_matrix_row_major(memory[i], type, (int64_t)COUNT * EDGE,
                                     EDGE, 0);
        each[i] = hr_matrix_row_major(memory[i], type, EDGE, EDGE, 0);
        if (i < 2) {
            random_fill_matrix(&source, &all[i]);
        }
    }
    const int64_t step = (int64_t)EDGE * EDGE;
    CHECK(hr_gemm_batch(many, COUNT, hr_real(1),
                        hr_matrices_strided(each[0], step),
                        hr_matrices_strided(each[1], step), hr_real(0),
                        hr_matrices_strided(each[2], step), NULL) == HR_OK);
    for (int64_t i = 0; i < COUNT; i++) {
        hr_matrix m[4];
        for (int j = 0; j < 4; j++) {
            CHECK(hr_matrix_section(all[j], i * EDGE, 0, EDGE, EDGE, &m[j]) ==
                  HR_OK);
        }
        CHECK(hr_gemm(one, hr_real(1), m[0], m[1], hr_real(0), m[3], NULL) ==
              HR_OK);
    }
    CHECK(memcmp(memory[2], memory[3], bytes) == 0);
    for (int i = 0; i < 4; i++) {
        free(memory[i]);
    }
    hr_context_destroy(many);
    hr_context_destroy(one);
}

/* Accelerators with memory of their own. The host does not multiply beside
 * those for which threads pack. */
static uint32_t count_movers(const hr_context *context)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        count += !context->accelerators[i].in_place;
    }
    return count;
}

/* In a reproducible context a batch has the bits of hr_gemm on the host. */
static void compare_reproducible(const char *set)
{
    enum { PRODUCTS = 11, M = 33, N = 21, K = 300 };
    hr_context *there = NULL, *here = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    random_source source = {3};
    static float a[PRODUCTS * M * K], b[K * N], c[2][PRODUCTS * M * N];
    const hr_matrix one = hr_matrix_row_major(a, HR_F32, M, K, 0);
    const hr_matrix mb = hr_matrix_row_major(b, HR_F32, K, N, 0);
    const hr_matrix mc = hr_matrix_row_major(c[0], HR_F32, M, N, 0);
    random_fill_matrix(&source,
                       &(hr_matrix){a, HR_F32, false, PRODUCTS * M, K, K, 1});
    random_fill_matrix(&source, &mb);
    options.reproducible = true;
    options.accelerators = set;
    CHECK(hr_context_create(&options, &there) == HR_OK);
    told_links(there, &(hri_link){.up = 1e10, .down = 1e10, .both = 2e10});
    options.accelerators = "host";
    CHECK(hr_context_create(&options, &here) == HR_OK);
    const hr_status status = hr_gemm_batch(
        there, PRODUCTS, hr_real(0.7), hr_matrices_strided(one, M * K),
        hr_matrices_strided(mb, 0), hr_real(0), hr_matrices_strided(mc, M * N),
        NULL);
    CHECK(status == HR_OK || status == HR_ERROR_UNSUPPORTED);
    if (status == HR_OK) {
        for (int i = 0; i < PRODUCTS; i++) {
            CHECK(
                hr_gemm(here, hr_real(0.7),
                        hr_matrix_row_major(a + i * M * K, HR_F32, M, K, 0), mb,
                        hr_real(0),
                        hr_matrix_row_major(c[1] + i * M * N, HR_F32, M, N, 0),
                        NULL) == HR_OK);
        }
        CHECK(memcmp(c[0], c[1], sizeof c[0]) == 0);
    }
    hr_context_destroy(there);
    hr_context_destroy(here);
}

int main(int count, char **arguments)
{
    const char *set = count > 1 ? arguments[1] : "host";
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = set;
    TEST_CASE(set);
    if (!test_open(&options, &context)) {
        return test_end();
    }
    told_links(context, &(hri_link){.up = 1e10, .down = 1e10, .both = 2e10});
    told_overheads(context);
    if (hr_accelerator_count(context) > 1) {
        told_apart(context);
    }
    uint64_t seed = 0, last = CASES - 1;
    const bool one = test_seed(&seed);
    last = one ? seed : last;
    for (; seed <= last; seed++) {
        TEST(run_case(context, set, (int)seed));
    }
    CHECK(one || test_listing() || seen.shared > 0 ||
          count_movers(context) < 2);
    hr_context_destroy(context);
    TEST(compare_reproducible(set));
    if (strcmp(set, "host") == 0) {
        TEST(compare_bits(HR_F32));
        TEST(compare_bits(HR_F64));
        TEST(compare_bits(HR_C32));
        TEST(compare_bits(HR_F16));
    }
    test_note("%s: %d batches, %d shared, %d under a cap; %d refused for a cap "
              "too low; %d not offered\n",
              set, seen.batches, seen.shared, seen.capped, seen.refused,
              seen.unsupported);
    return test_end();
}
