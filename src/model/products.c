/* SPDX-License-Identifier: MIT */
/* Measuring how fast an accelerator multiplies, by small products with the HAL
 * calls that the engines use. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/precise.h"
#include "model/figures.h"
#include "model/model.h"
#include "model/probe.h"

enum {
    MIN_EXTENT = 128, /* of a product; doubled until it takes long enough */
    MAX_EXTENT = 8192,
    MAX_TOP_EXTENT = 16384,
    TILE_DEPTH = 8192,       /* k of the products on tiles */
    PATTERN_BYTES = 64 << 10 /* of random numbers, repeated over operands */
};

/* The host's rate rises up to products of 0.1 s where many threads share each:
 * OpenBLAS in float on 16 CPUs began with 5 to 20 GFLOP/s up to 512, had 740 to
 * 1,200 at 2048, and 1,020 to 1,270 at 4096 (November 2026). So products are
 * long enough when they take host_enough for each thread: in shorter ones, some
 * have just been woken. All tries together take about host_seconds at most,
 * which are two of 4096 in double on those CPUs and all smaller ones. */
static const double host_seconds = 0.75, host_enough = 0.5e-3;

/* Products that take this long come close to the highest rate. */
static const double long_for_top = 20e-3;

/* Make a number of size at most 1 from random bits. Returns its bytes. */
static size_t make_number(hr_type type, uint64_t bits, void *number)
{
    const float single = (float)(int32_t)(bits >> 32) * 0x1p-31f;
    const double wide = (double)(int64_t)bits * 0x1p-63;
    const uint8_t byte = (uint8_t)(bits >> 56);
    /* a random sign and fraction with the exponent of one half */
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

/* Take memory for an operand: a buffer, or host memory for a host device. */
static hr_status take_operand(hri_stopwatch *w, int place, uint64_t bytes)
{
    return hri_stopwatch_take(w, place, bytes, w->accelerator->in_place);
}

/* Repeat the pattern over `bytes` bytes at place. */
static hr_status upload(const hri_stopwatch *w, const void *pattern,
                        hri_place place, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PATTERN_BYTES) {
        size_t width =
            (size_t)hri_min((int64_t)(bytes - at), (int64_t)PATTERN_BYTES);
        if (place.buffer == NULL) {
            memcpy((char *)place.host + at, pattern, width);
            continue;
        }
        const hri_copy copy = hri_flat_copy(hri_at(place.buffer, at),
                                            hri_at_host(pattern, 0), width);
        HRI_TRY(w->queue->ops->copy(w->queue, &copy));
    }
    return HR_OK;
}

/* The products to try. */
typedef struct products {
    hri_stopwatch watch;
    hri_product_kind kind;
    int64_t depth; /* k of all; 0: the same as m and n */
    bool by_rows;  /* A is never packed, even where that is faster */
    void *pattern; /* random numbers for the operands; NULL: not initialised */
    hri_gemm gemm;
} products;

static int64_t depth_of(const products *x, int64_t extent)
{
    return x->depth > 0 ? x->depth : extent;
}

static bool wants_packing(const hri_accelerator *a, hri_product_kind kind)
{
    return (a->device->info.packed >> kind.type & 1) != 0 &&
           kind.compute == HR_COMPUTE_NATIVE;
}

/* The product of an n x k and a k x n matrix, which lie at the first two places
 * of the stopwatch. The result goes to the third. */
static hri_gemm make_product(const products *x, int64_t n, int64_t k)
{
    hri_operand operands[3];
    for (int i = 0; i < 3; i++) {
        operands[i] = (hri_operand){.place = x->watch.places[i],
                                    .row_stride = i == 0 ? k : n,
                                    .col_stride = 1};
    }
    if (!x->by_rows && wants_packing(x->watch.accelerator, x->kind)) {
        operands[0].row_stride = 1;
        operands[0].col_stride = n;
    }
    return (hri_gemm){.type = x->kind.type,
                      .c_type = x->kind.c_type,
                      .compute = x->kind.compute,
                      .m = n,
                      .n = n,
                      .k = k,
                      .alpha = hr_real(1.0),
                      .beta = hr_real(0.0),
                      .a = operands[0],
                      .b = operands[1],
                      .c = operands[2]};
}

/* Bytes behind an operand of a precise product: of A and of B for the packed
 * panel, of C for scratch memory. */
static uint64_t bytes_behind(const products *x, int place, int64_t n, int64_t k)
{
    return x->kind.compute != HR_COMPUTE_PRECISE ? 0
           : place < 2 ? hri_precise_bytes(x->kind.type, place, n, k)
                       : hri_precise_scratch(x->kind.type, n, n);
}

/* Pack A and B behind themselves. */
static hr_status pack_operands(products *x, int64_t n, int64_t k,
                               const uint64_t *behind)
{
    const hri_stopwatch *w = &x->watch;
    for (int side = 0; side < 2; side++) {
        hri_operand from = side == 0 ? x->gemm.a : x->gemm.b;
        if (side == 1) {
            from.row_stride = 1;
            from.col_stride = n;
        }
        x->gemm.packed[side] = w->places[side];
        x->gemm.packed[side].offset += (size_t)behind[side];
        const hri_pack pack = {.type = x->kind.type,
                               .compute = x->kind.compute,
                               .side = side,
                               .from = from,
                               .to = x->gemm.packed[side],
                               .rows = n,
                               .cols = k};
        HRI_TRY(w->queue->ops->pack(w->queue, &pack));
    }
    x->gemm.scratch = w->places[2];
    x->gemm.scratch.offset += (size_t)behind[2];
    return HR_OK;
}

static hr_status prepare(void *data, int64_t n)
{
    enum { ALIGNMENT = 256 };
    products *x = data;
    const int64_t k = depth_of(x, n);
    const uint64_t size = hr_type_size(x->kind.type);
    const uint64_t c_size = hr_type_size(x->kind.c_type);
    uint64_t bytes[3];
    for (int i = 0; i < 3; i++) {
        bytes[i] = i < 2 ? (uint64_t)n * (uint64_t)k * size
                         : (uint64_t)n * (uint64_t)n * c_size;
        bytes[i] = hri_round_up_bytes(bytes[i], ALIGNMENT);
        HRI_TRY(
            take_operand(&x->watch, i, bytes[i] + bytes_behind(x, i, n, k)));
    }
    for (int i = 0; i < 2 && x->pattern != NULL; i++) {
        HRI_TRY(upload(&x->watch, x->pattern, x->watch.places[i], bytes[i]));
    }
    x->gemm = make_product(x, n, k);
    return x->kind.compute == HR_COMPUTE_PRECISE &&
                   !x->watch.accelerator->in_place
               ? pack_operands(x, n, k, bytes)
               : HR_OK;
}

static hr_status multiply_once(void *data, double *seconds)
{
    const products *x = data;
    return hri_stopwatch_time(&x->watch, &x->gemm, NULL, seconds);
}

static hr_status finish(void *data)
{
    products *x = data;
    return hri_stopwatch_clear(&x->watch);
}

/* A series of products with one depth (products.depth). Extents grow from
 * `first` on until a product takes long enough, and with most_seconds until two
 * in a row are as fast. */
typedef struct row {
    int64_t first, most, depth;
    double enough, most_seconds;
} row;

static double work_of(const void *data, int64_t n)
{
    const products *x = data;
    return hri_product_flops(x->kind.type, n, n, depth_of(x, n));
}

/* The rate of a series in flop/s. 0: there is no room. */
static hr_status find_rate(products *x, const row *r, double *rate,
                           bool *settled)
{
    const hri_trial trial = {.prepare = prepare,
                             .run = multiply_once,
                             .finish = finish,
                             .first = r->first,
                             .most = r->most,
                             .growth = 2,
                             .enough = r->enough,
                             .work = r->most_seconds > 0.0 ? work_of : NULL,
                             .most_seconds = r->most_seconds};
    hri_probed found;
    x->depth = r->depth;
    hr_status status = hri_probe(&trial, x, &found);
    *settled = found.settled;
    *rate = found.size > 0 ? work_of(x, found.size) / found.seconds : 0.0;
    return status;
}

/* Wait until other threads of the process leave the CPUs to the host, 0.2 s at
 * most. The threads of a BLAS that the program has just used look for more work
 * for some 0.11 s (OpenBLAS 0.3.21), and a rate measured meanwhile was half. */
static void wait_for_processors(void)
{
    enum { TIMES = 40, MOMENT_NS = 5000000 };
    bool busy = true;
    for (int i = 0; i < TIMES && busy; i++) {
        const uint64_t start_ns = hri_clock_ns();
        const uint64_t used_ns = hri_clock_cpu_ns();
        hri_sleep_ns(MOMENT_NS);
        busy = 10 * (hri_clock_cpu_ns() - used_ns) > hri_clock_ns() - start_ns;
    }
}

/* Some series, and their rates up to the first that is not settled. */
typedef struct series {
    hri_accelerator *accelerator;
    hri_product_kind kind;
    row rows[HRI_TILE_RATES];
    int count;
    double rates[HRI_TILE_RATES];
    bool settled;
} series;

static hr_status run_rows(series *s, products *x)
{
    s->settled = true;
    HRI_TRY(hri_accelerator_allocate_pinned(s->accelerator, PATTERN_BYTES,
                                            &x->pattern));
    fill_pattern(s->kind.type, x->pattern);
    for (int i = 0; i < s->count && s->settled; i++) {
        HRI_TRY(find_rate(x, &s->rows[i], &s->rates[i], &s->settled));
    }
    return HR_OK;
}

static hr_status run_series(void *job)
{
    series *s = job;
    hri_accelerator *a = s->accelerator;
    products x = {.kind = s->kind};
    if (s->rows[0].most_seconds > 0.0) {
        wait_for_processors();
    }
    HRI_TRY(hri_stopwatch_open(a, &x.watch));
    const hr_status status = run_rows(s, &x);
    hri_accelerator_release_pinned(a, x.pattern);
    hri_stopwatch_close(&x.watch);
    return status;
}

static hr_status find_rates(series *s)
{
    return hri_measure(&s->accelerator, 1, run_series, s, sizeof *s);
}

static hr_status find_one_rate(hri_accelerator *a, hri_product_kind kind,
                               const row *r, double *rate, bool *settled)
{
    series s = {.accelerator = a, .kind = kind, .rows = {*r}, .count = 1};
    hr_status status = find_rates(&s);
    *rate = s.rates[0];
    *settled = s.settled;
    return status;
}

/* ---- the figures of products */

static hri_kind figure_of(hri_product_kind kind, int64_t edge)
{
    static const char *const ordered[] = {
        [HR_F32] = "f32-ordered", [HR_F64] = "f64-ordered",
        [HR_C32] = "c32-ordered", [HR_C64] = "c64-ordered",
        [HR_F16] = "f16-ordered", [HR_BF16] = "bf16-ordered"};
    static const char *const precise[] = {[HR_F32] = "f32-precise",
                                          [HR_F64] = "f64-precise",
                                          [HR_C32] = "c32-precise",
                                          [HR_C64] = "c64-precise"};
    const char *name =
        kind.compute == HR_COMPUTE_REPRODUCIBLE ? ordered[kind.type]
        : kind.compute == HR_COMPUTE_PRECISE    ? precise[kind.type]
        : kind.compute == HR_COMPUTE_TF32       ? "tf32"
                                                : hr_type_name(kind.type);
    return (hri_kind){.name = name, .shape = edge};
}

double hri_accelerator_known_rate(const hri_accelerator *a,
                                  hri_product_kind kind)
{
    return hri_figure_find(hri_subject_of(a), figure_of(kind, 0));
}

double hri_accelerator_likely_rate(const hri_accelerator *a,
                                   hri_product_kind kind)
{
    const double known = hri_accelerator_known_rate(a, kind);
    const bool single = kind.type == HR_F32 || kind.type == HR_C32;
    const bool blas = single || kind.type == HR_F64 || kind.type == HR_C64;
    if (known > 0.0) {
        return known;
    }
    if (!hri_in_host_memory(a)) {
        return hri_guess(HRI_GUESS_PRODUCT_ON_GPU);
    }
    return a->in_place && blas && kind.compute == HR_COMPUTE_NATIVE
               ? a->device->info.compute_units / hri_guess_processor(single)
               : hri_guess(HRI_GUESS_PRODUCT);
}

/* The rates on tiles, if all are known. */
static bool tiles_known(const hri_accelerator *a, hri_product_kind kind,
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

/* ---- variants of the device's kernels */

static uint32_t variants_of(const hri_accelerator *a, hri_product_kind kind)
{
    return a->device->ops->gemm_variants(a->device, kind.type, kind.compute);
}

/* The figure is 1 for variant 0. It holds for tables of so many variants. */
static hri_kind figure_of_variant(hri_product_kind kind, uint32_t variants)
{
    static const char *const names[] = {
        [HR_F32] = "f32-variant", [HR_F64] = "f64-variant",
        [HR_C32] = "c32-variant", [HR_C64] = "c64-variant",
        [HR_F16] = "f16-variant", [HR_BF16] = "bf16-variant",
        [HR_I8] = "i8-variant"};
    return (hri_kind){.name = names[kind.type], .shape = variants};
}

/* Let the device use the variant that was the fastest. False: none is known. */
static bool choose_known(const hri_accelerator *a, hri_product_kind kind)
{
    const uint32_t variants = variants_of(a, kind);
    if (variants == 1) {
        return true;
    }
    const double known =
        hri_figure_find(hri_subject_of(a), figure_of_variant(kind, variants));
    if (known < 1.0 || known > variants) {
        return false;
    }
    a->device->ops->choose_variant(a->device, kind.type, (uint32_t)known - 1);
    return true;
}

/* Measure the rate with each variant, and let the device use the fastest. */
static hr_status find_variant(hri_accelerator *a, hri_product_kind kind,
                              const row *r, double *rate, bool *settled)
{
    const uint32_t variants = variants_of(a, kind);
    uint32_t best = 0;
    if (variants == 1) {
        return find_one_rate(a, kind, r, rate, settled);
    }
    *rate = 0.0;
    *settled = true;
    for (uint32_t i = 0; i < variants; i++) {
        double found = 0.0;
        bool all = true;
        a->device->ops->choose_variant(a->device, kind.type, i);
        const hr_status status = find_one_rate(a, kind, r, &found, &all);
        if (status != HR_OK && (i == 0 || status == HR_ERROR_LOST)) {
            a->device->ops->choose_variant(a->device, kind.type, best);
            return status; /* else the device cannot have this variant */
        }
        *settled = *settled && all;
        if (found > *rate) {
            *rate = found;
            best = i;
        }
    }
    a->device->ops->choose_variant(a->device, kind.type, best);
    hri_figure_note(hri_subject_of(a), figure_of_variant(kind, variants),
                    *settled, best + 1);
    return HR_OK;
}

static hr_status measure_large(hri_accelerator *a, hri_product_kind kind)
{
    row all = {MIN_EXTENT, MAX_EXTENT, 0, hri_long_enough, 0.0};
    double rate = 0.0;
    bool settled;
    if (a->device->info.host) {
        all.enough =
            fmax(hri_long_enough, host_enough * a->device->info.compute_units);
        all.most_seconds = host_seconds;
    }
    HRI_TRY(find_variant(a, kind, &all, &rate, &settled));
    hri_figure_note(hri_subject_of(a), figure_of(kind, 0), settled,
                    rate > 0.0 ? rate
                               : hri_guess(HRI_GUESS_PRODUCT_WITHOUT_ROOM));
    return HR_OK;
}

/* Measure the rates on tiles. Tiles that there is no room for get the rate of
 * others. */
static hr_status measure_tiles(hri_accelerator *a, hri_product_kind kind)
{
    series s = {.accelerator = a, .kind = kind, .count = HRI_TILE_RATES};
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        const int64_t edge = (int64_t)hri_tile_edges[i];
        s.rows[i] = (row){edge, edge, TILE_DEPTH, 0.0, 0.0};
    }
    HRI_TRY(find_rates(&s));
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        hri_figure_note(hri_subject_of(a), figure_of(kind, s.rows[i].first),
                        s.settled,
                        s.rates[i] > 0.0 ? s.rates[i]
                                         : hri_accelerator_known_rate(a, kind));
    }
    return HR_OK;
}

hr_status hri_accelerator_top_rate(hri_accelerator *a, hri_product_kind kind,
                                   double *rate)
{
    const row all = {MIN_EXTENT, MAX_TOP_EXTENT, 0, long_for_top, 0.0};
    bool settled;
    *rate = 0.0;
    hr_status status = find_one_rate(a, kind, &all, rate, &settled);
    if (*rate <= 0.0) {
        *rate = hri_guess(HRI_GUESS_PRODUCT_WITHOUT_ROOM);
    }
    return status;
}

void hri_accelerator_learn_rate(hri_accelerator *a, hri_product_kind kind,
                                double flops, double seconds)
{
    const double rate = hri_accelerator_known_rate(a, kind);
    const double long_run = 0.1; /* seconds of arithmetic that are enough to
                                    tell a rate */
    if (rate > 0.0 && seconds >= long_run) {
        hri_learned one = {.value = 1.0 / rate};
        if (hri_learn_measured(&one, seconds / flops)) {
            hri_figure_keep(hri_subject_of(a), figure_of(kind, 0),
                            1.0 / one.value);
        }
    }
}

const char *hri_compute_phrase(hr_compute compute)
{
    static const char *const manners[] = {"", " by tf32", " reproducibly",
                                          " precisely"};
    return manners[compute];
}

bool hri_accelerator_multiplies(const hri_accelerator *a, hri_product_kind kind)
{
    return a->device->ops->gemm_offered(a->device, kind.type, kind.c_type,
                                        kind.compute);
}

hr_status hri_accelerator_rate(hri_accelerator *a, hri_product_kind kind,
                               double *flops_per_second)
{
    if (!hri_accelerator_multiplies(a, kind)) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "%s does not multiply %s into %s",
                        a->path, hr_type_name(kind.type),
                        hr_type_name(kind.c_type));
    }
    if (hri_accelerator_known_rate(a, kind) == 0.0 || !choose_known(a, kind)) {
        HRI_TRY(measure_large(a, kind));
    }
    *flops_per_second = hri_accelerator_known_rate(a, kind);
    return HR_OK;
}

hr_status hri_accelerator_tile_rates(hri_accelerator *a, hri_product_kind kind,
                                     double rates[HRI_TILE_RATES])
{
    hr_status status = HR_OK;
    memset(rates, 0, HRI_TILE_RATES * sizeof rates[0]);
    if (!hri_in_host_memory(a) && !tiles_known(a, kind, rates)) {
        status = measure_tiles(a, kind);
        (void)tiles_known(a, kind, rates);
    }
    return status;
}

/* The number of rates that are kept. */
enum { KINDS = 8 };
static const hri_product_kind kinds[KINDS] = {
    {HR_F32, HR_F32, HR_COMPUTE_NATIVE}, {HR_F64, HR_F64, HR_COMPUTE_NATIVE},
    {HR_C32, HR_C32, HR_COMPUTE_NATIVE}, {HR_C64, HR_C64, HR_COMPUTE_NATIVE},
    {HR_F16, HR_F32, HR_COMPUTE_NATIVE}, {HR_BF16, HR_F32, HR_COMPUTE_NATIVE},
    {HR_I8, HR_I32, HR_COMPUTE_NATIVE},  {HR_F32, HR_F32, HR_COMPUTE_TF32},
};

static hr_status warm_tile(products *x, int64_t edge)
{
    hri_queue *queue = x->watch.queue;
    HRI_TRY(prepare(x, edge));
    return queue->ops->gemm(queue, &x->gemm);
}

/* Multiply once on each kind of tile, untimed. */
static hr_status warm_kind(const hri_stopwatch *w, hri_product_kind kind,
                           bool by_rows)
{
    products x = {
        .watch = *w, .kind = kind, .depth = TILE_DEPTH, .by_rows = by_rows};
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        const hr_status status = warm_tile(&x, (int64_t)hri_tile_edges[i]);
        const hr_status finished = finish(&x);
        HRI_TRY(status);
        HRI_TRY(finished);
    }
    return HR_OK;
}

static hr_status pack_once(hri_stopwatch *w, hri_product_kind kind)
{
    enum { EDGE = 1024 };
    const uint64_t bytes = (uint64_t)EDGE * EDGE * hr_type_size(kind.type);
    HRI_TRY(take_operand(w, 0, bytes));
    HRI_TRY(take_operand(w, 1, bytes));
    const hri_pack pack = {
        .type = kind.type,
        .from = {.place = w->places[1], .row_stride = EDGE, .col_stride = 1},
        .to = w->places[0],
        .rows = EDGE,
        .cols = EDGE,
        .to_stride = EDGE};
    return w->queue->ops->pack(w->queue, &pack);
}

/* Pack once, and multiply by a matrix that is not packed. */
static hr_status warm_packing(hri_stopwatch *w, hri_product_kind kind)
{
    const hr_status status = pack_once(w, kind);
    const hr_status finished = hri_stopwatch_clear(w);
    HRI_TRY(status);
    HRI_TRY(finished);
    return warm_kind(w, kind, true);
}

static hr_status warm_all(hri_accelerator *a, hri_stopwatch *w,
                          hri_product_kind kind)
{
    HRI_TRY(warm_kind(w, kind, false));
    return wants_packing(a, kind) ? warm_packing(w, kind) : HR_OK;
}

static hr_status warm(void *job)
{
    hri_accelerator *a = *(hri_accelerator **)job;
    hri_stopwatch w;
    double rates[HRI_TILE_RATES];
    hr_status status = HR_OK;
    HRI_TRY(hri_stopwatch_open(a, &w));
    for (int i = 0; i < KINDS; i++) {
        if (!tiles_known(a, kinds[i], rates) ||
            !hri_accelerator_multiplies(a, kinds[i])) {
            continue;
        }
        (void)choose_known(a, kinds[i]);
        const hr_status warmed = warm_all(a, &w, kinds[i]);
        if (warmed != HR_OK && warmed != HR_ERROR_OUT_OF_MEMORY) {
            status = warmed; /* else smaller tiles may fit */
            break;
        }
    }
    hri_stopwatch_close(&w);
    return status;
}

void hri_accelerator_warm(hri_accelerator *a)
{
    (void)hri_measure(&a, 1, warm, &a, sizeof a);
}

/* Measure a rate again. If it was not needed so far, only when `wanted`. */
static hr_status remeasure(hri_accelerator *a, hri_product_kind kind,
                           bool wanted)
{
    if (!hri_accelerator_multiplies(a, kind) ||
        (!wanted && hri_accelerator_known_rate(a, kind) == 0.0)) {
        return HR_OK;
    }
    double rates[HRI_TILE_RATES];
    const bool tiles = tiles_known(a, kind, rates);
    HRI_TRY(measure_large(a, kind));
    return tiles ? measure_tiles(a, kind) : HR_OK;
}

hr_status hri_products_measure(hri_accelerator *a, double *f32, double *f64)
{
    enum { F32, F64, WANTED }; /* kinds of products */
    for (int i = 0; i < KINDS; i++) {
        HRI_TRY(remeasure(a, kinds[i], i < WANTED));
    }
    *f32 = hri_accelerator_known_rate(a, kinds[F32]);
    *f64 = hri_accelerator_known_rate(a, kinds[F64]);
    return HR_OK;
}
