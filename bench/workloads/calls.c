/* SPDX-License-Identifier: MIT */
/* headrace bench calls: calls over views (reductions, random numbers and
 * others) beside loops of OpenMP, or beside CUB. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static hr_view view(const calling *c, int array)
{
    return hr_view_of(c->arrays[array]);
}

/* ---- the calls */

static hr_status reduce(calling *c, hr_reduction reduction)
{
    const hr_view y = view(c, Y);
    return hr_reduce(c->context, reduction, c->type, view(c, X),
                     reduction == HR_REDUCE_DOT ? &y : NULL, NULL, &c->reduced);
}

static hr_status sum(calling *c)
{
    return reduce(c, HR_REDUCE_SUM);
}

static hr_status dot(calling *c)
{
    return reduce(c, HR_REDUCE_DOT);
}

static hr_status norm(calling *c)
{
    return reduce(c, HR_REDUCE_NORM);
}

static hr_status most(calling *c)
{
    return reduce(c, HR_REDUCE_MAX);
}

static hr_status argmin(calling *c)
{
    return reduce(c, HR_REDUCE_ARGMIN);
}

/* Wait for what was enqueued; the values stay where they are. */
static hr_status wait(calling *c, hr_status status)
{
    for (uint32_t i = 0;
         i < hr_accelerator_count(c->context) && status == HR_OK; i++) {
        hr_queue *queue = NULL;
        status = hr_queue_default(c->context, i, &queue);
        if (status == HR_OK) {
            status = hr_queue_finish(queue);
        }
    }
    return status;
}

enum { SEED = 42 }; /* of what is measured */

static hr_status draw(calling *c, hr_distribution distribution)
{
    const hr_random random = {distribution, .seed = SEED};
    return wait(
        c, hr_random_fill(c->context, view(c, OUT), c->type, random, NULL));
}

static hr_status uniform(calling *c)
{
    return draw(c, HR_RANDOM_UNIFORM);
}

static hr_status normal(calling *c)
{
    return draw(c, HR_RANDOM_NORMAL);
}

static hr_status scan(calling *c)
{
    return wait(c, hr_scan(c->context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE,
                           c->type, view(c, X), view(c, OUT), NULL));
}

static hr_status fill(calling *c)
{
    const float narrow = 1.5F;
    const double wide = 1.5;
    const void *value = c->type == HR_F64 ? (const void *)&wide : &narrow;
    return wait(c, hr_fill(c->context, view(c, OUT), c->type, value, NULL));
}

static hr_status histogram(calling *c)
{
    return wait(c, hr_histogram(c->context, c->type, view(c, X), 0, 1,
                                hr_view_of(c->counts), NULL));
}

static hr_status sort(calling *c)
{
    return wait(c, hr_sort(c->context, HR_SORT_ASCENDING, c->type, view(c, X),
                           view(c, OUT), NULL));
}

/* Keys and values to sort in place, where they are sorted. */
static hr_status draw_pairs(calling *c)
{
    const hr_random keys = {HR_RANDOM_UNIFORM, .seed = 1};
    const hr_random values = {HR_RANDOM_BITS, .seed = 2};
    const hr_status status =
        hr_random_fill(c->context, view(c, OUT), c->type, keys, NULL);
    return status == HR_OK ? hr_random_fill(c->context, view(c, VALUES), HR_I32,
                                            values, NULL)
                           : status;
}

static hr_status sort_by_key(calling *c)
{
    return wait(c, hr_sort_by_key(c->context, HR_SORT_ASCENDING, c->type,
                                  view(c, OUT), HR_I32, view(c, VALUES), NULL));
}

/* What is measured, what comes before it, and what it must read and write: so
 * many elements, and bytes of others for each of them. */
static const struct {
    const char *name;
    double moved, others;
    hr_status (*run)(calling *c);
    hr_status (*prepare)(calling *c); /* NULL: nothing */
} calls[] = {
    {"sum", 1, 0, sum, NULL},
    {"dot", 2, 0, dot, NULL},
    {"norm", 1, 0, norm, NULL},
    {"max", 1, 0, most, NULL},
    {"argmin", 1, 0, argmin, NULL},
    {"uniform", 1, 0, uniform, NULL},
    {"normal", 1, 0, normal, NULL},
    {"scan", 2, 0, scan, NULL},
    {"sort", 2, 0, sort, NULL},
    {"sort_by_key", 2, 8, sort_by_key, draw_pairs},
    {"fill", 1, 0, fill, NULL},
    {"histogram", 1, 0, histogram, NULL},
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
static double loop_once(calling *c, bench_loop loop)
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
static int measure(calling *c, int call)
{
    const bench_loop loop =
        c->setting->host_only ? bench_loop_find(calls[call].name) : NULL;
    double first = 0, best = 0, peer_first = 0, peer = NAN;
    for (int64_t i = 0; i <= c->bench->o.repeat; i++) {
        if (calls[call].prepare != NULL &&
            wait(c, calls[call].prepare(c)) != HR_OK) {
            return cli_failed_call();
        }
        if (loop != NULL) {
            bench_rest(BENCH_LOOP_REST);
        }
        const double start = cli_clock();
        if (calls[call].run(c) != HR_OK) {
            return cli_failed_call();
        }
        bench_note(i, cli_clock() - start, &first, &best);
        if (loop != NULL) {
            bench_note(i, loop_once(c, loop), &peer_first, &peer);
        }
    }
    const double cub = cub_seconds(c, calls[call].name);
    add_row(c, call, first, best, loop != NULL ? peer : cub,
            loop != NULL ? "OpenMP"
            : isnan(cub) ? "-"
                         : "CUB");
    return CLI_OK;
}

/* Random numbers from 0 to 1, and keys. */
static bool fill_memory(calling *c)
{
    const size_t bytes = (size_t)c->count * hr_type_size(c->type);
    const hr_random random = {HR_RANDOM_UNIFORM, .seed = 1};
    const hr_random bits = {HR_RANDOM_BITS, .seed = 2};
    bool good =
        hr_array_create_anywhere(c->context, sizeof *c->bins,
                                 hr_extent1(BENCH_BINS), &c->counts) == HR_OK;
    for (int i = 0; i < ARRAYS && good; i++) {
        const bool keys = i == KEYS || i == VALUES;
        const size_t each = keys ? 4 : hr_type_size(c->type);
        c->memory[i] =
            bench_allocate(NULL, keys ? 4 * (size_t)c->count : bytes);
        good = c->memory[i] != NULL &&
               hr_array_wrap(c->context, c->memory[i], each,
                             hr_extent1(c->count), 0, &c->arrays[i]) == HR_OK &&
               hr_random_fill(c->context, view(c, i), keys ? HR_I32 : c->type,
                              keys ? bits : random, NULL) == HR_OK &&
               hr_synchronize(view(c, i)) == HR_OK;
    }
    return good;
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

static int measure_type(calling *c)
{
    int status = fill_memory(c) ? CLI_OK : cli_failed_call();
    for (int i = 0; i < CALLS && status == CLI_OK; i++) {
        status = measure(c, i);
    }
    free_memory(c);
    return status;
}

static int measure_list(calling *c)
{
    int status = bench_context(c->setting, &c->context);
    if (status != CLI_OK) {
        return status;
    }
    ask_cub(c);
    for (int i = 0; i < c->bench->o.numbers.count && status == CLI_OK; i++) {
        c->type = c->bench->o.numbers.list[i].type;
        status = measure_type(c);
    }
    if (status == CLI_OK && !c->bench->o.json) {
        printf("%s, %s:\n", c->setting->name, c->setting->device);
        status = bench_rows_print(&c->bench->rows);
    }
    hr_context_destroy(c->context);
    return status;
}

int bench_calls(benchmark *bench)
{
    int status = CLI_OK;
    for (int i = 0; i < bench->setting_count && status == CLI_OK; i++) {
        calling *c = calloc(1, sizeof *c);
        if (c == NULL) {
            return cli_fail("out of memory");
        }
        c->bench = bench;
        c->setting = &bench->settings[i];
        c->count = bench->o.elements > 0 ? bench->o.elements : 10000000;
        status = measure_list(c);
        free(c);
        status = status == CLI_OK ? cli_flush() : status;
    }
    return status;
}
