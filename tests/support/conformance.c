/* SPDX-License-Identifier: MIT */
#include "support/conformance.h"

#include "base/cpus.h"

#include <unistd.h>

#include "support/fault_backend.h"

/* What is under test now. */
static const hri_backend *current_backend;
static uint32_t current_index;

void conformance_must(hr_status status, const char *what)
{
    if (status != HR_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, hr_status_name(status),
                hr_last_error());
        exit(1);
    }
}

hri_device *conformance_open_again(void)
{
    hri_device *device = NULL;
    conformance_must(
        current_backend->open(current_index, hri_thread_count(), &device),
        "open");
    return device;
}

hri_queue *conformance_queue(hri_device *device)
{
    return conformance_queue_as(device, false);
}

hri_queue *conformance_queue_as(hri_device *device, bool urgent)
{
    hri_queue *queue = NULL;
    conformance_must(device->ops->create_queue(device, urgent, &queue),
                     "create_queue");
    return queue;
}

hri_event *conformance_event(hri_device *device)
{
    hri_event *event = NULL;
    conformance_must(device->ops->create_event(device, true, &event),
                     "create_event");
    return event;
}

hri_buffer *conformance_buffer(hri_device *device, size_t bytes)
{
    hri_buffer *buffer = NULL;
    conformance_must(device->ops->allocate(device, bytes, &buffer), "allocate");
    return buffer;
}

void *conformance_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

conformance_opened conformance_open(const hri_backend *backend, uint32_t index,
                                    size_t bytes)
{
    enum { THREADS = 2 };
    conformance_opened o = {.device = NULL};
    conformance_must(backend->open(index, THREADS, &o.device), "open");
    o.queue = conformance_queue(o.device);
    o.buffer = conformance_buffer(o.device, bytes);
    o.event = conformance_event(o.device);
    return o;
}

void conformance_close(conformance_opened *opened)
{
    opened->queue->ops->destroy(opened->queue);
    opened->event->ops->destroy(opened->event);
    opened->device->ops->release(opened->buffer);
    opened->device->ops->close(opened->device);
}

void conformance_upload(hri_queue *queue, hri_buffer *buffer, const void *host)
{
    hri_copy copy =
        conformance_row(hri_at(buffer, 0), hri_at_host(host, 0), buffer->bytes);
    conformance_must(queue->ops->copy(queue, &copy), "copy to a buffer");
}

void conformance_download(hri_queue *queue, void *host, hri_buffer *buffer)
{
    hri_copy copy =
        conformance_row(hri_at_host(host, 0), hri_at(buffer, 0), buffer->bytes);
    conformance_must(queue->ops->copy(queue, &copy), "copy from a buffer");
}

/* False when the device did not open. */
static bool run_device(conformance_test test)
{
    hri_device_info info;
    hri_device *device = NULL;
    if (current_backend->describe(current_index, &info) != HR_OK ||
        current_backend->open(current_index, hri_thread_count(), &device) !=
            HR_OK) {
        fprintf(stderr, "%s device %u: %s\n", current_backend->name,
                current_index, hr_last_error());
        return false;
    }
    test_note("%s, %s\n", info.path, info.name);
    test(device);
    device->ops->close(device);
    return true;
}

/* The number of devices, or -1. */
static int run_backend(const hri_backend *backend, conformance_test test)
{
    uint32_t count = 0;
    bool good = true;
    if (backend->probe(&count) != HR_OK || count == 0) {
        test_note("skip %s: %s\n", backend->name,
                  count == 0 ? "it has no device" : hr_last_error());
        return 0;
    }
    current_backend = backend;
    for (uint32_t i = 0; i < count; i++) {
        current_index = i;
        good = run_device(test) && good;
    }
    return good ? (int)count : -1;
}

static int run_wrapped(conformance_test test)
{
    fault_backend_reset();
    test_note("behind the wrapper: ");
    int devices = run_backend(fault_backend_wrap(&hri_backend_host), test);
    if (fault_backend_breaches() > 0 || fault_backend_objects() > 0) {
        fprintf(stderr, "%llu breaches of contract, %llu objects left\n",
                (unsigned long long)fault_backend_breaches(),
                (unsigned long long)fault_backend_objects());
        devices = -1;
    }
    fault_backend_reset();
    return devices;
}

/* Whether there is a backend of this name. If not, the names are printed. */
static bool is_backend(const char *name)
{
    const hri_backend *const *b = hri_backends;
    while (*b != NULL && strcmp((*b)->name, name) != 0) {
        b++;
    }
    if (*b == NULL) {
        fprintf(stderr, "CONFORMANCE_BACKEND=%s: the backends are", name);
        for (b = hri_backends; *b != NULL; b++) {
            fprintf(stderr, " %s", (*b)->name);
        }
        fputc('\n', stderr);
    }
    return *b != NULL;
}

/* The number of devices, or -1. */
static int run_all(conformance_test test)
{
    const char *only = getenv("CONFORMANCE_BACKEND");
    int devices = 0;
    bool good = true;
    if (only != NULL && !is_backend(only)) {
        return -1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const hri_backend *const *b = hri_backends; *b != NULL; b++) {
        if (only != NULL && strcmp(only, (*b)->name) != 0) {
            continue;
        }
        int count = run_backend(*b, test);
        good = good && count >= 0;
        devices += count;
    }
    int wrapped = only == NULL ? run_wrapped(test) : 0;
    return good && wrapped >= 0 ? devices : -1;
}

int conformance_main(conformance_test test)
{
    const int devices = run_all(test);
    CHECK(devices >= 0);
    return devices == 0 ? test_skip("no backend has a device") : test_end();
}
