/* SPDX-License-Identifier: MIT */
/* The family of multiplication kernels on the accelerators of argv[1], for odd
 * extents too, within the bound of any order of summation [Higham2002]; and the
 * transposition, of whole matrices and of a section. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "base/size.h"
#include "support/random.h"
#include "test.h"

extern const hr_kernel matmul_sequential, matmul_naive, matmul_row_tile,
    matmul_subgroup, matmul_tiled, matmul_blocked, transpose_blocked;

static const struct {
    const char *name;
    const hr_kernel *kernel;
    int64_t tile[2]; /* items; 0: the library chooses */
    int64_t own[2];  /* elements of C of an item; 0: all */
    size_t per_item; /* bytes of memory of the tile for each column */
} variants[] = {
    {"sequential", &matmul_sequential, {0, 0}, {0, 0}, 0},
    {"naive", &matmul_naive, {0, 0}, {1, 1}, 0},
    {"naive in tiles of 3 x 5", &matmul_naive, {3, 5}, {1, 1}, 0},
    {"row tile of 64", &matmul_row_tile, {1, 64}, {1, 1}, sizeof(float)},
    {"row tile of 7", &matmul_row_tile, {1, 7}, {1, 1}, sizeof(float)},
    {"sub-groups in tiles of 8 x 32", &matmul_subgroup, {8, 32}, {1, 1}, 0},
    {"sub-groups in tiles of 64", &matmul_subgroup, {1, 64}, {1, 1}, 0},
    {"sub-groups in tiles of 50", &matmul_subgroup, {1, 50}, {1, 1}, 0},
    {"sub-groups in tiles of 3", &matmul_subgroup, {1, 3}, {1, 1}, 0},
    {"tiled", &matmul_tiled, {16, 16}, {1, 1}, 0},
    {"blocked in registers", &matmul_blocked, {16, 8}, {8, 16}, 0},
};

static const int64_t shapes[][3] = {
    {1, 1, 1},     {2, 3, 4},    {16, 16, 16}, {64, 64, 64},   {65, 130, 33},
    {100, 7, 129}, {1, 200, 50}, {130, 65, 1}, {128, 256, 48}, {200, 300, 77},
};

/* ThreadSanitizer takes minutes for the last two. */
enum { SHAPES = TEST_TSAN ? 8 : sizeof shapes / sizeof shapes[0] };

static float *make_numbers(random_source *random, int64_t count)
{
    float *data = calloc((size_t)count, sizeof *data);
    for (int64_t i = 0; i < count && random != NULL; i++) {
        data[i] = (float)random_unit(random);
    }
    return data;
}

/* Every element within gamma_k |A||B| of the exact one. */
static int is_product(const float *a, const float *b, const float *c, int64_t m,
                      int64_t n, int64_t k)
{
    const double u = FLT_EPSILON / 2;
    const double gamma = (double)k * u / (1 - (double)k * u);
    int ok = 1;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0.0, size = 0.0;
            for (int64_t p = 0; p < k; p++) {
                double x = (double)a[i * k + p] * b[p * n + j];
                sum += x;
                size += fabs(x);
            }
            ok = ok && fabs(c[i * n + j] - sum) <= gamma * size;
        }
    }
    return ok;
}

/* Items that cover so many elements in dimension d, in whole tiles where each
 * has several. */
static int64_t count_items(int64_t extent, size_t v, int d)
{
    const int64_t own = variants[v].own[d], tile = variants[v].tile[d];
    return own == 0   ? 1
           : own == 1 ? extent
                      : hri_ceil_div(extent, tile * own) * tile;
}

static void check_product(hr_context *context, hr_queue *queue, size_t v,
                          const int64_t shape[3], random_source *random)
{
    const int64_t m = shape[0], n = shape[1], k = shape[2];
    float *data[] = {make_numbers(random, m * k), make_numbers(random, k * n),
                     make_numbers(NULL, m * n)};
    const hr_extent extents[] = {hr_extent2(m, k), hr_extent2(k, n),
                                 hr_extent2(m, n)};
    hr_array *arrays[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        CHECK(hr_array_wrap(context, data[i], sizeof(float), extents[i], 0,
                            &arrays[i]) == HR_OK);
    }
    const hr_extent tile = hr_extent2(variants[v].tile[0], variants[v].tile[1]);
    const hr_argument arguments[] = {
        hr_in(hr_view_of(arrays[0])), hr_in(hr_view_of(arrays[1])),
        hr_out(hr_view_of(arrays[2])),
        hr_tile_bytes((size_t)tile.size[1] * variants[v].per_item)};
    const hr_extent domain =
        hr_extent2(count_items(m, v, 0), count_items(n, v, 1));
    CHECK(hr_launch(queue, variants[v].kernel, domain,
                    tile.size[0] > 0 ? &tile : NULL, arguments,
                    variants[v].per_item > 0 ? 4 : 3) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[2])) == HR_OK);
    CHECK(is_product(data[0], data[1], data[2], m, n, k));
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
        free(data[i]);
    }
}

/* The m x n elements of `from` behind (row, col), of a matrix with 3 rows and 5
 * columns more: what lies around it must not come along. */
static void check_packed(hr_context *context, hr_queue *queue, int64_t m,
                         int64_t n, random_source *random)
{
    const int64_t row = 1, col = 2, wide = n + 5;
    float *from = make_numbers(random, (m + 3) * wide);
    float *to = make_numbers(random, n * m), *want = make_numbers(NULL, n * m);
    hr_array *arrays[2] = {NULL};
    hr_view part;
    CHECK(hr_array_wrap(context, from, sizeof *from, hr_extent2(m + 3, wide), 0,
                        &arrays[0]) == HR_OK);
    CHECK(hr_array_wrap(context, to, sizeof *to, hr_extent2(n, m), 0,
                        &arrays[1]) == HR_OK);
    for (int64_t i = 0; i < m * n; i++) {
        want[i] = from[(row + i % m) * wide + col + i / m];
    }
    CHECK(hr_view_section(hr_view_of(arrays[0]), (int64_t[]){row, col},
                          hr_extent2(m, n), &part) == HR_OK);
    const hr_extent tile = hr_extent2(4, 32);
    const hr_argument arguments[] = {hr_in(part),
                                     hr_out(hr_view_of(arrays[1]))};
    const hr_extent domain =
        hr_extent2(hri_ceil_div(m, 32) * 4, hri_ceil_div(n, 32) * 32);
    CHECK(hr_launch(queue, &transpose_blocked, domain, &tile, arguments, 2) ==
          HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(memcmp(to, want, (size_t)(m * n) * sizeof *to) == 0);
    for (int i = 0; i < 2; i++) {
        hr_array_destroy(arrays[i]);
    }
    free(from);
    free(to);
    free(want);
}

int main(int count, char **arguments)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    random_source random = {17};
    options.accelerators = count > 1 ? arguments[1] : "host";
    if (!test_open(&options, &context)) {
        return test_end();
    }
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        hr_queue *queue = NULL;
        CHECK(hr_queue_create(context, i, &queue) == HR_OK);
        for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
            TEST_CASE(variants[v].name);
            for (int s = 0; s < SHAPES; s++) {
                TEST(check_product(context, queue, v, shapes[s], &random));
            }
        }
        TEST_CASE("transposition");
        for (int s = 0; s < SHAPES; s++) {
            TEST(check_packed(context, queue, shapes[s][0], shapes[s][1],
                              &random));
            TEST(check_packed(context, queue, shapes[s][2] + 1,
                              shapes[s][1] * 3, &random));
        }
        hr_queue_destroy(queue);
    }
    hr_context_destroy(context);
    return test_end();
}
