/* SPDX-License-Identifier: MIT */
/* The two sides by turns, on the problems of a section. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "bench/dialect/dialect.h"
#include "console/args.h"

enum { DIALECT, HAND, SIDES };

typedef struct contest {
    const dialect_options *options;
    bench_rows *rows;
    const char *section;
    hr_accelerator_info info;
    dialect_side sides[SIDES];
    int count; /* of sides: without HAND only the dialect is measured */
    bool host;
    dialect_problem problem;
    double first[SIDES], best[SIDES];
} contest;

typedef struct entry {
    const char *section;
    dialect_kind kind;
    int64_t rows, cols, depth; /* 0: --size */
    double target;
} entry;

static const entry entries[] = {
    {"host", DIALECT_TRANSPOSE, 4000, 4040, 0, 0.9},
    {"host", DIALECT_MULTIPLY, 512, 512, 512, 0.9},
    {"host", DIALECT_HISTOGRAM, 64, 256, 20000000, 0.83},
    {"opencl", DIALECT_ADD, 1, 1 << 24, 0, 0.8},
    {"opencl", DIALECT_TRANSPOSE, 4000, 4040, 0, 0.8},
    {"opencl", DIALECT_MULTIPLY, 512, 512, 512, 0.8},
    {"cuda", DIALECT_ADD, 1, 1 << 26, 0, 0.95},
    {"cuda", DIALECT_TRANSPOSE, 16000, 16160, 0, 0.95},
    {"cuda", DIALECT_MULTIPLY, 2048, 2048, 2048, 0.95},
    {"cuda", DIALECT_BLOCKED, 0, 0, 0, 0.95},
};

/* ---- opening and closing */

static hr_status open_hand(contest *c)
{
    dialect_side *side = &c->sides[HAND];
    return c->host ? dialect_host_open(&c->info, side)
           : strcmp(c->section, "opencl") == 0
               ? dialect_opencl_open(&c->info, side)
               : dialect_cuda_open(&c->info, side);
}

/* Open the sides. False when the accelerator does not exist, which is
 * printed. */
static bool contest_open(contest *c, const dialect_options *o, const char *name,
                         bench_rows *rows)
{
    *c = (contest){.options = o, .section = name, .rows = rows, .count = 1};
    const char *list = strcmp(name, "cuda") == 0 ? "cuda:0" : name;
    c->host = strcmp(name, "host") == 0;
    if (!dialect_open(list, &c->sides[DIALECT], &c->info)) {
        dialect_print_missing(rows, name, hr_last_error());
        return false;
    }
    c->count += open_hand(c) == HR_OK;
    return true;
}

/* ---- running */

/* Let threads of either side that still look for work go to sleep. */
static void rest(const contest *c)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    if (c->host) {
        nanosleep(&pause, NULL);
    }
}

/* How many launches to make at once, so that the time to start them does not
 * count. */
static int times_for(const contest *c, double seconds)
{
    const double long_enough = 0.01;
    const int most = 50;
    if (c->host || seconds >= long_enough) {
        return 1;
    }
    double times = long_enough / (seconds > 1e-6 ? seconds : 1e-6) + 1;
    return times < most ? (int)times : most;
}

static bool call(hr_status (*function)(void *data), void *data)
{
    return function == NULL || function(data) == HR_OK;
}

/* Seconds for each of `times` launches in a row, by the clock, until all have
 * run. With `first`, making the kernel counts. */
static bool time_by_clock(const dialect_side *side, bool first, int times,
                          double *seconds)
{
    const double start = cli_clock();
    const bool good = (!first || call(side->make, side->data)) &&
                      side->launch(side->data, times) == HR_OK &&
                      call(side->wait, side->data);
    *seconds = (cli_clock() - start) / times;
    return good;
}

/* The same by the device's clock. Can also time copies. */
static bool time_by_events(const dialect_side *side, bool copies, int times,
                           double *seconds)
{
    const bool good = side->time(side->data, times, copies, seconds);
    *seconds /= times;
    return good;
}

/* Time the first call of a side, and check its result. */
static bool begin(contest *c, int i)
{
    const dialect_side *side = &c->sides[i];
    const hr_status prepared = side->prepare(side->data, &c->problem);
    dialect_spoil(&c->problem);
    rest(c);
    if (prepared != HR_OK || !time_by_clock(side, true, 1, &c->first[i]) ||
        !call(side->fetch, side->data)) {
        return false;
    }
    return dialect_is_right(&c->problem) ||
           hri_fail(HR_ERROR_BACKEND, "%s, %s: %s is wrong", c->section,
                    c->problem.work->name,
                    i == HAND ? "what was written by hand"
                              : "the dialect's result") == HR_OK;
}

/* Measure a problem from its first calls on, with `times` launches at once, or
 * as many as needed. */
static bool measure(contest *c, int times)
{
    const bool by_clock = c->host || times > 0;
    double seconds = 0.0;
    bool good = true;
    for (int i = 0; i < c->count && good; i++) {
        good = begin(c, i);
    }
    if (times == 0 && good) {
        const dialect_side *side = &c->sides[DIALECT];
        good = by_clock ? time_by_clock(side, false, 1, &seconds)
                        : time_by_events(side, false, 1, &seconds);
        times = times_for(c, seconds);
    }
    for (int64_t n = 0; n < c->options->repeat * c->count && good; n++) {
        const int i = (int)(n % c->count);
        rest(c);
        good = by_clock ? time_by_clock(&c->sides[i], false, times, &seconds)
                        : time_by_events(&c->sides[i], false, times, &seconds);
        if (n < c->count || seconds < c->best[i]) {
            c->best[i] = seconds;
        }
    }
    return good;
}

/* ---- rows */

static dialect_row row_of(const contest *c)
{
    const dialect_problem *p = &c->problem;
    dialect_row row = {.section = c->section,
                       .kernel = p->work->name,
                       .device = c->info.name,
                       .what = "speed",
                       .hand_first = c->first[HAND],
                       .hand_best = c->best[HAND],
                       .dialect_first = c->first[DIALECT],
                       .dialect_best = c->best[DIALECT]};
    if (p->kind == DIALECT_ADD || p->kind == DIALECT_NOTHING) {
        snprintf(row.shape, sizeof row.shape, "%lld", (long long)p->cols);
    } else if (p->kind == DIALECT_TRANSPOSE) {
        snprintf(row.shape, sizeof row.shape, "%lldx%lld", (long long)p->rows,
                 (long long)p->cols);
    } else {
        snprintf(row.shape, sizeof row.shape, "%lldx%lldx%lld",
                 (long long)p->rows, (long long)p->depth, (long long)p->cols);
    }
    if (row.hand_best > 0.0) {
        row.ratio = row.hand_best / row.dialect_best;
    }
    return row;
}

/* Measure the dialect's transposition beside a copy of as many bytes. */
static bool measure_copy(contest *c)
{
    const int times = times_for(c, c->best[DIALECT]);
    double best = 0.0;
    for (int64_t i = 0; i < c->options->repeat; i++) {
        double seconds = 0.0;
        if (!time_by_events(&c->sides[HAND], true, times, &seconds)) {
            return false;
        }
        best = i == 0 || seconds < best ? seconds : best;
    }
    dialect_row row = row_of(c);
    row.kernel = "transpose beside a copy";
    row.hand_first = row.dialect_first = 0.0;
    row.hand_best = best;
    row.ratio = best / row.dialect_best;
    row.target = 0.8;
    dialect_add_row(c->rows, &row);
    return true;
}

static bool run_entry(contest *c, const entry *e)
{
    if (!measure(c, 0)) {
        return false;
    }
    dialect_row row = row_of(c);
    row.target = e->target;
    dialect_add_row(c->rows, &row);
    return e->kind != DIALECT_TRANSPOSE || !c->sides[HAND].copies ||
           measure_copy(c);
}

static bool launch_many(contest *c, const entry *e)
{
    (void)e;
    if (!measure(c, (int)c->options->launches)) {
        return false;
    }
    dialect_row row = row_of(c);
    const bool hand = c->count > 1;
    row.what = hand ? "launch" : "seconds";
    row.hand_first = row.dialect_first = 0.0;
    row.ratio = hand ? row.dialect_best / row.hand_best : row.dialect_best;
    row.target = !hand ? 5e-6 : strcmp(c->section, "cuda") == 0 ? 1.5 : 0.0;
    row.at_most = true;
    dialect_add_row(c->rows, &row);
    return true;
}

/* Measure what an entry asks for, on a problem of its own. */
static bool with_problem(contest *c, const entry *e,
                         bool (*function)(contest *c, const entry *e))
{
    const int64_t cut =
        c->options->quick && e->kind != DIALECT_NOTHING ? 16 : 1;
    const int64_t size = c->options->size;
    const bool any = e->rows == 0; /* --size */
    const int64_t rows = e->rows == 1 ? 1 : e->rows / cut;
    if (!dialect_problem_create(&c->problem, e->kind, any ? size : rows,
                                any ? size : e->cols / cut,
                                any ? size : e->depth / cut)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory") == HR_OK;
    }
    memset(c->first, 0, sizeof c->first);
    memset(c->best, 0, sizeof c->best);
    const bool good = function(c, e);
    for (int i = 0; i < c->count; i++) {
        if (c->sides[i].finish != NULL) {
            c->sides[i].finish(c->sides[i].data);
        }
    }
    dialect_problem_free(&c->problem);
    return good;
}

/* End a contest: tell whether it went well, or why it failed. */
static bool told(contest *c, bool good)
{
    if (!good) {
        cli_fail("%s: %s", c->section, hr_last_error());
    }
    for (int i = 0; i < c->count; i++) {
        c->sides[i].close(c->sides[i].data);
    }
    return good;
}

bool dialect_contest(const dialect_options *o, const char *section,
                     bench_rows *rows)
{
    contest c;
    bool good = true;
    if (!contest_open(&c, o, section, rows)) {
        return true;
    }
    if (c.count == 1) {
        dialect_print_missing(rows, section, hr_last_error());
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0] && good; i++) {
        if (strcmp(entries[i].section, section) == 0) {
            good = with_problem(&c, &entries[i], run_entry);
        }
    }
    return told(&c, good);
}

bool dialect_launches(const dialect_options *o, bench_rows *rows)
{
    static const entry nothing = {"launch", DIALECT_NOTHING, 1, 256, 0, 0.0};
    bool good = true;
    for (int i = 0; i + 1 < DIALECT_SECTIONS; i++) {
        contest c;
        if (!contest_open(&c, o, dialect_sections[i], rows)) {
            continue;
        }
        if (c.host && c.count > 1) { /* the side by hand launches nothing */
            c.count = 1;
            c.sides[HAND].close(c.sides[HAND].data);
        }
        good = told(&c, with_problem(&c, &nothing, launch_many)) && good;
    }
    return good;
}
