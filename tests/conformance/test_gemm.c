/* SPDX-License-Identifier: MIT */
/* Products compared with a wider reference, inside the derived bound. */
#include "support/conformance.h"

#include <math.h>

#include "support/pairs.h"
#include "support/random.h"
#include "support/reference.h"

enum { RANDOM_CASES = 40, MAX_PADDING = 5 };

/* What is multiplied. */
typedef struct problem {
    const char *name;
    int64_t m, n, k;
    double alpha, beta;
    bool a_columns, b_columns; /* column-major */
    bool a_conjugate, b_conjugate;
    bool in_place; /* operands in host memory, where the device takes that */
    bool special;  /* NaN and infinity among the elements of A and B */
} problem;

static const problem fixed[] = {
    {"m = 0", .m = 0, .n = 5, .k = 7, .alpha = 1, .beta = 2},
    {"n = 0", .m = 5, .n = 0, .k = 7, .alpha = 1, .beta = 2},
    {"k = 0 scales C", .m = 5, .n = 6, .k = 0, .alpha = 1, .beta = 2},
    {"k = 0 and beta = 0 make C zero", .m = 5, .n = 6, .k = 0, .alpha = 1},
    {"k = 0 and beta = 1 keep C", .m = 5, .n = 6, .k = 0, .beta = 1},
    {"one element", .m = 1, .n = 1, .k = 1, .alpha = 1},
    {"a dot product", .m = 1, .n = 1, .k = 1000, .alpha = 1, .beta = 1},
    {"an outer product", .m = 70, .n = 90, .k = 1, .alpha = 1, .beta = -1},
    {"a row by a matrix", .m = 1, .n = 130, .k = 99, .alpha = 1},
    {"a matrix by a column", .m = 130, .n = 1, .k = 99, .alpha = -1},
    {"whole tiles", .m = 64, .n = 64, .k = 64, .alpha = 1},
    {"whole tiles are added to", .m = 64, .n = 64, .k = 16, .alpha = 1,
     .beta = 1},
    {"larger ones", .m = 256, .n = 256, .k = 256, .alpha = 1, .beta = -1},
    {"more than one block", .m = 97, .n = 131, .k = 300, .alpha = 1, .beta = 1},
    {"the same, transposed", .m = 97, .n = 131, .k = 300, .alpha = 1,
     .a_columns = true, .b_columns = true},
    {"NaN and infinity spread", .m = 9, .n = 20, .k = 33, .alpha = 1, .beta = 1,
     .special = true},
    {"NaN and infinity spread, large", .m = 70, .n = 66, .k = 65, .alpha = 1,
     .special = true},
};

/* A matrix inside an image of bytes, with some before it and some between its
 * rows or columns. */
typedef struct image {
    unsigned char *bytes;
    size_t size, offset;
    hr_matrix matrix;
    hri_buffer *buffer; /* the image on the device */
} image;

static void image_init(image *im, hri_device *device, random_source *source,
                       hr_matrix shape, bool columns)
{
    size_t element = hr_type_size(shape.type);
    int64_t lines = columns ? shape.cols : shape.rows;
    int64_t length = columns ? shape.rows : shape.cols;
    int64_t stride = length + random_between(source, 0, MAX_PADDING);
    stride += stride == 0; /* a stride is at least 1 */
    im->offset = (size_t)random_between(source, 0, 40) * element;
    im->size = im->offset + (size_t)(lines * stride + 1) * element;
    im->bytes = conformance_memory(im->size);
    random_fill_bytes(source, im->bytes, im->size);
    im->matrix = shape;
    im->matrix.data = im->bytes + im->offset;
    im->matrix.row_stride = columns ? 1 : stride;
    im->matrix.col_stride = columns ? stride : 1;
    random_fill_matrix(source, &im->matrix);
    im->buffer = conformance_buffer(device, im->size);
}

static void image_finish(image *im)
{
    im->buffer->device->ops->release(im->buffer);
    free(im->bytes);
}

/* Bit patterns of NaN and infinity, written over an element's first part. */
static void put_special(hr_matrix *m, int64_t row, int64_t col, bool infinite)
{
    float f = infinite ? INFINITY : NAN;
    double d = infinite ? (double)INFINITY : (double)NAN;
    uint16_t half = infinite ? 0x7c00 : 0x7e00;
    uint16_t bfloat = infinite ? 0x7f80 : 0x7fc0;
    size_t element = hr_type_size(m->type);
    unsigned char *at =
        (unsigned char *)m->data +
        (size_t)(row * m->row_stride + col * m->col_stride) * element;
    if (m->type == HR_F32 || m->type == HR_C32) {
        memcpy(at, &f, sizeof f);
    } else if (m->type == HR_F64 || m->type == HR_C64) {
        memcpy(at, &d, sizeof d);
    } else if (m->type == HR_F16) {
        memcpy(at, &half, sizeof half);
    } else if (m->type == HR_BF16) {
        memcpy(at, &bfloat, sizeof bfloat);
    }
}

static void fill_with_nan(hr_matrix *m)
{
    for (int64_t row = 0; row < m->rows; row++) {
        for (int64_t col = 0; col < m->cols; col++) {
            put_special(m, row, col, false);
        }
    }
}

typedef struct trial {
    hri_device *device;
    hri_queue *queue;
    hr_type type, c_type;
    const problem *problem;
    hr_scalar alpha, beta;
    image a, b, c;
} trial;

/* An imaginary part for complex types, except to 0, 1 and -1. */
static hr_scalar scalar_of(const trial *t, double value)
{
    bool plain = value == 0 || value == 1 || value == -1;
    return hr_complex(value, is_complex(t->type) && !plain ? 0.625 : 0);
}

static void trial_init(trial *t, random_source *source)
{
    const problem *p = t->problem;
    const hr_type type = t->type;
    bool conjugates = is_complex(type);
    hr_matrix a = hr_matrix_row_major(NULL, type, p->m, p->k, 0);
    hr_matrix b = hr_matrix_row_major(NULL, type, p->k, p->n, 0);
    hr_matrix c = hr_matrix_row_major(NULL, t->c_type, p->m, p->n, 0);
    a.conjugate = conjugates && p->a_conjugate;
    b.conjugate = conjugates && p->b_conjugate;
    image_init(&t->a, t->device, source, a, p->a_columns);
    image_init(&t->b, t->device, source, b, p->b_columns);
    image_init(&t->c, t->device, source, c, false);
    t->alpha = scalar_of(t, p->alpha);
    t->beta = scalar_of(t, p->beta);
    if (p->beta == 0) {
        fill_with_nan(&t->c.matrix); /* which must not be read */
    }
    if (p->special) {
        put_special(&t->a.matrix, 1, 2, true);
        put_special(&t->a.matrix, 3, 4, false);
        put_special(&t->b.matrix, 5, 6, true);
        put_special(&t->b.matrix, 7, 8, false);
    }
}

static void trial_finish(trial *t)
{
    image_finish(&t->a);
    image_finish(&t->b);
    image_finish(&t->c);
}

static hri_operand operand_of(const trial *t, const image *im)
{
    return (hri_operand){.place = t->problem->in_place
                                      ? hri_at_host(im->bytes, im->offset)
                                      : hri_at(im->buffer, im->offset),
                         .row_stride = im->matrix.row_stride,
                         .col_stride = im->matrix.col_stride,
                         .conjugate = im->matrix.conjugate};
}

/* The device's answer replaces the bytes of C's image. */
static void multiply_images(trial *t)
{
    hri_gemm gemm = {.type = t->type,
                     .c_type = t->c_type,
                     .compute = HR_COMPUTE_NATIVE,
                     .m = t->problem->m,
                     .n = t->problem->n,
                     .k = t->problem->k,
                     .alpha = t->alpha,
                     .beta = t->beta,
                     .a = operand_of(t, &t->a),
                     .b = operand_of(t, &t->b),
                     .c = operand_of(t, &t->c)};
    if (!t->problem->in_place) {
        conformance_upload(t->queue, t->a.buffer, t->a.bytes);
        conformance_upload(t->queue, t->b.buffer, t->b.bytes);
        conformance_upload(t->queue, t->c.buffer, t->c.bytes);
    }
    /* in place, one half at once and the other by the queue */
    if (t->problem->in_place && (t->problem->m + t->problem->k) % 2 == 1) {
        CHECK(t->device->ops->gemm_now(t->device, &gemm) == HR_OK);
    } else {
        CHECK(t->queue->ops->gemm(t->queue, &gemm) == HR_OK);
    }
    if (!t->problem->in_place) {
        conformance_download(t->queue, t->c.bytes, t->c.buffer);
    }
    CHECK(t->queue->ops->finish(t->queue) == HR_OK);
}

/* Whether all bytes of C's image but its elements are as before. */
static bool neighbours_are_kept(const image *c, unsigned char *before)
{
    size_t element = hr_type_size(c->matrix.type);
    for (int64_t row = 0; row < c->matrix.rows && c->matrix.cols > 0; row++) {
        size_t at = c->offset + (size_t)(row * c->matrix.row_stride) * element;
        memcpy(before + at, c->bytes + at, (size_t)c->matrix.cols * element);
    }
    return memcmp(before, c->bytes, c->size) == 0;
}

static void print_miss(const trial *t, const reference_miss *miss)
{
    char text[256];
    const problem *p = t->problem;
    reference_describe(miss, text, sizeof text);
    fprintf(stderr,
            "  %s to %s, %lldx%lldx%lld, alpha %g, beta %g, columns %d %d, "
            "conjugate %d %d, in place %d: %s\n",
            hr_type_name(t->type), hr_type_name(t->c_type), (long long)p->m,
            (long long)p->n, (long long)p->k, p->alpha, p->beta, p->a_columns,
            p->b_columns, p->a_conjugate, p->b_conjugate, p->in_place, text);
}

static void try_problem(trial *t, random_source *source)
{
    reference_miss miss;
    reference want;
    trial_init(t, source);
    const reference_problem exact = {t->alpha, t->beta, t->a.matrix,
                                     t->b.matrix, t->c.matrix};
    unsigned char *before = conformance_memory(t->c.size);
    memcpy(before, t->c.bytes, t->c.size);
    if (CHECK(reference_init(&want, &exact))) {
        multiply_images(t);
        if (!CHECK(reference_compare(&want, &t->c.matrix, &miss) == 0)) {
            print_miss(t, &miss);
        }
        CHECK(neighbours_are_kept(&t->c, before));
        reference_finish(&want);
    }
    free(before);
    trial_finish(t);
}

static double random_factor(random_source *source, hr_type type)
{
    static const double usual[] = {0, 1, -1};
    int64_t which = random_between(source, 0, 3);
    if (which < 3) {
        return usual[which];
    }
    return type == HR_I8 ? (double)random_between(source, -9, 9)
                         : random_unit(source);
}

static problem random_problem(random_source *source, hr_type type, bool host)
{
    static const int64_t sizes[] = {1,  2,  3,  5,  8,  15, 16,
                                    17, 31, 32, 33, 47, 64, 65};
    int64_t last = sizeof sizes / sizeof sizes[0] - 1;
    return (problem){.name = "a random product",
                     .m = sizes[random_between(source, 0, last)],
                     .n = sizes[random_between(source, 0, last)],
                     .k = sizes[random_between(source, 0, last)],
                     .alpha = random_factor(source, type),
                     .beta = random_factor(source, type),
                     .a_columns = random_between(source, 0, 1) == 1,
                     .b_columns = random_between(source, 0, 1) == 1,
                     .a_conjugate = random_between(source, 0, 1) == 1,
                     .b_conjugate = random_between(source, 0, 1) == 1,
                     .in_place = host && random_between(source, 0, 1) == 1};
}

static void products_are_right(hri_device *device, hri_queue *queue, int pair)
{
    const hr_type type = pairs[pair].ab;
    random_source source = {(uint64_t)type * 10 + pairs[pair].c};
    trial t = {.device = device,
               .queue = queue,
               .type = type,
               .c_type = pairs[pair].c};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        TEST_CASE(fixed[i].name);
        t.problem = &fixed[i];
        try_problem(&t, &source);
    }
    for (int i = 0; i < RANDOM_CASES; i++) {
        problem p = random_problem(&source, type, device->info.host);
        TEST_CASE(p.name);
        t.problem = &p;
        try_problem(&t, &source);
    }
}

static void products_conform(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    for (int i = 0; i < PAIRS; i++) {
        if (device->ops->gemm_offered(device, pairs[i].ab, pairs[i].c,
                                      HR_COMPUTE_NATIVE)) {
            TEST(products_are_right(device, queue, i));
        } else {
            printf("skip %s to %s: %s does not offer it\n",
                   hr_type_name(pairs[i].ab), hr_type_name(pairs[i].c),
                   device->info.path);
        }
    }
    queue->ops->destroy(queue);
}

int main(void)
{
    return conformance_main(products_conform);
}
