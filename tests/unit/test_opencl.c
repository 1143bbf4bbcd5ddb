/* SPDX-License-Identifier: MIT */
/* What OpenCL has beside products. Lines of compilers' logs: each tells the
 * file and line of the kernel. Pinned memory of a device. New buffers, with a
 * driver that runs writes as late as OpenCL allows. A blocking write may return
 * before it has run, once the driver has a copy of the bytes. */
#include "backends/opencl/opencl.h"
#include "base/cpus.h"
#include "support/conformance.h"
#include "test.h"

enum { BYTES = 64 };

/* ---- compilers' logs */

static bool line_becomes(const char *from, const char *to)
{
    static const char source[] = "typedef int first;\n"
                                 "#line 1 \"user.c\"\n"
                                 "one\n"
                                 "two\n"
                                 "#line 1 \"argument p\"\n"
                                 "last\n";
    char line[200];
    hri_log_line(from, source, line, sizeof line);
    return strcmp(line, to) == 0;
}

static void logs_tell_the_file_and_line(void)
{
    TEST_CASE("a compiler that keeps to #line");
    CHECK(line_becomes("user.c:2:5: error: no\nmore", "user.c:2:5: error: no"));
    TEST_CASE("one that does not");
    CHECK(line_becomes("<kernel>:3:7: error: no\r\n", "user.c:1:7: error: no"));
    CHECK(line_becomes("<kernel>:4:7: error: no", "user.c:2:7: error: no"));
    CHECK(line_becomes("<kernel>:6:1: error: no", "argument p:1:1: error: no"));
    TEST_CASE("lines that are nowhere");
    CHECK(line_becomes("<kernel>:1:7: error: no", "<kernel>:1:7: error: no"));
    CHECK(line_becomes("<kernel>:x", "<kernel>:x"));
    CHECK(line_becomes("", ""));
}

static void broken_source_is_told(const hri_cl_device *device)
{
    static const char source[] = "__kernel void f(void)\n"
                                 "{\n"
                                 "    this is no C;\n"
                                 "}\n";
    cl_program program = NULL;
    TEST_CASE("a program that does not compile");
    CHECK_FAILS(hri_cl_program_build(device->unit, NULL, source, "", &program),
                HR_ERROR_BUILD, "error");
    CHECK(program == NULL);
    CHECK(strchr(hr_last_error(), '\n') == NULL);
}

/* ---- memory */

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

static cl_int finish_late(cl_command_queue queue)
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

static bool is_pinned(hri_device *device, const char *host, size_t bytes)
{
    return device->ops->is_pinned(device, host, bytes);
}

/* Both devices are of one unit. */
static void pinned_memory_is_known(hri_device *device, hri_device *other)
{
    void *first = NULL, *second = NULL;
    char ordinary[BYTES];
    TEST_CASE("a device knows what it pinned, and so do others of its unit");
    CHECK(device->ops->allocate_pinned(device, BYTES, &first) == HR_OK);
    CHECK(other->ops->allocate_pinned(other, 2 * BYTES, &second) == HR_OK);
    const char *a = first, *b = second;
    CHECK(is_pinned(device, a, BYTES) && is_pinned(other, a, BYTES));
    CHECK(is_pinned(device, b, 2 * BYTES) && is_pinned(other, b, 2 * BYTES));
    CHECK(is_pinned(device, a + 1, BYTES - 1) && is_pinned(device, a, 0));
    CHECK(is_pinned(device, b + BYTES, BYTES));
    CHECK(!is_pinned(device, a, BYTES + 1) && !is_pinned(device, a + 1, BYTES));
    CHECK(!is_pinned(device, a - 1, 2) && !is_pinned(device, a, SIZE_MAX));
    CHECK(!is_pinned(device, ordinary, BYTES));
    device->ops->release_pinned(device, ordinary); /* not its own */
    device->ops->release_pinned(device, NULL);
    device->ops->release_pinned(device, first);
    CHECK(!is_pinned(device, a, BYTES) && !is_pinned(other, a, BYTES));
    CHECK(is_pinned(device, b, 2 * BYTES));
    device->ops->release_pinned(device, second); /* by the unit's other one */
    CHECK(!is_pinned(other, b, 1));
}

static hri_device *open_device(uint32_t index)
{
    hri_device *device = NULL;
    conformance_must(hri_backend_opencl.open(index, HRI_MAX_THREADS, &device),
                     "open");
    return device;
}

int main(void)
{
    uint32_t count = 0;
    TEST(logs_tell_the_file_and_line());
    if (hri_backend_opencl.probe(&count) != HR_OK) {
        return test_state.failures > 0 ? test_end()
                                       : test_skip(hr_last_error());
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = open_device(i), *other = open_device(i);
        TEST(broken_source_is_told((const hri_cl_device *)device));
        TEST(pinned_memory_is_known(device, other));
        device->ops->close(device);
        other->ops->close(other);
    }
    driver = hri_cl;
    hri_cl.clEnqueueWriteBuffer = write_late;
    hri_cl.clFinish = finish_late;
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = open_device(i);
        late.queue = ((hri_cl_device *)device)->setup;
        TEST(new_buffers_keep_what_is_written(device));
        late.queue = NULL;
        device->ops->close(device);
    }
    return test_end();
}
