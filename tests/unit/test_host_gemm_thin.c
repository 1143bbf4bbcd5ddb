/* SPDX-License-Identifier: MIT */
/* The built-in multiplication of thin matrices: an element has the same bits as
 * in a product that is not thin, and what is packed is no more than what is
 * there. */
#include <stdatomic.h>

#include "support/host_engine.h"
#include "support/pairs.h"
#include "test.h"

static random_source numbers = {18};
static hri_pool *pool;

/* ---- bits */

enum { WIDE = HRI_BUILTIN_THIN + 1 }; /* products from here on are not thin */

typedef struct problem {
    hr_type type, c_type;
    int64_t m, n, k;
    bool a_transposed, b_transposed, a_conjugate, b_conjugate;
    int64_t padding;
    hr_scalar alpha, beta;
} problem;

static bool flip(void)
{
    return random_between(&numbers, 0, 1) == 1;
}

static hr_scalar draw_scalar(const problem *p)
{
    static const double plain[] = {0, 1, -1};
    const int64_t kind = random_between(&numbers, 0, 4);
    if (kind < 3) {
        return hr_real(plain[kind]);
    }
    return p->type == HR_I8      ? hr_real((double)(kind * 1234567))
           : is_complex(p->type) ? hr_complex(1.25, random_unit(&numbers))
                                 : hr_real(3.0 * random_unit(&numbers));
}

static problem draw_problem(int64_t index)
{
    static const int64_t depths[] = {1,   2,   31,  64,   65,   255,
                                     257, 511, 513, 1024, 1500, 20000};
    problem p = {.type = pairs[index % PAIRS].ab,
                 .c_type = pairs[index % PAIRS].c,
                 .m = random_between(&numbers, 1, HRI_BUILTIN_THIN),
                 .n = random_between(&numbers, 1, HRI_BUILTIN_THIN),
                 .k = depths[index / PAIRS % 12],
                 .a_transposed = flip(),
                 .b_transposed = flip(),
                 .padding = flip() ? random_between(&numbers, 1, 9) : 0};
    if (flip()) {
        *(flip() ? &p.m : &p.n) = random_between(&numbers, WIDE, 70);
    }
    p.a_conjugate = is_complex(p.type) && flip();
    p.b_conjugate = is_complex(p.type) && flip();
    p.alpha = draw_scalar(&p);
    p.beta = draw_scalar(&p);
    return p;
}

static hr_status multiply(const hri_builtin_variant *variant, const problem *p,
                          const host_area *a, const host_area *b,
                          const host_area *c, int64_t m, int64_t n)
{
    reference_problem r = {p->alpha, p->beta, a->matrix, b->matrix, c->matrix};
    r.a.conjugate = p->a_conjugate;
    r.b.conjugate = p->b_conjugate;
    hri_gemm g = host_gemm_of(&r);
    g.m = m;
    g.n = n;
    return hri_builtin_gemm(variant, pool, &g);
}

/* The same rows and columns as a part of a product that is not thin. */
static bool has_the_same_bits(const hri_builtin_variant *variant,
                              const problem *p)
{
    const int64_t m = p->m < WIDE ? WIDE : p->m, n = p->n < WIDE ? WIDE : p->n;
    host_area a =
        host_area_make(&numbers, p->type, m, p->k, p->a_transposed, p->padding);
    host_area b =
        host_area_make(&numbers, p->type, p->k, n, p->b_transposed, p->padding);
    host_area c = host_area_make(&numbers, p->c_type, m, n, false, p->padding);
    host_area whole = c;
    whole.memory = malloc(c.bytes);
    if (whole.memory == NULL) {
        abort();
    }
    memcpy(whole.memory, c.memory, c.bytes);
    whole.matrix.data =
        whole.memory + ((unsigned char *)c.matrix.data - c.memory);
    bool same = multiply(variant, p, &a, &b, &c, p->m, p->n) == HR_OK &&
                multiply(variant, p, &a, &b, &whole, m, n) == HR_OK;
    const size_t size = hr_type_size(p->c_type);
    for (int64_t i = 0; i < p->m; i++) {
        const size_t at = (size_t)(i * c.matrix.row_stride) * size;
        same = same &&
               memcmp((char *)c.matrix.data + at,
                      (char *)whole.matrix.data + at, (size_t)p->n * size) == 0;
    }
    host_area_finish(&a);
    host_area_finish(&b);
    host_area_finish(&c);
    host_area_finish(&whole);
    return same;
}

static void thin_products_have_the_bits_of_others(void)
{
    for (uint32_t v = 0; hri_builtin_variant_at(v) != NULL; v++) {
        const hri_builtin_variant *variant = hri_builtin_variant_at(v);
        TEST_CASE(variant->name);
        for (int64_t i = 0; i < PAIRS * 24; i++) {
            const problem p = draw_problem(i);
            if (!CHECK(has_the_same_bits(variant, &p))) {
                fprintf(stderr, "%s to %s, %lldx%lldx%lld\n",
                        hr_type_name(p.type), hr_type_name(p.c_type),
                        (long long)p.m, (long long)p.n, (long long)p.k);
            }
        }
    }
}

/* ---- what is packed */

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
} shapes[] = {
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
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        TEST_CASE(shapes[i].name);
        for (int j = 0; j < PAIRS; j++) {
            const problem p = {.type = pairs[j].ab,
                               .c_type = pairs[j].c,
                               .alpha = hr_real(1),
                               .beta = hr_real(0)};
            const int64_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
            host_area a = host_area_make(&numbers, p.type, m, k,
                                         shapes[i].a_transposed, 0);
            host_area b = host_area_make(&numbers, p.type, k, n,
                                         shapes[i].b_transposed, 0);
            host_area c = host_area_make(&numbers, p.c_type, m, n, false, 0);
            atomic_store(&packed, 0);
            CHECK(multiply(&counting, &p, &a, &b, &c, m, n) == HR_OK);
            /* a tenth more, for the last group of lanes */
            CHECK(10 * atomic_load(&packed) <= 11 * (m + n) * k);
            host_area_finish(&a);
            host_area_finish(&b);
            host_area_finish(&c);
        }
    }
}

int main(void)
{
    if (CHECK(hri_pool_create(3, &pool) == HR_OK)) {
        TEST(thin_products_have_the_bits_of_others());
        TEST(nothing_is_packed_twice());
    }
    hri_pool_destroy(pool);
    return test_end();
}
