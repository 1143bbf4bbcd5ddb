/* SPDX-License-Identifier: MIT */
/* Multiplication on the host: every variant of the built-in kernel that this
 * CPU runs, every CBLAS that is here, and what the library itself chooses, all
 * against the reference. */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>

#include "backends/host/arithmetic.h"
#include "backends/host/builtin.h"
#include "backends/host/cblas.h"
#include "support/random.h"
#include "support/reference.h"
#include "test.h"

/* What multiplies: a variant, a CBLAS, or neither, the library's choice. */
typedef struct engine {
    char name[100];
    const hri_builtin_variant *variant;
    hri_cblas cblas;
    bool use_cblas;
    long expressed; /* products that the CBLAS had words for */
} engine;

typedef struct kind {
    const char *name;
    hr_type type, c_type;
} kind;

static const kind kinds[] = {
    {"f32", HR_F32, HR_F32},
    {"f64", HR_F64, HR_F64},
    {"c32", HR_C32, HR_C32},
    {"c64", HR_C64, HR_C64},
    {"f16 to f16", HR_F16, HR_F16},
    {"f16 to f32", HR_F16, HR_F32},
    {"bf16 to bf16", HR_BF16, HR_BF16},
    {"bf16 to f32", HR_BF16, HR_F32},
    {"i8 to i32", HR_I8, HR_I32},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* A product to be made. */
typedef struct problem {
    kind kind;
    int64_t m, n, k;
    bool a_transposed, b_transposed, a_conjugate, b_conjugate;
    int64_t padding; /* elements between runs */
    hr_scalar alpha, beta;
} problem;

static hri_pool *pool;
static random_source numbers = {1};

static bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

static hri_operand operand(const hr_matrix *m)
{
    return (hri_operand){hri_at_host(m->data, 0), m->row_stride, m->col_stride,
                         m->conjugate};
}

static hri_gemm gemm_of(const reference_problem *p)
{
    return (hri_gemm){
        .type = p->a.type,
        .c_type = p->c.type,
        .m = p->c.rows,
        .n = p->c.cols,
        .k = p->a.cols,
        .alpha = p->alpha,
        .beta = p->beta,
        .a = operand(&p->a),
        .b = operand(&p->b),
        .c = operand(&p->c),
    };
}

static hr_status run(engine *e, const hri_gemm *g)
{
    bool empty = g->m == 0 || g->n == 0 || g->k == 0 ||
                 (g->alpha.re == 0.0 && g->alpha.im == 0.0);
    if (e->variant != NULL) {
        return hri_builtin_gemm(e->variant, pool, g);
    }
    if (!e->use_cblas) {
        return hri_host_gemm(pool, g);
    }
    if (!empty && hri_cblas_gemm(&e->cblas, g)) {
        e->expressed++;
        return HR_OK;
    }
    return hri_host_gemm_builtin(pool, g);
}

/* Memory in which everything between the elements is poison: NaN (all bits
 * set), which would show in the result if it were read. */
typedef struct area {
    unsigned char *memory;
    size_t bytes;
    hr_matrix matrix;
} area;

static area area_make(hr_type type, int64_t rows, int64_t cols, bool transposed,
                      int64_t padding)
{
    int64_t length = (transposed ? rows : cols) + padding;
    int64_t runs = transposed ? cols : rows;
    size_t size = hr_type_size(type), margin = 3 * size;
    area x = {.bytes = (size_t)(length * runs) * size + 2 * margin};
    x.memory = malloc(x.bytes);
    if (x.memory == NULL) {
        abort();
    }
    memset(x.memory, 0xff, x.bytes);
    length = length > 0 ? length : 1;
    x.matrix = transposed ? hr_matrix_column_major(x.memory + margin, type,
                                                   rows, cols, length)
                          : hr_matrix_row_major(x.memory + margin, type, rows,
                                                cols, length);
    random_fill_matrix(&numbers, &x.matrix);
    return x;
}

static void poison(const hr_matrix *m)
{
    size_t size = hr_type_size(m->type);
    for (int64_t i = 0; i < m->rows; i++) {
        memset((char *)m->data + (size_t)(i * m->row_stride) * size, 0xff,
               (size_t)m->cols * size);
    }
}

/* Whether only elements of c differ between memory and before. */
static bool only_elements_changed(const area *c, unsigned char *before)
{
    const hr_matrix *m = &c->matrix;
    size_t size = hr_type_size(m->type);
    for (int64_t i = 0; i < m->rows; i++) {
        size_t at = (size_t)((unsigned char *)m->data - c->memory) +
                    (size_t)(i * m->row_stride) * size;
        memcpy(before + at, c->memory + at, (size_t)m->cols * size);
    }
    return memcmp(before, c->memory, c->bytes) == 0;
}

static void report(const engine *e, const problem *p,
                   const reference_miss *miss)
{
    char text[256];
    reference_describe(miss, text, sizeof text);
    fprintf(stderr,
            "%s, %s, %lldx%lldx%lld, A%s%s B%s%s, alpha %g%+gi beta %g%+gi: "
            "%s\n",
            e->name, p->kind.name, (long long)p->m, (long long)p->n,
            (long long)p->k, p->a_transposed ? "'" : "",
            p->a_conjugate ? "*" : "", p->b_transposed ? "'" : "",
            p->b_conjugate ? "*" : "", p->alpha.re, p->alpha.im, p->beta.re,
            p->beta.im, text);
}

/* Make the product with one engine; C starts as *c, which comes back as was. */
static void check_engine(engine *e, const problem *p,
                         const reference_problem *r, const reference *want,
                         area *c)
{
    unsigned char *old = malloc(c->bytes), *before = malloc(c->bytes);
    if (old == NULL || before == NULL) {
        abort();
    }
    memcpy(old, c->memory, c->bytes);
    if (p->beta.re == 0.0 && p->beta.im == 0.0) {
        poison(&c->matrix);
    }
    memcpy(before, c->memory, c->bytes);
    hri_gemm g = gemm_of(r);
    reference_miss miss;
    CHECK(run(e, &g) == HR_OK);
    if (!CHECK(reference_compare(want, &c->matrix, &miss) == 0)) {
        report(e, p, &miss);
    }
    if (!CHECK(only_elements_changed(c, before))) {
        fprintf(stderr, "%s, %s, %lldx%lldx%lld\n", e->name, p->kind.name,
                (long long)p->m, (long long)p->n, (long long)p->k);
    }
    memcpy(c->memory, old, c->bytes);
    free(old);
    free(before);
}

static void check_problem(engine *engines, int count, const problem *p)
{
    area a = area_make(p->kind.type, p->m, p->k, p->a_transposed, p->padding);
    area b = area_make(p->kind.type, p->k, p->n, p->b_transposed, p->padding);
    area c = area_make(p->kind.c_type, p->m, p->n, false, p->padding);
    reference_problem r = {p->alpha, p->beta, a.matrix, b.matrix, c.matrix};
    r.a.conjugate = p->a_conjugate;
    r.b.conjugate = p->b_conjugate;
    reference want;
    if (CHECK(reference_init(&want, &r))) {
        for (int i = 0; i < count; i++) {
            check_engine(&engines[i], p, &r, &want, &c);
        }
        reference_finish(&want);
    }
    free(a.memory);
    free(b.memory);
    free(c.memory);
}

static bool flip(void)
{
    return random_between(&numbers, 0, 1) == 1;
}

/* 0, 1, -1 or anything; whole numbers where the type wants them. */
static hr_scalar draw_scalar(kind t)
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
    if (t.c_type == HR_I32) {
        return hr_real((double)random_between(&numbers, -1000000, 1000000));
    }
    double re = 3.0 * random_unit(&numbers);
    return is_complex(t.type) ? hr_complex(re, random_unit(&numbers))
                              : hr_real(re);
}

static int64_t draw_extent(void)
{
    static const int64_t extents[] = {0,  1,  2,  3,  5,  6,  7,  8,  11,
                                      12, 13, 16, 17, 24, 31, 32, 33, 65};
    int64_t last = (int64_t)(sizeof extents / sizeof extents[0]) - 1;
    return extents[random_between(&numbers, 0, last)];
}

static problem draw_problem(int64_t index)
{
    problem p = {.kind = kinds[index % KINDS],
                 .m = draw_extent(),
                 .n = draw_extent(),
                 .k = draw_extent(),
                 .a_transposed = flip(),
                 .b_transposed = flip(),
                 .padding = flip() ? random_between(&numbers, 1, 9) : 0};
    p.a_conjugate = is_complex(p.kind.type) && flip();
    p.b_conjugate = is_complex(p.kind.type) && flip();
    p.alpha = draw_scalar(p.kind);
    p.beta = draw_scalar(p.kind);
    return p;
}

static void random_problems_are_within_the_bound(engine *engines, int count)
{
    TEST_CASE("random shapes, layouts, scalars");
    for (int64_t i = 0; i < 540; i++) {
        problem p = draw_problem(i);
        check_problem(engines, count, &p);
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

static void large_problems_are_within_the_bound(engine *engines, int count)
{
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        TEST_CASE(large[i].name);
        for (int64_t j = 0; j < KINDS; j++) {
            problem p = draw_problem(j);
            p.m = large[i].m;
            p.n = large[i].n;
            p.k = large[i].k;
            p.alpha = hr_real(-1.0);
            p.beta = hr_real(j % 2 == 0 ? 2.0 : 0.0);
            check_problem(engines, count, &p);
        }
    }
}

/* CBLAS libraries have small-matrix paths of their own. */
static void beta_zero_never_reads_c(engine *engines, int count)
{
    TEST_CASE("beta = 0 hides NaN in C at every small size");
    for (int64_t i = 0; i < 6 * 6 * 6; i++) {
        for (int j = 0; j < 4; j++) {
            problem p = {.kind = kinds[j],
                         .m = i % 6 + 1,
                         .n = i / 6 % 6 + 1,
                         .k = i / 36 + 1,
                         .a_transposed = flip(),
                         .b_transposed = flip(),
                         .alpha = hr_real(1.0)};
            check_problem(engines, count, &p);
        }
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
static void special_values_propagate(engine *engines, int count)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    TEST_CASE("NaN and infinity in A reach exactly their row");
    for (int i = 0; i < count * 3; i++) {
        float special = specials[i % 3];
        int64_t size = i % 2 == 0 ? 37 : 5;
        area a = area_make(HR_F32, size, size, false, 0);
        area b = area_make(HR_F32, size, size, false, 0);
        area c = area_make(HR_F32, size, size, false, 0);
        set_all(&a.matrix, 1.0f);
        set_all(&b.matrix, isnan(special) ? 0.0f : 2.0f);
        ((float *)a.matrix.data)[3 * size + 2] = special;
        reference_problem r = {hr_real(1.0), hr_real(0.0), a.matrix, b.matrix,
                               c.matrix};
        hri_gemm g = gemm_of(&r);
        CHECK(run(&engines[i / 3], &g) == HR_OK);
        int64_t right = 0;
        for (int64_t j = 0; j < size * size; j++) {
            float value = ((float *)c.matrix.data)[j];
            right += j / size != 3    ? isfinite(value)
                     : isnan(special) ? isnan(value)
                                      : value == special;
        }
        CHECK(right == size * size);
        free(a.memory);
        free(b.memory);
        free(c.memory);
    }
}

/* alpha = 0 and k = 0 leave A and B alone: they are not even there. */
static void nothing_to_multiply_only_scales(engine *engines, int count)
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * KINDS; i++) {
        size_t row = i / KINDS;
        problem p = {.kind = kinds[i % KINDS],
                     .m = 7,
                     .n = 131,
                     .k = rows[row].k,
                     .padding = 3,
                     .alpha = hr_real(rows[row].alpha),
                     .beta = hr_real(rows[row].beta)};
        TEST_CASE(rows[row].name);
        area c = area_make(p.kind.c_type, p.m, p.n, false, p.padding);
        reference_problem r = {
            p.alpha, p.beta,
            hr_matrix_row_major(NULL, p.kind.type, p.m, p.k, 0),
            hr_matrix_row_major(NULL, p.kind.type, p.k, p.n, 0), c.matrix};
        reference want;
        if (CHECK(reference_init(&want, &r))) {
            for (int e = 0; e < count; e++) {
                check_engine(&engines[e], &p, &r, &want, &c);
            }
            reference_finish(&want);
        }
        free(c.memory);
    }
}

/* Strides over an extent of 1 mean nothing and may be anything. */
static void strides_of_vectors_may_be_odd(engine *engines, int count)
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * KINDS; i++) {
        size_t row = i / KINDS;
        problem p = {.kind = kinds[i % KINDS],
                     .m = rows[row].m,
                     .n = rows[row].n,
                     .k = rows[row].k,
                     .alpha = hr_real(1.0),
                     .beta = hr_real(1.0)};
        TEST_CASE(rows[row].name);
        area a = area_make(p.kind.type, 40, 40, false, 1000);
        area b = area_make(p.kind.type, 40, 40, false, 1000);
        area c = area_make(p.kind.c_type, 40, 40, false, 1000);
        hr_matrix am = {a.matrix.data, p.kind.type,     false,          p.m,
                        p.k,           rows[row].a_row, rows[row].a_col};
        hr_matrix bm = {b.matrix.data, p.kind.type,     false,          p.k,
                        p.n,           rows[row].b_row, rows[row].b_col};
        hr_matrix cm = {c.matrix.data, p.kind.c_type,   false, p.m,
                        p.n,           rows[row].c_row, 1};
        random_fill_matrix(&numbers, &am);
        random_fill_matrix(&numbers, &bm);
        random_fill_matrix(&numbers, &cm);
        c.matrix = cm;
        reference_problem r = {p.alpha, p.beta, am, bm, cm};
        reference want;
        if (CHECK(reference_init(&want, &r))) {
            for (int e = 0; e < count; e++) {
                check_engine(&engines[e], &p, &r, &want, &c);
            }
            reference_finish(&want);
        }
        free(a.memory);
        free(b.memory);
        free(c.memory);
    }
}

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
        CHECK(!hri_cblas_gemm(&nothing, &g));
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

/* f16 takes three buffers, the others two. */
static void without_memory_to_pack_into_c_is_untouched(void)
{
    TEST_CASE("no memory to pack into");
    for (int i = 0; i < KINDS * 3; i++) {
        kind t = kinds[i / 3];
        area a = area_make(t.type, 9, 9, false, 0);
        area c = area_make(t.c_type, 9, 9, false, 0);
        area old = c;
        old.memory = malloc(c.bytes);
        if (old.memory == NULL) {
            abort();
        }
        memcpy(old.memory, c.memory, c.bytes);
        reference_problem r = {hr_real(1.0), hr_real(1.0), a.matrix, a.matrix,
                               c.matrix};
        hri_gemm g = gemm_of(&r);
        bool half = t.c_type == HR_F16 || t.c_type == HR_BF16;
        allocations_left = i % 3;
        hr_status status = hri_host_gemm_builtin(pool, &g);
        allocations_left = INT_MAX;
        if (i % 3 < (half ? 3 : 2)) {
            CHECK(status == HR_ERROR_OUT_OF_MEMORY);
            CHECK(strstr(hr_last_error(), "bytes") != NULL);
            CHECK(memcmp(old.memory, c.memory, c.bytes) == 0);
        } else {
            CHECK(status == HR_OK);
        }
        free(a.memory);
        free(c.memory);
        free(old.memory);
    }
}

static int find_engines(engine *engines, int most)
{
    static const char *const libraries[] = {"libopenblas.so.0", "libblis.so.4",
                                            "libmkl_rt.so.2", "libblas.so.3"};
    int count = 1;
    snprintf(engines[0].name, sizeof engines[0].name, "the choice: %s",
             hri_host_arithmetic_name());
    for (uint32_t i = 0; hri_builtin_variant_at(i) != NULL; i++) {
        engine *e = &engines[count++];
        e->variant = hri_builtin_variant_at(i);
        snprintf(e->name, sizeof e->name, "built-in %s", e->variant->name);
    }
    for (int i = 0; i < 4 && count < most; i++) {
        engine *e = &engines[count];
        if (dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL) == NULL) {
            printf("not here, not tested: %s\n", libraries[i]);
            continue;
        }
        TEST_CASE(libraries[i]);
        e->use_cblas = true;
        if (!CHECK(hri_cblas_open(libraries[i], true, &e->cblas) == HR_OK)) {
            continue;
        }
        snprintf(e->name, sizeof e->name, "%s", e->cblas.name);
        bool again = false; /* one library under two names */
        for (int j = 0; j < count; j++) {
            again |= strcmp(e->name, engines[j].name) == 0;
        }
        count += again ? 0 : 1;
    }
    return count;
}

int main(void)
{
    static engine engines[8];
    int count = find_engines(engines, 8);
    for (int i = 0; i < count; i++) {
        printf("testing %s\n", engines[i].name);
    }
    if (!CHECK(hri_pool_create(3, &pool) == HR_OK)) {
        return test_end();
    }
    random_problems_are_within_the_bound(engines, count);
    large_problems_are_within_the_bound(engines, count);
    beta_zero_never_reads_c(engines, count);
    special_values_propagate(engines, count);
    nothing_to_multiply_only_scales(engines, count);
    strides_of_vectors_may_be_odd(engines, count);
    what_cblas_cannot_say_is_declined();
    without_memory_to_pack_into_c_is_untouched();
    TEST_CASE("a CBLAS is really used");
    for (int i = 0; i < count; i++) {
        CHECK(!engines[i].use_cblas || engines[i].expressed > 500);
    }
    hri_pool_destroy(pool);
    return test_end();
}
