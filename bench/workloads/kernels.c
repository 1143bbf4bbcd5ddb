/* SPDX-License-Identifier: MIT */
/* headrace bench kernels: the ways to multiply of bench/kernels/matmul.c,
 * beside the library of each accelerator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/status.h"
#include "bench/bench.h"
#include "console/context.h"
#include "console/output.h"

extern const hr_kernel subgroup_width, matmul_sequential, matmul_naive,
    matmul_row_tile, matmul_subgroup, matmul_tiled, matmul_blocked;

enum { ROW = 64 }; /* columns of a row tile */

typedef struct variant {
    const char *name;
    const hr_kernel *kernel;
    int64_t tile[2];           /* items; 0: the library chooses */
    int64_t own[2];            /* elements of C for an item; 0: all */
    size_t memory;             /* bytes of a tile, sized at launch */
    double shared_a, shared_b; /* how many items share an element they read */
} variant;

enum { VARIANTS = 6, NAIVE = 1 };

static const variant variants[VARIANTS] = {
    {"sequential", &matmul_sequential, {0, 0}, {0, 0}, 0, 1, 1},
    {"naive", &matmul_naive, {0, 0}, {1, 1}, 0, 1, 1},
    {"row tile",
     &matmul_row_tile,
     {1, ROW},
     {1, 1},
     ROW * sizeof(float),
     ROW,
     1},
    {"sub-group", &matmul_subgroup, {8, 32}, {1, 1}, 0, 1, 1},
    {"tiled", &matmul_tiled, {16, 16}, {1, 1}, 0, 16, 16},
    {"blocked", &matmul_blocked, {16, 8}, {8, 16}, 0, 128, 128},
};

/* One accelerator and one problem. */
typedef struct contest {
    benchmark *bench;
    bench_operands operands;
    int64_t m, n, k;
    hr_context *context;
    hr_queue *queue;
    hr_array *arrays[3];
    hr_accelerator_info info;
    double library;           /* flop/s; 0: not known */
    uint32_t index;           /* of the accelerator */
    double seconds[VARIANTS]; /* 0: not run */
    int width;                /* of sub-groups */
    hr_array *width_array;    /* over it */
} contest;

static double flops(const contest *c)
{
    return 2.0 * (double)c->m * (double)c->n * (double)c->k;
}

/* The number of items for `extent` elements in dimension d, in whole tiles
 * where an item has several. */
static int64_t items(int64_t extent, const variant *v, int d)
{
    const int64_t own = v->own[d], tile = v->tile[d];
    return own == 0   ? 1
           : own == 1 ? extent
                      : hri_ceil_div(extent, tile * own) * tile;
}

/* Run once. Seconds are by the accelerator's clock, from the kernel's
 * profile. */
static hr_status run_once(contest *c, const variant *v, double *seconds)
{
    const hr_extent tile = hr_extent2(v->tile[0], v->tile[1]);
    const hr_extent domain = hr_extent2(items(c->m, v, 0), items(c->n, v, 1));
    const hr_argument arguments[] = {
        hr_in(hr_view_of(c->arrays[0])), hr_in(hr_view_of(c->arrays[1])),
        hr_out(hr_view_of(c->arrays[2])), hr_tile_bytes(v->memory)};
    hr_profile profile = HR_PROFILE_INIT;
    HRI_TRY(hr_profile_kernel(c->context, v->kernel, 0));
    HRI_TRY(hr_launch(c->queue, v->kernel, domain,
                      v->tile[0] > 0 ? &tile : NULL, arguments,
                      v->memory > 0 ? 4 : 3));
    HRI_TRY(hr_queue_finish(c->queue));
    HRI_TRY(hr_profile_read(c->context, v->kernel, c->index, &profile));
    *seconds = profile.seconds;
    return HR_OK;
}

/* The best of several runs after a first one, whose result is verified. */
static hr_status measure_variant(contest *c, const variant *v, double *best)
{
    const bench_operands *o = &c->operands;
    double seconds = 0.0, first = 0.0;
    HRI_TRY(run_once(c, v, &seconds));
    HRI_TRY(hr_synchronize(hr_view_of(c->arrays[2])));
    HRI_TRY(hr_gemm_verify(c->context, hr_real(1), o->a, o->b, hr_real(0), o->c,
                           o->c, NULL));
    for (int64_t i = 1; i <= c->bench->o.repeat; i++) {
        HRI_TRY(run_once(c, v, &seconds));
        bench_note(i, seconds, &first, best);
    }
    *best = fmax(*best, 1e-9); /* the clock's step */
    return HR_OK;
}

/* Bytes that items read and write. Caches may serve some of them. */
static double traffic(const contest *c, const variant *v)
{
    double sharers = v->kernel == &matmul_subgroup ? c->width : v->shared_a;
    double reads = (double)c->m * (double)c->n * (double)c->k *
                   (1 / sharers + 1 / v->shared_b);
    return sizeof(float) * (reads + (double)c->m * (double)c->n);
}

static void add_row(const contest *c, const variant *v, double seconds)
{
    bench_rows *rows = &c->bench->rows;
    const double rate = flops(c) / seconds;
    bench_row_begin(rows, "kernels");
    bench_text(rows, "accelerator", NULL, c->info.path);
    bench_text(rows, "device", NULL, c->info.name);
    bench_text(rows, "kernel", "kernel", v->name);
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)c->m);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)c->n);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)c->k);
    bench_value(rows, "subgroup_width", NULL, BENCH_COUNT, c->width);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, seconds);
    bench_value(rows, "gflops", "rate", BENCH_GFLOPS, rate);
    bench_value(rows, "traffic_bytes", "traffic", BENCH_BYTES, traffic(c, v));
    bench_value(rows, "over_naive", "over naive", BENCH_RATIO,
                c->seconds[NAIVE] / seconds);
    bench_value(rows, "of_library", "of library", BENCH_PER_CENT_1,
                c->library > 0.0 ? rate / c->library : NAN);
    bench_flag(rows, "verified", true, true);
    bench_row_end(rows);
}

static hr_status find_width(contest *c)
{
    const hr_extent one = hr_extent2(1, 1), tile = hr_extent2(8, 32);
    HRI_TRY(hr_array_wrap(c->context, &c->width, sizeof c->width, one, 0,
                          &c->width_array));
    const hr_argument argument = hr_out(hr_view_of(c->width_array));
    HRI_TRY(hr_launch(c->queue, &subgroup_width, one, &tile, &argument, 1));
    return hr_synchronize(hr_view_of(c->width_array));
}

/* Whether to run a variant. One item alone is for CPUs, and for problems that
 * it finishes in seconds. */
static bool is_run(const contest *c, const variant *v)
{
    const double most = 2.0 * (1 << 30);
    return v->own[0] > 0 ||
           (strncmp(c->info.path, "host", 4) == 0 && flops(c) <= most);
}

/* Make a queue, and arrays over the operands. */
static hr_status open_contest(contest *c)
{
    const hr_matrix *matrices[] = {&c->operands.a, &c->operands.b,
                                   &c->operands.c};
    HRI_TRY(hr_accelerator_describe(c->context, c->index, &c->info));
    HRI_TRY(hr_queue_create(c->context, c->index, &c->queue));
    for (int i = 0; i < 3; i++) {
        const hr_matrix *m = matrices[i];
        HRI_TRY(hr_array_wrap(c->context, m->data, sizeof(float),
                              hr_extent2(m->rows, m->cols), 0, &c->arrays[i]));
    }
    return HR_OK;
}

static hr_status measure_variants(contest *c)
{
    HRI_TRY(open_contest(c));
    HRI_TRY(find_width(c));
    for (size_t i = 0; i < VARIANTS; i++) {
        if (is_run(c, &variants[i])) {
            HRI_TRY(measure_variant(c, &variants[i], &c->seconds[i]));
        }
    }
    for (size_t i = 0; i < VARIANTS; i++) {
        if (c->seconds[i] > 0.0) {
            add_row(c, &variants[i], c->seconds[i]);
        }
    }
    return HR_OK;
}

static int measure_accelerator(const contest *all, uint32_t index)
{
    contest c = *all;
    c.info = (hr_accelerator_info)HR_ACCELERATOR_INFO_INIT;
    c.index = index;
    const int status = cli_called(measure_variants(&c));
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(c.arrays[i]);
    }
    hr_array_destroy(c.width_array);
    hr_queue_destroy(c.queue);
    if (status != CLI_OK || c.bench->o.json) {
        return status;
    }
    printf("%s, %s: f32, %lldx%lld times %lldx%lld\n", c.info.path, c.info.name,
           (long long)c.m, (long long)c.k, (long long)c.k, (long long)c.n);
    return bench_rows_print(&c.bench->rows);
}

static int measure_accelerators(contest *c)
{
    hr_gemm_limits limits = HR_GEMM_LIMITS_INIT;
    c->library = hr_gemm_measure_limits(c->context, HR_F32, HR_F32,
                                        HR_COMPUTE_NATIVE, &limits) == HR_OK
                     ? limits.flops / limits.devices
                     : 0.0;
    for (uint32_t i = 0; i < hr_accelerator_count(c->context); i++) {
        HRI_TRY(measure_accelerator(c, i));
    }
    return cli_flush();
}

static int measure_lists(contest *c)
{
    const bench_operands_wish wish = {
        .type = HR_F32, .c_type = HR_F32, .m = c->m, .n = c->n, .k = c->k};
    if (!bench_operands_make(&c->operands, &wish)) {
        return cli_fail("out of memory");
    }
    for (int i = 0; i < c->bench->setting_count; i++) {
        HRI_TRY(bench_context(&c->bench->settings[i], &c->context));
        const int status = measure_accelerators(c);
        hr_context_destroy(c->context);
        HRI_TRY(status);
    }
    return CLI_OK;
}

int bench_kernels(benchmark *bench)
{
    for (int p = 0; p < bench->problems.count; p++) {
        const int64_t *extents = bench->problems.list[p].extents;
        contest c = {
            .bench = bench, .m = extents[0], .k = extents[1], .n = extents[2]};
        const int status = measure_lists(&c);
        bench_operands_free(&c.operands);
        HRI_TRY(status);
    }
    return CLI_OK;
}
