/* SPDX-License-Identifier: MIT */
/* Arrays when any call to an accelerator fails, at once or later. There is one
 * status, nothing is left behind, and there is no wrong data without an
 * error. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/faults.h"

/* Where accelerators are staged, a copy pool copies ordinary memory of the
 * large ones. */
static const struct {
    const char *name;
    bool staged;
    int64_t rows, cols;
} kinds[] = {
    {"as it is", false, 12, 20},
    {"staged", true, 600, 500},
    {"staged, small", true, 12, 20},
};
enum { MAX_ELEMENTS = 600 * 500 };

typedef struct things {
    hr_context *context;
    hr_queue *queues[2];
    hr_array *source, *first, *second;
    size_t kind, count;
    int *from, *to; /* MAX_ELEMENTS each */
} things;

static hr_status create(things *t)
{
    static const hri_backend *list[2];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_extent extent = hr_extent2(kinds[t->kind].rows, kinds[t->kind].cols);
    list[0] = fault_backend_wrap(&hri_backend_host);
    options.accelerators = "2xhost";
    options.memory_limit = 16 << 20;
    hr_status status = hri_context_create_from(list, &options, &t->context);
    for (uint32_t i = 0; i < 2 && status == HR_OK; i++) {
        status = hr_queue_create(t->context, i, &t->queues[i]);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(t->context, t->from, sizeof(int), extent, 0,
                               &t->source);
    }
    if (status == HR_OK) {
        status = hr_array_create(t->queues[0], sizeof(int), extent, &t->first);
    }
    if (status == HR_OK) {
        status = hr_array_create(t->queues[1], sizeof(int), extent, &t->second);
    }
    return status;
}

/* The caller changes all signs in the memory of the first accelerator. */
static hr_status change_signs(hr_view view)
{
    hr_mapping m = {0};
    hr_status status = hr_map_on(view, 0, HR_INOUT, &m);
    if (status != HR_OK) {
        return status;
    }
    for (int64_t i = 0; i < view.extent.size[0]; i++) {
        int *row = (int *)(void *)((char *)m.data + i * m.stride_bytes[0]);
        for (int64_t j = 0; j < view.extent.size[1]; j++) {
            row[j] = -row[j];
        }
    }
    return hr_unmap(&m);
}

/* Numbers go to one accelerator, to the other, and a part of them comes home.
 */
static hr_status travel(things *t)
{
    const int64_t origin[] = {3, 4};
    hr_view part, whole = hr_view_of(t->second);
    hr_event *event = NULL;
    hr_mapping m;
    hr_status status = hr_view_section(whole, origin, hr_extent2(5, 9), &part);
    if (status == HR_OK) {
        status = hr_copy(hr_view_of(t->source), hr_view_of(t->first));
    }
    if (status == HR_OK) {
        status = hr_copy_async(hr_view_of(t->first), whole, &event);
    }
    if (status == HR_OK) {
        status = hr_event_wait(event);
    }
    hr_event_destroy(event);
    if (status == HR_OK) {
        status = hr_prefetch(part, t->queues[0]);
    }
    if (status == HR_OK) {
        status = hr_queue_finish(t->queues[0]);
    }
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        status = change_signs(whole);
    }
    if (status == HR_OK) {
        status = hr_map(whole, HR_IN, &m);
    }
    if (status == HR_OK) {
        memcpy(t->to, m.data, t->count * sizeof(int));
        status = hr_unmap(&m);
    }
    return status == HR_OK ? hr_synchronize(whole) : status;
}

static void destroy(things *t)
{
    hr_array_destroy(t->source);
    hr_array_destroy(t->first);
    hr_array_destroy(t->second);
    hr_queue_destroy(t->queues[0]);
    hr_queue_destroy(t->queues[1]);
    hr_context_destroy(t->context);
}

static things things_of(size_t kind)
{
    static int from[MAX_ELEMENTS], to[MAX_ELEMENTS];
    memset(to, 0, sizeof to);
    return (things){.kind = kind,
                    .count = (size_t)(kinds[kind].rows * kinds[kind].cols),
                    .from = from,
                    .to = to};
}

static bool arrived(const things *t)
{
    return memcmp(t->from, t->to, t->count * sizeof(int)) == 0;
}

static void fail_each(size_t kind, fault_way how, const char *name)
{
    faults f = {.how = how};
    char text[80];
    snprintf(text, sizeof text, "%s, %s", kinds[kind].name, name);
    TEST_CASE(text);
    while (faults_next(&f)) {
        things t = things_of(kind);
        for (int i = 0; i < MAX_ELEMENTS; i++) {
            t.from[i] = i * 7 + 1;
        }
        fault_backend_pretend_staged(kinds[kind].staged);
        hr_status status = create(&t);
        if (status == HR_OK) {
            status = travel(&t);
        }
        CHECK(status != HR_OK || arrived(&t));
        CHECK(status == HR_OK || status == HR_ERROR_LOST ||
              status == HR_ERROR_BACKEND || status == HR_ERROR_UNAVAILABLE);
        faults_note(&f, status != HR_OK);
        destroy(&t);
    }
    faults_end(&f);
}

/* After a failure everything goes on that does not depend on it: other queues,
 * other arrays, and the library's own copies. */
static void rest_goes_on(size_t kind)
{
    TEST_CASE("the rest goes on");
    for (uint64_t n = 1; n <= 4; n++) {
        things t = things_of(kind);
        fault_backend_reset();
        fault_backend_pretend_staged(kinds[kind].staged);
        CHECK(create(&t) == HR_OK);
        fault_backend_fail_operation(n, HR_ERROR_BACKEND);
        CHECK(travel(&t) == HR_ERROR_BACKEND);
        fault_backend_fail_operation(0, HR_OK);
        for (int i = 0; i < MAX_ELEMENTS; i++) {
            t.from[i] = i * 3;
        }
        for (int i = 0; i < 2; i++) { /* a queue that failed keeps its error */
            hr_queue_destroy(t.queues[i]);
            CHECK(hr_queue_create(t.context, (uint32_t)i, &t.queues[i]) ==
                  HR_OK);
        }
        CHECK(hr_invalidate(hr_view_of(t.source)) == HR_OK);
        CHECK(travel(&t) == HR_OK);
        CHECK(arrived(&t));
        destroy(&t);
    }
}

int main(void)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        TEST(fail_each(kind, CALL, "a call fails"));
        TEST(fail_each(kind, OPERATION, "an operation fails later"));
        TEST(fail_each(kind, LOSE, "the device is lost"));
        TEST(rest_goes_on(kind));
    }
    return test_end();
}
