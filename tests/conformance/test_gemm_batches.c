/* SPDX-License-Identifier: MIT */
/* A batch gives the bits of its products enqueued one by one. Elements are
 * small integers, so sums are exact in any order. Only a zero may have either
 * sign: a library's kernels differ from size to size. */
#include "base/status.h"
#include "support/conformance.h"
#include "support/pairs.h"
#include "support/plain.h"
#include "support/random.h"

enum { COUNT = 9, GAP = 3, CASES = 12, MAX_EXTENT = 40 };

typedef struct operand {
    hr_matrix matrix; /* the first one; data is host memory */
    int64_t step;     /* elements; 0: one for all */
    size_t bytes;     /* of all */
    hri_buffer *buffer;
} operand;

static void operand_init(operand *o, hri_device *device, hri_queue *queue,
                         random_source *source, hr_matrix shape, bool columns,
                         bool shared)
{
    const int64_t gap = random_between(source, 0, 1) * GAP;
    const int64_t lines = columns ? shape.cols : shape.rows;
    const int64_t pitch = (columns ? shape.rows : shape.cols) + gap;
    o->step = shared ? 0 : lines * pitch + gap;
    o->bytes = (size_t)((shared ? 1 : COUNT) * (lines * pitch + gap)) *
               hr_type_size(shape.type);
    o->matrix = shape;
    o->matrix.data = conformance_memory(o->bytes);
    o->matrix.row_stride = columns ? 1 : pitch;
    o->matrix.col_stride = columns ? pitch : 1;
    memset(o->matrix.data, 0x55, o->bytes);
    for (int64_t i = 0; i < (shared ? 1 : COUNT); i++) {
        hr_matrix m = o->matrix;
        m.data =
            (char *)m.data + (size_t)(i * o->step) * hr_type_size(shape.type);
        for (int64_t e = 0; e < m.rows * m.cols; e++) {
            plain_store(&m, e / m.cols, e % m.cols,
                        (double)random_between(source, -2, 2),
                        (double)random_between(source, -2, 2));
        }
    }
    o->buffer = conformance_buffer(device, o->bytes);
    conformance_upload(queue, o->buffer, o->matrix.data);
    conformance_must(queue->ops->finish(queue), "the queue");
}

static void operand_finish(const operand *o, hri_device *device)
{
    device->ops->release(o->buffer);
    free(o->matrix.data);
}

static hri_operand operand_of(const operand *o)
{
    return (hri_operand){.place = {.buffer = o->buffer},
                         .row_stride = o->matrix.row_stride,
                         .col_stride = o->matrix.col_stride,
                         .conjugate = o->matrix.conjugate};
}

static int64_t step_bytes(const operand *o)
{
    return o->step * (int64_t)hr_type_size(o->matrix.type);
}

static void read_back(hri_queue *queue, const operand *c, void *to)
{
    conformance_download(queue, to, c->buffer);
    conformance_must(queue->ops->finish(queue), "the queue");
}

/* The products of a batch, each by a command of its own. */
static hr_status multiply_one_by_one(hri_queue *queue, const hri_gemm *gemm)
{
    for (int64_t i = 0; i < COUNT; i++) {
        hri_gemm one = *gemm;
        one.batch = (hri_batch){0};
        one.a.place.offset += (size_t)(i * gemm->batch.steps[0]);
        one.b.place.offset += (size_t)(i * gemm->batch.steps[1]);
        one.c.place.offset += (size_t)(i * gemm->batch.steps[2]);
        HRI_TRY(queue->ops->gemm(queue, &one));
    }
    return HR_OK;
}

/* Whether both have the same numbers of a type. */
static bool are_same(hr_type type, const unsigned char *x,
                     const unsigned char *y, size_t bytes)
{
    const bool complex = is_complex(type);
    const size_t size = hr_type_size(type) / (complex ? 2 : 1);
    const hr_type part = type == HR_C32   ? HR_F32
                         : type == HR_C64 ? HR_F64
                                          : type;
    for (size_t at = 0; at < bytes; at += size) {
        const hr_matrix one =
            hr_matrix_row_major((void *)(uintptr_t)(x + at), part, 1, 1, 0);
        const hr_matrix other =
            hr_matrix_row_major((void *)(uintptr_t)(y + at), part, 1, 1, 0);
        double a, b, none;
        reference_load(&one, 0, 0, &a, &none);
        reference_load(&other, 0, 0, &b, &none);
        if (a != b) {
            return false;
        }
    }
    return true;
}

static void try_batch(hri_device *device, hri_queue *queue, int pair,
                      random_source *source)
{
    const hr_type ab = pairs[pair].ab, c_type = pairs[pair].c;
    const int64_t m = random_between(source, 1, MAX_EXTENT);
    const int64_t n = random_between(source, 1, MAX_EXTENT);
    const int64_t k = random_between(source, 0, MAX_EXTENT);
    const bool conjugates = random_between(source, 0, 2) == 0;
    bool columns[2], shared[2];
    for (int i = 0; i < 2; i++) {
        columns[i] = random_between(source, 0, 1) == 1;
        shared[i] = random_between(source, 0, 3) == 0;
    }
    operand a, b, c;
    operand_init(&a, device, queue, source,
                 (hr_matrix){.type = ab,
                             .rows = m,
                             .cols = k > 0 ? k : 1,
                             .conjugate = conjugates && is_complex(ab)},
                 columns[0], shared[0]);
    operand_init(&b, device, queue, source,
                 (hr_matrix){.type = ab, .rows = k > 0 ? k : 1, .cols = n},
                 columns[1], shared[1]);
    operand_init(&c, device, queue, source,
                 (hr_matrix){.type = c_type, .rows = m, .cols = n}, false,
                 false);
    const hri_gemm gemm = {
        .type = ab,
        .c_type = c_type,
        .m = m,
        .n = n,
        .k = k,
        .alpha = hr_real((double)random_between(source, 0, 2)),
        .beta = hr_real((double)random_between(source, 0, 1)),
        .a = operand_of(&a),
        .b = operand_of(&b),
        .c = operand_of(&c),
        .batch = {.count = COUNT,
                  .steps = {step_bytes(&a), step_bytes(&b), step_bytes(&c)}}};
    unsigned char *want = conformance_memory(c.bytes);
    unsigned char *got = conformance_memory(c.bytes);
    conformance_must(multiply_one_by_one(queue, &gemm), "products");
    read_back(queue, &c, want);
    conformance_upload(queue, c.buffer, c.matrix.data);
    CHECK(queue->ops->gemm(queue, &gemm) == HR_OK);
    read_back(queue, &c, got);
    CHECK(are_same(c_type, got, want, c.bytes));
    free(want);
    free(got);
    operand_finish(&a, device);
    operand_finish(&b, device);
    operand_finish(&c, device);
}

static void batches_are_right(hri_device *device, hri_queue *queue, int pair)
{
    random_source source = {(uint64_t)pair + 77};
    TEST_CASE(hr_type_name(pairs[pair].ab));
    for (int i = 0; i < CASES; i++) {
        try_batch(device, queue, pair, &source);
    }
}

static void batches_conform(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    for (int i = 0; i < PAIRS; i++) {
        if (device->ops->gemm_offered(device, pairs[i].ab, pairs[i].c,
                                      HR_COMPUTE_NATIVE)) {
            TEST(batches_are_right(device, queue, i));
        }
    }
    queue->ops->destroy(queue);
}

int main(void)
{
    return conformance_main(batches_conform);
}
