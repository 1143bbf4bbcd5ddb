/* SPDX-License-Identifier: MIT */
/* Multiplication on the host, by everything that multiplies here: random and
 * large products of every type pair, values and strides where implementations
 * differ or forget, thin products, and what cannot be multiplied. */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>

#include "backends/host/arithmetic.h"
#include "support/host_engine.h"
#include "support/pairs.h"
#include "test.h"

/* A product to be made. */
typedef struct problem {
    hr_type type, c_type;
    int64_t m, n, k;
    bool a_transposed, b_transposed, a_conjugate, b_conjugate;
    int64_t padding; /* elements between runs */
    hr_scalar alpha, beta;
} problem;

/* The memory of its matrices. */
typedef struct operands {
    host_area a, b, c;
} operands;

static host_engines all;
static random_source numbers = {1};

static operands make_operands(const problem *p)
{
    return (operands){
        host_area_make(&numbers, p->type, p->m, p->k, p->a_transposed,
                       p->padding),
        host_area_make(&numbers, p->type, p->k, p->n, p->b_transposed,
                       p->padding),
        host_area_make(&numbers, p->c_type, p->m, p->n, false, p->padding)};
}

static void free_operands(operands *o)
{
    host_area_finish(&o->a);
    host_area_finish(&o->b);
    host_area_finish(&o->c);
}

static reference_problem reference_of(const problem *p, const operands *o)
{
    reference_problem r = {p->alpha, p->beta, o->a.matrix, o->b.matrix,
                           o->c.matrix};
    r.a.conjugate = p->a_conjugate;
    r.b.conjugate = p->b_conjugate;
    return r;
}

/* Another memory with the same bytes. */
static host_area copy_area(const host_area *area)
{
    host_area copy = *area;
    copy.memory = malloc(area->bytes);
    if (copy.memory == NULL) {
        abort();
    }
    memcpy(copy.memory, area->memory, area->bytes);
    copy.matrix.data =
        copy.memory + ((unsigned char *)area->matrix.data - area->memory);
    return copy;
}

static bool is_right(const problem *p)
{
    operands o = make_operands(p);
    reference_problem r = reference_of(p, &o);
    const bool right = host_engines_are_right(&all, &r, &o.c);
    free_operands(&o);
    return right;
}

static bool flip(void)
{
    return random_between(&numbers, 0, 1) == 1;
}

/* 0, 1, -1 or anything; whole numbers where the type wants them. */
static hr_scalar draw_scalar(hr_type type, hr_type c_type)
{
    switch (random_between(&numbers, 0, 3)) {
    case 0:
        return hr_real(0.0);
    case 1:
        return hr_real(1.0);
    case 2:
        return hr_real(-1.0);
    default:
        break;
    }
    if (c_type == HR_I32) {
        return hr_real((double)random_between(&numbers, -1000000, 1000000));
    }
    double re = 3.0 * random_unit(&numbers);
    return is_complex(type) ? hr_complex(re, random_unit(&numbers))
                            : hr_real(re);
}

static int64_t draw_extent(void)
{
    static const int64_t extents[] = {0,  1,  2,  3,  5,  6,  7,  8,  11,
                                      12, 13, 16, 17, 24, 31, 32, 33, 65};
    int64_t last = (int64_t)(sizeof extents / sizeof extents[0]) - 1;
    return extents[random_between(&numbers, 0, last)];
}

static problem draw_problem(int64_t index, int64_t m, int64_t n, int64_t k)
{
    problem p = {.type = pairs[index % PAIRS].ab,
                 .c_type = pairs[index % PAIRS].c,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a_transposed = flip(),
                 .b_transposed = flip(),
                 .padding = flip() ? random_between(&numbers, 1, 9) : 0};
    p.a_conjugate = is_complex(p.type) && flip();
    p.b_conjugate = is_complex(p.type) && flip();
    p.alpha = draw_scalar(p.type, p.c_type);
    p.beta = draw_scalar(p.type, p.c_type);
    return p;
}

static void random_problems_are_within_the_bound(void)
{
    TEST_CASE("random shapes, layouts, scalars");
    for (int64_t i = 0; i < 540; i++) {
        const int64_t m = draw_extent(), n = draw_extent(), k = draw_extent();
        const problem p = draw_problem(i, m, n, k);
        CHECK(is_right(&p));
    }
    TEST_CASE("a CBLAS is really used");
    for (int i = 0; i < all.count; i++) {
        CHECK(!all.engines[i].use_cblas || all.engines[i].expressed > 100);
    }
}

/* Each row is larger than one of the limits of the blocking. */
static const struct {
    const char *name;
    int64_t m, n, k;
} large[] = {
    {"k beyond one slice", 40, 70, 1025},
    {"k beyond what sums of i8 are exact for", 3, 5, 3001},
    {"m beyond one block", 2051, 103, 3},
    {"n beyond one block", 103, 2051, 2},
    {"m far longer than n", 17011, 3, 2},
    {"n far longer than m", 2, 17011, 3},
    {"many strips and threads", 301, 777, 130},
};

static void large_problems_are_within_the_bound(void)
{
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        TEST_CASE(large[i].name);
        for (int64_t j = 0; j < PAIRS; j++) {
            problem p = draw_problem(j, large[i].m, large[i].n, large[i].k);
            p.alpha = hr_real(-1.0);
            p.beta = hr_real(j % 2 == 0 ? 2.0 : 0.0);
            CHECK(is_right(&p));
        }
    }
}

/* ---- where implementations differ or forget */

/* CBLAS libraries have small-matrix paths of their own. */
static void beta_zero_never_reads_c(void)
{
    long expressed[HOST_ENGINES];
    for (int i = 0; i < all.count; i++) {
        expressed[i] = all.engines[i].expressed;
    }
    TEST_CASE("beta = 0 hides NaN in C at every small size");
    for (int64_t i = 0; i < 6 * 6 * 6 * 4; i++) {
        const hr_type type = pairs[i % 4].ab;
        const problem p = {.type = type,
                           .c_type = type,
                           .m = i / 4 % 6 + 1,
                           .n = i / 24 % 6 + 1,
                           .k = i / 144 + 1,
                           .a_transposed = i % 3 == 0,
                           .b_transposed = i % 5 < 2,
                           .alpha = hr_real(1.0)};
        CHECK(is_right(&p));
    }
    TEST_CASE("a CBLAS is really used");
    for (int i = 0; i < all.count; i++) {
        CHECK(!all.engines[i].use_cblas ||
              all.engines[i].expressed - expressed[i] == 864);
    }
}

static void set_all(const hr_matrix *m, float value)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        ((float *)m->data)[i] = value;
    }
}

/* One special value in A reaches its row of C, all of it, and no other row,
 * even where B is 0. Sizes on both sides of a tile. */
static void special_values_propagate(void)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    TEST_CASE("NaN and infinity in A reach exactly their row");
    for (int i = 0; i < all.count * 3; i++) {
        float special = specials[i % 3];
        int64_t size = i % 2 == 0 ? 37 : 5;
        const problem p = {.type = HR_F32,
                           .c_type = HR_F32,
                           .m = size,
                           .n = size,
                           .k = size,
                           .alpha = hr_real(1.0)};
        operands o = make_operands(&p);
        set_all(&o.a.matrix, 1.0f);
        set_all(&o.b.matrix, isnan(special) ? 0.0f : 2.0f);
        ((float *)o.a.matrix.data)[3 * size + 2] = special;
        const reference_problem r = reference_of(&p, &o);
        hri_gemm g = host_gemm_of(&r);
        CHECK(host_engine_run(&all, i / 3, &g) == HR_OK);
        int64_t right = 0;
        for (int64_t j = 0; j < size * size; j++) {
            float value = ((float *)o.c.matrix.data)[j];
            right += j / size != 3    ? isfinite(value)
                     : isnan(special) ? isnan(value)
                                      : value == special;
        }
        CHECK(right == size * size);
        free_operands(&o);
    }
}

/* alpha = 0 and k = 0 leave A and B alone: they are not even there. */
static void nothing_to_multiply_only_scales(void)
{
    static const struct {
        const char *name;
        int64_t k;
        double alpha, beta;
    } rows[] = {
        {"k = 0, beta = 0", 0, 1.0, 0.0},
        {"k = 0, beta = 1", 0, 1.0, 1.0},
        {"k = 0, beta = -3", 0, 1.0, -3.0},
        {"alpha = 0, beta = 0", 9, 0.0, 0.0},
        {"alpha = 0, beta = 1", 9, 0.0, 1.0},
        {"alpha = 0, beta = 2", 9, 0.0, 2.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * PAIRS; i++) {
        size_t row = i / PAIRS;
        hr_type type = pairs[i % PAIRS].ab, c_type = pairs[i % PAIRS].c;
        int64_t k = rows[row].k;
        TEST_CASE(rows[row].name);
        host_area c = host_area_make(&numbers, c_type, 7, 131, false, 3);
        reference_problem r = {
            hr_real(rows[row].alpha), hr_real(rows[row].beta),
            hr_matrix_row_major(NULL, type, 7, k, 0),
            hr_matrix_row_major(NULL, type, k, 131, 0), c.matrix};
        CHECK(host_engines_are_right(&all, &r, &c));
        host_area_finish(&c);
    }
}

/* Strides over an extent of 1 mean nothing and may be anything. */
static void strides_of_vectors_may_be_odd(void)
{
    static const struct {
        const char *name;
        int64_t m, n, k;
        int64_t a_row, a_col, b_row, b_col, c_row;
    } rows[] = {
        {"a row of A, odd row stride", 1, 40, 40, 7, 1, 40, 1, 40},
        {"a row of A out of columns", 1, 40, 40, 1, 3, 40, 1, 40},
        {"a row of A, both odd", 1, 40, 40, 5, 3, 40, 1, 40},
        {"k = 1, A odd", 40, 40, 1, 1, 2, 40, 1, 40},
        {"k = 1, A in rows of 3", 40, 40, 1, 3, 9, 1, 1, 40},
        {"k = 1, B odd", 40, 40, 1, 1, 40, 2, 1, 40},
        {"k = 1, B out of rows", 40, 40, 1, 1, 40, 5, 3, 40},
        {"a column of B, odd column stride", 40, 1, 40, 40, 1, 1, 2, 1},
        {"a column of B out of rows", 40, 1, 40, 40, 1, 3, 1, 1},
        {"a row of C, odd row stride", 1, 40, 40, 40, 1, 40, 1, 1},
        {"a column of C out of rows", 40, 1, 40, 40, 1, 1, 40, 6},
        {"one element, all strides odd", 1, 1, 1, 4, 5, 6, 7, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * PAIRS; i++) {
        size_t row = i / PAIRS;
        hr_type type = pairs[i % PAIRS].ab, c_type = pairs[i % PAIRS].c;
        int64_t m = rows[row].m, n = rows[row].n, k = rows[row].k;
        TEST_CASE(rows[row].name);
        const problem p = {.type = type,
                           .c_type = c_type,
                           .m = 40,
                           .n = 40,
                           .k = 40,
                           .padding = 1000};
        operands o = make_operands(&p);
        hr_matrix am = {o.a.matrix.data, type,           false, m, k,
                        rows[row].a_row, rows[row].a_col};
        hr_matrix bm = {o.b.matrix.data, type,           false, k, n,
                        rows[row].b_row, rows[row].b_col};
        hr_matrix cm = {o.c.matrix.data, c_type, false, m, n,
                        rows[row].c_row, 1};
        random_fill_matrix(&numbers, &am);
        random_fill_matrix(&numbers, &bm);
        random_fill_matrix(&numbers, &cm);
        o.c.matrix = cm;
        const reference_problem r = {hr_real(1.0), hr_real(1.0), am, bm, cm};
        CHECK(host_engines_are_right(&all, &r, &o.c));
        free_operands(&o);
    }
}

/* ---- thin products: an element has the same bits as in a product that is not
 * thin, and what is packed is no more than what is there */

enum { WIDE = HRI_BUILTIN_THIN + 1 }; /* products from here on are not thin */

static problem draw_thin(int64_t index)
{
    static const int64_t depths[] = {1,   2,   31,  64,   65,   255,
                                     257, 511, 513, 1024, 1500, 20000};
    int64_t m = random_between(&numbers, 1, HRI_BUILTIN_THIN);
    int64_t n = random_between(&numbers, 1, HRI_BUILTIN_THIN);
    if (flip()) {
        *(flip() ? &m : &n) = random_between(&numbers, WIDE, 70);
    }
    return draw_problem(index, m, n, depths[index / PAIRS % 12]);
}

/* The first m rows and n columns of C. */
static hr_status multiply_part(const hri_builtin_variant *variant,
                               const problem *p, const operands *o, int64_t m,
                               int64_t n)
{
    const reference_problem r = reference_of(p, o);
    hri_gemm g = host_gemm_of(&r);
    g.m = m;
    g.n = n;
    return hri_builtin_gemm(variant, all.pool, &g);
}

/* The same rows and columns as a part of a product that is not thin. */
static bool has_the_same_bits(const hri_builtin_variant *variant,
                              const problem *p)
{
    problem wide = *p;
    wide.m = p->m < WIDE ? WIDE : p->m;
    wide.n = p->n < WIDE ? WIDE : p->n;
    operands o = make_operands(&wide);
    operands whole = {o.a, o.b, copy_area(&o.c)};
    bool same =
        CHECK(multiply_part(variant, p, &o, p->m, p->n) == HR_OK) &&
        CHECK(multiply_part(variant, p, &whole, wide.m, wide.n) == HR_OK);
    const size_t size = hr_type_size(p->c_type);
    for (int64_t i = 0; i < p->m; i++) {
        const size_t at = (size_t)(i * o.c.matrix.row_stride) * size;
        same = same && memcmp((char *)o.c.matrix.data + at,
                              (char *)whole.c.matrix.data + at,
                              (size_t)p->n * size) == 0;
    }
    free_operands(&o);
    host_area_finish(&whole.c);
    return same;
}

static void thin_products_have_the_bits_of_others(void)
{
    for (uint32_t v = 0; hri_builtin_variant_at(v) != NULL; v++) {
        const hri_builtin_variant *variant = hri_builtin_variant_at(v);
        TEST_CASE(variant->name);
        for (int64_t i = 0; i < PAIRS * 24; i++) {
            const problem p = draw_thin(i);
            if (!CHECK(has_the_same_bits(variant, &p))) {
                fprintf(stderr, "%s to %s, %lldx%lldx%lld\n",
                        hr_type_name(p.type), hr_type_name(p.c_type),
                        (long long)p.m, (long long)p.n, (long long)p.k);
            }
        }
    }
}

static atomic_llong packed;

static void count_pack(const hri_builtin_panel *panel)
{
    atomic_fetch_add(&packed, panel->panel_width * panel->depth);
    hri_builtin_variant_at(0)->pack(panel);
}

/* Elements that are packed for each of the operands'. */
static const struct {
    const char *name;
    int64_t m, n, k;
    bool a_transposed, b_transposed;
} packed_shapes[] = {
    {"a dot product", 1, 1, 65536, false, false},
    {"matrix times vector", 1000, 1, 200, false, false},
    {"matrix by columns times vector", 1000, 1, 200, true, false},
    {"vector times matrix", 1, 1000, 200, false, false},
    {"vector times matrix by columns", 1, 1000, 200, false, true},
    {"eight rows", 8, 800, 200, false, false},
    {"four columns", 800, 4, 200, false, false},
    {"all of k", 8, 8, 65536, true, false},
};

static void nothing_is_packed_twice(void)
{
    hri_builtin_variant counting = *hri_builtin_variant_at(0);
    counting.pack = count_pack;
    for (size_t i = 0; i < sizeof packed_shapes / sizeof packed_shapes[0];
         i++) {
        TEST_CASE(packed_shapes[i].name);
        for (int j = 0; j < PAIRS; j++) {
            const problem p = {.type = pairs[j].ab,
                               .c_type = pairs[j].c,
                               .m = packed_shapes[i].m,
                               .n = packed_shapes[i].n,
                               .k = packed_shapes[i].k,
                               .a_transposed = packed_shapes[i].a_transposed,
                               .b_transposed = packed_shapes[i].b_transposed,
                               .alpha = hr_real(1)};
            operands o = make_operands(&p);
            atomic_store(&packed, 0);
            CHECK(multiply_part(&counting, &p, &o, p.m, p.n) == HR_OK);
            /* a tenth more, for the last group of lanes */
            CHECK(10 * atomic_load(&packed) <= 11 * (p.m + p.n) * p.k);
            free_operands(&o);
        }
    }
}

/* ---- what cannot be multiplied */

/* What a CBLAS has no words for is not even tried: the functions are NULL. */
static void what_cblas_cannot_say_is_declined(void)
{
    const int64_t huge = (int64_t)INT_MAX + 1;
    const struct {
        const char *name;
        hr_type type;
        bool conjugate;
        int64_t m, n, k;
        int64_t a_row, a_col, b_row, c_row;
    } rows[] = {
        {"f16", HR_F16, false, 2, 2, 2, 2, 1, 2, 2},
        {"bf16", HR_BF16, false, 2, 2, 2, 2, 1, 2, 2},
        {"i8", HR_I8, false, 2, 2, 2, 2, 1, 2, 2},
        {"conjugate, not transposed", HR_C32, true, 2, 2, 2, 2, 1, 2, 2},
        {"m beyond int", HR_F32, false, huge, 2, 2, 2, 1, 2, 2},
        {"n beyond int", HR_F32, false, 2, huge, 2, 2, 1, huge, huge},
        {"k beyond int", HR_F32, false, 2, 2, huge, huge, 1, 2, 2},
        {"lda beyond int", HR_F32, false, 2, 2, 2, huge, 1, 2, 2},
        {"lda beyond int, transposed", HR_F32, false, 2, 2, 2, 1, huge, 2, 2},
        {"ldb beyond int", HR_F32, false, 2, 2, 2, 2, 1, huge, 2},
        {"ldc beyond int", HR_F32, false, 2, 2, 2, 2, 1, 2, huge},
    };
    const hri_cblas nothing = {.conj_no_trans = false};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hri_gemm g = {
            .type = rows[i].type,
            .c_type = rows[i].type,
            .m = rows[i].m,
            .n = rows[i].n,
            .k = rows[i].k,
            .alpha = hr_real(1.0),
            .a = {.row_stride = rows[i].a_row, .col_stride = rows[i].a_col},
            .b = {.row_stride = rows[i].b_row, .col_stride = 1},
            .c = {.row_stride = rows[i].c_row, .col_stride = 1}};
        g.a.conjugate = rows[i].conjugate;
        TEST_CASE(rows[i].name);
        CHECK(!hri_cblas_gemm(&nothing, 2, &g));
    }
}

/* The linker sends the library's aligned_alloc here. */
static int allocations_left = INT_MAX;
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return allocations_left-- > 0 ? __real_aligned_alloc(alignment, bytes)
                                  : NULL;
}

/* How many buffers a product takes. C in f16 and bf16 takes one more, where k
 * has several slices. There are partial sums where groups of lanes are fewer
 * than 12; of c64 they have two, where vectors have 16 bytes. */
static const struct {
    const char *name;
    int64_t m, n, k;
    int buffers, half_buffers, i8_buffers;
} shapes[] = {
    {"no memory to pack", 9, 9, 9, 2, 2, 2},
    {"several slices", 9, 9, 600, 2, 3, 2},
    {"lanes", 40, 1, 600, 1, 2, 0},
    {"lanes and partial sums", 20, 8, 20000, 2, 3, 1},
    {"both sides short", 2, 3, 600, 1, 2, 1},
};

static int buffers_of(size_t shape, hr_type c_type)
{
    return c_type == HR_I32                        ? shapes[shape].i8_buffers
           : c_type == HR_F16 || c_type == HR_BF16 ? shapes[shape].half_buffers
                                                   : shapes[shape].buffers;
}

static void without_memory_to_pack_into_c_is_untouched(void)
{
    for (size_t i = 0; i < PAIRS * sizeof shapes / sizeof shapes[0]; i++) {
        const size_t shape = i / PAIRS;
        const problem p = {.type = pairs[i % PAIRS].ab,
                           .c_type = pairs[i % PAIRS].c,
                           .m = shapes[shape].m,
                           .n = shapes[shape].n,
                           .k = shapes[shape].k,
                           .alpha = hr_real(1.0),
                           .beta = hr_real(1.0)};
        TEST_CASE(shapes[shape].name);
        operands o = make_operands(&p);
        host_area old = copy_area(&o.c);
        const reference_problem r = reference_of(&p, &o);
        hri_gemm g = host_gemm_of(&r);
        const int buffers = buffers_of(shape, p.c_type);
        for (int allowed = 0; allowed <= buffers; allowed++) {
            allocations_left = allowed;
            hr_status status = hri_host_gemm_builtin(all.pool, &g);
            allocations_left = INT_MAX;
            if (allowed == buffers) {
                CHECK(status == HR_OK);
                continue;
            }
            CHECK(status == HR_ERROR_OUT_OF_MEMORY);
            CHECK(strstr(hr_last_error(), "bytes") != NULL);
            CHECK(memcmp(old.memory, o.c.memory, old.bytes) == 0);
        }
        free_operands(&o);
        host_area_finish(&old);
    }
}

int main(void)
{
    TEST_CASE("what is here can be used");
    if (!CHECK(host_engines_init(&all))) {
        return test_end();
    }
    if (!TEST_TSAN) { /* it does not know how threads of a CBLAS wait */
        TEST(random_problems_are_within_the_bound());
        TEST(large_problems_are_within_the_bound());
    }
    TEST(beta_zero_never_reads_c());
    TEST(special_values_propagate());
    TEST(nothing_to_multiply_only_scales());
    TEST(strides_of_vectors_may_be_odd());
    TEST(thin_products_have_the_bits_of_others());
    TEST(nothing_is_packed_twice());
    TEST(what_cblas_cannot_say_is_declined());
    TEST(without_memory_to_pack_into_c_is_untouched());
    host_engines_finish(&all);
    return test_end();
}
