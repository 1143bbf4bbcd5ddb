/* SPDX-License-Identifier: MIT */
/* How fast a GPU multiplies matrices in its memory, natively (by cuBLAS) and
 * reproducibly (by Headrace's kernel), and what the first product of each type
 * and opening the device cost. It prints times; only nonsense fails. */
#include "backends/cuda/cuda.h"
#include "base/clock.h"
#include "support/conformance.h"
#include "support/random.h"

enum { CHUNK = 1 << 20, TRIES = 5 };

static const struct {
    const char *name;
    hr_type type, c_type;
    hr_compute compute;
    int64_t n;
    bool b_columns; /* B is column-major */
} rows[] = {
    {"f32", HR_F32, HR_F32, HR_COMPUTE_NATIVE, 8192, false},
    {"tf32", HR_F32, HR_F32, HR_COMPUTE_TF32, 16384, false},
    {"f64", HR_F64, HR_F64, HR_COMPUTE_NATIVE, 8192, false},
    {"c32", HR_C32, HR_C32, HR_COMPUTE_NATIVE, 4096, false},
    {"c64", HR_C64, HR_C64, HR_COMPUTE_NATIVE, 4096, false},
    {"f32, repr.", HR_F32, HR_F32, HR_COMPUTE_REPRODUCIBLE, 8192, false},
    {"f64, repr.", HR_F64, HR_F64, HR_COMPUTE_REPRODUCIBLE, 8192, false},
    {"c32, repr.", HR_C32, HR_C32, HR_COMPUTE_REPRODUCIBLE, 4096, false},
    {"c64, repr.", HR_C64, HR_C64, HR_COMPUTE_REPRODUCIBLE, 4096, false},
    {"f16", HR_F16, HR_F16, HR_COMPUTE_NATIVE, 16384, false},
    {"f16 to f32", HR_F16, HR_F32, HR_COMPUTE_NATIVE, 16384, false},
    {"bf16", HR_BF16, HR_BF16, HR_COMPUTE_NATIVE, 16384, false},
    {"i8 to i32", HR_I8, HR_I32, HR_COMPUTE_NATIVE, 16384, false},
    {"i8, B^T", HR_I8, HR_I32, HR_COMPUTE_NATIVE, 16384, true},
};

static double seconds_since(uint64_t start)
{
    return (double)(hri_clock_ns() - start) * 1e-9;
}

/* Random elements all over the buffer. */
static void fill_randomly(hri_queue *queue, hri_buffer *buffer, hr_type type)
{
    random_source source = {(uint64_t)type};
    char *chunk = conformance_memory(CHUNK);
    hr_matrix m = hr_matrix_row_major(chunk, type, 1,
                                      (int64_t)(CHUNK / hr_type_size(type)), 0);
    random_fill_matrix(&source, &m);
    for (size_t at = 0; at < buffer->bytes; at += CHUNK) {
        size_t left = buffer->bytes - at;
        hri_copy copy =
            conformance_row(hri_at(buffer, at), hri_at_host(chunk, 0),
                            left < CHUNK ? left : CHUNK);
        CHECK(queue->ops->copy(queue, &copy) == HR_OK);
    }
    CHECK(queue->ops->finish(queue) == HR_OK);
    free(chunk);
}

static double time_once(hri_queue *queue, const hri_gemm *g, hri_event *from,
                        hri_event *to)
{
    uint64_t ns = 0;
    CHECK(queue->ops->record(queue, from) == HR_OK);
    CHECK(queue->ops->gemm(queue, g) == HR_OK);
    CHECK(queue->ops->record(queue, to) == HR_OK);
    CHECK(to->ops->wait(to) == HR_OK);
    CHECK(from->ops->elapsed(from, to, &ns) == HR_OK);
    return (double)ns * 1e-9;
}

static void measure_product(hri_device *device, hri_queue *queue, size_t row)
{
    const int64_t n = rows[row].n;
    const hr_type type = rows[row].type, c_type = rows[row].c_type;
    const size_t elements = (size_t)(n * n);
    hri_event *from = conformance_event(device);
    hri_event *to = conformance_event(device);
    hri_buffer *buffers[3];
    hri_operand operands[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = conformance_buffer(
            device, elements * hr_type_size(i < 2 ? type : c_type));
        operands[i] = (hri_operand){
            .place = hri_at(buffers[i], 0), .row_stride = n, .col_stride = 1};
    }
    if (rows[row].b_columns) {
        operands[1].row_stride = 1;
        operands[1].col_stride = n;
    }
    fill_randomly(queue, buffers[0], type);
    fill_randomly(queue, buffers[1], type);
    hri_gemm g = {.type = type,
                  .c_type = c_type,
                  .compute = rows[row].compute,
                  .m = 64,
                  .n = 64,
                  .k = 64,
                  .alpha = hr_real(1),
                  .a = operands[0],
                  .b = operands[1],
                  .c = operands[2]};
    uint64_t start = hri_clock_ns();
    time_once(queue, &g, from, to);
    double first = seconds_since(start);
    g.m = g.n = g.k = n;
    start = hri_clock_ns();
    double large = time_once(queue, &g, from, to);
    double first_large = seconds_since(start) - large;
    double best = 0.0;
    for (int i = 0; i < TRIES; i++) {
        double time = time_once(queue, &g, from, to);
        best = i == 0 || time < best ? time : best;
    }
    CHECK(best > 0.0);
    double flops = (type == HR_C32 || type == HR_C64 ? 8.0 : 2.0) * (double)n *
                   (double)n * (double)n;
    printf("%-10s %6lld^3 %8.1f TFLOP/s; the first small product took %.1f ms, "
           "the first of this size %.1f ms more than the next\n",
           rows[row].name, (long long)n, flops / best * 1e-12, first * 1e3,
           first_large * 1e3);
    for (int i = 0; i < 3; i++) {
        device->ops->release(buffers[i]);
    }
    from->ops->destroy(from);
    to->ops->destroy(to);
}

/* What is free on the device now. */
static uint64_t free_now(void)
{
    hri_device *device = NULL;
    conformance_must(hri_backend_cuda.open(0, 2, &device), "open");
    uint64_t free_bytes = device->info.free_bytes;
    device->ops->close(device);
    return free_bytes;
}

int main(void)
{
    uint32_t count = 0;
    uint64_t start = hri_clock_ns();
    if (hri_backend_cuda.probe(&count) != HR_OK) {
        return test_skip(hr_last_error());
    }
    double probed = seconds_since(start);
    hri_device *device = NULL;
    start = hri_clock_ns();
    conformance_must(hri_backend_cuda.open(0, 2, &device), "open");
    test_note(
        "%s, %s, %s: found in %.0f ms, opened in %.0f ms, %.2f GiB of %.2f "
        "free\n",
        device->info.path, device->info.name, device->info.arithmetic,
        probed * 1e3, seconds_since(start) * 1e3,
        (double)device->info.free_bytes / (1 << 30),
        (double)device->info.memory_bytes / (1 << 30));
    hri_queue *queue = conformance_queue(device);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (device->ops->gemm_offered(device, rows[i].type, rows[i].c_type,
                                      rows[i].compute)) {
            TEST(measure_product(device, queue, i));
        }
    }
    test_note("multiplying has taken %.1f MiB of the device's memory beside "
              "operands; %.1f were expected, and code is not counted\n",
              ((double)device->info.free_bytes - (double)free_now()) /
                  (1 << 20),
              (double)device->info.gemm_bytes / (1 << 20));
    queue->ops->destroy(queue);
    device->ops->close(device);
    return test_end();
}
