/* SPDX-License-Identifier: MIT */
/* Multiplication on the host that cannot be: what CBLAS has no words for, and
 * memory that is refused. */
#include <limits.h>

#include "backends/host/arithmetic.h"
#include "support/host_engine.h"
#include "support/pairs.h"
#include "test.h"

static random_source numbers = {3};
static hri_pool *pool;

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
    TEST_CASE("no memory to pack");
    for (int i = 0; i < PAIRS * 3; i++) {
        hr_type type = pairs[i / 3].ab, c_type = pairs[i / 3].c;
        host_area a = host_area_make(&numbers, type, 9, 9, false, 0);
        host_area c = host_area_make(&numbers, c_type, 9, 9, false, 0);
        host_area old = c;
        old.memory = malloc(c.bytes);
        if (old.memory == NULL) {
            abort();
        }
        memcpy(old.memory, c.memory, c.bytes);
        reference_problem r = {hr_real(1.0), hr_real(1.0), a.matrix, a.matrix,
                               c.matrix};
        hri_gemm g = host_gemm_of(&r);
        bool half = c_type == HR_F16 || c_type == HR_BF16;
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
        host_area_finish(&a);
        host_area_finish(&c);
        host_area_finish(&old);
    }
}

int main(void)
{
    TEST(what_cblas_cannot_say_is_declined());
    if (CHECK(hri_pool_create(3, &pool) == HR_OK)) {
        TEST(without_memory_to_pack_into_c_is_untouched());
    }
    hri_pool_destroy(pool);
    return test_end();
}
