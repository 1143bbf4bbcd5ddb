/* SPDX-License-Identifier: MIT */
/* Graphs over a fake driver: which calls are made, drivers that lack some, and
 * a failure of every call that may fail. */
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "support/axpy.h"
#include "support/fake_cuda/use.h"
#include "support/fault_backend.h"

enum { COUNT = 64, BYTES = COUNT * sizeof(float) };

static fake_cuda_state *fake;

typedef struct setting {
    hri_device *device;
    hri_queue *queue;
    hri_buffer *x, *y;
    hri_module *module;
    hr_status first; /* error while a graph was made */
} setting;

/* What could not be made stays NULL. */
static hr_status setting_init(setting *s, const hri_backend *backend)
{
    *s = (setting){.device = NULL};
    HRI_TRY(backend->open(0, 2, &s->device));
    hri_device *d = s->device;
    HRI_TRY(d->ops->create_queue(d, false, &s->queue));
    HRI_TRY(d->ops->allocate(d, BYTES, &s->x));
    HRI_TRY(d->ops->allocate(d, BYTES, &s->y));
    char *source = hri_kernel_source(&axpy, HRI_SOURCE_DEVICE);
    const hr_status status = d->ops->build(d, &axpy, source, NULL, &s->module);
    free(source);
    return status;
}

static void setting_finish(setting *s)
{
    if (s->queue != NULL) {
        s->queue->ops->destroy(s->queue);
    }
    if (s->device != NULL) {
        s->device->ops->release(s->x);
        s->device->ops->release(s->y);
        s->device->ops->unload(s->module);
        s->device->ops->close(s->device);
    }
}

static hr_status enqueue_axpy(const setting *s)
{
    const float a = 2.0f;
    return launch_axpy(s->queue, s->module, s->x, s->y, COUNT, &a);
}

static void note_first(setting *s, hr_status status)
{
    s->first = s->first != HR_OK ? s->first : status;
}

/* x := 0, y := x, y := y + 2 x + 1; all of it, whatever fails. */
static hr_status make_graph(setting *s, hri_graph **graph)
{
    hri_queue *q = s->queue;
    const hri_copy copy =
        conformance_row(hri_at(s->y, 0), hri_at(s->x, 0), BYTES);
    s->first = HR_OK;
    HRI_TRY(q->ops->begin_graph(q));
    note_first(s, q->ops->fill(q, s->x, 0, BYTES, 0));
    note_first(s, q->ops->copy(q, &copy));
    note_first(s, enqueue_axpy(s));
    return q->ops->end_graph(q, graph);
}

/* y := 0, run, and y as it is then. */
static hr_status enqueue_run(setting *s, hri_graph *graph, float *y)
{
    hri_queue *q = s->queue;
    const hri_copy home =
        conformance_row(hri_at_host(y, 0), hri_at(s->y, 0), BYTES);
    HRI_TRY(q->ops->fill(q, s->y, 0, BYTES, 0));
    HRI_TRY(q->ops->run_graph(q, graph));
    return q->ops->copy(q, &home);
}

static hr_status run_graph(setting *s, hri_graph *graph, float *y)
{
    const hr_status status = enqueue_run(s, graph, y);
    const hr_status finished = s->queue->ops->finish(s->queue);
    return status != HR_OK ? status : finished;
}

static void check_next_graph(setting *s)
{
    float y[COUNT] = {0};
    hri_graph *graph = NULL;
    CHECK(make_graph(s, &graph) == HR_OK && s->first == HR_OK);
    if (graph != NULL) {
        CHECK(run_graph(s, graph, y) == HR_OK);
        CHECK(y[0] == 1.0f && y[COUNT - 1] == 1.0f);
    }
    s->device->ops->destroy_graph(graph);
}

static void count_calls_of_run(void)
{
    setting s;
    hri_graph *graph = NULL;
    TEST_CASE("running a graph is one call of the driver");
    conformance_must(setting_init(&s, &hri_backend_cuda), "init");
    conformance_must(make_graph(&s, &graph), "make");
    long before = fake->calls;
    CHECK(s.queue->ops->run_graph(s.queue, graph) == HR_OK);
    CHECK(fake->calls - before == 3); /* it, and those around it */
    s.device->ops->destroy_graph(graph);
    setting_finish(&s);
}

static void lack_functions(void)
{
    setting s;
    hri_graph *graph = NULL;
    cu_result (*upload)(cu_graph_exec, cu_stream) = hri_cuda.cuGraphUpload;
    conformance_must(setting_init(&s, &hri_backend_cuda), "init");
    TEST_CASE("a driver that lacks a function has no graphs");
    hri_cuda.cuGraphUpload = NULL;
    CHECK_FAILS(make_graph(&s, &graph), HR_ERROR_UNSUPPORTED, "cuda:0: graphs");
    CHECK(enqueue_axpy(&s) == HR_OK && s.queue->ops->finish(s.queue) == HR_OK);
    hri_cuda.cuGraphUpload = upload;
    check_next_graph(&s);
    TEST_CASE("what was not begun is not ended");
    CHECK_FAILS(s.queue->ops->end_graph(s.queue, &graph), HR_ERROR_INVALID,
                "none was begun");
    setting_finish(&s);
}

/* Each call fails once while a graph is made. The next graph works. */
static void fail_each_call(void)
{
    static const char *const calls[] = {
        "cuStreamBeginCapture", "cuMemsetD2D8Async",
        "cuMemcpyDtoDAsync",    "cuLaunchKernel",
        "cuStreamEndCapture",   "cuGraphInstantiateWithFlags",
        "cuGraphUpload"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        setting s;
        hri_graph *graph = NULL;
        TEST_CASE(calls[i]);
        conformance_must(setting_init(&s, &hri_backend_cuda), "init");
        fake->fail_name = calls[i];
        fake->fail_result = CU_OUT_OF_MEMORY;
        CHECK_FAILS(make_graph(&s, &graph), HR_ERROR_OUT_OF_MEMORY, "cuda:0: ");
        CHECK(fake->fail_name == NULL && graph == NULL);
        CHECK(s.first == (i > 0 && i < 4 ? HR_ERROR_OUT_OF_MEMORY : HR_OK));
        CHECK(s.queue->ops->finish(s.queue) == HR_OK);
        check_next_graph(&s);
        setting_finish(&s);
    }
    TEST_CASE("a run that fails is the queue's error");
    setting s;
    hri_graph *graph = NULL;
    float y[COUNT];
    conformance_must(setting_init(&s, &hri_backend_cuda), "init");
    conformance_must(make_graph(&s, &graph), "make");
    fake->fail_name = "cuGraphLaunch";
    fake->fail_result = 1;
    CHECK_FAILS(run_graph(&s, graph, y), HR_ERROR_BACKEND, "cuGraphLaunch");
    CHECK(s.queue->ops->finish(s.queue) == HR_ERROR_BACKEND);
    CHECK(s.queue->ops->begin_graph(s.queue) == HR_ERROR_BACKEND);
    s.device->ops->destroy_graph(graph);
    setting_finish(&s);
}

static hr_status make_and_run(setting *s, const hri_backend *backend,
                              hri_graph **graph, float *y)
{
    HRI_TRY(setting_init(s, backend));
    HRI_TRY(make_graph(s, graph));
    HRI_TRY(s->first);
    return run_graph(s, *graph, y);
}

/* Behind the wrapper: y is right, or there was an error. */
static bool try_graph(const hri_backend *backend)
{
    setting s;
    hri_graph *graph = NULL;
    float y[COUNT] = {0};
    const hr_status status = make_and_run(&s, backend, &graph, y);
    CHECK(status != HR_OK || (y[0] == 1.0f && y[COUNT - 1] == 1.0f));
    if (s.device != NULL) {
        s.device->ops->destroy_graph(graph);
    }
    setting_finish(&s);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    return status == HR_OK;
}

static void fail_behind_wrapper(void)
{
    const hri_backend *wrapper = fault_backend_wrap(&hri_backend_cuda);
    TEST_CASE("the wrapper passes graphs on");
    fault_backend_reset();
    CHECK(try_graph(wrapper));
    CHECK(fault_backend_count(FAULT_RUN_GRAPH) == 1);
    const uint64_t calls = fault_backend_calls();
    const uint64_t operations = fault_backend_operations();
    TEST_CASE("every call fails once");
    for (uint64_t i = 1; i <= calls; i++) {
        fault_backend_reset();
        fault_backend_fail_call(i, HR_ERROR_BACKEND);
        CHECK(!try_graph(wrapper));
    }
    TEST_CASE("every operation fails once");
    for (uint64_t i = 1; i <= operations; i++) {
        fault_backend_reset();
        fault_backend_fail_operation(i, HR_ERROR_BACKEND);
        CHECK(!try_graph(wrapper));
    }
    fault_backend_reset();
}

int main(void)
{
    fake = fake_cuda_use(FAKE_CUDA);
    uint32_t count = 0;
    conformance_must(hri_backend_cuda.probe(&count), "probe");
    TEST(count_calls_of_run());
    TEST(lack_functions());
    TEST(fail_each_call());
    TEST(fail_behind_wrapper());
    TEST_CASE("nothing is left");
    CHECK(fake->objects == 0 && fake->retained == 0);
    return test_end();
}
