/* SPDX-License-Identifier: MIT */
/* Graphs: commands enqueued once run in their order as often as the graph is
 * run, among other work. Errors while a graph is made harm no queue. */
#include <pthread.h>
#include <stdlib.h>

#include "support/axpy.h"

enum { COUNT = 1000, BYTES = COUNT * sizeof(float), ROUNDS = 5 };

typedef struct setting {
    hri_device *device;
    hri_queue *queue, *other;
    hri_module *module;
    hri_event *event;
    hri_buffer *x, *y, *z;
    hri_graph *graph; /* an existing one */
    float want_y[COUNT], want_z[COUNT];
} setting;

static float x_at(int i)
{
    return (float)(i % 17);
}

/* Arrays start anew. */
static void reset_arrays(setting *s)
{
    float x[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = x_at(i);
        s->want_y[i] = s->want_z[i] = (float)i;
    }
    conformance_upload(s->queue, s->x, x);
    conformance_upload(s->queue, s->y, s->want_y);
    conformance_upload(s->queue, s->z, s->want_z);
    CHECK(s->queue->ops->finish(s->queue) == HR_OK);
}

static void setting_init(setting *s, hri_device *device)
{
    char *source = hri_kernel_source(&axpy, HRI_SOURCE_DEVICE);
    *s = (setting){.device = device,
                   .queue = conformance_queue(device),
                   .other = conformance_queue_as(device, true),
                   .event = conformance_event(device),
                   .x = conformance_buffer(device, BYTES),
                   .y = conformance_buffer(device, BYTES),
                   .z = conformance_buffer(device, BYTES)};
    conformance_must(
        device->ops->build(device, &axpy, source, NULL, &s->module), "build");
    free(source);
}

static void setting_finish(setting *s)
{
    s->queue->ops->destroy(s->queue);
    s->other->ops->destroy(s->other);
    s->event->ops->destroy(s->event);
    s->device->ops->release(s->x);
    s->device->ops->release(s->y);
    s->device->ops->release(s->z);
    s->device->ops->unload(s->module);
}

/* y := y + a x + 1 */
static void enqueue_axpy(setting *s, float a)
{
    CHECK(launch_axpy(s->queue, s->module, s->x, s->y, COUNT, &a) == HR_OK);
}

static void enqueue_copy(hri_queue *queue, hri_buffer *to, hri_buffer *from)
{
    const hri_copy c = conformance_row(hri_at(to, 0), hri_at(from, 0), BYTES);
    CHECK(queue->ops->copy(queue, &c) == HR_OK);
}

/* Steps that give other values in any other order, or with other arguments. */
static hri_graph *make_steps(setting *s)
{
    hri_graph *graph = NULL;
    CHECK(s->queue->ops->begin_graph(s->queue) == HR_OK);
    enqueue_axpy(s, 2.0f);
    enqueue_copy(s->queue, s->z, s->y);
    enqueue_axpy(s, 3.0f);
    conformance_must(s->queue->ops->end_graph(s->queue, &graph), "end_graph");
    CHECK(graph->device == s->device);
    return graph;
}

static void follow_steps(setting *s)
{
    for (int i = 0; i < COUNT; i++) {
        s->want_z[i] = s->want_y[i] + 2.0f * x_at(i) + 1.0f;
        s->want_y[i] = s->want_z[i] + 3.0f * x_at(i) + 1.0f;
    }
}

static void check_arrays(setting *s)
{
    float y[COUNT], z[COUNT];
    conformance_download(s->queue, y, s->y);
    conformance_download(s->queue, z, s->z);
    CHECK(s->queue->ops->finish(s->queue) == HR_OK);
    CHECK(memcmp(y, s->want_y, BYTES) == 0);
    CHECK(memcmp(z, s->want_z, BYTES) == 0);
}

static void run_steps(setting *s, hri_queue *queue, hri_graph *graph)
{
    CHECK(queue->ops->run_graph(queue, graph) == HR_OK);
    follow_steps(s);
}

static void a_graph_runs_in_order(setting *s)
{
    reset_arrays(s);
    hri_graph *graph = make_steps(s);
    TEST_CASE("what is kept in a graph does not run");
    check_arrays(s);
    TEST_CASE("a graph runs in its order, with the arguments of then");
    run_steps(s, s->queue, graph);
    check_arrays(s);
    TEST_CASE("it runs as often as it is wanted");
    for (int i = 0; i < ROUNDS; i++) {
        run_steps(s, s->queue, graph);
    }
    check_arrays(s);
    TEST_CASE("other work of the queue stays before and behind it");
    for (int i = 0; i < ROUNDS; i++) {
        enqueue_copy(s->queue, s->y, s->x);
        for (int j = 0; j < COUNT; j++) {
            s->want_y[j] = x_at(j);
        }
        run_steps(s, s->queue, graph);
        enqueue_copy(s->queue, s->y, s->z);
        memcpy(s->want_y, s->want_z, BYTES);
        enqueue_axpy(s, 0.0f);
        for (int j = 0; j < COUNT; j++) {
            s->want_y[j] += 1.0f;
        }
    }
    check_arrays(s);
    TEST_CASE("there may be several graphs, and they may go in any order");
    hri_graph *second = make_steps(s);
    s->device->ops->destroy_graph(graph);
    run_steps(s, s->queue, second);
    check_arrays(s);
    s->device->ops->destroy_graph(second);
    s->device->ops->destroy_graph(NULL);
}

static void order_queues(hri_queue *first, hri_event *event, hri_queue *second)
{
    CHECK(first->ops->record(first, event) == HR_OK);
    CHECK(second->ops->wait(second, event) == HR_OK);
}

static void events_count_graphs_in(setting *s)
{
    TEST_CASE("events before and behind a graph order it");
    reset_arrays(s);
    hri_graph *graph = make_steps(s);
    for (int i = 0; i < ROUNDS; i++) {
        run_steps(s, i % 2 == 0 ? s->queue : s->other, graph);
        order_queues(i % 2 == 0 ? s->queue : s->other, s->event,
                     i % 2 == 0 ? s->other : s->queue);
    }
    order_queues(s->other, s->event, s->queue);
    check_arrays(s);
    run_steps(s, s->other, graph);
    CHECK(s->other->ops->record(s->other, s->event) == HR_OK);
    CHECK(s->event->ops->wait(s->event) == HR_OK);
    check_arrays(s);
    s->device->ops->destroy_graph(graph);
}

/* Calls that must work meanwhile. */
static void *work_elsewhere(void *argument)
{
    setting *s = argument;
    char host[16] = {0};
    hri_queue *queue = conformance_queue(s->device);
    hri_event *event = conformance_event(s->device);
    hri_buffer *buffer = conformance_buffer(s->device, sizeof host);
    CHECK(queue->ops->fill(queue, buffer, 0, sizeof host, 7) == HR_OK);
    order_queues(queue, event, s->other);
    CHECK(event->ops->wait(event) == HR_OK);
    conformance_download(s->other, host, buffer);
    CHECK(s->other->ops->finish(s->other) == HR_OK);
    CHECK(host[0] == 7 && host[sizeof host - 1] == 7);
    s->device->ops->release(buffer);
    event->ops->destroy(event);
    queue->ops->destroy(queue);
    return NULL;
}

static void others_go_on(setting *s)
{
    pthread_t thread;
    hri_graph *graph = NULL;
    TEST_CASE("other queues go on while a graph is made, in any thread");
    reset_arrays(s);
    CHECK(s->queue->ops->begin_graph(s->queue) == HR_OK);
    enqueue_axpy(s, 2.0f);
    work_elsewhere(s);
    enqueue_copy(s->queue, s->z, s->y);
    bool started = pthread_create(&thread, NULL, work_elsewhere, s) == 0;
    if (started) {
        pthread_join(thread, NULL); /* it counts checks, too */
    }
    CHECK(started);
    enqueue_axpy(s, 3.0f);
    conformance_must(s->queue->ops->end_graph(s->queue, &graph), "end_graph");
    check_arrays(s);
    run_steps(s, s->queue, graph);
    check_arrays(s);
    s->device->ops->destroy_graph(graph);
}

/* ---- what a graph refuses */

static hr_status record_inside(setting *s)
{
    return s->queue->ops->record(s->queue, s->event);
}

static hr_status wait_inside(setting *s)
{
    return s->queue->ops->wait(s->queue, s->event);
}

static hr_status finish_inside(setting *s)
{
    return s->queue->ops->finish(s->queue);
}

static hr_status begin_inside(setting *s)
{
    return s->queue->ops->begin_graph(s->queue);
}

static hr_status run_inside(setting *s)
{
    return s->queue->ops->run_graph(s->queue, s->graph);
}

static hr_status upload_inside(setting *s)
{
    const hri_copy c =
        conformance_row(hri_at(s->y, 0), hri_at_host(s->want_z, 0), BYTES);
    return s->queue->ops->copy(s->queue, &c);
}

static hr_status multiply_inside(setting *s)
{
    const hri_gemm nothing = {.type = HR_F32, .c_type = HR_F32};
    return s->queue->ops->gemm(s->queue, &nothing);
}

static hr_status pack_inside(setting *s)
{
    const hri_pack one = {
        .type = HR_F32,
        .from = {.place = hri_at(s->z, 0), .row_stride = 1, .col_stride = 1},
        .to = hri_at(s->y, 0),
        .rows = 1,
        .cols = 1,
        .to_stride = 1};
    return s->queue->ops->pack(s->queue, &one);
}

/* The graph made before still runs, as does work that is enqueued now, and
 * another graph can be made. */
static void check_usable(setting *s)
{
    check_arrays(s);
    run_steps(s, s->queue, s->graph);
    enqueue_copy(s->queue, s->y, s->x);
    order_queues(s->queue, s->event, s->other);
    order_queues(s->other, s->event, s->queue);
    for (int i = 0; i < COUNT; i++) {
        s->want_y[i] = x_at(i);
    }
    check_arrays(s);
    hri_graph *graph = make_steps(s);
    run_steps(s, s->queue, graph);
    check_arrays(s);
    s->device->ops->destroy_graph(graph);
}

static void errors_end_with_the_graph(setting *s)
{
    static const struct {
        const char *name;
        hr_status (*go_wrong)(setting *s);
    } cases[] = {{"an event is recorded", record_inside},
                 {"an event is waited for", wait_inside},
                 {"the queue is finished", finish_inside},
                 {"a graph is begun", begin_inside},
                 {"a graph is run", run_inside},
                 {"a copy from or to memory", upload_inside},
                 {"a product", multiply_inside},
                 {"a matrix is packed", pack_inside}};
    reset_arrays(s);
    s->graph = make_steps(s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hri_graph *graph = NULL;
        TEST_CASE(cases[i].name);
        reset_arrays(s);
        CHECK(s->other->ops->record(s->other, s->event) == HR_OK);
        CHECK(s->queue->ops->begin_graph(s->queue) == HR_OK);
        enqueue_axpy(s, 5.0f);
        CHECK_FAILS(cases[i].go_wrong(s), HR_ERROR_INVALID, cases[i].name);
        CHECK_FAILS(s->queue->ops->end_graph(s->queue, &graph),
                    HR_ERROR_INVALID, cases[i].name);
        CHECK(graph == NULL);
        check_usable(s);
    }
    s->device->ops->destroy_graph(s->graph);
}

/* Whether there are graphs. Where there are none, beginning one must fail, and
 * nothing else. */
static bool has_graphs(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    hri_graph *graph = NULL;
    TEST_CASE("graphs are offered or declined");
    hr_status status = queue->ops->begin_graph(queue);
    CHECK(status == HR_OK || status == HR_ERROR_UNSUPPORTED);
    if (status == HR_OK) {
        CHECK(queue->ops->end_graph(queue, &graph) == HR_OK);
        CHECK(queue->ops->run_graph(queue, graph) == HR_OK);
    } else {
        test_note("skip: %s\n", hr_last_error());
    }
    CHECK(queue->ops->finish(queue) == HR_OK);
    device->ops->destroy_graph(graph);
    queue->ops->destroy(queue);
    return status == HR_OK;
}

static void graphs_conform(hri_device *device)
{
    setting s;
    if (!has_graphs(device)) {
        return;
    }
    setting_init(&s, device);
    TEST(a_graph_runs_in_order(&s));
    TEST(events_count_graphs_in(&s));
    TEST(others_go_on(&s));
    TEST(errors_end_with_the_graph(&s));
    setting_finish(&s);
}

int main(void)
{
    return conformance_main(graphs_conform);
}
