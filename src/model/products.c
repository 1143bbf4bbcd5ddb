/* SPDX-License-Identifier: MIT */
/* How fast an accelerator multiplies, found out with small products through the
 * same HAL calls that the engines use. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/structs.h"
#include "model/figures.h"
#include "model/links.h"
#include "model/model.h"
#include "model/probe.h"

enum {
    LEAST_EXTENT = 128, /* of a product, doubled until it takes long enough */
    MOST_EXTENT = 8192,
    MOST_TOP_EXTENT = 16384,
    TILE_DEPTH = 8192,       /* of the products of tiles */
    PATTERN_BYTES = 64 << 10 /* random numbers, repeated over operands */
};

/* A product comes close to the most that a device does when it takes so long.
 */
static const double long_for_top = 20e-3;

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
static hr_status upload(const hri_stopwatch *b, const void *pattern,
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

typedef struct product_kind {
    hr_type type, c_type;
    hr_compute compute;
    bool by_rows; /* A is not turned about even where that is faster */
} product_kind;

/* The product of an n x k and a k x n matrix that lie at places, into a third.
 */
static hri_gemm make_product(const hri_device *device, const product_kind *kind,
                             int64_t n, int64_t k, const hri_place places[3])
{
    const bool turned = (device->info.turned >> kind->type & 1) != 0 &&
                        kind->compute == HR_COMPUTE_NATIVE && !kind->by_rows;
    hri_operand operands[3];
    for (int i = 0; i < 3; i++) {
        operands[i] = (hri_operand){
            .place = places[i], .row_stride = i == 0 ? k : n, .col_stride = 1};
    }
    if (turned) {
        operands[0].row_stride = 1;
        operands[0].col_stride = n;
    }
    return (hri_gemm){.type = kind->type,
                      .c_type = kind->c_type,
                      .compute = kind->compute,
                      .m = n,
                      .n = n,
                      .k = k,
                      .alpha = hr_real(1.0),
                      .beta = hr_real(0.0),
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2]};
}

/* Operations of a multiplication and an addition. */
static double operations_of(hr_type type)
{
    return type == HR_C32 || type == HR_C64 ? 8.0 : 2.0;
}

/* Products that are tried. */
typedef struct products {
    hri_stopwatch watch;
    product_kind kind;
    int64_t depth; /* of all; 0: as large as the other extents */
    void *pattern; /* what operands repeat; NULL: they hold anything */
    hri_place places[3];
    hri_gemm gemm;
} products;

static int64_t depth_of(const products *x, int64_t extent)
{
    return x->depth > 0 ? x->depth : extent;
}

static hr_status prepare(void *data, int64_t n)
{
    products *x = data;
    hri_accelerator *a = x->watch.accelerator;
    const int64_t k = depth_of(x, n);
    const uint64_t bytes =
        (uint64_t)n * (uint64_t)k * hr_type_size(x->kind.type);
    const uint64_t c_bytes =
        (uint64_t)n * (uint64_t)n * hr_type_size(x->kind.c_type);
    hr_status status = HR_OK;
    memset(x->places, 0, sizeof x->places);
    for (int i = 0; i < 3 && status == HR_OK; i++) {
        status = take(a, i < 2 ? bytes : c_bytes, &x->places[i]);
    }
    for (int i = 0; i < 2 && status == HR_OK && x->pattern != NULL; i++) {
        status = upload(&x->watch, x->pattern, x->places[i], bytes);
    }
    x->gemm = make_product(a->device, &x->kind, n, k, x->places);
    return status;
}

static hr_status run(void *data, double *seconds)
{
    const products *x = data;
    return hri_stopwatch_time(&x->watch, &x->gemm, NULL, seconds);
}

static hr_status finish(void *data)
{
    const products *x = data;
    hr_status status = x->watch.queue->ops->finish(x->watch.queue);
    for (int i = 0; i < 3; i++) {
        give_back(x->watch.accelerator, &x->places[i]);
    }
    return status;
}

/* The rate of products from extent `first` on, flop/s; 0: there is no room. */
static hr_status find_rate(products *x, int64_t first, int64_t most,
                           double enough, double *rate, bool *settled)
{
    const hri_trial trial = {prepare, run, finish, first, most, 2, enough};
    hri_probed found;
    hr_status status = hri_probe(&trial, x, &found);
    const double n = (double)found.size;
    *settled = found.settled;
    *rate = found.size > 0 ? operations_of(x->kind.type) * n * n *
                                 (double)depth_of(x, found.size) / found.seconds
                           : 0.0;
    return status;
}

static hr_status open_products(hri_accelerator *a, const product_kind *kind,
                               products *x)
{
    *x = (products){.kind = *kind};
    hr_status status = hri_stopwatch_open(a, &x->watch);
    if (status != HR_OK) {
        return status;
    }
    status = hri_accelerator_allocate_pinned(a, PATTERN_BYTES, &x->pattern);
    if (status == HR_OK) {
        fill_pattern(kind->type, x->pattern);
    } else {
        hri_stopwatch_close(&x->watch);
    }
    return status;
}

static void close_products(products *x)
{
    hri_accelerator_release_pinned(x->watch.accelerator, x->pattern);
    hri_stopwatch_close(&x->watch);
}

/* ---- their figures */

static hri_kind figure_of(const product_kind *kind, int64_t edge)
{
    const char *name =
        kind->compute == HR_COMPUTE_TF32 ? "tf32" : hr_type_name(kind->type);
    return (hri_kind){.name = name, .shape = edge};
}

static double known_rate(const hri_accelerator *a, const product_kind *kind)
{
    return hri_figure_find(hri_subject_of(a), figure_of(kind, 0));
}

/* Those on tiles, if all are known. */
static bool tiles_known(const hri_accelerator *a, const product_kind *kind,
                        double rates[HRI_TILE_RATES])
{
    bool all = true;
    for (int i = 0; i < HRI_TILE_RATES && all; i++) {
        rates[i] = hri_figure_find(hri_subject_of(a),
                                   figure_of(kind, (int64_t)hri_tile_edges[i]));
        all = rates[i] > 0.0;
    }
    return all;
}

/* Of processors, that this process has used. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until other threads of the process leave processors to the host, 0.2 s at
 * most: those of a BLAS that the program has used just now look for more work
 * for some 0.11 s (OpenBLAS 0.3.21), and a rate measured meanwhile was half. */
static void wait_for_processors(void)
{
    const struct timespec moment = {0, 5 * 1000 * 1000};
    bool busy = true;
    for (int i = 0; i < 40 && busy; i++) {
        const uint64_t start = hri_clock_ns();
        const double used = processor_seconds();
        (void)nanosleep(&moment, NULL);
        busy = processor_seconds() - used > 0.1 * hri_seconds_since(start);
    }
}

static hr_status measure_large(hri_accelerator *a, const product_kind *kind)
{
    products x;
    double rate;
    bool settled;
    hr_status status = open_products(a, kind, &x);
    if (status != HR_OK) {
        return status;
    }
    if (a->device->info.host) {
        wait_for_processors();
    }
    status = find_rate(&x, LEAST_EXTENT, MOST_EXTENT, hri_long_enough, &rate,
                       &settled);
    close_products(&x);
    if (status == HR_OK) {
        hri_figure_note(hri_subject_of(a), figure_of(kind, 0), settled,
                        rate > 0.0 ? rate
                                   : hri_guess(HRI_GUESS_PRODUCT_WITHOUT_ROOM));
    }
    return status;
}

/* Those that there is no room for are like others. */
static hr_status measure_tiles(hri_accelerator *a, const product_kind *kind)
{
    products x;
    double rates[HRI_TILE_RATES] = {0};
    bool settled = true;
    hr_status status = open_products(a, kind, &x);
    if (status != HR_OK) {
        return status;
    }
    x.depth = TILE_DEPTH;
    for (int i = 0; i < HRI_TILE_RATES && status == HR_OK && settled; i++) {
        const int64_t edge = (int64_t)hri_tile_edges[i];
        status = find_rate(&x, edge, edge, 0.0, &rates[i], &settled);
    }
    close_products(&x);
    for (int i = 0; i < HRI_TILE_RATES && status == HR_OK; i++) {
        hri_figure_note(hri_subject_of(a),
                        figure_of(kind, (int64_t)hri_tile_edges[i]), settled,
                        rates[i] > 0.0 ? rates[i] : known_rate(a, kind));
    }
    return status;
}

hr_status hri_accelerator_top_rate(hri_accelerator *accelerator, hr_type type,
                                   hr_type c_type, hr_compute compute,
                                   double *rate)
{
    const product_kind kind = {type, c_type, compute, false};
    products x;
    bool settled;
    hr_status status = open_products(accelerator, &kind, &x);
    if (status != HR_OK) {
        return status;
    }
    status = find_rate(&x, LEAST_EXTENT, MOST_TOP_EXTENT, long_for_top, rate,
                       &settled);
    close_products(&x);
    if (*rate <= 0.0) {
        *rate = hri_guess(HRI_GUESS_PRODUCT_WITHOUT_ROOM);
    }
    return status;
}

double hri_accelerator_known_rate(hri_accelerator *accelerator, hr_type type,
                                  hr_type c_type, hr_compute compute)
{
    const product_kind kind = {type, c_type, compute, false};
    return known_rate(accelerator, &kind);
}

void hri_accelerator_learn_rate(hri_accelerator *accelerator, hr_type type,
                                hr_type c_type, hr_compute compute,
                                double flops, double seconds)
{
    const product_kind kind = {type, c_type, compute, false};
    const double rate = known_rate(accelerator, &kind);
    const double long_run = 0.1; /* seconds of arithmetic that show a rate */
    if (rate > 0.0 && seconds >= long_run) {
        hri_learned one = {.value = 1.0 / rate};
        if (hri_learn_measured(&one, seconds / flops)) {
            hri_figure_keep(hri_subject_of(accelerator), figure_of(&kind, 0),
                            1.0 / one.value);
        }
    }
}

hr_status hri_accelerator_rate(hri_accelerator *accelerator, hr_type type,
                               hr_type c_type, hr_compute compute,
                               double *flops_per_second)
{
    hri_device *device = accelerator->device;
    const product_kind kind = {type, c_type, compute, false};
    hr_status status = HR_OK;
    if (!device->ops->gemm_offered(device, type, c_type, compute)) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "%s does not multiply %s into %s",
                        accelerator->path, hr_type_name(type),
                        hr_type_name(c_type));
    }
    if (known_rate(accelerator, &kind) == 0.0) {
        status = measure_large(accelerator, &kind);
    }
    if (status == HR_OK) {
        *flops_per_second = known_rate(accelerator, &kind);
    }
    return status;
}

hr_status hri_accelerator_tile_rates(hri_accelerator *accelerator, hr_type type,
                                     hr_type c_type, hr_compute compute,
                                     double rates[HRI_TILE_RATES])
{
    const product_kind kind = {type, c_type, compute, false};
    hr_status status = HR_OK;
    memset(rates, 0, HRI_TILE_RATES * sizeof rates[0]);
    if (!hri_in_host_memory(accelerator) &&
        !tiles_known(accelerator, &kind, rates)) {
        status = measure_tiles(accelerator, &kind);
        (void)tiles_known(accelerator, &kind, rates);
    }
    return status;
}

/* All rates that are kept. */
static const product_kind kinds[] = {
    {HR_F32, HR_F32, HR_COMPUTE_NATIVE, false},
    {HR_F64, HR_F64, HR_COMPUTE_NATIVE, false},
    {HR_C32, HR_C32, HR_COMPUTE_NATIVE, false},
    {HR_C64, HR_C64, HR_COMPUTE_NATIVE, false},
    {HR_F16, HR_F32, HR_COMPUTE_NATIVE, false},
    {HR_BF16, HR_F32, HR_COMPUTE_NATIVE, false},
    {HR_I8, HR_I32, HR_COMPUTE_NATIVE, false},
    {HR_F32, HR_F32, HR_COMPUTE_TF32, false},
};

/* Each kind of tile once, untimed. */
static hr_status warm_kind(const hri_stopwatch *w, product_kind kind)
{
    products x = {.watch = *w, .kind = kind, .depth = TILE_DEPTH};
    hr_status status = HR_OK;
    for (int i = 0; i < HRI_TILE_RATES && status == HR_OK; i++) {
        status = prepare(&x, (int64_t)hri_tile_edges[i]);
        if (status == HR_OK) {
            status = w->queue->ops->gemm(w->queue, &x.gemm);
        }
        const hr_status finished = finish(&x);
        status = status == HR_OK ? finished : status;
    }
    return status;
}

/* Turning about, and products of what has not been. */
static hr_status warm_turning(const hri_stopwatch *b, const product_kind *kind)
{
    enum { EDGE = 1024 };
    product_kind other = *kind;
    hri_turn turn = {kind->type, {0}, {0}, EDGE, EDGE, EDGE, EDGE};
    const uint64_t bytes = (uint64_t)EDGE * EDGE * hr_type_size(kind->type);
    hr_status status = take(b->accelerator, bytes, &turn.to);
    if (status == HR_OK) {
        status = take(b->accelerator, bytes, &turn.from);
    }
    if (status == HR_OK) {
        status = b->queue->ops->turn(b->queue, &turn);
    }
    hr_status finished = b->queue->ops->finish(b->queue);
    give_back(b->accelerator, &turn.to);
    give_back(b->accelerator, &turn.from);
    other.by_rows = true;
    status = status == HR_OK ? finished : status;
    return status == HR_OK ? warm_kind(b, other) : status;
}

void hri_accelerator_warm(hri_accelerator *a)
{
    hri_device *device = a->device;
    hri_stopwatch b;
    double rates[HRI_TILE_RATES];
    hr_status status = hri_stopwatch_open(a, &b);
    if (status != HR_OK) {
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == HR_OK;
         i++) {
        const product_kind *kind = &kinds[i];
        if (!tiles_known(a, kind, rates) ||
            !device->ops->gemm_offered(device, kind->type, kind->c_type,
                                       kind->compute)) {
            continue;
        }
        status = warm_kind(&b, *kind);
        if (status == HR_OK && kind->compute == HR_COMPUTE_NATIVE &&
            (device->info.turned >> kind->type & 1) != 0) {
            status = warm_turning(&b, kind);
        }
        if (status == HR_ERROR_OUT_OF_MEMORY) {
            status = HR_OK; /* smaller kinds may fit */
        }
    }
    hri_stopwatch_close(&b);
}

/* Measure a rate again; one that nobody has asked for yet only when wanted. */
static hr_status remeasure(hri_accelerator *a, const product_kind *kind,
                           bool wanted)
{
    hri_device *device = a->device;
    if (!device->ops->gemm_offered(device, kind->type, kind->c_type,
                                   kind->compute) ||
        (!wanted && known_rate(a, kind) == 0.0)) {
        return HR_OK;
    }
    double rates[HRI_TILE_RATES];
    const bool tiles = tiles_known(a, kind, rates);
    hr_status status = measure_large(a, kind);
    return status == HR_OK && tiles ? measure_tiles(a, kind) : status;
}

static hr_status measure_all(hr_context *context, hri_accelerator *a,
                             hr_accelerator_rates *rates)
{
    hr_status status = a->in_place ? HR_OK : hri_link_measure(a);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == HR_OK;
         i++) {
        bool wanted = kinds[i].compute == HR_COMPUTE_NATIVE &&
                      (kinds[i].type == HR_F32 || kinds[i].type == HR_F64);
        status = remeasure(a, &kinds[i], wanted);
    }
    if (status == HR_OK && hri_links_lead(context, a)) {
        status = hri_links_learn(context);
    }
    if (status == HR_OK) {
        const hri_link link = hri_link_alone(a);
        rates->f32 =
            hri_accelerator_known_rate(a, HR_F32, HR_F32, HR_COMPUTE_NATIVE);
        rates->f64 =
            hri_accelerator_known_rate(a, HR_F64, HR_F64, HR_COMPUTE_NATIVE);
        rates->up = link.up;
        rates->down = link.down;
    }
    return status;
}

static const hri_struct rates_struct =
    HRI_STRUCT(hr_accelerator_rates, "accelerator rates",
               "HR_ACCELERATOR_RATES_INIT", f32);

hr_status hr_accelerator_measure(hr_context *context, uint32_t index,
                                 hr_accelerator_rates *rates)
{
    if (context == NULL || rates == NULL) {
        return hri_fail(HR_ERROR_INVALID, "measuring: %s is NULL",
                        context == NULL ? "context" : "rates");
    }
    hr_status status = hri_struct_check(&rates_struct, rates);
    if (status != HR_OK) {
        return status;
    }
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "measuring: accelerator index %u, but there are %u",
                        index, context->accelerator_count);
    }
    hr_accelerator_rates known = {0};
    pthread_mutex_lock(&context->lock);
    status = measure_all(context, &context->accelerators[index], &known);
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        hri_struct_write(&rates_struct, &known, rates);
    }
    return status;
}
