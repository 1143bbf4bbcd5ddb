/* SPDX-License-Identifier: MIT */
/* Products on a GPU with every type, arrangement of the operands and pair of
 * factors, by cuBLAS and our kernel or (HEADRACE_CUBLAS=off) by the kernel
 * alone. Also tf32, integers that wrap, several queues at once, and the
 * thread's context, which must not change. The last test is a fault on the
 * device. */
#include "backends/cuda/cuda.h"
#include "support/conformance.h"
#include "support/product.h"
#include "support/random.h"

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
    CHECK(product_enqueue(queue, &g) == HR_OK);
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
        CHECK(product_enqueue(queue, &g) == HR_OK);
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

/* Whether no context is current in this thread: there is none to pop. */
static void no_context_is_left(void)
{
    cu_context top = NULL;
    TEST_CASE("the thread has no context that it did not have before");
    CHECK(hri_cuda.cuCtxPopCurrent_v2(&top) != CU_SUCCESS || top == NULL);
}

static void check_device(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    printf("%s, %s, %s\n", device->info.path, device->info.name,
           device->info.arithmetic);
    for (size_t i = 0; i < PAIRS; i++) {
        TEST_CASE(hr_type_name(pairs[i].ab));
        CHECK(products_are_right(queue, &pairs[i]));
    }
    integers_wrap(device, queue, 1 << 17, 0, 0);
    integers_wrap(device, queue, 1 << 18, 0, 0);
    integers_wrap(device, queue, 65536 + 16384, INT32_MAX, 1);
    integers_wrap(device, queue, 16, INT32_MAX - 5, 1);
    integers_wrap(device, queue, (1 << 17) + 1, 77, 1);
    tf32_only_on_request(device, queue);
    queue->ops->destroy(queue);
}

/* A product that reads outside of memory. Nothing works afterwards. */
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
    hri_gemm g = {.type = HR_C32, /* cuBLAS does not conjugate: our kernel
                                     runs */
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
    CHECK(product_enqueue(queue, &g) == HR_OK);
    CHECK(queue->ops->record(queue, event) == HR_OK);
    CHECK_FAILS(event->ops->wait(event), HR_ERROR_LOST,
                "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK(event->ops->query(event, &done) == HR_ERROR_LOST);
    CHECK_FAILS(queue->ops->finish(queue), HR_ERROR_LOST, "cuda:");
    CHECK(product_enqueue(queue, &g) == HR_ERROR_LOST);
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
        TEST_CASE("virtual accelerators multiply at once");
        CHECK(products_are_right_at_once(&hri_backend_cuda, i));
        conformance_must(hri_backend_cuda.open(i, 2, &device), "open");
        TEST(check_device(device));
        TEST(no_context_is_left());
        device->ops->close(device);
    }
    hri_device *device = NULL;
    conformance_must(hri_backend_cuda.open(0, 2, &device), "open");
    if (getenv("HEADRACE_NO_FAULTS") == NULL) { /* set under a memory checker */
        TEST(faults_are_told(device));
    }
    device->ops->close(device);
    return test_end();
}
