/* SPDX-License-Identifier: MIT */
/* New buffers of an OpenCL device, with a driver that runs writes as late as
 * OpenCL allows. A blocking write may return before it has run, once the driver
 * has a copy of the bytes. */
#include "backends/opencl/opencl.h"
#include "base/cpus.h"
#include "support/conformance.h"
#include "test.h"

enum { BYTES = 64 };

/* The real driver, and the write that is held back in a queue. It runs when
 * that queue is finished, or when the test says so. */
static hri_cl_api driver;
static struct {
    cl_command_queue queue; /* of which writes are held back */
    cl_mem memory;          /* NULL: none is */
    size_t offset, bytes;
    unsigned char data[BYTES];
} late;

static cl_int run_late(void)
{
    cl_mem memory = late.memory;
    late.memory = NULL;
    return memory == NULL
               ? CL_SUCCESS
               : driver.clEnqueueWriteBuffer(late.queue, memory, CL_TRUE,
                                             late.offset, late.bytes, late.data,
                                             0, NULL, NULL);
}

/* NOLINTNEXTLINE(readability-function-size): OpenCL has so many parameters */
static cl_int write_late(cl_command_queue queue, cl_mem memory,
                         cl_bool blocking, size_t offset, size_t bytes,
                         const void *data, cl_uint count,
                         const cl_event *events, cl_event *event)
{
    if (queue != late.queue || late.memory != NULL || bytes > BYTES) {
        return driver.clEnqueueWriteBuffer(queue, memory, blocking, offset,
                                           bytes, data, count, events, event);
    }
    late.memory = memory;
    late.offset = offset;
    late.bytes = bytes;
    memcpy(late.data, data, bytes);
    return CL_SUCCESS;
}

static cl_int finish(cl_command_queue queue)
{
    const cl_int error = queue == late.queue ? run_late() : CL_SUCCESS;
    return error != CL_SUCCESS ? error : driver.clFinish(queue);
}

static void new_buffers_keep_what_is_written(hri_device *device)
{
    unsigned char sent[BYTES], got[BYTES] = {0};
    hri_queue *queue = conformance_queue(device);
    memset(sent, 0xa5, sizeof sent);
    TEST_CASE("a write that makes a buffer real does not run after others");
    hri_buffer *buffer = conformance_buffer(device, sizeof sent);
    conformance_upload(queue, buffer, sent);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(run_late() == CL_SUCCESS);
    conformance_download(queue, got, buffer);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(memcmp(got, sent, sizeof sent) == 0);
    device->ops->release(buffer);
    queue->ops->destroy(queue);
}

int main(void)
{
    uint32_t count = 0;
    if (hri_backend_opencl.probe(&count) != HR_OK) {
        return test_skip(hr_last_error());
    }
    driver = hri_cl;
    hri_cl.clEnqueueWriteBuffer = write_late;
    hri_cl.clFinish = finish;
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = NULL;
        conformance_must(hri_backend_opencl.open(i, HRI_MAX_THREADS, &device),
                         "open");
        late.queue = ((hri_cl_device *)device)->setup;
        TEST(new_buffers_keep_what_is_written(device));
        late.queue = NULL;
        device->ops->close(device);
    }
    return test_end();
}
