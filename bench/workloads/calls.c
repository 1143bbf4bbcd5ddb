/* SPDX-License-Identifier: MIT */
/* headrace bench calls: calls over views (reductions, random numbers and
 * others) beside loops of OpenMP, or beside CUB. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "bench/bench.h"
#include "bench/peers/openmp.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/output.h"

enum { X, Y, OUT, KEYS, VALUES, ARRAYS };

/* Times of a GPU's library: lines "NAME TYPE SECONDS" of a program. */
typedef struct cub_times {
    struct {
        char name[16], type[8];
        double seconds;
    } rows[64];
    int count;
} cub_times;

typedef struct calling {
    benchmark *bench;
    hr_context *context;
    const bench_setting *setting;
    int64_t count;
    hr_type type;
    void *memory[ARRAYS];
    hr_array *arrays[ARRAYS];
    hr_array *counts;         /* of a histogram */
    int64_t bins[BENCH_BINS]; /* of the loop's */
    hr_reduced reduced;
    cub_times cub;
} calling;

static hr_view view_of(const calling *c, int array)
{
    return hr_view_of(c->arrays[array]);
}

/* ---- the calls */

/* Wait for what was enqueued; the values stay where they are. */
static hr_status wait_for(calling *c, hr_status enqueued)
{
    HRI_TRY(enqueued);
    for (uint32_t i = 0; i < hr_accelerator_count(c->context); i++) {
        hr_queue *queue = NULL;
        HRI_TRY(hr_queue_default(c->context, i, &queue));
        HRI_TRY(hr_queue_finish(queue));
    }
    return HR_OK;
}

static hr_status run_reduce(calling *c, int reduction)
{
    const hr_view y = view_of(c, Y);
    return hr_reduce(c->context, (hr_reduction)reduction, c->type,
                     view_of(c, X), reduction == HR_REDUCE_DOT ? &y : NULL,
                     NULL, &c->reduced);
}

enum { SEED = 42 }; /* of what is measured */

static hr_status run_random(calling *c, int distribution)
{
    const hr_random random = {(hr_distribution)distribution, .seed = SEED};
    return wait_for(
        c, hr_random_fill(c->context, view_of(c, OUT), c->type, random, NULL));
}

static hr_status run_scan(calling *c, int reduction)
{
    return wait_for(c, hr_scan(c->context, (hr_reduction)reduction,
                               HR_SCAN_INCLUSIVE, c->type, view_of(c, X),
                               view_of(c, OUT), NULL));
}

static hr_status run_fill(calling *c, int unused)
{
    const float narrow = 1.5F;
    const double wide = 1.5;
    const void *value = c->type == HR_F64 ? (const void *)&wide : &narrow;
    (void)unused;
    return wait_for(c,
                    hr_fill(c->context, view_of(c, OUT), c->type, value, NULL));
}

static hr_status run_histogram(calling *c, int unused)
{
    (void)unused;
    return wait_for(c, hr_histogram(c->context, c->type, view_of(c, X), 0, 1,
                                    hr_view_of(c->counts), NULL));
}

static hr_status run_sort(calling *c, int order)
{
    return wait_for(c, hr_sort(c->context, (hr_sort_order)order, c->type,
                               view_of(c, X), view_of(c, OUT), NULL));
}

/* Keys and values to sort in place, where they are sorted. */
static hr_status draw_pairs(calling *c)
{
    const hr_random keys = {HR_RANDOM_UNIFORM, .seed = 1};
    const hr_random values = {HR_RANDOM_BITS, .seed = 2};
    HRI_TRY(hr_random_fill(c->context, view_of(c, OUT), c->type, keys, NULL));
    return hr_random_fill(c->context, view_of(c, VALUES), HR_I32, values, NULL);
}

static hr_status run_sort_by_key(calling *c, int order)
{
    return wait_for(c, hr_sort_by_key(c->context, (hr_sort_order)order, c->type,
                                      view_of(c, OUT), HR_I32,
                                      view_of(c, VALUES), NULL));
}

/* What is measured, what comes before it, and what it must read and write: so
 * many elements, and bytes of others for each of them. */
static const struct {
    const char *name;
    double moved, others;
    hr_status (*run)(calling *c, int which);
    int which;                        /* what of its kind */
    hr_status (*prepare)(calling *c); /* NULL: nothing */
} calls[] = {
    {"sum", 1, 0, run_reduce, HR_REDUCE_SUM, NULL},
    {"dot", 2, 0, run_reduce, HR_REDUCE_DOT, NULL},
    {"norm", 1, 0, run_reduce, HR_REDUCE_NORM, NULL},
    {"max", 1, 0, run_reduce, HR_REDUCE_MAX, NULL},
    {"argmin", 1, 0, run_reduce, HR_REDUCE_ARGMIN, NULL},
    {"uniform", 1, 0, run_random, HR_RANDOM_UNIFORM, NULL},
    {"normal", 1, 0, run_random, HR_RANDOM_NORMAL, NULL},
    {"scan", 2, 0, run_scan, HR_REDUCE_SUM, NULL},
    {"sort", 2, 0, run_sort, HR_SORT_ASCENDING, NULL},
    {"sort_by_key", 2, 8, run_sort_by_key, HR_SORT_ASCENDING, draw_pairs},
    {"fill", 1, 0, run_fill, 0, NULL},
    {"histogram", 1, 0, run_histogram, 0, NULL},
};

enum { CALLS = sizeof calls / sizeof calls[0] };

/* ---- peers */

/* Read what headrace-bench-cub measured. No program: no times. */
static void ask_cub(calling *c)
{
    char line[200] = "";
    FILE *out = NULL;
    c->cub.count = 0;
    snprintf(line, sizeof line, "%lld %lld", (long long)c->count,
             (long long)c->bench->o.repeat);
    if (c->setting->gpus[0] != '\0') {
        out = bench_beside("cub", line);
    }
    while (out != NULL && c->cub.count < 64 &&
           fgets(line, sizeof line, out) != NULL) {
        const int at = c->cub.count;
        c->cub.count +=
            sscanf(line, "%15s %7s %lf", c->cub.rows[at].name,
                   c->cub.rows[at].type, &c->cub.rows[at].seconds) == 3;
    }
    if (out != NULL) {
        (void)pclose(out);
    }
}

static double cub_seconds(const calling *c, const char *name)
{
    for (int i = 0; i < c->cub.count; i++) {
        if (strcmp(c->cub.rows[i].name, name) == 0 &&
            strcmp(c->cub.rows[i].type, hr_type_name(c->type)) == 0) {
            return c->cub.rows[i].seconds;
        }
    }
    return NAN;
}

/* Run a loop on the same memory. */
static double time_loop(calling *c, bench_loop loop)
{
    bench_loops_data d = {.count = c->count,
                          .f64 = c->type == HR_F64,
                          .x = c->memory[X],
                          .y = c->memory[Y],
                          .out = c->memory[OUT],
                          .keys = c->memory[KEYS],
                          .values = c->memory[VALUES],
                          .bins = c->bins,
                          .seed = SEED};
    bench_rest(BENCH_LOOP_REST);
    const double start = cli_clock();
    loop(&d);
    return cli_clock() - start;
}

/* ---- measuring */

static void add_row(calling *c, int call, double first, double best,
                    double peer, const char *peer_name)
{
    bench_rows *rows = &c->bench->rows;
    const double bytes =
        (double)c->count * (calls[call].moved * (double)hr_type_size(c->type) +
                            calls[call].others);
    bench_row_begin(rows, "calls");
    bench_list(rows, c->setting);
    bench_text(rows, "call", "call", calls[call].name);
    bench_text(rows, "type", "type", hr_type_name(c->type));
    bench_value(rows, "elements", "elements", BENCH_COUNT, (double)c->count);
    bench_value(rows, "first_seconds", "first", BENCH_SECONDS, first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, best);
    bench_value(rows, "bytes_per_second", "rate", BENCH_LINK, bytes / best);
    bench_text(rows, "peer", "peer", peer_name);
    bench_value(rows, "peer_seconds", "its best", BENCH_SECONDS, peer);
    bench_value(rows, "over_peer", "its over ours", BENCH_RATIO, peer / best);
    bench_row_end(rows);
}

/* A call and the loop in turns. */
static int measure_call(calling *c, int call)
{
    const bench_loop loop =
        c->setting->host_only ? bench_loop_find(calls[call].name) : NULL;
    double first = 0, best = 0, peer_first = 0, peer = NAN;
    for (int64_t i = 0; i <= c->bench->o.repeat; i++) {
        if (calls[call].prepare != NULL &&
            wait_for(c, calls[call].prepare(c)) != HR_OK) {
            return cli_failed_call();
        }
        if (loop != NULL) {
            bench_rest(BENCH_LOOP_REST);
        }
        const double start = cli_clock();
        if (calls[call].run(c, calls[call].which) != HR_OK) {
            return cli_failed_call();
        }
        bench_note(i, cli_clock() - start, &first, &best);
        if (loop != NULL) {
            bench_note(i, time_loop(c, loop), &peer_first, &peer);
        }
    }
    const double cub = cub_seconds(c, calls[call].name);
    add_row(c, call, first, best, loop != NULL ? peer : cub,
            loop != NULL ? "OpenMP"
            : isnan(cub) ? "-"
                         : "CUB");
    return CLI_OK;
}

/* Make an array over ordinary memory: random numbers from 0 to 1, or keys. */
static hr_status fill_array(calling *c, int i)
{
    const bool keys = i == KEYS || i == VALUES;
    const hr_type type = keys ? HR_I32 : c->type;
    const hr_random random = {keys ? HR_RANDOM_BITS : HR_RANDOM_UNIFORM,
                              .seed = keys ? 2 : 1};
    HRI_TRY(hr_array_wrap(c->context, c->memory[i], hr_type_size(type),
                          hr_extent1(c->count), 0, &c->arrays[i]));
    HRI_TRY(hr_random_fill(c->context, view_of(c, i), type, random, NULL));
    return hr_synchronize(view_of(c, i));
}

static int fill_memory(calling *c)
{
    HRI_TRY(cli_called(hr_array_create_anywhere(
        c->context, sizeof *c->bins, hr_extent1(BENCH_BINS), &c->counts)));
    for (int i = 0; i < ARRAYS; i++) {
        const bool keys = i == KEYS || i == VALUES;
        const size_t each = hr_type_size(keys ? HR_I32 : c->type);
        c->memory[i] = bench_allocate(NULL, (size_t)c->count * each);
        if (c->memory[i] == NULL) {
            return cli_fail("no memory for %d views of %lld elements", ARRAYS,
                            (long long)c->count);
        }
        HRI_TRY(cli_called(fill_array(c, i)));
    }
    return CLI_OK;
}

static void free_memory(calling *c)
{
    hr_array_destroy(c->counts);
    c->counts = NULL;
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(c->arrays[i]);
        bench_release(NULL, c->memory[i]);
        c->arrays[i] = NULL;
        c->memory[i] = NULL;
    }
}

static int measure_calls(calling *c)
{
    HRI_TRY(fill_memory(c));
    for (int i = 0; i < CALLS; i++) {
        HRI_TRY(measure_call(c, i));
    }
    return CLI_OK;
}

static int measure_types(calling *c)
{
    ask_cub(c);
    for (int i = 0; i < c->bench->o.numbers.count; i++) {
        c->type = c->bench->o.numbers.list[i].type;
        const int status = measure_calls(c);
        free_memory(c);
        HRI_TRY(status);
    }
    if (!c->bench->o.json) {
        printf("%s, %s:\n", c->setting->name, c->setting->device);
        HRI_TRY(bench_rows_print(&c->bench->rows));
    }
    return cli_flush();
}

static int measure_lists(calling *c)
{
    for (int i = 0; i < c->bench->setting_count; i++) {
        c->setting = &c->bench->settings[i];
        HRI_TRY(bench_context(c->setting, &c->context));
        const int status = measure_types(c);
        hr_context_destroy(c->context);
        HRI_TRY(status);
    }
    return CLI_OK;
}

int bench_calls(benchmark *bench)
{
    calling *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return cli_fail("out of memory");
    }
    c->bench = bench;
    c->count = bench->o.elements > 0 ? bench->o.elements : 10000000;
    const int status = measure_lists(c);
    free(c);
    return status;
}
