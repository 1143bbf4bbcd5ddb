/* SPDX-License-Identifier: MIT */
/* How fast an accelerator multiplies and how fast its link is, found out with
 * small jobs through the same HAL calls that the engines use. */
#include <string.h>

#include "base/size.h"
#include "runtime/bench.h"
#include "runtime/memory.h"
#include "runtime/structs.h"

enum {
    LEAST_EXTENT = 128, /* of a product, doubled until it takes long enough */
    MOST_EXTENT = 4096,
    PATTERN_BYTES = 64 << 10, /* random numbers, repeated over operands */
    LINK_BYTES = 4 << 20,     /* of a copy, until it takes long enough */
    MOST_LINK_BYTES = 64 << 20,
    LEAST_LINK_BYTES = 64 << 10 /* below, latency is all that would be seen */
};

/* What takes at least so long is not ruled by latency or the clock's steps. */
static const double long_enough = 2e-3;

/* Where the limit does not even let the smallest job in: an order of magnitude
 * that lets planning go on; the accelerator will not get much work anyway. */
static const double default_flops = 1e10, default_link = 1e10;

/* A number of size at most 1 made of random bits; returns its bytes. */
static size_t make_number(hr_type type, uint64_t bits, void *number)
{
    const float single = (float)(int32_t)(bits >> 32) * 0x1p-31f;
    const double wide = (double)(int64_t)bits * 0x1p-63;
    const uint8_t byte = (uint8_t)(bits >> 56);
    /* A random sign and fraction under the exponent of one half. */
    const uint16_t half = (uint16_t)((bits >> 48 & 0x83ff) | 0x3800);
    const uint16_t brain = (uint16_t)((bits >> 48 & 0x807f) | 0x3f00);
    const struct {
        const void *from;
        size_t bytes;
    } numbers[] = {
        [HR_F32] = {&single, 4}, [HR_F64] = {&wide, 8},
        [HR_C32] = {&single, 4}, [HR_C64] = {&wide, 8},
        [HR_F16] = {&half, 2},   [HR_BF16] = {&brain, 2},
        [HR_I8] = {&byte, 1},    [HR_I32] = {&single, 4},
    };
    memcpy(number, numbers[type].from, numbers[type].bytes);
    return numbers[type].bytes;
}

/* Fill PATTERN_BYTES bytes. The generator is Marsaglia's xorshift64. */
static void fill_pattern(hr_type type, char *pattern)
{
    uint64_t bits = 88172645463325252u;
    for (size_t at = 0; at < PATTERN_BYTES;) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        at += make_number(type, bits, pattern + at);
    }
}

/* Memory for an operand: a buffer, or host memory where that is worked on. */
static hr_status take(hri_accelerator *accelerator, uint64_t bytes,
                      hri_place *place)
{
    *place = (hri_place){0};
    return accelerator->in_place
               ? hri_accelerator_allocate_pinned(accelerator, bytes,
                                                 &place->host)
               : hri_accelerator_allocate(accelerator, bytes, &place->buffer);
}

static void give_back(hri_accelerator *accelerator, const hri_place *place)
{
    hri_accelerator_release(accelerator, place->buffer);
    hri_accelerator_release_pinned(accelerator, place->host);
}

/* Repeat the pattern over `bytes` bytes at place. */
static hr_status upload(const hri_bench *b, const void *pattern,
                        hri_place place, uint64_t bytes)
{
    hr_status status = HR_OK;
    for (uint64_t at = 0; at < bytes && status == HR_OK; at += PATTERN_BYTES) {
        size_t width =
            (size_t)hri_min((int64_t)(bytes - at), (int64_t)PATTERN_BYTES);
        if (place.buffer == NULL) {
            memcpy((char *)place.host + at, pattern, width);
            continue;
        }
        const hri_copy copy = {.to = hri_at(place.buffer, at),
                               .from = hri_at_host(pattern, 0),
                               .width = width,
                               .height = 1,
                               .depth = 1};
        status = b->queue->ops->copy(b->queue, &copy);
    }
    return status;
}

/* The product of two matrices of extent n that lie at places, into a third. */
static hri_gemm square_product(hr_type type, hr_type c_type, int64_t n,
                               const hri_place places[3])
{
    hri_operand operands[3];
    for (int i = 0; i < 3; i++) {
        operands[i] =
            (hri_operand){.place = places[i], .row_stride = n, .col_stride = 1};
    }
    return (hri_gemm){.type = type,
                      .c_type = c_type,
                      .compute = HR_COMPUTE_NATIVE,
                      .m = n,
                      .n = n,
                      .k = n,
                      .alpha = hr_real(1.0),
                      .beta = hr_real(0.0),
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2]};
}

/* Seconds that a product of extent n takes. HR_ERROR_OUT_OF_MEMORY when there
 * is no room for the operands. */
static hr_status time_product(const hri_bench *b, hr_type type, hr_type c_type,
                              int64_t n, const void *pattern, double *seconds)
{
    hri_place places[3] = {{0}};
    const uint64_t elements = (uint64_t)n * (uint64_t)n;
    const uint64_t bytes = elements * hr_type_size(type);
    const uint64_t c_bytes = elements * hr_type_size(c_type);
    hr_status status = take(b->accelerator, bytes, &places[0]);
    if (status == HR_OK) {
        status = take(b->accelerator, bytes, &places[1]);
    }
    if (status == HR_OK) {
        status = take(b->accelerator, c_bytes, &places[2]);
    }
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        status = upload(b, pattern, places[i], bytes);
    }
    if (status == HR_OK) {
        const hri_gemm gemm = square_product(type, c_type, n, places);
        status = hri_bench_time(b, &gemm, NULL, seconds);
    }
    hr_status finished = b->queue->ops->finish(b->queue);
    for (int i = 0; i < 3; i++) {
        give_back(b->accelerator, &places[i]);
    }
    return status != HR_OK ? status : finished;
}

/* Double the extent until a product takes long enough or does not fit. */
static hr_status rate_on_bench(const hri_bench *b, hr_type type, hr_type c_type,
                               double *rate)
{
    const bool is_complex = type == HR_C32 || type == HR_C64;
    void *pattern;
    hr_status status = hri_accelerator_allocate_pinned(b->accelerator,
                                                       PATTERN_BYTES, &pattern);
    if (status != HR_OK) {
        return status;
    }
    fill_pattern(type, pattern);
    *rate = default_flops;
    double seconds = 0.0;
    for (int64_t n = LEAST_EXTENT; n <= MOST_EXTENT && seconds < long_enough;
         n *= 2) {
        status = time_product(b, type, c_type, n, pattern, &seconds);
        if (status != HR_OK) {
            break;
        }
        double cube = (double)n * (double)n * (double)n;
        *rate = (is_complex ? 8.0 : 2.0) * cube / seconds;
    }
    hri_accelerator_release_pinned(b->accelerator, pattern);
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

static hr_status measure_rate(hri_accelerator *accelerator, hr_type type,
                              hr_type c_type)
{
    hri_bench b;
    double rate = 0.0;
    hr_status status = hri_bench_open(accelerator, &b);
    if (status != HR_OK) {
        return status;
    }
    status = rate_on_bench(&b, type, c_type, &rate);
    hri_bench_close(&b);
    if (status == HR_OK) {
        hri_accelerator *a = accelerator;
        do { /* all on this device are alike */
            a->rates[type] = rate;
            a = a->sibling;
        } while (a != NULL && a != accelerator);
    }
    return status;
}

hr_status hri_accelerator_rate(hri_accelerator *accelerator, hr_type type,
                               hr_type c_type, double *flops_per_second)
{
    hri_device *device = accelerator->device;
    if (!device->ops->gemm_offered(device, type, c_type, HR_COMPUTE_NATIVE)) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "%s does not multiply %s into %s",
                        accelerator->path, hr_type_name(type),
                        hr_type_name(c_type));
    }
    hr_status status = HR_OK;
    if (accelerator->rates[type] == 0.0) {
        status = measure_rate(accelerator, type, c_type);
    }
    if (status == HR_OK) {
        *flops_per_second = accelerator->rates[type];
    }
    return status;
}

/* Seconds that `bytes` bytes take each way. */
static hr_status time_link(const hri_bench *b, uint64_t bytes, double *up,
                           double *down)
{
    hri_buffer *buffer = NULL;
    void *host = NULL;
    hr_status status = hri_accelerator_allocate(b->accelerator, bytes, &buffer);
    if (status == HR_OK) {
        status = hri_accelerator_allocate_pinned(b->accelerator, bytes, &host);
    }
    if (status == HR_OK) {
        memset(host, 1, bytes); /* so that its pages exist */
        hri_copy copy = {.to = hri_at(buffer, 0),
                         .from = hri_at_host(host, 0),
                         .width = bytes,
                         .height = 1,
                         .depth = 1};
        status = hri_bench_time(b, NULL, &copy, up);
        if (status == HR_OK) {
            hri_place to = copy.to;
            copy.to = copy.from;
            copy.from = to;
            status = hri_bench_time(b, NULL, &copy, down);
        }
    }
    hr_status finished = b->queue->ops->finish(b->queue);
    hri_accelerator_release(b->accelerator, buffer);
    hri_accelerator_release_pinned(b->accelerator, host);
    return status != HR_OK ? status : finished;
}

/* Start with what fits of LINK_BYTES; four times as much until it takes long
 * enough or does not fit. */
static hr_status link_on_bench(const hri_bench *b, double *up, double *down)
{
    hr_status status = HR_OK;
    double up_time = 0.0, down_time = 0.0;
    const uint64_t room = hri_accelerator_room(b->accelerator);
    const uint64_t largest = b->accelerator->device->info.allocation_bytes;
    uint64_t bytes = room < largest ? room : largest;
    bytes = bytes < LINK_BYTES ? bytes : LINK_BYTES;
    *up = *down = default_link;
    while (bytes >= LEAST_LINK_BYTES && bytes <= MOST_LINK_BYTES &&
           (up_time < long_enough || down_time < long_enough)) {
        status = time_link(b, bytes, &up_time, &down_time);
        if (status != HR_OK) {
            break;
        }
        *up = (double)bytes / up_time;
        *down = (double)bytes / down_time;
        bytes *= 4;
    }
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

static hr_status measure_link(hri_accelerator *accelerator)
{
    hri_bench b;
    double up = 0.0, down = 0.0;
    hr_status status = hri_bench_open(accelerator, &b);
    if (status != HR_OK) {
        return status;
    }
    status = link_on_bench(&b, &up, &down);
    hri_bench_close(&b);
    if (status == HR_OK) {
        hri_accelerator *a = accelerator;
        do {
            a->up = up;
            a->down = down;
            a = a->sibling;
        } while (a != NULL && a != accelerator);
    }
    return status;
}

hr_status hri_accelerator_link(hri_accelerator *accelerator)
{
    return accelerator->in_place || accelerator->up > 0.0
               ? HR_OK
               : measure_link(accelerator);
}

/* A rate for the report: 0 for a type that is not offered. */
static hr_status remeasure(hri_accelerator *accelerator, hr_type type,
                           double *rate)
{
    hri_device *device = accelerator->device;
    if (!device->ops->gemm_offered(device, type, type, HR_COMPUTE_NATIVE)) {
        *rate = 0.0;
        return HR_OK;
    }
    hr_status status = measure_rate(accelerator, type, type);
    *rate = accelerator->rates[type];
    return status;
}

static hr_status measure_all(hri_accelerator *accelerator,
                             hr_accelerator_rates *rates)
{
    hr_status status =
        accelerator->in_place ? HR_OK : measure_link(accelerator);
    if (status == HR_OK) {
        status = remeasure(accelerator, HR_F32, &rates->f32);
    }
    if (status == HR_OK) {
        status = remeasure(accelerator, HR_F64, &rates->f64);
    }
    rates->up = accelerator->in_place ? 0.0 : accelerator->up;
    rates->down = accelerator->in_place ? 0.0 : accelerator->down;
    return status;
}

hr_status hr_accelerator_measure(hr_context *context, uint32_t index,
                                 hr_accelerator_rates *rates)
{
    if (context == NULL || rates == NULL) {
        return hri_fail(HR_ERROR_INVALID, "measuring: %s is NULL",
                        context == NULL ? "context" : "rates");
    }
    if (rates->size < offsetof(hr_accelerator_rates, f32)) {
        return hri_fail(HR_ERROR_INVALID,
                        "measuring: size is %u, not %zu; start with "
                        "HR_ACCELERATOR_RATES_INIT",
                        rates->size, sizeof *rates);
    }
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "measuring: index %u, but there are %u accelerators",
                        index, context->accelerator_count);
    }
    hr_accelerator_rates known = {0};
    pthread_mutex_lock(&context->lock);
    hr_status status = measure_all(&context->accelerators[index], &known);
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        hri_struct_write(rates, rates->size, &known, sizeof known);
    }
    return status;
}
