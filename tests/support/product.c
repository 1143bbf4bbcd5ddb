/* SPDX-License-Identifier: MIT */
#include "support/product.h"

#include "support/conformance.h"
#include "support/random.h"
#include "support/reference.h"

/* A matrix in a buffer, and the same bytes on the host. */
typedef struct window {
    hri_buffer *buffer;
    unsigned char *bytes;
    size_t size, offset;
    hr_matrix matrix;
} window;

static window window_make(hri_device *device, const product *p, hr_matrix shape,
                          bool columns)
{
    window w = {.matrix = shape};
    size_t element = hr_type_size(shape.type);
    int64_t lines = columns ? shape.cols : shape.rows;
    int64_t length = columns ? shape.rows : shape.cols;
    int64_t stride = length + p->padding + (length + p->padding == 0);
    w.offset = (size_t)p->lead * element;
    w.size = w.offset + (size_t)(lines * stride + 1) * element;
    w.bytes = conformance_memory(w.size);
    w.buffer = conformance_buffer(device, w.size);
    w.matrix.data = w.bytes + w.offset;
    w.matrix.row_stride = columns ? 1 : stride;
    w.matrix.col_stride = columns ? stride : 1;
    return w;
}

static void window_finish(window *w)
{
    w->buffer->device->ops->release(w->buffer);
    free(w->bytes);
}

static hri_operand operand_of(const window *w)
{
    return (hri_operand){.place = hri_at(w->buffer, w->offset),
                         .row_stride = w->matrix.row_stride,
                         .col_stride = w->matrix.col_stride,
                         .conjugate = w->matrix.conjugate};
}

static void run(hri_queue *queue, const product *p, product_function multiply,
                window w[3])
{
    const hri_gemm gemm = {.type = p->type,
                           .c_type = p->c_type,
                           .m = p->m,
                           .n = p->n,
                           .k = p->k,
                           .alpha = p->alpha,
                           .beta = p->beta,
                           .a = operand_of(&w[0]),
                           .b = operand_of(&w[1]),
                           .c = operand_of(&w[2])};
    for (int i = 0; i < 3; i++) {
        conformance_upload(queue, w[i].buffer, w[i].bytes);
    }
    conformance_must(multiply(queue, &gemm), "gemm");
    conformance_download(queue, w[2].bytes, w[2].buffer);
    conformance_must(queue->ops->finish(queue), "finish");
}

/* The bytes around C's elements, before and after. */
static bool kept(const window *c, unsigned char *before)
{
    size_t element = hr_type_size(c->matrix.type);
    for (int64_t row = 0; row < c->matrix.rows; row++) {
        size_t at = c->offset + (size_t)(row * c->matrix.row_stride) * element;
        memcpy(before + at, c->bytes + at, (size_t)c->matrix.cols * element);
    }
    return memcmp(before, c->bytes, c->size) == 0;
}

static void tell(const product *p, const char *what)
{
    fprintf(stderr,
            "  %s to %s, %lldx%lldx%lld, alpha %g%+gi, beta %g%+gi, "
            "columns %d %d, conjugate %d %d, padding %lld, lead %lld: %s\n",
            hr_type_name(p->type), hr_type_name(p->c_type), (long long)p->m,
            (long long)p->n, (long long)p->k, p->alpha.re, p->alpha.im,
            p->beta.re, p->beta.im, p->a_columns, p->b_columns, p->a_conjugate,
            p->b_conjugate, (long long)p->padding, (long long)p->lead, what);
}

static bool compare(const product *p, const reference *want, const window *c,
                    unsigned char *before)
{
    char text[256];
    reference_miss miss;
    bool right = reference_compare(want, &c->matrix, &miss) == 0;
    if (!right) {
        reference_describe(&miss, text, sizeof text);
        tell(p, text);
    }
    bool untouched = kept(c, before);
    if (!untouched) {
        tell(p, "something beside C has changed");
    }
    return right && untouched;
}

bool product_is_right(hri_queue *queue, const product *p,
                      product_function multiply, uint64_t seed)
{
    random_source source = {seed};
    hr_matrix a = hr_matrix_row_major(NULL, p->type, p->m, p->k, 0);
    hr_matrix b = hr_matrix_row_major(NULL, p->type, p->k, p->n, 0);
    hr_matrix c = hr_matrix_row_major(NULL, p->c_type, p->m, p->n, 0);
    a = p->a_conjugate ? hr_matrix_conjugate(a) : a;
    b = p->b_conjugate ? hr_matrix_conjugate(b) : b;
    window w[3] = {window_make(queue->device, p, a, p->a_columns),
                   window_make(queue->device, p, b, p->b_columns),
                   window_make(queue->device, p, c, false)};
    for (int i = 0; i < 3; i++) {
        random_fill_bytes(&source, w[i].bytes, w[i].size);
        random_fill_matrix(&source, &w[i].matrix);
    }
    if (p->beta.re == 0 && p->beta.im == 0) {
        memset(w[2].bytes, 0xff, w[2].size); /* NaN in every float type */
    }
    const reference_problem exact = {p->alpha, p->beta, w[0].matrix,
                                     w[1].matrix, w[2].matrix};
    unsigned char *before = conformance_memory(w[2].size);
    memcpy(before, w[2].bytes, w[2].size);
    reference want;
    bool right = reference_init(&want, &exact);
    if (right) {
        run(queue, p, multiply, w);
        right = compare(p, &want, &w[2], before);
        reference_finish(&want);
    }
    free(before);
    for (int i = 0; i < 3; i++) {
        window_finish(&w[i]);
    }
    return right;
}
