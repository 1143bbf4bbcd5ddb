/* SPDX-License-Identifier: MIT */
/* The CUDA backend over a fake driver: contexts, errors, how many calls an
 * operation costs, handles of cuBLAS, peers, pinned memory, and leaks. */
#include <dlfcn.h>
#include <pthread.h>

#include "backends/cuda/api.h"
#include "backends/cuda/cuda.h"
#include "base/clock.h"
#include "support/child.h"
#include "support/conformance.h"
#include "support/fake_cuda/use.h"
#include "support/product.h"
#include "support/simulate.h"

static fake_cuda_state *fake;
static int (*depth)(void);

enum { BYTES = 4096 };

/* A of m x k times B of k x 4. */
static product product_of(hr_type type, hr_type c_type, int64_t m, int64_t k)
{
    return (product){.type = type,
                     .c_type = c_type,
                     .m = m,
                     .n = 4,
                     .k = k,
                     .alpha = {1, 0}};
}

static bool is_refused(void)
{
    uint32_t count = 0;
    hri_device *device = NULL;
    return hri_backend_cuda.probe(&count) == HR_ERROR_UNAVAILABLE &&
           strstr(hr_last_error(), "CUDA does not work in a child of fork()") !=
               NULL &&
           hri_backend_cuda.open(0, 2, &device) == HR_ERROR_UNAVAILABLE;
}

static void refuse_children(void)
{
    uint32_t count = 0;
    TEST_CASE("a child of a process that has found the GPUs");
    CHECK(hri_backend_cuda.probe(&count) == HR_OK && count > 0);
    CHECK(test_is_true_in_child(is_refused));
    CHECK(hri_backend_cuda.probe(&count) == HR_OK);
}

/* The calling thread keeps a context of its own, of another device. */
static void leave_contexts_alone(void)
{
    cu_context other = NULL, now = NULL;
    const product p = product_of(HR_F32, HR_F32, 9, 7);
    TEST_CASE("the thread's context is never changed");
    CHECK(hri_cuda.cuDevicePrimaryCtxRetain(&other, 1) == 0);
    CHECK(hri_cuda.cuCtxPushCurrent_v2(other) == 0);
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    CHECK(product_is_right(s.queue, &p, product_enqueue, 1));
    CHECK(depth() == 1);
    CHECK(s.device->ops->allocate(s.device, SIZE_MAX / 2, &s.buffer) ==
          HR_ERROR_OUT_OF_MEMORY);
    CHECK(!s.device->ops->is_pinned(s.device, &s, sizeof s));
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
    CHECK(s.event->ops->wait(s.event) == HR_OK);
    CHECK(s.queue->ops->wait(s.queue, s.event) == HR_OK);
    fake->fail_name = "cuLaunchKernel";
    fake->fail_result = 1;
    conformance_close(&s);
    fake->fail_name = NULL;
    CHECK(depth() == 1);
    CHECK(hri_cuda.cuCtxPopCurrent_v2(&now) == 0 && now == other);
    CHECK(hri_cuda.cuDevicePrimaryCtxRelease_v2(1) == 0);
}

/* Entering and leaving the context, and one call between. */
static void count_calls(void)
{
    char host[2048];
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    const hri_copy rows = {.to = hri_at(s.buffer, 0),
                           .from = hri_at_host(host, 0),
                           .to_pitch = 64,
                           .from_pitch = 128,
                           .width = 48,
                           .height = 8,
                           .depth = 1};
    const hri_copy row = conformance_row(rows.from, rows.to, 100);
    TEST_CASE("an operation is one call of the driver");
    long before = fake->calls;
    CHECK(s.queue->ops->copy(s.queue, &rows) == HR_OK);
    CHECK(fake->calls - before == 3);
    CHECK(s.queue->ops->copy(s.queue, &row) == HR_OK);
    CHECK(fake->calls - before == 6);
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
    CHECK(fake->calls - before == 9);
    CHECK(s.queue->ops->wait(s.queue, s.event) == HR_OK);
    CHECK(fake->calls - before == 12);
    conformance_close(&s);
}

static void create_urgent_queue(void)
{
    hri_queue *queue = NULL;
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    TEST_CASE("an urgent queue is a stream of the greatest priority");
    CHECK(fake->urgent == 0);
    CHECK(s.device->ops->create_queue(s.device, true, &queue) == HR_OK);
    CHECK(fake->urgent == 1);
    queue->ops->destroy(queue);
    TEST_CASE("a driver without priorities makes a stream like any other");
    cu_result (*range)(int *, int *) = hri_cuda.cuCtxGetStreamPriorityRange;
    hri_cuda.cuCtxGetStreamPriorityRange = NULL;
    CHECK(s.device->ops->create_queue(s.device, true, &queue) == HR_OK);
    CHECK(fake->urgent == 1);
    hri_cuda.cuCtxGetStreamPriorityRange = range;
    queue->ops->destroy(queue);
    conformance_close(&s);
}

/* A second queue that multiplies takes the handle that the first one left. */
static void keep_handles(void)
{
    product p = product_of(HR_F32, HR_F32, 5, 7);
    p.beta.re = 1;
    TEST_CASE("handles of cuBLAS are made once");
    long products = fake->library_products;
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    long before = fake->objects;
    CHECK(product_is_right(s.queue, &p, product_enqueue, 1));
    CHECK(fake->objects == before + 2); /* a handle and its workspace */
    for (int i = 0; i < 3; i++) {
        s.queue->ops->destroy(s.queue);
        s.queue = conformance_queue(s.device);
        CHECK(product_is_right(s.queue, &p, product_enqueue, 2));
    }
    CHECK(fake->objects == before + 2);
    CHECK(fake->library_products == products + 4);
    conformance_close(&s);
}

static void check_division(hri_queue *queue, const char *name, bool library,
                           const product *p)
{
    TEST_CASE(name);
    const long by_library = fake->library_products;
    const long by_kernel = fake->kernel_products;
    CHECK(product_is_right(queue, p, product_enqueue, 1));
    CHECK(fake->library_products - by_library == library);
    CHECK(fake->kernel_products - by_kernel == !library);
}

/* The library multiplies what it can, and our kernel the rest. */
static void divide_work(void)
{
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    product p = product_of(HR_F64, HR_F64, 3, 5);
    check_division(s.queue, "plain", true, &p);
    p = product_of(HR_C32, HR_C32, 3, 5);
    p.alpha.im = 1;
    p.b_conjugate = true;
    check_division(s.queue, "conjugate alone", false, &p);
    p.b_conjugate = false;
    p.a_columns = p.a_conjugate = true;
    check_division(s.queue, "conjugate and transposed", true, &p);
    p = product_of(HR_I8, HR_I32, 8, 12);
    p.beta.re = 1;
    check_division(s.queue, "integers by fours", true, &p);
    p.beta.re = 0;
    p.lead = 2;
    check_division(s.queue, "integers at an odd place", false, &p);
    p.lead = 0;
    p.alpha.re = 3;
    check_division(s.queue, "integers scaled", false, &p);
    p = product_of(HR_I8, HR_I32, 8, 11);
    check_division(s.queue, "odd integers", false, &p);
    p = product_of(HR_F32, HR_F32, 8, 0);
    p.alpha.re = 3;
    p.beta.re = 2;
    check_division(s.queue, "C scaled", false, &p);
    conformance_close(&s);
}

static void tell_failures(void)
{
    static const struct {
        const char *call;
        int result;
        hr_status status;
    } cases[] = {
        {"cuMemsetD2D8Async", 1, HR_ERROR_BACKEND},
        {"cuMemsetD2D8Async", 2, HR_ERROR_OUT_OF_MEMORY},
        {"cuMemsetD2D8Async", 214, HR_ERROR_LOST},
        {"cuCtxPushCurrent", 4, HR_ERROR_LOST},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].call);
        conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
        fake->fail_name = cases[i].call;
        fake->fail_result = cases[i].result;
        CHECK(s.queue->ops->fill(s.queue, s.buffer, 0, 9, 1) ==
              cases[i].status);
        CHECK(strncmp(hr_last_error(), "cuda:0: ", 8) == 0);
        CHECK(s.queue->ops->finish(s.queue) == cases[i].status);
        conformance_close(&s);
    }
    TEST_CASE("nothing is left of what could not be made");
    static const char *const calls[] = {
        "cuMemGetInfo", "cuStreamCreate",    "cuEventCreate",
        "cuMemAlloc",   "cuMemHostRegister", "cuDevicePrimaryCtxRetain"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        hri_device *d = NULL;
        hri_queue *queue = NULL;
        hri_event *event = NULL;
        hri_buffer *buffer = NULL;
        void *host = NULL;
        fake->fail_name = calls[i];
        fake->fail_result = 1;
        if (hri_backend_cuda.open(0, 2, &d) == HR_OK) {
            int made = 0;
            made += d->ops->create_queue(d, false, &queue) == HR_OK;
            made += d->ops->create_event(d, true, &event) == HR_OK;
            made += d->ops->allocate(d, 10, &buffer) == HR_OK;
            made += d->ops->allocate_pinned(d, 10, &host) == HR_OK;
            /* without registering, the driver allocates pinned memory */
            CHECK(made == (i == 4 ? 4 : 3));
            if (queue != NULL) {
                queue->ops->destroy(queue);
            }
            if (event != NULL) {
                event->ops->destroy(event);
            }
            d->ops->release(buffer);
            d->ops->release_pinned(d, host);
            d->ops->close(d);
        } else {
            CHECK(i == 0 || i == 5);
        }
        fake->fail_name = NULL;
    }
}

enum { MANY = 1000000000 };

/* After 50 ms events are done. Say how often they were asked for. */
static void *end_event(void *asked)
{
    hri_sleep_ns(50 * 1000000);
    *(long *)asked = MANY - atomic_exchange(&fake->not_ready, 0);
    return NULL;
}

static void take_a_microsecond(void)
{
    sim_pass(1000);
}

/* A thread that waits asks without a pause for 50 us: about 50 times here. Then
 * it sleeps each time, for 10 us at first, for a 20th of what it has waited,
 * and for 1 ms at most. */
static void sleep_for_event(conformance_opened s)
{
    long asked = 0;
    pthread_t thread;
    fake->asked = take_a_microsecond;
    fake->not_ready = MANY;
    CHECK(pthread_create(&thread, NULL, end_event, &asked) == 0);
    CHECK(s.event->ops->wait(s.event) == HR_OK);
    pthread_join(thread, NULL);
    fake->asked = NULL;
    CHECK(asked > 50 + 100 && asked < 50 + 200);
}

/* A wait asks until the event is done, and no more. */
static void wait_for_events(void)
{
    enum { LONG = 1000 };
    TEST_CASE("an event that is not done");
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    bool done = true;
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
    fake->not_ready = 1;
    CHECK(s.event->ops->query(s.event, &done) == HR_OK && !done);
    CHECK(fake->not_ready == 0);
    sleep_for_event(s);
    fake->not_ready = 1; /* it is known to be done */
    CHECK(s.event->ops->query(s.event, &done) == HR_OK && done);
    CHECK(fake->not_ready == 1);
    fake->not_ready = 0;

    TEST_CASE("the driver fails while an event is waited for");
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
    fake->fail_name = "cuEventQuery";
    fake->fail_result = 1;
    fake->not_ready = LONG;
    CHECK(s.event->ops->wait(s.event) != HR_OK);
    CHECK(fake->not_ready == 0);
    fake->fail_name = NULL;
    conformance_close(&s);
}

static void tell_compiler_error(void)
{
    TEST_CASE("the compiler's first error is told");
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    fake->build_log = "gemm.cu(1): note: x\n"
                      "gemm.cu(7): error: no such thing\nmore\n";
    hri_gemm g = {
        .type = HR_BF16,
        .c_type = HR_F32,
        .m = 3,
        .n = 4,
        .beta = {2, 0},
        .c = {.place = hri_at(s.buffer, 0), .row_stride = 4, .col_stride = 1}};
    CHECK_FAILS(product_enqueue(s.queue, &g), HR_ERROR_BUILD,
                "cuda:0: a kernel did not compile (NVRTC_ERROR_COMPILATION): "
                "gemm.cu(7): error: no such thing");
    CHECK(strchr(hr_last_error(), '\n') == NULL);
    fake->build_log = NULL;
    conformance_close(&s);
}

static void tell_pinned_memory(void)
{
    void *host = NULL;
    char ordinary[16];
    TEST_CASE("memory is pinned where the driver knows both ends");
    conformance_opened s = conformance_open(&hri_backend_cuda, 1, BYTES);
    const hri_device_ops *ops = s.device->ops;
    CHECK(ops->allocate_pinned(s.device, 1000, &host) == HR_OK);
    CHECK(ops->is_pinned(s.device, host, 1000));
    CHECK(ops->is_pinned(s.device, (char *)host + 999, 1));
    CHECK(!ops->is_pinned(s.device, host, 100000000));
    CHECK(!ops->is_pinned(s.device, ordinary, sizeof ordinary));
    ops->release_pinned(s.device, host);
    conformance_close(&s);
}

static void find_peers(void)
{
    char host[100] = "across", back[100] = "";
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    conformance_opened t = conformance_open(&hri_backend_cuda, 1, BYTES);
    if (fake->peers == 0) {
        TEST_CASE("GPUs that do not reach each other are strangers");
        CHECK(!s.device->ops->is_peer(s.device, t.device));
        CHECK(!t.device->ops->is_peer(t.device, s.device));
    } else {
        TEST_CASE("GPUs that reach each other are peers");
        CHECK(s.device->ops->is_peer(s.device, t.device));
        CHECK(t.device->ops->is_peer(t.device, s.device));
        const hri_copy up = conformance_row(hri_at(s.buffer, 8),
                                            hri_at_host(host, 0), sizeof host);
        hri_copy rows = {.to = hri_at(t.buffer, 1),
                         .from = hri_at(s.buffer, 8),
                         .to_pitch = 60,
                         .from_pitch = 50,
                         .width = 50,
                         .height = 2,
                         .depth = 1};
        hri_copy down =
            conformance_row(hri_at_host(back, 0), hri_at(t.buffer, 1), 50);
        CHECK(s.queue->ops->copy(s.queue, &up) == HR_OK);
        CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
        CHECK(t.queue->ops->wait(t.queue, s.event) == HR_OK);
        CHECK(t.queue->ops->copy(t.queue, &rows) == HR_OK);
        rows.height = 1;
        CHECK(s.queue->ops->copy(s.queue, &rows) == HR_OK);
        CHECK(t.queue->ops->copy(t.queue, &down) == HR_OK);
        CHECK(t.queue->ops->finish(t.queue) == HR_OK);
        CHECK(strcmp(back, "across") == 0);
    }
    conformance_close(&s);
    conformance_close(&t);
}

int main(void)
{
    sim_seed(1);
    fake = fake_cuda_use(FAKE_CUDA);
    uint32_t count = 0;
    conformance_must(hri_backend_cuda.probe(&count), "probe");
    *(void **)(void *)&depth =
        dlsym(dlopen(FAKE_CUDA, RTLD_NOW), "fake_cuda_depth");
    TEST(refuse_children());
    TEST(leave_contexts_alone());
    TEST(count_calls());
    TEST(create_urgent_queue());
    TEST(keep_handles());
    TEST(wait_for_events());
    TEST(tell_compiler_error());
    TEST(divide_work());
    TEST(tell_failures());
    TEST(tell_pinned_memory());
    TEST(find_peers());
    fake->peers = 0;
    TEST(find_peers());
    TEST_CASE("nothing is left");
    CHECK(fake->objects == 0 && fake->retained == 0 && depth() == 0);
    return test_end();
}
