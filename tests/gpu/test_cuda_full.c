/* SPDX-License-Identifier: MIT */
/* A GPU with its memory filled by others. Products on it fail with a message or
 * go elsewhere, and work again when there is room. */
#include <math.h>

#include "backends/cuda/cuda.h"
#include "support/conformance.h"
#include "support/random.h"

enum { SIZE = 700, DEPTH = 30, MAX_PIECES = 4096 };

/* The filling: another user of the same GPU. */
typedef struct filling {
    hri_device *device;
    hri_buffer *pieces[MAX_PIECES];
    int count;
} filling;

/* Take all of it but less than 64 KiB. */
static void fill_memory(filling *f)
{
    size_t bytes = (size_t)16 << 30;
    while (bytes >= 1 << 16 && f->count < MAX_PIECES) {
        hri_buffer **piece = &f->pieces[f->count];
        if (f->device->ops->allocate(f->device, bytes, piece) == HR_OK) {
            f->count++;
        } else {
            bytes /= 2;
        }
    }
    CHECK(f->count > 0 && f->count < MAX_PIECES);
}

static void empty_memory(filling *f)
{
    while (f->count > 0) {
        f->device->ops->release(f->pieces[--f->count]);
    }
}

typedef struct operands {
    hr_matrix a, b, c;
} operands;

static hr_matrix make_matrix(int64_t rows, int64_t cols, random_source *random)
{
    void *data = conformance_memory((size_t)(rows * cols) * sizeof(float));
    hr_matrix m = hr_matrix_row_major(data, HR_F32, rows, cols, 0);
    random_fill_matrix(random, &m);
    return m;
}

static hr_status multiply_operands(hr_context *context, const operands *o)
{
    memset(o->c.data, 0xff, SIZE * SIZE * sizeof(float));
    return hr_gemm(context, hr_real(1), o->a, o->b, hr_real(0), o->c, NULL);
}

/* Some elements of C against sums in double. */
static bool is_product(const operands *o)
{
    const float *a = o->a.data, *b = o->b.data, *c = o->c.data;
    for (int i = 0; i < SIZE; i += 37) {
        for (int j = 0; j < SIZE; j += 41) {
            double sum = 0;
            for (int p = 0; p < DEPTH; p++) {
                sum += (double)a[i * DEPTH + p] * b[p * SIZE + j];
            }
            if (!(fabs(c[i * SIZE + j] - sum) < 1e-4)) {
                return false;
            }
        }
    }
    return true;
}

static void check_sentence(void)
{
    const char *error = hr_last_error();
    CHECK(strchr(error, '\n') == NULL && strlen(error) > 20);
    printf("%s\n", error);
}

static void fill_before_context(filling *f, const operands *o)
{
    TEST_CASE("full when the context is made: refused with the numbers");
    fill_memory(f);
    hr_context *context = test_context("cuda:0", 0);
    if (context != NULL) {
        CHECK_FAILS(multiply_operands(context, o), HR_ERROR_OUT_OF_MEMORY,
                    "bytes");
        check_sentence();
        hr_context_destroy(context);
    }
    TEST_CASE("full when the context is made: the host works alone");
    context = test_context("cuda:0,host", 0);
    if (context != NULL) {
        CHECK(multiply_operands(context, o) == HR_OK);
        CHECK(is_product(o));
        hr_context_destroy(context);
    }
    empty_memory(f);
}

static void fill_after_context(filling *f, const operands *o)
{
    TEST_CASE("full after the context was made: one sentence");
    hr_context *context = test_context("cuda:0", 0);
    if (context == NULL) {
        return;
    }
    fill_memory(f);
    CHECK(multiply_operands(context, o) == HR_ERROR_OUT_OF_MEMORY);
    check_sentence();
    TEST_CASE("and again");
    CHECK(multiply_operands(context, o) == HR_ERROR_OUT_OF_MEMORY);
    empty_memory(f);
    TEST_CASE("room again: the context works");
    CHECK(multiply_operands(context, o) == HR_OK);
    CHECK(is_product(o));
    TEST_CASE("full between two products: what is held already does");
    fill_memory(f);
    CHECK(multiply_operands(context, o) == HR_OK);
    CHECK(is_product(o));
    empty_memory(f);
    hr_context_destroy(context);
}

int main(void)
{
    static filling f;
    uint32_t count = 0;
    random_source random = {11};
    if (hri_backend_cuda.probe(&count) != HR_OK || count == 0) {
        return test_skip(hr_last_error());
    }
    conformance_must(hri_backend_cuda.open(0, 2, &f.device), "open");
    operands o = {make_matrix(SIZE, DEPTH, &random),
                  make_matrix(DEPTH, SIZE, &random),
                  make_matrix(SIZE, SIZE, &random)};
    TEST(fill_before_context(&f, &o));
    TEST(fill_after_context(&f, &o));
    free(o.a.data);
    free(o.b.data);
    free(o.c.data);
    f.device->ops->close(f.device);
    return test_end();
}
