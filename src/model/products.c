/* SPDX-License-Identifier: MIT */
/* How fast an accelerator multiplies, found out with small products through the
 * same HAL calls that the engines use. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/structs.h"
#include "model/links.h"
#include "model/probe.h"
#include "model/tuning.h"

enum {
    LEAST_EXTENT = 128, /* of a product, doubled until it takes long enough */
    MOST_EXTENT = 8192,
    MOST_TOP_EXTENT = 16384,
    TILE_DEPTH = 8192,       /* of the products of tiles */
    PATTERN_BYTES = 64 << 10 /* random numbers, repeated over operands */
};

/* What takes at least so long is not ruled by latency or the clock's steps. */
static const double long_enough = 2e-3;

/* And so long, to come close to the most that a device does. */
static const double long_for_top = 20e-3;

/* What a measurement must be exceeded by to be taken for a wrong one. */
static const double clearly_more = 1.1;

/* Where the limit does not even let the smallest job in: an order of magnitude
 * that lets planning go on; the accelerator will not get much work anyway. */
static const double default_flops = 1e10;

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
static hr_status upload(const hri_probe *b, const void *pattern,
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

/* The rate of a product of extents n, n and k, flop/s, and the seconds it
 * takes; when that is NULL it runs once, untimed. Operands repeat the pattern,
 * or hold anything when that is NULL.
 * HR_ERROR_OUT_OF_MEMORY when there is no room for them. */
static hr_status time_product(const hri_probe *b, const product_kind *kind,
                              int64_t n, int64_t k, const void *pattern,
                              double *rate, double *seconds)
{
    const bool is_complex = kind->type == HR_C32 || kind->type == HR_C64;
    hri_place places[3] = {{0}};
    const uint64_t bytes = (uint64_t)n * (uint64_t)k * hr_type_size(kind->type);
    const uint64_t c_bytes =
        (uint64_t)n * (uint64_t)n * hr_type_size(kind->c_type);
    hr_status status = take(b->accelerator, bytes, &places[0]);
    if (status == HR_OK) {
        status = take(b->accelerator, bytes, &places[1]);
    }
    if (status == HR_OK) {
        status = take(b->accelerator, c_bytes, &places[2]);
    }
    for (int i = 0; i < 2 && status == HR_OK && pattern != NULL; i++) {
        status = upload(b, pattern, places[i], bytes);
    }
    if (status == HR_OK) {
        const hri_gemm gemm =
            make_product(b->accelerator->device, kind, n, k, places);
        status = seconds != NULL ? hri_probe_time(b, &gemm, NULL, seconds)
                                 : b->queue->ops->gemm(b->queue, &gemm);
    }
    if (status == HR_OK && seconds != NULL) {
        *rate = (is_complex ? 8.0 : 2.0) * (double)n * (double)n * (double)k /
                *seconds;
    }
    hr_status finished = b->queue->ops->finish(b->queue);
    for (int i = 0; i < 3; i++) {
        give_back(b->accelerator, &places[i]);
    }
    return status != HR_OK ? status : finished;
}

/* Double the extent until a product takes long enough or does not fit.
 * *settled: it was not for want of memory that no larger one was tried. */
static hr_status rate_on_bench(const hri_probe *b, const product_kind *kind,
                               double enough, const void *pattern, double *rate,
                               bool *settled)
{
    double seconds = 0.0;
    hr_status status = HR_OK;
    int64_t most = enough > long_enough ? MOST_TOP_EXTENT : MOST_EXTENT;
    *rate = default_flops;
    for (int64_t n = LEAST_EXTENT;
         n <= most && seconds < enough && status == HR_OK; n *= 2) {
        status = time_product(b, kind, n, n, pattern, rate, &seconds);
    }
    *settled = status == HR_OK;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* The same on tiles; 0 where memory does not do. */
static hr_status tile_rates_on_bench(const hri_probe *b,
                                     const product_kind *kind,
                                     const void *pattern,
                                     double rates[HRI_TILE_RATES],
                                     bool *settled)
{
    hr_status status = HR_OK;
    for (int i = 0; i < HRI_TILE_RATES && status == HR_OK; i++) {
        double seconds;
        status = time_product(b, kind, (int64_t)hri_tile_edges[i], TILE_DEPTH,
                              pattern, &rates[i], &seconds);
    }
    *settled = status == HR_OK;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* Where the rate of this kind is kept, and its name in the file. */
static uint32_t rate_index(const product_kind *kind)
{
    return kind->compute == HR_COMPUTE_TF32 ? (uint32_t)HRI_RATE_TF32
                                            : (uint32_t)kind->type;
}

static const char *rate_name(const product_kind *kind)
{
    return kind->compute == HR_COMPUTE_TF32 ? "tf32" : hr_type_name(kind->type);
}

static void set_rate(hri_accelerator *accelerator, const product_kind *kind,
                     double rate)
{
    /* all on this device are alike */
    for (hri_accelerator *a = accelerator; a != NULL;
         a = hri_next_sibling(a, accelerator)) {
        a->rates[rate_index(kind)] = rate;
    }
}

static void set_tile_rates(hri_accelerator *accelerator,
                           const product_kind *kind,
                           const double rates[HRI_TILE_RATES])
{
    for (hri_accelerator *a = accelerator; a != NULL;
         a = hri_next_sibling(a, accelerator)) {
        memcpy(a->tile_rates[rate_index(kind)], rates,
               HRI_TILE_RATES * sizeof rates[0]);
    }
}

/* Which rates to measure. */
typedef enum subject { LARGE, TILES } subject;

static void tile_rate_name(const product_kind *kind, int i, char name[32])
{
    snprintf(name, 32, "%s-%.0f", rate_name(kind), hri_tile_edges[i]);
}

static void keep_rates(hri_accelerator *a, const product_kind *kind,
                       subject what, const double *rates)
{
    char name[32];
    if (what == LARGE) {
        hri_tuning_keep(rate_name(kind), a->key, rates[0]);
        return;
    }
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        tile_rate_name(kind, i, name);
        hri_tuning_keep(name, a->key, rates[i]);
    }
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

static hr_status measure_rate(hri_accelerator *accelerator,
                              const product_kind *kind, subject what)
{
    hri_probe b;
    void *pattern = NULL;
    double rates[HRI_TILE_RATES] = {0};
    bool settled = false;
    hr_status status = hri_probe_open(accelerator, &b);
    if (status != HR_OK) {
        return status;
    }
    status =
        hri_accelerator_allocate_pinned(accelerator, PATTERN_BYTES, &pattern);
    if (status == HR_OK) {
        fill_pattern(kind->type, pattern);
        if (accelerator->device->info.host) {
            wait_for_processors();
        }
        status =
            what == LARGE
                ? rate_on_bench(&b, kind, long_enough, pattern, rates, &settled)
                : tile_rates_on_bench(&b, kind, pattern, rates, &settled);
    }
    hri_accelerator_release_pinned(accelerator, pattern);
    hri_probe_close(&b);
    if (status == HR_OK && what == LARGE) {
        set_rate(accelerator, kind, rates[0]);
    } else if (status == HR_OK) {
        for (int i = 0; i < HRI_TILE_RATES; i++) { /* no room: like others */
            rates[i] = rates[i] > 0.0 ? rates[i]
                                      : accelerator->rates[rate_index(kind)];
        }
        set_tile_rates(accelerator, kind, rates);
    }
    if (settled) {
        keep_rates(accelerator, kind, what, rates);
    }
    return status;
}

hr_status hri_accelerator_top_rate(hri_accelerator *accelerator, hr_type type,
                                   hr_type c_type, hr_compute compute,
                                   double *rate)
{
    const product_kind kind = {type, c_type, compute, false};
    hri_probe b;
    void *pattern = NULL;
    bool settled;
    hr_status status = hri_probe_open(accelerator, &b);
    if (status != HR_OK) {
        return status;
    }
    status =
        hri_accelerator_allocate_pinned(accelerator, PATTERN_BYTES, &pattern);
    if (status == HR_OK) {
        fill_pattern(type, pattern);
        status =
            rate_on_bench(&b, &kind, long_for_top, pattern, rate, &settled);
    }
    hri_accelerator_release_pinned(accelerator, pattern);
    hri_probe_close(&b);
    return status;
}

/* Where the rate of this kind is, filled from the file if it is there. */
static double *look_up(hri_accelerator *accelerator, const product_kind *kind)
{
    double *rate = &accelerator->rates[rate_index(kind)], known;
    if (*rate == 0.0 &&
        hri_tuning_find(rate_name(kind), accelerator->key, &known)) {
        set_rate(accelerator, kind, known);
    }
    return rate;
}

double hri_accelerator_known_rate(hri_accelerator *accelerator, hr_type type,
                                  hr_type c_type, hr_compute compute)
{
    const product_kind kind = {type, c_type, compute, false};
    return *look_up(accelerator, &kind);
}

void hri_accelerator_learn_rate(hri_accelerator *accelerator, hr_type type,
                                hr_type c_type, hr_compute compute,
                                double flops_per_second)
{
    const product_kind kind = {type, c_type, compute, false};
    double known = *look_up(accelerator, &kind);
    if (known > 0.0 && flops_per_second > clearly_more * known) {
        set_rate(accelerator, &kind, flops_per_second);
        hri_tuning_keep(rate_name(&kind), accelerator->key, flops_per_second);
    }
}

hr_status hri_accelerator_rate(hri_accelerator *accelerator, hr_type type,
                               hr_type c_type, hr_compute compute,
                               double *flops_per_second)
{
    hri_device *device = accelerator->device;
    const product_kind kind = {type, c_type, compute, false};
    if (!device->ops->gemm_offered(device, type, c_type, compute)) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "%s does not multiply %s into %s",
                        accelerator->path, hr_type_name(type),
                        hr_type_name(c_type));
    }
    double *rate = look_up(accelerator, &kind);
    hr_status status = HR_OK;
    if (*rate == 0.0) {
        status = measure_rate(accelerator, &kind, LARGE);
    }
    if (status == HR_OK) {
        *flops_per_second = *rate;
    }
    return status;
}

/* Fill the tile rates from the file, if all are there. */
static void find_tile_rates(hri_accelerator *accelerator,
                            const product_kind *kind)
{
    char name[32];
    double rates[HRI_TILE_RATES];
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        tile_rate_name(kind, i, name);
        if (!hri_tuning_find(name, accelerator->key, &rates[i])) {
            return;
        }
    }
    set_tile_rates(accelerator, kind, rates);
}

hr_status hri_accelerator_tile_rates(hri_accelerator *accelerator, hr_type type,
                                     hr_type c_type, hr_compute compute,
                                     double rates[HRI_TILE_RATES])
{
    const hri_device_info *info = &accelerator->device->info;
    const product_kind kind = {type, c_type, compute, false};
    const double *known = accelerator->tile_rates[rate_index(&kind)];
    hr_status status = HR_OK;
    if (!info->host && !info->emulated && known[0] == 0.0) {
        find_tile_rates(accelerator, &kind);
        if (known[0] == 0.0) {
            status = measure_rate(accelerator, &kind, TILES);
        }
    }
    if (status == HR_OK) {
        memcpy(rates, known, HRI_TILE_RATES * sizeof rates[0]);
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

static hr_status warm_kind(const hri_probe *b, product_kind kind)
{
    hr_status status = HR_OK;
    for (int i = 0; i < HRI_TILE_RATES && status == HR_OK; i++) {
        status = time_product(b, &kind, (int64_t)hri_tile_edges[i], TILE_DEPTH,
                              NULL, NULL, NULL);
    }
    return status;
}

/* Turning about, and products of what has not been. */
static hr_status warm_turning(const hri_probe *b, const product_kind *kind)
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
    hri_probe b;
    hr_status status = hri_probe_open(a, &b);
    if (status != HR_OK) {
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == HR_OK;
         i++) {
        const product_kind *kind = &kinds[i];
        find_tile_rates(a, kind);
        if (a->tile_rates[rate_index(kind)][0] == 0.0 ||
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
    hri_probe_close(&b);
}

/* Measure a rate again; one that nobody has asked for yet only when wanted. */
static hr_status remeasure(hri_accelerator *a, const product_kind *kind,
                           bool wanted)
{
    hri_device *device = a->device;
    if (!device->ops->gemm_offered(device, kind->type, kind->c_type,
                                   kind->compute) ||
        (!wanted && *look_up(a, kind) == 0.0)) {
        return HR_OK;
    }
    find_tile_rates(a, kind);
    bool tiles = a->tile_rates[rate_index(kind)][0] > 0.0;
    hr_status status = measure_rate(a, kind, LARGE);
    return status == HR_OK && tiles ? measure_rate(a, kind, TILES) : status;
}

/* The context's links are measured with the first accelerator that they lead
 * to. */
static bool leads_links(const hr_context *context, const hri_accelerator *a)
{
    uint32_t i = 0;
    while (!context->accelerators[i].device->info.staged &&
           &context->accelerators[i] != a) {
        i++;
    }
    return &context->accelerators[i] == a && a->device->info.staged;
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
    if (status == HR_OK && leads_links(context, a)) {
        status = hri_links_learn(context);
    }
    rates->f32 = a->rates[HR_F32];
    rates->f64 = a->rates[HR_F64];
    rates->up = a->in_place ? 0.0 : a->up;
    rates->down = a->in_place ? 0.0 : a->down;
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
