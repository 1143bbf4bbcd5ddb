/* SPDX-License-Identifier: MIT */
/* Products on a GPU with every type, arrangement of the operands and pair of
 * factors, by cuBLAS and our kernel or (HEADRACE_CUBLAS=off) by the kernel
 * alone; tf32; integers that wrap; several queues at once; the thread's context
 * untouched; and last a fault on the device. */
#include <pthread.h>

#include "backends/cuda/cuda.h"
#include "support/conformance.h"
#include "support/product.h"
#include "support/random.h"

typedef struct pair {
    hr_type type, c_type;
} pair;

static const pair pairs[] = {
    {HR_F32, HR_F32},   {HR_F64, HR_F64},  {HR_C32, HR_C32},
    {HR_C64, HR_C64},   {HR_F16, HR_F16},  {HR_F16, HR_F32},
    {HR_BF16, HR_BF16}, {HR_BF16, HR_F32}, {HR_I8, HR_I32},
};

/* Real parts; complex types get an imaginary part with all but 0 and 1. */
static const struct {
    double alpha, beta;
} factors[] = {{1, 0}, {1, 1}, {-3, 2}, {2, 0}, {0, 2}, {0, 0}};

/* Around the tiles of the kernel: 128 x 128 x 16, 64 x 128 x 8, 32 x 64 x 4. */
static const struct {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1},      {1, 40, 9},    {40, 1, 70}, {32, 32, 8},
             {97, 129, 65},  {96, 128, 64}, {33, 31, 7}, {130, 66, 17},
             {128, 256, 32}, {7, 5, 300},   {6, 4, 0},   {300, 260, 40}};

enum {
    SIZES = sizeof sizes / sizeof sizes[0],
    FACTORS = sizeof factors / sizeof factors[0],
    PAIRS = sizeof pairs / sizeof pairs[0]
};

static bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

static hr_scalar factor(hr_type type, double re)
{
    return hr_complex(re, is_complex(type) && re != 0 && re != 1 ? 0.75 : 0);
}

static hr_status gemm(hri_queue *queue, const hri_gemm *g)
{
    return queue->ops->gemm(queue, g);
}

/* arrangement: bits for column-major A and B, and for their conjugation. */
static product product_of(const pair *types, int arrangement, size_t size,
                          size_t factors_index)
{
    return (product){
        .type = types->type,
        .c_type = types->c_type,
        .m = sizes[size].m,
        .n = sizes[size].n,
        .k = sizes[size].k,
        .alpha = factor(types->type, factors[factors_index].alpha),
        .beta = factor(types->type, factors[factors_index].beta),
        .a_columns = (arrangement & 1) != 0,
        .b_columns = (arrangement & 2) != 0,
        .a_conjugate = (arrangement & 4) != 0,
        .b_conjugate = (arrangement & 8) != 0,
        .padding = (int64_t)(size % 3),
        .lead = (int64_t)(factors_index * 5),
    };
}

/* Every arrangement with every pair of factors, the sizes in turn; and every
 * size, aligned and not. */
static void type_is_right(hri_queue *queue, const pair *types)
{
    size_t size = 0;
    int arrangements = is_complex(types->type) ? 16 : 4;
    TEST_CASE(hr_type_name(types->type));
    for (int arrangement = 0; arrangement < arrangements; arrangement++) {
        for (size_t f = 0; f < FACTORS; f++) {
            product p = product_of(types, arrangement, size % SIZES, f);
            CHECK(product_is_right(queue, &p, gemm, size));
            size++;
        }
    }
    for (size_t s = 0; s < SIZES; s++) {
        product p = product_of(types, (int)(s % 4), s, s % 3);
        CHECK(product_is_right(queue, &p, gemm, s));
        p.padding = p.lead = 0;
        CHECK(product_is_right(queue, &p, gemm, s));
    }
}

/* Sums of the largest products, past 2^31: they wrap. The old C wraps too. */
static void integers_wrap(hri_device *device, hri_queue *queue, int64_t k,
                          int32_t old, double beta)
{
    enum { SIDE = 16 };
    int32_t c[SIDE * SIDE];
    hri_buffer *ones = conformance_buffer(device, (size_t)k * SIDE);
    hri_buffer *result = conformance_buffer(device, sizeof c);
    TEST_CASE("sums of integers wrap");
    for (int i = 0; i < SIDE * SIDE; i++) {
        c[i] = old;
    }
    CHECK(queue->ops->fill(queue, ones, 0, ones->bytes, 0x80) == HR_OK);
    conformance_upload(queue, result, c);
    const hri_gemm g = {
        .type = HR_I8,
        .c_type = HR_I32,
        .m = SIDE,
        .n = SIDE,
        .k = k,
        .alpha = hr_real(1),
        .beta = hr_real(beta),
        .a = {.place = hri_at(ones, 0), .row_stride = k, .col_stride = 1},
        .b = {.place = hri_at(ones, 0), .row_stride = 1, .col_stride = k},
        .c = {.place = hri_at(result, 0), .row_stride = SIDE, .col_stride = 1}};
    CHECK(gemm(queue, &g) == HR_OK);
    conformance_download(queue, c, result);
    CHECK(queue->ops->finish(queue) == HR_OK);
    uint32_t want =
        (uint32_t)(uint64_t)(16384 * k) + (beta != 0 ? (uint32_t)old : 0);
    for (int i = 0; i < SIDE * SIDE; i++) {
        if (!CHECK((uint32_t)c[i] == want)) {
            printf("k %lld, beta %g: %u, not %u\n", (long long)k, beta,
                   (unsigned)c[i], (unsigned)want);
            break;
        }
    }
    device->ops->release(ones);
    device->ops->release(result);
}

/* 1 + 2^-12 is 1 in tf32, and must not be in f32. */
static void tf32_only_on_request(hri_device *device, hri_queue *queue)
{
    enum { SIDE = 256 };
    static float x[SIDE * SIDE];
    hri_buffer *a = conformance_buffer(device, sizeof x);
    hri_buffer *c = conformance_buffer(device, sizeof x);
    for (int i = 0; i < SIDE * SIDE; i++) {
        x[i] = 1.0f + 0x1p-12f;
    }
    conformance_upload(queue, a, x);
    hri_operand whole = {
        .place = hri_at(a, 0), .row_stride = SIDE, .col_stride = 1};
    hri_gemm g = {.type = HR_F32,
                  .c_type = HR_F32,
                  .m = SIDE,
                  .n = SIDE,
                  .k = SIDE,
                  .alpha = hr_real(1),
                  .a = whole,
                  .b = whole,
                  .c = whole};
    g.c.place = hri_at(c, 0);
    for (int tf32 = 0; tf32 < 2; tf32++) {
        g.compute = tf32 ? HR_COMPUTE_TF32 : HR_COMPUTE_NATIVE;
        if (!device->ops->gemm_offered(device, HR_F32, HR_F32, g.compute)) {
            printf("skip tf32: %s does not offer it\n", device->info.path);
            continue;
        }
        TEST_CASE(tf32 ? "tf32 on request" : "no tf32 unasked");
        CHECK(gemm(queue, &g) == HR_OK);
        conformance_download(queue, x, c);
        CHECK(queue->ops->finish(queue) == HR_OK);
        double excess = (double)x[SIDE + 1] / SIDE - 1.0;
        printf("%s: 1 + %g\n", tf32 ? "tf32" : "f32", excess);
        CHECK(tf32 ? excess == 0.0
                   : excess > 0x1.ffp-12 && excess < 0x1.02p-11);
    }
    device->ops->release(a);
    device->ops->release(c);
}

static void *multiply_often(void *data)
{
    static const product p = {.type = HR_F32,
                              .c_type = HR_F32,
                              .m = 70,
                              .n = 90,
                              .k = 50,
                              .alpha = {1, 0},
                              .beta = {1, 0},
                              .b_columns = true,
                              .padding = 1,
                              .lead = 1};
    hri_device *device = data;
    hri_queue *queue = conformance_queue(device);
    bool right = true;
    for (uint64_t i = 0; i < 20; i++) {
        right = product_is_right(queue, &p, gemm, i) && right;
    }
    queue->ops->destroy(queue);
    return right ? data : NULL;
}

static void virtual_accelerators_multiply_at_once(uint32_t index)
{
    enum { COUNT = 3 };
    pthread_t threads[COUNT];
    hri_device *devices[COUNT];
    TEST_CASE("virtual accelerators multiply at once");
    for (int i = 0; i < COUNT; i++) {
        conformance_must(hri_backend_cuda.open(index, &devices[i]), "open");
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(pthread_create(&threads[i], NULL, multiply_often, devices[i]) ==
              0);
    }
    for (int i = 0; i < COUNT; i++) {
        void *right = NULL;
        pthread_join(threads[i], &right);
        CHECK(right != NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        devices[i]->ops->close(devices[i]);
    }
}

/* Whether no context is current in this thread: there is none to pop. */
static void no_context_is_left(void)
{
    cu_context top = NULL;
    TEST_CASE("the thread has no context that it did not have before");
    CHECK(hri_cuda.cuCtxPopCurrent_v2(&top) != CU_SUCCESS || top == NULL);
}

static void device_is_right(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    printf("%s, %s, %s\n", device->info.path, device->info.name,
           device->info.arithmetic);
    for (size_t i = 0; i < PAIRS; i++) {
        type_is_right(queue, &pairs[i]);
    }
    integers_wrap(device, queue, 1 << 17, 0, 0);
    integers_wrap(device, queue, 1 << 18, 0, 0);
    integers_wrap(device, queue, 65536 + 16384, INT32_MAX, 1);
    integers_wrap(device, queue, 16, INT32_MAX - 5, 1);
    integers_wrap(device, queue, (1 << 17) + 1, 77, 1);
    tf32_only_on_request(device, queue);
    queue->ops->destroy(queue);
}

/* A product that reads where no memory is. Nothing works afterwards. */
static void faults_are_told(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    hri_buffer *buffer = conformance_buffer(device, 4096);
    hri_event *event = conformance_event(device);
    bool done = false;
    TEST_CASE("a fault on the device means that it is lost, and nobody hangs");
    const hri_operand far = {.place = hri_at(buffer, 0),
                             .row_stride = (int64_t)1 << 40,
                             .col_stride = 1};
    hri_gemm g = {.type = HR_C32, /* conjugate: the kernel's */
                  .c_type = HR_C32,
                  .m = 4,
                  .n = 4,
                  .k = 4,
                  .alpha = hr_real(1),
                  .a = far,
                  .b = far,
                  .c = far};
    g.a.conjugate = true;
    g.c.row_stride = 4;
    CHECK(gemm(queue, &g) == HR_OK);
    CHECK(queue->ops->record(queue, event) == HR_OK);
    CHECK_FAILS(event->ops->wait(event), HR_ERROR_LOST,
                "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK(event->ops->query(event, &done) == HR_ERROR_LOST);
    CHECK_FAILS(queue->ops->finish(queue), HR_ERROR_LOST, "cuda:");
    CHECK(gemm(queue, &g) == HR_ERROR_LOST);
    queue->ops->destroy(queue);
    event->ops->destroy(event);
    device->ops->release(buffer);
}

int main(void)
{
    uint32_t count = 0;
    if (hri_backend_cuda.probe(&count) != HR_OK) {
        return test_skip(hr_last_error());
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = NULL;
        virtual_accelerators_multiply_at_once(i);
        conformance_must(hri_backend_cuda.open(i, &device), "open");
        device_is_right(device);
        no_context_is_left();
        device->ops->close(device);
    }
    hri_device *device = NULL;
    conformance_must(hri_backend_cuda.open(0, &device), "open");
    if (getenv("HEADRACE_NO_FAULTS") == NULL) { /* set under a memory checker */
        faults_are_told(device);
    }
    device->ops->close(device);
    return test_end();
}
