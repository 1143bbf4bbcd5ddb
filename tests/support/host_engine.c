/* SPDX-License-Identifier: MIT */
#include "support/host_engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/arithmetic.h"
#include "test.h"

/* ---- the engines */

/* Open a CBLAS as the next engine, unless it was found under another name. */
static bool add_cblas(host_engines *all, const char *library)
{
    host_engine *e = &all->engines[all->count];
    *e = (host_engine){.use_cblas = true};
    if (dlopen(library, RTLD_LAZY | RTLD_LOCAL) == NULL) {
        test_note("not here, not tested: %s\n", library);
        return true;
    }
    if (hri_cblas_open(library, true, &e->cblas) != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
        return false;
    }
    memcpy(e->name, e->cblas.name, sizeof e->cblas.name);
    bool again = false;
    for (int i = 0; i < all->count; i++) {
        again = again || strcmp(e->name, all->engines[i].name) == 0;
    }
    all->count += again ? 0 : 1;
    return true;
}

bool host_engines_init(host_engines *all)
{
    static const char *const libraries[] = {"libopenblas.so.0", "libblis.so.4",
                                            "libmkl_rt.so.2", "libblas.so.3"};
    *all = (host_engines){.count = 1};
    snprintf(all->engines[0].name, sizeof all->engines[0].name,
             "the choice: %s", hri_host_arithmetic_name());
    for (uint32_t i = 0; hri_builtin_variant_at(i) != NULL; i++) {
        host_engine *e = &all->engines[all->count++];
        e->variant = hri_builtin_variant_at(i);
        snprintf(e->name, sizeof e->name, "built-in %s", e->variant->name);
    }
    bool usable = hri_pool_create(3, &all->pool) == HR_OK;
    /* ThreadSanitizer cannot see how threads of a vendor's library wait. */
    const int count = TEST_TSAN ? 0 : 4;
    for (int i = 0; i < count && all->count < HOST_ENGINES; i++) {
        usable = add_cblas(all, libraries[i]) && usable;
    }
    for (int i = 0; i < all->count; i++) {
        test_note("testing %s\n", all->engines[i].name);
    }
    return usable;
}

void host_engines_finish(host_engines *all)
{
    hri_pool_destroy(all->pool);
}

hr_status host_engine_run(host_engines *all, int index, const hri_gemm *gemm)
{
    host_engine *e = &all->engines[index];
    bool empty = gemm->m == 0 || gemm->n == 0 || gemm->k == 0 ||
                 (gemm->alpha.re == 0.0 && gemm->alpha.im == 0.0);
    if (e->variant != NULL) {
        return hri_builtin_gemm(e->variant, all->pool, gemm);
    }
    if (!e->use_cblas) {
        return hri_host_gemm(all->pool, gemm);
    }
    if (!empty && hri_cblas_gemm(&e->cblas, 2, gemm)) {
        e->expressed++;
        return HR_OK;
    }
    return hri_host_gemm_builtin(all->pool, gemm);
}

/* ---- areas */

static void *allocate_bytes(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

host_area host_area_make(random_source *source, hr_type type, int64_t rows,
                         int64_t cols, bool transposed, int64_t padding)
{
    int64_t length = (transposed ? rows : cols) + padding;
    int64_t runs = transposed ? cols : rows;
    size_t size = hr_type_size(type), margin = 3 * size;
    host_area x = {.bytes = (size_t)(length * runs) * size + 2 * margin};
    x.memory = allocate_bytes(x.bytes);
    memset(x.memory, 0xff, x.bytes);
    length = length > 0 ? length : 1;
    x.matrix = transposed ? hr_matrix_column_major(x.memory + margin, type,
                                                   rows, cols, length)
                          : hr_matrix_row_major(x.memory + margin, type, rows,
                                                cols, length);
    random_fill_matrix(source, &x.matrix);
    return x;
}

void host_area_finish(host_area *area)
{
    free(area->memory);
}

static void poison_elements(const hr_matrix *m)
{
    size_t size = hr_type_size(m->type);
    for (int64_t i = 0; i < m->rows; i++) {
        memset((char *)m->data + (size_t)(i * m->row_stride) * size, 0xff,
               (size_t)m->cols * size);
    }
}

/* Whether memory differs from before only in elements of c. */
static bool only_elements_changed(const host_area *c, unsigned char *before)
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

/* ---- products */

static hri_operand operand_of(const hr_matrix *m)
{
    return (hri_operand){hri_at_host(m->data, 0), m->row_stride, m->col_stride,
                         m->conjugate};
}

hri_gemm host_gemm_of(const reference_problem *problem)
{
    return (hri_gemm){
        .type = problem->a.type,
        .c_type = problem->c.type,
        .m = problem->c.rows,
        .n = problem->c.cols,
        .k = problem->a.cols,
        .alpha = problem->alpha,
        .beta = problem->beta,
        .a = operand_of(&problem->a),
        .b = operand_of(&problem->b),
        .c = operand_of(&problem->c),
    };
}

static void print_product(const host_engine *e, const reference_problem *p,
                          const char *what)
{
    fprintf(stderr,
            "%s, %s to %s, %lldx%lldx%lld, A %lld,%lld%s B %lld,%lld%s, alpha "
            "%g%+gi beta %g%+gi: %s\n",
            e->name, hr_type_name(p->a.type), hr_type_name(p->c.type),
            (long long)p->c.rows, (long long)p->c.cols, (long long)p->a.cols,
            (long long)p->a.row_stride, (long long)p->a.col_stride,
            p->a.conjugate ? "*" : "", (long long)p->b.row_stride,
            (long long)p->b.col_stride, p->b.conjugate ? "*" : "", p->alpha.re,
            p->alpha.im, p->beta.re, p->beta.im, what);
}

/* Whether the product of one engine is right. c had the bytes `before`. */
static bool is_right(host_engines *all, int index, const reference_problem *p,
                     const reference *want, const host_area *c,
                     unsigned char *before)
{
    const host_engine *e = &all->engines[index];
    char text[256];
    reference_miss miss;
    hri_gemm g = host_gemm_of(p);
    if (host_engine_run(all, index, &g) != HR_OK) {
        print_product(e, p, hr_last_error());
        return false;
    }
    if (reference_compare(want, &c->matrix, &miss) != 0) {
        reference_describe(&miss, text, sizeof text);
        print_product(e, p, text);
        return false;
    }
    if (!only_elements_changed(c, before)) {
        print_product(e, p, "something beside C has changed");
        return false;
    }
    return true;
}

bool host_engines_are_right(host_engines *all, const reference_problem *problem,
                            host_area *c)
{
    unsigned char *old = allocate_bytes(c->bytes),
                  *before = allocate_bytes(c->bytes);
    memcpy(old, c->memory, c->bytes);
    reference want;
    bool there = reference_init(&want, problem), right = there;
    for (int i = 0; i < all->count && there; i++) {
        if (problem->beta.re == 0.0 && problem->beta.im == 0.0) {
            poison_elements(&c->matrix);
        }
        memcpy(before, c->memory, c->bytes);
        right = is_right(all, i, problem, &want, c, before) && right;
        memcpy(c->memory, old, c->bytes);
    }
    if (there) {
        reference_finish(&want);
    }
    free(old);
    free(before);
    return right;
}
