/* SPDX-License-Identifier: MIT */
/* The engine of docs/architecture.md, as it stands there. test_scale_rows SET
 */
#include "support/told.h"
#include "test.h"

#include "engine_of_the_page.h"

/* A number of its own for each element, exact in a float. */
static float element(int64_t i)
{
    return (float)((i * 7919) % 1021 - 510);
}

static hr_status scale_all(hr_context *context, int64_t rows, int64_t cols,
                           const float *a, const float *factors, float *c)
{
    scaling *s = calloc(1, sizeof *s);
    if (s == NULL) {
        abort();
    }
    *s = (scaling){.of = {a, factors, c}, .rows = rows, .cols = cols};
    return scale(context, s);
}

static void try_size(hr_context *context, int64_t rows, int64_t cols)
{
    const size_t count = (size_t)(rows * cols);
    float *a = calloc(count + 1, sizeof *a);
    float *c = calloc(count + 1, sizeof *c);
    float *factors = calloc((size_t)rows + 1, sizeof *factors);
    int64_t wrong = 0;
    if (a == NULL || c == NULL || factors == NULL) {
        abort();
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        a[i] = element(i);
    }
    for (int64_t i = 0; i < rows; i++) {
        factors[i] = element(i + 3) / 4;
    }
    CHECK(scale_all(context, rows, cols, a, factors, c) == HR_OK);
    for (int64_t i = 0; i < rows * cols; i++) {
        wrong += c[i] != a[i] * factors[i / cols];
    }
    CHECK(wrong == 0);
    free(factors);
    free(c);
    free(a);
}

int main(int argc, char **argv)
{
    static const int64_t sizes[][2] = {
        {0, 5}, {1, 1}, {63, 5}, {64, 3}, {65, 300}, {1000, 77}, {4099, 130}};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    if (!test_open(&options, &context)) {
        return test_end();
    }
    told_patience(context);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        TEST_CASE("rows are scaled");
        try_size(context, sizes[i][0], sizes[i][1]);
    }
    uint64_t gemm = 0;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        gemm += context->accelerators[i].device->info.gemm_bytes;
    }
    hr_context_destroy(context);
    options.memory_limit = (100 << 10) + gemm; /* less than three slots of 64 x
                                                  130 */
    CHECK(hr_context_create(&options, &context) == HR_OK);
    told_patience(context);
    TEST_CASE("and where there is little memory");
    try_size(context, 4099, 130);
    hr_context_destroy(context);
    return test_end();
}
