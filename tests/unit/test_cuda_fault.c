/* SPDX-License-Identifier: MIT */
/* Faults on the CUDA backend over a fake driver: what is lost after which
 * error, and which sentence tells it. A fault stays with its process, so each
 * case has a process of its own. */
#include "backends/cuda/cuda.h"
#include "support/child.h"
#include "support/conformance.h"
#include "support/fake_cuda/use.h"

static fake_cuda_state *fake;

enum { BYTES = 4096 };

/* ---- which errors end everything */

static const struct {
    int error;
    const char *words;
} faults[] = {
    {226, "a kernel of this process caused an error that the GPU contained"},
    {700, "a kernel of this process read or wrote outside of its memory"},
    {702, "a kernel of this process ran longer than the driver allows"},
    {714, "a kernel of this process damaged or exceeded its stack"},
    {715, "a kernel of this process met an illegal instruction"},
    {716, "a kernel of this process read or wrote at an address that is not "
          "aligned"},
    {717, "a kernel of this process used an address of the wrong kind of "
          "memory"},
    {718, "a kernel of this process left its code"},
    {719, "a kernel of this process failed"},
    {721, "a kernel of this process kept tensor memory when it ended"},
    {911, "a device outside of CUDA failed"},
};
static size_t row; /* of the table, for the child */

static int first_fault(void)
{
    char first[256], later[256];
    const int error = faults[row].error;
    const char *name = NULL;
    hri_device *other = NULL;
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    name = hri_cuda_error_name(error);
    snprintf(first, sizeof first,
             "cuda:0: cuStreamSynchronize failed with %s (%d), as %s; only a "
             "new process can use NVIDIA's GPUs",
             name, error, faults[row].words);
    snprintf(later, sizeof later,
             "lost, as %s (CUDA error %d); only a new process can use NVIDIA's "
             "GPUs",
             faults[row].words, error);
    CHECK(s.device->ops->check(s.device) == HR_OK);
    fake->sticky = error;
    CHECK(s.device->ops->check(s.device) == HR_OK); /* nobody knows */
    CHECK_FAILS(s.queue->ops->finish(s.queue), HR_ERROR_LOST, first);
    CHECK(strcmp(hr_last_error(), first) == 0);
    CHECK_FAILS(s.device->ops->check(s.device), HR_ERROR_LOST, later);
    CHECK(strncmp(hr_last_error(), "cuda:0: lost", 12) == 0);
    CHECK_FAILS(hri_backend_cuda.open(1, 2, &other), HR_ERROR_LOST, later);
    CHECK(strncmp(hr_last_error(), "cuda:1: lost", 12) == 0);
    CHECK_FAILS(hri_backend_cuda.open(0, 2, &other), HR_ERROR_LOST, later);
    CHECK_FAILS(s.queue->ops->finish(s.queue), HR_ERROR_LOST, first);
    conformance_close(&s);
    CHECK(fake->objects == 0 && fake->retained == 0);
    return 0;
}

static void check_faults(void)
{
    for (row = 0; row < sizeof faults / sizeof faults[0]; row++) {
        char name[32];
        snprintf(name, sizeof name, "CUDA error %d", faults[row].error);
        TEST_CASE(name);
        CHECK(test_in_child(first_fault) == 0);
    }
}

/* ---- and which do not */

static int others_go_on(void)
{
    static const int errors[] = {1, 2, 4, 214, 220, 709, 710, 999};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
        fake->fail_name = "cuStreamSynchronize";
        fake->fail_result = errors[i];
        hr_status status = s.queue->ops->finish(s.queue);
        CHECK(status == (errors[i] == 1   ? HR_ERROR_BACKEND
                         : errors[i] == 2 ? HR_ERROR_OUT_OF_MEMORY
                                          : HR_ERROR_LOST));
        CHECK(s.device->ops->check(s.device) == HR_OK);
        conformance_opened t = conformance_open(&hri_backend_cuda, 1, BYTES);
        CHECK(t.queue->ops->finish(t.queue) == HR_OK);
        conformance_close(&t);
        conformance_close(&s);
    }
    return 0;
}

static void check_other_errors(void)
{
    TEST_CASE("errors that do not end everything");
    CHECK(test_in_child(others_go_on) == 0);
}

/* ---- whose kernel it was */

static int other_gpu_sees_it(void)
{
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    conformance_opened t = conformance_open(&hri_backend_cuda, 1, BYTES);
    hri_cuda_note_launch(hri_cuda_unit_at(0), "earlier");
    hri_cuda_note_launch(hri_cuda_unit_at(0), "far");
    fake->sticky = 700;
    CHECK_FAILS(t.queue->ops->finish(t.queue), HR_ERROR_LOST,
                "cuda:1: cuStreamSynchronize failed with "
                "CUDA_ERROR_ILLEGAL_ADDRESS (700), as a kernel on cuda:0 (the "
                "last was \"far\") read or wrote outside of its memory; only a "
                "new process can use NVIDIA's GPUs");
    CHECK_FAILS(s.queue->ops->finish(s.queue), HR_ERROR_LOST,
                "cuda:0: lost, as a kernel on cuda:0 (the last was \"far\") "
                "read or wrote outside of its memory (CUDA error 700); only a "
                "new process can use NVIDIA's GPUs");
    CHECK_FAILS(t.device->ops->check(t.device), HR_ERROR_LOST,
                "cuda:1: lost, as a kernel on cuda:0 (the last was \"far\")");
    conformance_close(&s);
    conformance_close(&t);
    return 0;
}

static int own_gpu_sees_it(void)
{
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    conformance_opened t = conformance_open(&hri_backend_cuda, 1, BYTES);
    hri_cuda_note_launch(hri_cuda_unit_at(1), "near");
    hri_cuda_note_launch(hri_cuda_unit_at(0), "far");
    fake->sticky = 719;
    CHECK_FAILS(t.queue->ops->finish(t.queue), HR_ERROR_LOST,
                "as a kernel on cuda:1 (the last was \"near\") failed");
    conformance_close(&s);
    conformance_close(&t);
    return 0;
}

static void name_kernel(void)
{
    TEST_CASE("a GPU that launched nothing is told the error first");
    CHECK(test_in_child(other_gpu_sees_it) == 0);
    TEST_CASE("a GPU with launches of its own is");
    CHECK(test_in_child(own_gpu_sees_it) == 0);
}

/* ---- every later error */

static int whatever_comes_later(void)
{
    static const struct {
        const char *call;
        int result;
    } calls[] = {{"cuStreamSynchronize", 999},
                 {"cuStreamSynchronize", 46},
                 {"cuMemAlloc", 2},
                 {"cuMemAlloc", 1},
                 {"cuCtxPushCurrent", 709}};
    static const char *const sentence =
        "cuda:1: lost, as a kernel of this process met an illegal instruction "
        "(CUDA error 715)";
    hri_buffer *buffer = NULL;
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    conformance_opened t = conformance_open(&hri_backend_cuda, 1, BYTES);
    fake->sticky = 715;
    CHECK(s.queue->ops->finish(s.queue) == HR_ERROR_LOST);
    fake->sticky = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        hri_queue *queue = conformance_queue(t.device);
        fake->fail_name = calls[i].call;
        fake->fail_result = calls[i].result;
        if (i == 2 || i == 3) {
            CHECK_FAILS(t.device->ops->allocate(t.device, 10, &buffer),
                        HR_ERROR_LOST, sentence);
        } else {
            CHECK_FAILS(queue->ops->finish(queue), HR_ERROR_LOST, sentence);
        }
        queue->ops->destroy(queue);
    }
    conformance_close(&s);
    conformance_close(&t);
    return 0;
}

/* The driver reports the fault from then on. */
static int events_tell(void)
{
    bool done = false;
    uint64_t ns;
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    conformance_opened t = conformance_open(&hri_backend_cuda, 0, BYTES);
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_OK);
    fake->sticky = CU_ILLEGAL_ADDRESS;
    CHECK_FAILS(s.event->ops->query(s.event, &done), HR_ERROR_LOST,
                "cuda:0: cuEventQuery failed with CUDA_ERROR_ILLEGAL_ADDRESS "
                "(700)");
    CHECK_FAILS(s.event->ops->wait(s.event), HR_ERROR_LOST, "cuda:0");
    CHECK_FAILS(s.queue->ops->finish(s.queue), HR_ERROR_LOST, "cuda:0");
    CHECK_FAILS(s.queue->ops->fill(s.queue, s.buffer, 0, 1, 1), HR_ERROR_LOST,
                "ILLEGAL_ADDRESS");
    CHECK(s.queue->ops->record(s.queue, s.event) == HR_ERROR_LOST);
    CHECK(s.event->ops->elapsed(s.event, s.event, &ns) == HR_ERROR_LOST);
    /* a queue that waits for what failed fails, too */
    fake->sticky = 0;
    CHECK(t.queue->ops->wait(t.queue, s.event) == HR_OK);
    CHECK_FAILS(t.queue->ops->finish(t.queue), HR_ERROR_LOST, "cuda:0");
    conformance_close(&t);
    /* an event outlives the queue that failed */
    s.queue->ops->destroy(s.queue);
    CHECK(s.event->ops->wait(s.event) == HR_ERROR_LOST);
    s.queue = NULL;
    s.event->ops->destroy(s.event);
    s.device->ops->release(s.buffer);
    s.device->ops->close(s.device);
    return 0;
}

/* cuBLAS tells numbers of its own. */
static int products_tell(void)
{
    conformance_opened s = conformance_open(&hri_backend_cuda, 0, BYTES);
    const hri_operand side = {
        .place = hri_at(s.buffer, 0), .row_stride = 4, .col_stride = 1};
    const hri_gemm g = {.type = HR_F32,
                        .c_type = HR_F32,
                        .m = 4,
                        .n = 4,
                        .k = 4,
                        .alpha = {1, 0},
                        .a = side,
                        .b = side,
                        .c = {.place = hri_at(s.buffer, 1024),
                              .row_stride = 4,
                              .col_stride = 1}};
    CHECK(s.queue->ops->gemm(s.queue, &g) == HR_OK);
    fake->sticky = 700;
    CHECK_FAILS(s.queue->ops->gemm(s.queue, &g), HR_ERROR_LOST,
                "cuda:0: cublasGemmEx failed with CUDA_ERROR_ILLEGAL_ADDRESS "
                "(700), as a kernel of this process read");
    conformance_close(&s);
    return 0;
}

static void check_later_errors(void)
{
    TEST_CASE("every later error names the first fault");
    CHECK(test_in_child(whatever_comes_later) == 0);
    TEST_CASE("events and queues");
    CHECK(test_in_child(events_tell) == 0);
    TEST_CASE("products");
    CHECK(test_in_child(products_tell) == 0);
}

int main(void)
{
    fake = fake_cuda_use(FAKE_CUDA);
    TEST(check_faults());
    TEST(check_other_errors());
    TEST(name_kernel());
    TEST(check_later_errors());
    return test_end();
}
