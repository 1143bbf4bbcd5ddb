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
        const hr_type type = pairs[i % PAIRS].ab, c_type = pairs[i % PAIRS].c;
        const int64_t m = shapes[shape].m, n = shapes[shape].n;
        const int64_t k = shapes[shape].k;
        TEST_CASE(shapes[shape].name);
        host_area a = host_area_make(&numbers, type, m, k, false, 0);
        host_area b = host_area_make(&numbers, type, k, n, false, 0);
        host_area c = host_area_make(&numbers, c_type, m, n, false, 0);
        host_area old = c;
        old.memory = malloc(c.bytes);
        if (old.memory == NULL) {
            abort();
        }
        memcpy(old.memory, c.memory, c.bytes);
        reference_problem r = {hr_real(1.0), hr_real(1.0), a.matrix, b.matrix,
                               c.matrix};
        hri_gemm g = host_gemm_of(&r);
        const int buffers = buffers_of(shape, c_type);
        for (int allowed = 0; allowed <= buffers; allowed++) {
            allocations_left = allowed;
            hr_status status = hri_host_gemm_builtin(pool, &g);
            allocations_left = INT_MAX;
            if (allowed < buffers) {
                CHECK(status == HR_ERROR_OUT_OF_MEMORY);
                CHECK(strstr(hr_last_error(), "bytes") != NULL);
                CHECK(memcmp(old.memory, c.memory, c.bytes) == 0);
            } else {
                CHECK(status == HR_OK);
            }
        }
        host_area_finish(&a);
        host_area_finish(&b);
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
