/* SPDX-License-Identifier: MIT */
#include "support/product.h"

#include <math.h>
#include <pthread.h>

#include "base/cpus.h"
#include "base/matrix.h"
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

/* index: 0 for A, 1 for B, 2 for C */
static window window_make(hri_device *device, const product *p, int index,
                          hr_matrix shape, bool columns)
{
    window w = {.matrix = shape};
    size_t element = hr_type_size(shape.type);
    int64_t lines = columns ? shape.cols : shape.rows;
    int64_t length = columns ? shape.rows : shape.cols;
    int64_t stride = length + p->padding * (index + 1);
    stride += stride == 0; /* a stride is at least 1 */
    w.offset = (size_t)(p->lead * (index + 1)) * element;
    w.size = w.offset + (size_t)(lines * stride + 1) * element;
    w.bytes = conformance_memory(w.size);
    w.buffer = conformance_buffer(device, w.size);
    w.matrix.data = w.bytes + w.offset;
    w.matrix.row_stride = columns ? 1 : stride;
    w.matrix.col_stride = columns ? stride : 1;
    return w;
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

static void window_finish(window *w)
{
    w->buffer->device->ops->release(w->buffer);
    free(w->bytes);
}

static hri_operand operand_of(const product *p, const window *w)
{
    return (hri_operand){.place = p->in_place ? hri_at_host(w->bytes, w->offset)
                                              : hri_at(w->buffer, w->offset),
                         .row_stride = w->matrix.row_stride,
                         .col_stride = w->matrix.col_stride,
                         .conjugate = w->matrix.conjugate};
}

hr_status product_enqueue(hri_queue *queue, const hri_gemm *gemm)
{
    return queue->ops->gemm(queue, gemm);
}

static void run_product(hri_queue *queue, const product *p,
                        product_function multiply, window w[3])
{
    const hri_gemm gemm = {.type = p->type,
                           .c_type = p->c_type,
                           .m = p->m,
                           .n = p->n,
                           .k = p->k,
                           .alpha = p->alpha,
                           .beta = p->beta,
                           .a = operand_of(p, &w[0]),
                           .b = operand_of(p, &w[1]),
                           .c = operand_of(p, &w[2])};
    for (int i = 0; i < 3 && !p->in_place; i++) {
        conformance_upload(queue, w[i].buffer, w[i].bytes);
    }
    conformance_must(multiply(queue, &gemm), "gemm");
    if (!p->in_place) {
        conformance_download(queue, w[2].bytes, w[2].buffer);
    }
    conformance_must(queue->ops->finish(queue), "finish");
}

/* The bytes around C's elements, before and after. */
static bool is_rest_kept(const window *c, unsigned char *before)
{
    size_t element = hr_type_size(c->matrix.type);
    for (int64_t row = 0; row < c->matrix.rows && c->matrix.cols > 0; row++) {
        size_t at = c->offset + (size_t)(row * c->matrix.row_stride) * element;
        memcpy(before + at, c->bytes + at, (size_t)c->matrix.cols * element);
    }
    return memcmp(before, c->bytes, c->size) == 0;
}

static void print_product(const product *p, const char *what)
{
    fprintf(stderr,
            "  %s to %s, %lldx%lldx%lld, alpha %g%+gi, beta %g%+gi, "
            "columns %d %d, conjugate %d %d, padding %lld, lead %lld, in place "
            "%d: %s\n",
            hr_type_name(p->type), hr_type_name(p->c_type), (long long)p->m,
            (long long)p->n, (long long)p->k, p->alpha.re, p->alpha.im,
            p->beta.re, p->beta.im, p->a_columns, p->b_columns, p->a_conjugate,
            p->b_conjugate, (long long)p->padding, (long long)p->lead,
            p->in_place, what);
}

static bool compare_product(const product *p, const reference *want,
                            const window *c, unsigned char *before)
{
    char text[256];
    reference_miss miss;
    bool right = reference_compare(want, &c->matrix, &miss) == 0;
    if (!right) {
        reference_describe(&miss, text, sizeof text);
        print_product(p, text);
    }
    bool untouched = is_rest_kept(c, before);
    if (!untouched) {
        print_product(p, "something beside C has changed");
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
    window w[3] = {window_make(queue->device, p, 0, a, p->a_columns),
                   window_make(queue->device, p, 1, b, p->b_columns),
                   window_make(queue->device, p, 2, c, false)};
    for (int i = 0; i < 3; i++) {
        random_fill_bytes(&source, w[i].bytes, w[i].size);
        random_fill_matrix(&source, &w[i].matrix);
    }
    if (p->beta.re == 0 && p->beta.im == 0) {
        memset(w[2].bytes, 0xff, w[2].size); /* NaN in every float type */
    }
    if (p->special) {
        put_special(&w[0].matrix, 1, 2, true);
        put_special(&w[0].matrix, 3, 4, false);
        put_special(&w[1].matrix, 5, 6, true);
        put_special(&w[1].matrix, 7, 8, false);
    }
    const reference_problem exact = {p->alpha, p->beta, w[0].matrix,
                                     w[1].matrix, w[2].matrix};
    unsigned char *before = conformance_memory(w[2].size);
    memcpy(before, w[2].bytes, w[2].size);
    reference want;
    bool right = reference_init(&want, &exact);
    if (right) {
        run_product(queue, p, multiply, w);
        right = compare_product(p, &want, &w[2], before);
        reference_finish(&want);
    }
    free(before);
    for (int i = 0; i < 3; i++) {
        window_finish(&w[i]);
    }
    return right;
}

/* ---- of every kind */

/* Real parts; complex types get an imaginary part with all but 0 and 1. */
static const struct {
    double alpha, beta;
} factors[] = {{1, 0}, {1, 1}, {-3, 2}, {2, 0}, {0, 2}, {0, 0}};

/* Around the tiles of the kernels: 128 x 128 x 16, 64 x 128 x 8, 96 x 128 x 64,
 * 32 x 64 x 4, 32 x 32 x 8. */
static const struct {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1},      {1, 40, 9},    {40, 1, 70}, {32, 32, 8},
             {97, 129, 65},  {96, 128, 64}, {33, 31, 7}, {130, 66, 17},
             {128, 256, 32}, {7, 5, 300},   {6, 4, 0},   {300, 260, 40}};

enum {
    SIZES = sizeof sizes / sizeof sizes[0],
    FACTORS = sizeof factors / sizeof factors[0]
};

static hr_scalar factor_of(hr_type type, double re)
{
    return hr_complex(re, is_complex(type) && re != 0 && re != 1 ? 0.75 : 0);
}

/* arrangement: bits for column-major A and B, and for their conjugation. */
static product product_of(const type_pair *types, int arrangement, size_t size,
                          size_t factors_index)
{
    return (product){
        .type = types->ab,
        .c_type = types->c,
        .m = sizes[size].m,
        .n = sizes[size].n,
        .k = sizes[size].k,
        .alpha = factor_of(types->ab, factors[factors_index].alpha),
        .beta = factor_of(types->ab, factors[factors_index].beta),
        .a_columns = (arrangement & 1) != 0,
        .b_columns = (arrangement & 2) != 0,
        .a_conjugate = (arrangement & 4) != 0,
        .b_conjugate = (arrangement & 8) != 0,
        .padding = (int64_t)(size % 3),
        .lead = (int64_t)(factors_index * 5),
    };
}

bool products_are_right(hri_queue *queue, const type_pair *types)
{
    size_t size = 0;
    bool right = true;
    int arrangements = is_complex(types->ab) ? 16 : 4;
    for (int arrangement = 0; arrangement < arrangements; arrangement++) {
        for (size_t f = 0; f < FACTORS; f++) {
            product p = product_of(types, arrangement, size % SIZES, f);
            right &= product_is_right(queue, &p, product_enqueue, size);
            size++;
        }
    }
    for (size_t s = 0; s < SIZES; s++) {
        product p = product_of(types, (int)(s % 4), s, s % 3);
        right &= product_is_right(queue, &p, product_enqueue, s);
        p.padding = p.lead = 0;
        right &= product_is_right(queue, &p, product_enqueue, s);
    }
    return right;
}

static void *multiply_often(void *data)
{
    static const product p = {.type = HR_F32,
                              .c_type = HR_F32,
                              .m = 70,
                              .n = 90,
                              .k = 50,
                              .alpha = {1, 0},
                              .beta = {1, 0},
                              .b_columns = true,
                              .padding = 1,
                              .lead = 1};
    hri_device *device = data;
    hri_queue *queue = conformance_queue(device);
    bool right = true;
    for (uint64_t i = 0; i < 20; i++) {
        right = product_is_right(queue, &p, product_enqueue, i) && right;
    }
    queue->ops->destroy(queue);
    return right ? data : NULL;
}

bool products_are_right_at_once(const hri_backend *backend, uint32_t index)
{
    enum { COUNT = 3 };
    pthread_t threads[COUNT];
    hri_device *devices[COUNT];
    bool right = true;
    for (int i = 0; i < COUNT; i++) {
        conformance_must(backend->open(index, hri_thread_count(), &devices[i]),
                         "open");
    }
    for (int i = 0; i < COUNT; i++) {
        conformance_must(
            pthread_create(&threads[i], NULL, multiply_often, devices[i]) == 0
                ? HR_OK
                : HR_ERROR_OUT_OF_MEMORY,
            "a thread");
    }
    for (int i = 0; i < COUNT; i++) {
        void *all_right = NULL;
        pthread_join(threads[i], &all_right);
        right &= all_right != NULL;
    }
    for (int i = 0; i < COUNT; i++) {
        devices[i]->ops->close(devices[i]);
    }
    return right;
}
