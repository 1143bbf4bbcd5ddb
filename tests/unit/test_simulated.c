/* SPDX-License-Identifier: MIT */
/* Every engine on a simulated machine (support/simulate.h): random devices,
 * links, faults, sizes and cancels, one seed each. What is reported as right is
 * right to the bit, nothing is left behind, and nothing waits for ever.
 * test_simulated [COUNT [FIRST]] tries COUNT seeds from FIRST on. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/cost.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/grid_model.h"
#include "support/simulate.h"
#include "support/told.h"
#include "test.h"

enum { MAX_SIZE = 90, MAX_WIDE = 400, MAX_DEEP = 24, MAX_COUNT = 4 };
/* Tiles and panels that are staged in several chunks. */
enum { MIN_LARGE = 800, MAX_LARGE = 1200, LARGE_DEEP = 2 };
enum {
    MAX_ELEMENTS = MAX_WIDE * MAX_WIDE,
    MAX_RESULTS = MAX_LARGE * MAX_LARGE,
    TRIES = 3
};

typedef enum product_kind { ONE, SUM, BATCH, KINDS } product_kind;

/* Numbers whose products and sums are exact in a float. */
typedef struct problem {
    int64_t m, n, k, count; /* count: terms of a sum, or products of a batch */
    double alpha, beta;
    bool columns[3];
    bool listed; /* the products of a batch */
    product_kind kind;
    int64_t cancel_after; /* calls of the progress function; 0: never */
} problem;

/* Each try has operands of its own: an accelerator that an earlier one left
 * behind may still use those of that one. */
static float areas[TRIES][2][MAX_ELEMENTS];
static float results[TRIES][MAX_RESULTS], wanted[MAX_RESULTS];
static float *a, *b, *c;

/* Results that calls have returned, and which are filled since then. */
static float *left[TRIES];
static int left_count;

static bool one_in(int64_t n)
{
    return sim_between(1, n) == 1;
}

static double draw_from(const double *list, int64_t count)
{
    return list[sim_between(0, count - 1)];
}

/* ---- a machine */

/* Whether devices may be left behind. Then they may still use operands, which
 * ThreadSanitizer does not know. */
static const bool leaves = !TEST_TSAN;

/* Whether devices have memory for large tiles. */
static bool roomy;

/* Whether a device will be lost that has copied tiles to C and does not confirm
 * it. Old C is read: nobody may do these tiles again. */
static bool unconfirmed;

/* Devices that are similar share a product, and steal from each other. */
static void make_machine(void)
{
    static const double rates[] = {1e8, 1e9, 2e9, 2e10};
    static const double links[] = {1e7, 1e9, 2e9, 3e10};
    memset(&sim, 0, sizeof sim);
    sim.count = (uint32_t)sim_between(1, SIM_DEVICES);
    sim.peers = one_in(2);
    const bool staged = one_in(2), reaches = one_in(2), packed = one_in(3);
    const bool similar = one_in(2);
    const double rate = draw_from(rates, 4), link = draw_from(links, 4);
    roomy = one_in(10);
    if (roomy && one_in(2)) {
        sim.count = 1;
    }
    for (uint32_t i = 0; i < SIM_DEVICES; i++) {
        const double factor = (double)sim_between(50, 150) / 100;
        sim.devices[i] = (sim_device_state){
            .memory_bytes = (uint64_t)sim_between(4, 200) << (roomy ? 16 : 10),
            .flops = similar ? rate * factor : draw_from(rates, 4),
            .link = similar ? link * factor : draw_from(links, 4),
            .peer_link = draw_from(links, 4),
            .latency_ns = (uint64_t)sim_between(500, 20000),
            .staged = staged,
            .reaches = staged && reaches,
            .packed = packed ? ~UINT32_C(0) : 0};
    }
    if (one_in(2)) {
        sim_device_state *d =
            &sim.devices[sim_between(0, (int64_t)sim.count - 1)];
        d->fault =
            (sim_fault)sim_between(SIM_FAILS, leaves ? SIM_SLOW : SIM_LOST);
        d->at = (uint64_t)sim_between(1, one_in(2) ? 8 : 60);
        d->slower = (double)sim_between(2, one_in(2) ? 8 : 200);
        if (roomy && leaves && one_in(2)) { /* between chunks of a tile */
            d->fault = SIM_HANGS;
            d->at = (uint64_t)sim_between(1, 12);
        }
    }
    unconfirmed = one_in(3);
    if (unconfirmed) {
        sim.count = (uint32_t)sim_between(2, SIM_DEVICES);
        for (uint32_t i = 0; i < SIM_DEVICES; i++) {
            sim.devices[i].fault = i == 0 ? SIM_LOST : SIM_WELL;
            sim.devices[i].at = (uint64_t)sim_between(10, 60);
            sim.devices[i].staged = sim.devices[i].reaches = false;
            sim.devices[i].memory_bytes = (uint64_t)sim_between(60, 200) << 10;
        }
    }
}

/* Speeds as the library believes them, some of them wrong. */
static void tell_speeds(hr_context *context)
{
    static const double wrong[] = {1, 1, 1, 0.3, 3};
    told_overheads(context);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *x = &context->accelerators[i];
        const bool host = x->device->info.host;
        const sim_device_state *d = &sim.devices[x->device_index];
        const double flops = (host ? 1e9 : d->flops) * draw_from(wrong, 5);
        told(x, "f32", flops);
        told(x, "i8", flops);
        told_link(x, (host ? 1e10 : d->link) * draw_from(wrong, 5));
        told(x, "memory", 1e10);
    }
    told_links(context, &(hri_link){1e9, 1e9, 1e9});
    context->patience = !leaves     ? 1e9
                        : one_in(2) ? 1
                                    : 1e-3 * (double)sim_between(1, 50);
}

static hr_context *open_machine(void)
{
    static const hri_backend *backends[3];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    char list[64] = "sim";
    backends[0] = fault_backend_wrap(&sim_backend);
    backends[1] = fault_backend_wrap(&hri_backend_host);
    if (one_in(3)) {
        snprintf(list, sizeof list, "sim,%s", one_in(2) ? "host" : "2xhost");
    } else if (one_in(4)) {
        snprintf(list, sizeof list, "3xsim:0");
    }
    options.accelerators = list;
    options.threads = (uint32_t)sim_between(1, roomy ? 8 : 3);
    options.memory_limit =
        one_in(2) && !roomy ? (uint64_t)sim_between(6, 100) << 10 : 0;
    const hr_status status =
        hri_context_create_from(backends, &options, &context);
    CHECK(status == HR_OK);
    return context;
}

/* ---- a problem */

static int64_t draw_size(void)
{
    return one_in(4) ? sim_between(1, 6) : sim_between(7, MAX_SIZE);
}

static problem make_problem(void)
{
    static const double factors[] = {0, 1, -1, 2};
    problem p = {.m = draw_size(),
                 .n = draw_size(),
                 .k = draw_size(),
                 .count = 1,
                 .alpha = 1,
                 .beta = draw_from(factors, 4),
                 .kind = (product_kind)(sim_between(0, 3) % KINDS),
                 .cancel_after = one_in(8) ? sim_between(1, 30) : 0};
    for (int i = 0; i < 3; i++) {
        p.columns[i] = one_in(3);
    }
    if (p.kind != ONE) {
        p.count = sim_between(1, MAX_COUNT);
    }
    p.listed = one_in(2);
    if (unconfirmed) {
        p.kind = ONE;
        p.count = 1;
        p.beta = 2;
        p.cancel_after = 0;
    }
    if (p.kind != BATCH && (unconfirmed || one_in(2))) { /* many tiles */
        p.m = sim_between(MAX_SIZE, MAX_WIDE);
        p.n = sim_between(MAX_SIZE, MAX_WIDE);
        p.k = sim_between(1, MAX_DEEP);
    }
    if (p.kind == ONE && roomy) {
        p.m = sim_between(MIN_LARGE, MAX_LARGE);
        p.n = sim_between(MIN_LARGE, MAX_LARGE);
        p.k = sim_between(1, LARGE_DEEP);
    }
    return p;
}

static int64_t index_of(bool columns, int64_t rows, int64_t cols, int64_t i,
                        int64_t j)
{
    return columns ? j * rows + i : i * cols + j;
}

/* One of `count` matrices that lie behind each other. */
static hr_matrix matrix_at(bool columns, float *data, int64_t rows,
                           int64_t cols, int64_t index)
{
    float *first = data + index * rows * cols;
    return columns ? hr_matrix_column_major(first, HR_F32, rows, cols, 0)
                   : hr_matrix_row_major(first, HR_F32, rows, cols, 0);
}

static void fill_operands(const problem *p)
{
    for (int64_t i = 0; i < p->count * p->m * p->k; i++) {
        a[i] = (float)sim_between(-3, 3);
    }
    for (int64_t i = 0; i < p->count * p->k * p->n; i++) {
        b[i] = (float)sim_between(-3, 3);
    }
    const int64_t outputs = p->kind == BATCH ? p->count : 1;
    for (int64_t i = 0; i < outputs * p->m * p->n; i++) {
        c[i] = (float)sim_between(-9, 9);
        wanted[i] = (float)(p->beta * (double)c[i]);
    }
    for (int64_t t = 0; t < p->count; t++) {
        float *const out = wanted + (p->kind == BATCH ? t * p->m * p->n : 0);
        for (int64_t i = 0; i < p->m; i++) {
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < p->k; l++) {
                    sum +=
                        (double)a[t * p->m * p->k +
                                  index_of(p->columns[0], p->m, p->k, i, l)] *
                        (double)b[t * p->k * p->n +
                                  index_of(p->columns[1], p->k, p->n, l, j)];
                }
                out[index_of(p->columns[2], p->m, p->n, i, j)] +=
                    (float)(p->alpha * sum);
            }
        }
    }
}

static int64_t told_times;

static bool hear_progress(void *data, double done, double total)
{
    const problem *p = data;
    (void)done;
    (void)total;
    return ++told_times != p->cancel_after;
}

/* Terms of a sum come late. Those that are released are used for other things
 * at once. */
typedef struct term_source {
    const problem *problem;
    int64_t released;
} term_source;

static bool await_term(void *data, int64_t term)
{
    (void)data;
    (void)term;
    hri_sleep_ns((uint64_t)sim_between(0, 300000));
    return true;
}

static void release_terms(void *data, int64_t terms)
{
    term_source *s = data;
    const problem *p = s->problem;
    for (; s->released < terms; s->released++) {
        memset(a + s->released * p->m * p->k, 0x5a,
               (size_t)(p->m * p->k) * sizeof a[0]);
        memset(b + s->released * p->k * p->n, 0x5a,
               (size_t)(p->k * p->n) * sizeof b[0]);
    }
}

static hr_status multiply_problem(hr_context *context, const problem *p,
                                  hr_gemm_report *report)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_matrix as[MAX_COUNT], bs[MAX_COUNT], cs[MAX_COUNT];
    void *lists[3][MAX_COUNT];
    term_source source = {p, 0};
    options.report = p->kind == SUM ? NULL : report;
    if (p->cancel_after > 0) {
        options.progress = hear_progress;
        options.progress_data = (void *)p;
    }
    told_times = 0;
    for (int64_t t = 0; t < p->count; t++) {
        as[t] = matrix_at(p->columns[0], a, p->m, p->k, t);
        bs[t] = matrix_at(p->columns[1], b, p->k, p->n, t);
        cs[t] = matrix_at(p->columns[2], c, p->m, p->n, t);
        lists[0][t] = as[t].data;
        lists[1][t] = bs[t].data;
        lists[2][t] = cs[t].data;
    }
    if (p->kind == SUM) {
        if (one_in(2)) {
            options.await = await_term;
            options.release = release_terms;
            options.terms_data = &source;
        }
        return hr_gemm_sum(context, hr_real(p->alpha), p->count, as, bs,
                           hr_real(p->beta), cs[0], &options);
    }
    if (p->kind == BATCH && p->listed) {
        return hr_gemm_batch(context, p->count, hr_real(p->alpha),
                             hr_matrices_listed(as[0], lists[0]),
                             hr_matrices_listed(bs[0], lists[1]),
                             hr_real(p->beta),
                             hr_matrices_listed(cs[0], lists[2]), &options);
    }
    if (p->kind == BATCH) {
        return hr_gemm_batch(context, p->count, hr_real(p->alpha),
                             hr_matrices_strided(as[0], p->m * p->k),
                             hr_matrices_strided(bs[0], p->k * p->n),
                             hr_real(p->beta),
                             hr_matrices_strided(cs[0], p->m * p->n), &options);
    }
    return hr_gemm(context, hr_real(p->alpha), as[0], bs[0], hr_real(p->beta),
                   cs[0], &options);
}

static bool is_right(const problem *p)
{
    const int64_t outputs = p->kind == BATCH ? p->count : 1;
    const size_t bytes = (size_t)(outputs * p->m * p->n) * sizeof c[0];
    return memcmp(c, wanted, bytes) == 0;
}

/* ---- calls over arrays, and filters */

enum { LONGEST = 30000, REACH = 1 };

static int32_t before[LONGEST], after[LONGEST];

static int compare_integers(const void *x, const void *y)
{
    const int32_t i = *(const int32_t *)x, j = *(const int32_t *)y;
    return (i > j) - (i < j);
}

/* Of rows of `cols` elements. */
static bool scan_is_right(int64_t count, int64_t cols)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum = (i % cols == 0 ? 0 : sum) + before[i];
        if (after[i] != sum) {
            return false;
        }
    }
    return true;
}

static bool sort_is_right(int64_t count, int64_t cols)
{
    for (int64_t i = 0; i < count; i += cols) {
        qsort(before + i, (size_t)cols, sizeof before[0], compare_integers);
    }
    return memcmp(before, after, (size_t)count * sizeof before[0]) == 0;
}

static bool reduction_is_right(int64_t count, int64_t result)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += before[i];
    }
    return sum == result;
}

typedef enum array_call { SCAN, SORT, REDUCE, ARRAY_CALLS } array_call;

static hr_status call_arrays(hr_context *context, array_call call,
                             hr_array *from, hr_array *to, int64_t *result)
{
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_reduced reduced = {0};
    options.threads = one_in(2);
    if (call == SCAN) {
        HRI_TRY(hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                        hr_view_of(from), hr_view_of(to), &options));
        return hr_synchronize(hr_view_of(to));
    }
    if (call == SORT) {
        HRI_TRY(hr_sort(context, HR_SORT_ASCENDING, HR_I32, hr_view_of(from),
                        hr_view_of(to), &options));
        return hr_synchronize(hr_view_of(to));
    }
    HRI_TRY(hr_reduce(context, HR_REDUCE_SUM, HR_I32, hr_view_of(from), NULL,
                      &options, &reduced));
    *result = reduced.integer;
    return HR_OK;
}

/* Returns the call's status, HR_OK only for a right result. */
static hr_status try_arrays(hr_context *context)
{
    const array_call call = (array_call)sim_between(0, ARRAY_CALLS - 1);
    const int64_t rows = one_in(2) ? 1 : sim_between(1, 60);
    const int64_t cols =
        sim_between(1, LONGEST / (rows * (one_in(2) ? 1 : 20)));
    const int64_t count = rows * cols;
    const hr_extent extent =
        rows == 1 ? hr_extent1(cols) : hr_extent2(rows, cols);
    hr_array *from = NULL, *to = NULL;
    int64_t result = 0;
    for (int64_t i = 0; i < count; i++) {
        before[i] = (int32_t)sim_between(-1000, 1000);
        after[i] = 0;
    }
    CHECK((hr_array_wrap)(context, before, sizeof before[0], extent, 0,
                          &from) == HR_OK);
    CHECK((hr_array_wrap)(context, after, sizeof after[0], extent, 0, &to) ==
          HR_OK);
    const hr_status status = call_arrays(context, call, from, to, &result);
    if (status == HR_OK) {
        CHECK(call == SCAN   ? scan_is_right(count, cols)
              : call == SORT ? sort_is_right(count, cols)
                             : reduction_is_right(count, result));
    }
    hr_array_destroy(to);
    hr_array_destroy(from);
    return status;
}

static double element_of(int64_t rows, int64_t cols, int64_t i, int64_t j)
{
    return i >= 0 && i < rows && j >= 0 && j < cols ? (double)a[i * cols + j]
                                                    : 0;
}

static hr_status try_filter(hr_context *context)
{
    const int64_t rows = draw_size(), cols = draw_size(), side = 2 * REACH + 1;
    double weights[9];
    hr_window *window = NULL;
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    options.edges = HR_EDGES_CONSTANT;
    options.method = HR_FILTER_DIRECT;
    for (int i = 0; i < 9; i++) {
        weights[i] = (double)sim_between(-2, 2);
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        a[i] = (float)sim_between(-3, 3);
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        double sum = 0;
        for (int64_t w = 0; w < side * side; w++) {
            sum +=
                weights[w] * element_of(rows, cols, i / cols + w / side - REACH,
                                        i % cols + w % side - REACH);
        }
        wanted[i] = (float)sum;
    }
    CHECK(hr_window_create(REACH, weights, &window) == HR_OK);
    const hr_status status =
        hr_filter(context, window, 1.0, matrix_at(false, a, rows, cols, 0),
                  matrix_at(false, c, rows, cols, 0), &options);
    CHECK(status != HR_OK ||
          memcmp(c, wanted, (size_t)(rows * cols) * sizeof c[0]) == 0);
    hr_window_destroy(window);
    return status;
}

/* ---- grids */

enum { FIELDS = 2, MAX_CELLS = 40 * 30 };

extern const hr_kernel stir2_4;

static uint32_t cells[MAX_CELLS], seen[MAX_CELLS];

static const uint32_t beyond = 0x12345678;

/* Halos of one row and column, other things beyond each side. */
static hr_field random_field(void)
{
    hr_field field =
        hr_field_of(sizeof(uint32_t), 1,
                    one_in(2) ? HR_BOUNDARY_CLAMP : HR_BOUNDARY_PERIODIC, NULL);
    if (one_in(2)) {
        field.before[0].boundary = HR_BOUNDARY_CONSTANT;
        field.before[0].value = &beyond;
    }
    return field;
}

/* The models take the same steps. */
static hr_status step_models(hr_grid *grid, grid_model *models, int64_t steps)
{
    reach r[FIELDS];
    hr_argument arguments[FIELDS][3];
    hr_phase phases[FIELDS];
    for (uint32_t f = 0; f < FIELDS; f++) {
        r[f] = grid_model_reach(&models[f].field, 2);
        arguments[f][0] = hr_field_in(f);
        arguments[f][1] = hr_field_out(1 - f);
        arguments[f][2] = hr_value(&r[f], sizeof r[f]);
        phases[f] = hr_phase_of(&stir2_4, arguments[f], 3);
    }
    for (int64_t i = 0; i < steps; i++) {
        grid_model_stir_all(&models[0], &models[1], &r[0]);
        grid_model_stir_all(&models[1], &models[0], &r[1]);
    }
    return hr_grid_step(grid, phases, FIELDS, steps);
}

static hr_status run_grid(hr_grid *grid, grid_model *models, int64_t count)
{
    for (uint32_t f = 0; f < FIELDS; f++) {
        for (int64_t i = 0; i < count; i++) {
            cells[i] = (uint32_t)sim_between(0, UINT32_MAX);
        }
        grid_model_unpack(&models[f], cells);
        HRI_TRY(hr_grid_scatter(grid, f, cells));
    }
    const int64_t times = sim_between(1, 3);
    for (int64_t i = 0; i < times; i++) {
        HRI_TRY(step_models(grid, models, sim_between(1, 4)));
    }
    for (uint32_t f = 0; f < FIELDS; f++) {
        grid_model_pack(&models[f], cells);
        HRI_TRY(hr_grid_gather(grid, f, seen));
        CHECK(memcmp(seen, cells, (size_t)count * sizeof seen[0]) == 0);
    }
    return HR_OK;
}

static hr_status try_grid(hr_context *context)
{
    const int64_t rows = sim_between(1, 40), cols = sim_between(1, 30);
    const hr_extent extent = hr_extent2(rows, cols);
    const hr_field fields[FIELDS] = {random_field(), random_field()};
    grid_model models[FIELDS];
    hr_grid *grid = NULL;
    HRI_TRY(hr_grid_create(context, extent, fields, FIELDS, NULL, &grid));
    for (int f = 0; f < FIELDS; f++) {
        CHECK(grid_model_create(&models[f], extent, &fields[f]));
    }
    const hr_status status = run_grid(grid, models, rows * cols);
    hr_grid_destroy(grid);
    for (int f = 0; f < FIELDS; f++) {
        grid_model_destroy(&models[f]);
    }
    return status;
}

/* ---- a seed */

static const sim_device_state *find_faulty(void)
{
    for (uint32_t i = 0; i < sim.count; i++) {
        if (sim.devices[i].fault != SIM_WELL) {
            return &sim.devices[i];
        }
    }
    return NULL;
}

static struct {
    long well, recovered, told, cancelled, refused;
} outcomes;

/* Threads that stage copies for devices that were left behind touch no result
 * any more. A device that copies to it by itself may: for a brief product of
 * medium size. */
static void leave_result(const problem *p)
{
    const double bytes = (double)(p->m * p->n * p->count) * sizeof c[0];
    if (sim.devices[0].staged &&
        (bytes < hri_cost_pageable || bytes > hri_cost_few)) {
        memset(c, 0x5a, sizeof results[0]);
        left[left_count++] = c;
    }
}

static void check_left(void)
{
    for (int i = 0; i < left_count; i++) {
        const char *bytes = (const char *)left[i];
        CHECK(bytes[0] == 0x5a &&
              memcmp(bytes, bytes + 1, sizeof results[0] - 1) == 0);
    }
    left_count = 0;
}

static hr_status try_product(hr_context *context, bool *cancels)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const problem p = make_problem();
    *cancels = p.cancel_after > 0;
    fill_operands(&p);
    const hr_status status = multiply_problem(context, &p, &report);
    CHECK(status != HR_OK || is_right(&p));
    leave_result(&p);
    return status;
}

/* Nothing is held between calls, but by products that devices have not left. */
static bool holds_nothing(hr_context *context)
{
    bool nothing = true;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *x = &context->accelerators[i];
        nothing = nothing && (x->parted > 0 || hri_accelerator_held(x) == 0);
        for (int way = 0; way < HRI_WAYS; way++) {
            nothing = nothing && (x->parted > 0 || x->staging[way].taken == 0);
        }
    }
    return nothing;
}

static void try_once(hr_context *context)
{
    const sim_device_state *d = find_faulty();
    bool cancels = false;
    const int64_t engine = unconfirmed ? 4 : sim_between(1, 9);
    const hr_status status = engine == 9   ? try_grid(context)
                             : engine == 1 ? try_filter(context)
                             : engine <= 3 ? try_arrays(context)
                                           : try_product(context, &cancels);
    const bool came = d != NULL && d->came;
    CHECK(holds_nothing(context));
    switch (status) {
    case HR_OK:
        outcomes.well += !came;
        outcomes.recovered += came;
        break;
    case HR_ERROR_CANCELLED:
        CHECK(cancels);
        outcomes.cancelled++;
        break;
    case HR_ERROR_OUT_OF_MEMORY:
        outcomes.refused++;
        break;
    default: /* with little patience a device is late that takes its time */
        outcomes.told++;
        const bool late = sim.stalls > 0 || context->patience < 1;
        const hr_status right =
            came && d->fault == SIM_FAILS ? HR_ERROR_BACKEND : HR_ERROR_LOST;
        if (!CHECK((late && status == HR_ERROR_LOST) ||
                   (came && status == right))) {
            fprintf(stderr, "  engine %d: status %d\n", (int)engine, status);
        }
    }
}

/* Calls over arrays wait for a device that hangs: it goes on at last. */
static void *let_devices_go(void *none)
{
    hri_sleep_ns(UINT64_C(2000000000));
    sim_let_go();
    return none;
}

static void try_seed(uint64_t seed)
{
    pthread_t repairer;
    const long failures = test_state.failures;
    sim_seed(seed);
    fault_backend_reset();
    make_machine();
    hr_context *context = open_machine();
    if (context != NULL) {
        tell_speeds(context);
        const int64_t tries = sim_between(1, TRIES);
        CHECK(pthread_create(&repairer, NULL, let_devices_go, NULL) == 0);
        for (int64_t i = 0; i < tries; i++) {
            a = areas[i][0];
            b = areas[i][1];
            c = results[i];
            try_once(context);
        }
        pthread_join(repairer, NULL);
        const hr_status settled = hr_context_settle(context, 1e6);
        CHECK(settled == HR_OK && holds_nothing(context));
        check_left();
        hr_context_destroy(context);
    }
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    if (test_state.failures > failures) {
        fprintf(stderr, "  seed %llu\n", (unsigned long long)seed);
    }
}

/* ---- flipped bits */

enum { SIDE = 40, FLIPS = 40 };

/* Bits of a copy home change. The product is wrong, and hr_gemm_verify sees
 * it: products of integers are exact. */
static void flip_bits(void)
{
    static int8_t x[SIDE * SIDE], y[SIDE * SIDE];
    static int32_t z[SIDE * SIDE];
    const hr_matrix as = hr_matrix_row_major(x, HR_I8, SIDE, SIDE, 0);
    const hr_matrix bs = hr_matrix_row_major(y, HR_I8, SIDE, SIDE, 0);
    const hr_matrix cs = hr_matrix_row_major(z, HR_I32, SIDE, SIDE, 0);
    long came = 0;
    TEST_CASE("flipped bits");
    for (uint64_t seed = 1; seed <= FLIPS; seed++) {
        sim_seed(seed);
        fault_backend_reset();
        make_machine();
        for (uint32_t i = 0; i < sim.count; i++) {
            sim.devices[i].fault = i == 0 ? SIM_FLIPS : SIM_WELL;
        }
        sim.devices[0].at = (uint64_t)sim_between(1, 3);
        hr_context *context = open_machine();
        tell_speeds(context);
        hr_verify_report report = HR_VERIFY_REPORT_INIT;
        for (int i = 0; i < SIDE * SIDE; i++) {
            x[i] = (int8_t)sim_between(-128, 127);
            y[i] = (int8_t)sim_between(-128, 127);
        }
        hr_status status =
            hr_gemm(context, hr_real(1), as, bs, hr_real(0), cs, NULL);
        if (status == HR_OK) {
            status = hr_gemm_verify(context, hr_real(1), as, bs, hr_real(0), cs,
                                    cs, &report);
            CHECK(status == (sim.devices[0].came ? HR_ERROR_MISMATCH : HR_OK));
            came += sim.devices[0].came;
        }
        hr_context_destroy(context);
    }
    CHECK(came > 0);
}

enum { REPEATED = 5 };

/* ---- time */

static const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

typedef struct sleeper {
    uint64_t ns, woke_ns;
} sleeper;

static void *sleep_long(void *argument)
{
    sleeper *s = argument;
    hri_sleep_ns(s->ns);
    s->woke_ns = hri_clock_ns();
    return NULL;
}

static void hours_pass(void)
{
    enum { SLEEPERS = 3 };
    pthread_t threads[SLEEPERS];
    sleeper sleepers[SLEEPERS] = {{3 * hour_ns, 0}, {hour_ns, 0}, {0, 0}};
    sim_seed(1);
    TEST_CASE("time goes on to what is waited for");
    const uint64_t start_ns = hri_clock_ns(), minute_ns = hour_ns / 60;
    sim_works(2);
    for (int i = 0; i < SLEEPERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, sleep_long, &sleepers[i]) == 0);
    }
    for (int i = 0; i < SLEEPERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        const uint64_t slept_ns = sleepers[i].woke_ns - start_ns;
        CHECK(slept_ns >= sleepers[i].ns);
        CHECK(slept_ns < sleepers[i].ns + minute_ns);
    }
    CHECK(hri_clock_cpu_ns() >= 6 * hour_ns);
    CHECK(hri_clock_cpu_ns() < 6 * hour_ns + minute_ns);
    TEST_CASE("and when the test says so");
    sim_pass(hour_ns);
    CHECK(hri_clock_ns() >= start_ns + 4 * hour_ns);
}

int main(int argc, char **argv)
{
    const uint64_t usual = TEST_ASAN || TEST_TSAN ? 200 : 1000;
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : usual;
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t traces[REPEATED] = {0};
    hours_pass();
    try_seed(0); /* what the library makes once for a process */
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t seed = first + i;
        try_seed(seed);
        if (i < REPEATED) {
            traces[i] = sim_trace();
        }
        if (count <= REPEATED) {
            printf("seed %llu: %llu steps, %.6f s\n", (unsigned long long)seed,
                   (unsigned long long)sim_steps(),
                   (double)sim_now_ns() * 1e-9);
        }
    }
    flip_bits();
    TEST_CASE("a seed repeats");
    for (uint64_t i = 0; i < count && i < REPEATED; i++) {
        try_seed(first + i);
        CHECK(sim_trace() == traces[i]);
    }
    printf("well %ld, recovered %ld, told %ld, cancelled %ld, refused %ld\n",
           outcomes.well, outcomes.recovered, outcomes.told, outcomes.cancelled,
           outcomes.refused);
    return test_end();
}
