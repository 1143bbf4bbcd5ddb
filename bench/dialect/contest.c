/* SPDX-License-Identifier: MIT */
/* The two sides in turns, on the problems of a section. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "bench.h"

enum { DIALECT, HAND, SIDES };

typedef struct contest {
    const bench_options *options;
    const char *section;
    hr_accelerator_info info;
    bench_side sides[SIDES]; /* HAND may have no data: why is in reason */
    const char *reason;
    bench_problem problem;
    double first[SIDES], best[SIDES];
} contest;

static const struct {
    const char *section;
    bench_kind kind;
    int64_t rows, cols, depth; /* 0: --size */
    double target;
} entries[] = {
    {"host", BENCH_TRANSPOSE, 4000, 4040, 0, 0.9},
    {"host", BENCH_MULTIPLY, 512, 512, 512, 0.9},
    {"opencl", BENCH_ADD, 1, 1 << 24, 0, 0.8},
    {"opencl", BENCH_TRANSPOSE, 4000, 4040, 0, 0.8},
    {"opencl", BENCH_MULTIPLY, 512, 512, 512, 0.8},
    {"cuda", BENCH_ADD, 1, 1 << 26, 0, 0.95},
    {"cuda", BENCH_TRANSPOSE, 16000, 16160, 0, 0.95},
    {"cuda", BENCH_MULTIPLY, 2048, 2048, 2048, 0.95},
    {"cuda", BENCH_BLOCKED, 0, 0, 0, 0.95},
};

/* ---- opening and closing */

static hr_status open_hand(contest *c)
{
    bench_side *side = &c->sides[HAND];
    return strcmp(c->section, "host") == 0 ? bench_host_open(&c->info, side)
           : strcmp(c->section, "opencl") == 0
               ? bench_opencl_open(&c->info, side)
               : bench_cuda_open(&c->info, side);
}

/* False when the accelerator is not there, which is told. Without the other
 * side the dialect is measured alone. */
static bool contest_open(contest *c, const bench_options *o, const char *name)
{
    static char reason[HRI_MESSAGE_BYTES];
    *c = (contest){.options = o, .section = name};
    const char *list = strcmp(name, "cuda") == 0 ? "cuda:0" : name;
    if (bench_dialect_open(list, &c->sides[DIALECT], &c->info) != HR_OK) {
        bench_print_missing(o, name, hr_last_error());
        return false;
    }
    if (open_hand(c) != HR_OK) {
        snprintf(reason, sizeof reason, "%s", hr_last_error());
        c->reason = reason;
    }
    return true;
}

static void contest_close(contest *c)
{
    for (int i = 0; i < SIDES; i++) {
        if (c->sides[i].data != NULL) {
            c->sides[i].close(c->sides[i].data);
        }
    }
}

/* ---- running */

/* Threads of either side that still look for work go to sleep. */
static void rest(const contest *c)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    if (strcmp(c->section, "host") == 0) {
        nanosleep(&pause, NULL);
    }
}

/* So many at once that what it takes to start them does not count. */
static int times_for(const contest *c, double seconds)
{
    const double long_enough = 0.01;
    const int most = 50;
    if (strcmp(c->section, "host") == 0 || seconds >= long_enough) {
        return 1;
    }
    double times = long_enough / (seconds > 1e-6 ? seconds : 1e-6) + 1;
    return times < most ? (int)times : most;
}

/* The first call of a side, and whether it is right. */
static hr_status begin(contest *c, int i)
{
    const bench_side *side = &c->sides[i];
    hr_status status = side->prepare(side->data, &c->problem);
    bench_spoil(&c->problem);
    rest(c);
    if (status == HR_OK) {
        status = side->first(side->data, &c->first[i]);
    }
    if (status == HR_OK) {
        status = side->fetch(side->data);
    }
    if (status == HR_OK && !bench_is_right(&c->problem)) {
        status = hri_fail(HR_ERROR_BACKEND, "%s, %s: %s is wrong", c->section,
                          bench_kind_name(c->problem.kind),
                          i == HAND ? "what was written by hand"
                                    : "the dialect's result");
    }
    return status;
}

static hr_status in_turns(contest *c, int times, bool by_clock)
{
    hr_status status = HR_OK;
    for (int turn = 0; turn < c->options->repeat && status == HR_OK; turn++) {
        for (int i = 0; i < SIDES && status == HR_OK; i++) {
            const bench_side *side = &c->sides[i];
            double seconds = 0.0;
            if (side->data == NULL) {
                continue;
            }
            rest(c);
            status = side->run(side->data, times, by_clock, &seconds);
            if (turn == 0 || seconds < c->best[i]) {
                c->best[i] = seconds;
            }
        }
    }
    return status;
}

static void finish_sides(contest *c)
{
    for (int i = 0; i < SIDES; i++) {
        if (c->sides[i].data != NULL) {
            c->sides[i].finish(c->sides[i].data);
        }
    }
}

/* A problem from its first calls on: `times` at once, or as many as are needed.
 */
static hr_status measure(contest *c, int times)
{
    const bool host = strcmp(c->section, "host") == 0;
    const bool by_clock = host || times > 0;
    hr_status status = HR_OK;
    memset(c->first, 0, sizeof c->first);
    memset(c->best, 0, sizeof c->best);
    for (int i = 0; i < SIDES && status == HR_OK; i++) {
        status = c->sides[i].data != NULL ? begin(c, i) : HR_OK;
    }
    if (status == HR_OK && times == 0) {
        double once = 0.0;
        const bench_side *side = &c->sides[DIALECT];
        status = side->run(side->data, 1, by_clock, &once);
        times = times_for(c, once);
    }
    return status == HR_OK ? in_turns(c, times, by_clock) : status;
}

/* ---- rows */

static bench_row row_of(const contest *c)
{
    const bench_problem *p = &c->problem;
    bench_row row = {.section = c->section,
                     .kernel = bench_kind_name(p->kind),
                     .device = c->info.name,
                     .what = "speed",
                     .hand_first = c->first[HAND],
                     .hand_best = c->best[HAND],
                     .dialect_first = c->first[DIALECT],
                     .dialect_best = c->best[DIALECT]};
    if (p->kind == BENCH_ADD || p->kind == BENCH_NOTHING) {
        snprintf(row.shape, sizeof row.shape, "%lld", (long long)p->cols);
    } else if (p->kind == BENCH_TRANSPOSE) {
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

/* The dialect's transposition beside a copy of as many bytes. */
static hr_status measure_copy(contest *c)
{
    const bench_side *side = &c->sides[HAND];
    const int times = times_for(c, c->best[DIALECT]);
    double best = 0.0;
    hr_status status = HR_OK;
    for (int i = 0; i < c->options->repeat && status == HR_OK; i++) {
        double seconds = 0.0;
        status = side->copy(side->data, times, &seconds);
        best = i == 0 || seconds < best ? seconds : best;
    }
    if (status == HR_OK) {
        bench_row row = row_of(c);
        row.kernel = "transpose beside a copy";
        row.hand_first = row.dialect_first = 0.0;
        row.hand_best = best;
        row.ratio = best / row.dialect_best;
        row.target = 0.8;
        bench_print_row(c->options, &row);
    }
    return status;
}

static hr_status run_entry(contest *c, size_t i)
{
    const int64_t cut = c->options->quick ? 16 : 1;
    const int64_t rows = entries[i].rows, cols = entries[i].cols;
    const int64_t depth = entries[i].depth, size = c->options->size;
    const bool any = rows == 0; /* --size */
    if (!bench_problem_create(&c->problem, entries[i].kind,
                              any         ? size
                              : rows == 1 ? 1
                                          : rows / cut,
                              any ? size : cols / cut,
                              any ? size : depth / cut)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    hr_status status = measure(c, 0);
    if (status == HR_OK) {
        bench_row row = row_of(c);
        row.target = entries[i].target;
        bench_print_row(c->options, &row);
    }
    if (status == HR_OK && entries[i].kind == BENCH_TRANSPOSE &&
        c->sides[HAND].data != NULL && c->sides[HAND].copy != NULL) {
        status = measure_copy(c);
    }
    finish_sides(c);
    bench_problem_free(&c->problem);
    return status;
}

bool bench_contest(const bench_options *o, const char *section)
{
    contest c;
    hr_status status = HR_OK;
    if (!contest_open(&c, o, section)) {
        return true;
    }
    if (c.reason != NULL) {
        bench_print_missing(o, section, c.reason);
    }
    for (size_t i = 0;
         i < sizeof entries / sizeof entries[0] && status == HR_OK; i++) {
        if (strcmp(entries[i].section, section) == 0) {
            status = run_entry(&c, i);
        }
    }
    contest_close(&c);
    if (status != HR_OK) {
        fprintf(stderr, "%s: %s\n", section, hr_last_error());
    }
    return status == HR_OK;
}

/* ---- launches */

static hr_status launch_many(contest *c)
{
    if (!bench_problem_create(&c->problem, BENCH_NOTHING, 1, 256, 0)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    hr_status status = measure(c, c->options->launches);
    if (status == HR_OK) {
        bench_row row = row_of(c);
        row.what = "launch";
        row.hand_first = row.dialect_first = 0.0;
        if (c->sides[HAND].data != NULL) {
            row.ratio = row.dialect_best / row.hand_best;
            row.target = strcmp(c->section, "cuda") == 0 ? 1.5 : 0.0;
        } else {
            row.ratio = row.dialect_best;
            row.target = 5e-6;
            row.what = "seconds";
        }
        row.at_most = true;
        bench_print_row(c->options, &row);
    }
    finish_sides(c);
    bench_problem_free(&c->problem);
    return status;
}

bool bench_launches(const bench_options *o)
{
    static const char *const sections[] = {"host", "opencl", "cuda"};
    bool ok = true;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        contest c;
        if (!contest_open(&c, o, sections[i])) {
            continue;
        }
        if (strcmp(sections[i], "host") == 0 && c.sides[HAND].data != NULL) {
            c.sides[HAND].close(c.sides[HAND].data); /* it launches nothing */
            c.sides[HAND].data = NULL;
        }
        hr_status status = launch_many(&c);
        contest_close(&c);
        if (status != HR_OK) {
            fprintf(stderr, "%s: %s\n", sections[i], hr_last_error());
            ok = false;
        }
    }
    return ok;
}
