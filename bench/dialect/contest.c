/* SPDX-License-Identifier: MIT */
/* The two sides in turns, on the problems of a section. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "bench/dialect/dialect.h"
#include "console/args.h"

enum { DIALECT, HAND, SIDES };

typedef struct contest {
    const dialect_options *options;
    cli_table *table;
    const char *section;
    hr_accelerator_info info;
    dialect_side sides[SIDES]; /* HAND may have no data: why is in reason */
    const char *reason;
    dialect_problem problem;
    double first[SIDES], best[SIDES];
} contest;

static const struct {
    const char *section;
    dialect_kind kind;
    int64_t rows, cols, depth; /* 0: --size */
    double target;
} entries[] = {
    {"host", DIALECT_TRANSPOSE, 4000, 4040, 0, 0.9},
    {"host", DIALECT_MULTIPLY, 512, 512, 512, 0.9},
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
    return strcmp(c->section, "host") == 0 ? dialect_host_open(&c->info, side)
           : strcmp(c->section, "opencl") == 0
               ? dialect_opencl_open(&c->info, side)
               : dialect_cuda_open(&c->info, side);
}

/* False when the accelerator is not there, which is told. Without the other
 * side the dialect is measured alone. */
static bool contest_open(contest *c, const dialect_options *o, const char *name,
                         cli_table *table)
{
    static char reason[HRI_MESSAGE_BYTES];
    *c = (contest){.options = o, .section = name, .table = table};
    const char *list = strcmp(name, "cuda") == 0 ? "cuda:0" : name;
    if (dialect_open(list, &c->sides[DIALECT], &c->info) != HR_OK) {
        dialect_print_missing(o, name, hr_last_error());
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

static hr_status call(hr_status (*function)(void *data), void *data)
{
    return function != NULL ? function(data) : HR_OK;
}

/* So many launches one behind the other, with the kernel's making or without:
 * seconds of each by the clock until all have run. */
static hr_status time_by_clock(const dialect_side *side, bool first, int times,
                               double *seconds)
{
    const double start = cli_clock();
    hr_status status = first ? call(side->make, side->data) : HR_OK;
    if (status == HR_OK) {
        status = side->launch(side->data, times, false);
    }
    if (status == HR_OK) {
        status = call(side->wait, side->data);
    }
    *seconds = (cli_clock() - start) / times;
    return status;
}

/* The same by the device's events, also of copies. */
static hr_status time_by_marks(const dialect_side *side, bool copies, int times,
                               double *seconds)
{
    hr_status status = side->mark(side->data, 0);
    if (status == HR_OK) {
        status = side->launch(side->data, times, copies);
    }
    if (status == HR_OK) {
        status = side->mark(side->data, 1);
    }
    if (status == HR_OK) {
        status = side->elapsed(side->data, seconds);
    }
    *seconds /= times;
    return status;
}

/* The first call of a side, and whether it is right. */
static hr_status begin(contest *c, int i)
{
    const dialect_side *side = &c->sides[i];
    hr_status status = side->prepare(side->data, &c->problem);
    dialect_spoil(&c->problem);
    rest(c);
    if (status == HR_OK) {
        status = time_by_clock(side, true, 1, &c->first[i]);
    }
    if (status == HR_OK) {
        status = call(side->fetch, side->data);
    }
    if (status == HR_OK && !dialect_is_right(&c->problem)) {
        status = hri_fail(HR_ERROR_BACKEND, "%s, %s: %s is wrong", c->section,
                          dialect_kind_name(c->problem.kind),
                          i == HAND ? "what was written by hand"
                                    : "the dialect's result");
    }
    return status;
}

static hr_status in_turns(contest *c, int times, bool by_clock)
{
    hr_status status = HR_OK;
    for (int64_t turn = 0; turn < c->options->repeat && status == HR_OK;
         turn++) {
        for (int i = 0; i < SIDES && status == HR_OK; i++) {
            const dialect_side *side = &c->sides[i];
            double seconds = 0.0;
            if (side->data == NULL) {
                continue;
            }
            rest(c);
            status = by_clock ? time_by_clock(side, false, times, &seconds)
                              : time_by_marks(side, false, times, &seconds);
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
        if (c->sides[i].data != NULL && c->sides[i].finish != NULL) {
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
        const dialect_side *side = &c->sides[DIALECT];
        status = by_clock ? time_by_clock(side, false, 1, &once)
                          : time_by_marks(side, false, 1, &once);
        times = times_for(c, once);
    }
    return status == HR_OK ? in_turns(c, times, by_clock) : status;
}

/* ---- rows */

static dialect_row row_of(const contest *c)
{
    const dialect_problem *p = &c->problem;
    dialect_row row = {.section = c->section,
                       .kernel = dialect_kind_name(p->kind),
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

/* The dialect's transposition beside a copy of as many bytes. */
static hr_status measure_copy(contest *c)
{
    const dialect_side *side = &c->sides[HAND];
    const int times = times_for(c, c->best[DIALECT]);
    double best = 0.0;
    hr_status status = HR_OK;
    for (int64_t i = 0; i < c->options->repeat && status == HR_OK; i++) {
        double seconds = 0.0;
        status = time_by_marks(side, true, times, &seconds);
        best = i == 0 || seconds < best ? seconds : best;
    }
    if (status == HR_OK) {
        dialect_row row = row_of(c);
        row.kernel = "transpose beside a copy";
        row.hand_first = row.dialect_first = 0.0;
        row.hand_best = best;
        row.ratio = best / row.dialect_best;
        row.target = 0.8;
        dialect_add_row(c->options, c->table, &row);
    }
    return status;
}

static hr_status run_entry(contest *c, size_t i)
{
    const int64_t cut = c->options->quick ? 16 : 1;
    const int64_t rows = entries[i].rows, cols = entries[i].cols;
    const int64_t depth = entries[i].depth, size = c->options->size;
    const bool any = rows == 0; /* --size */
    if (!dialect_problem_create(&c->problem, entries[i].kind,
                                any         ? size
                                : rows == 1 ? 1
                                            : rows / cut,
                                any ? size : cols / cut,
                                any ? size : depth / cut)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    hr_status status = measure(c, 0);
    if (status == HR_OK) {
        dialect_row row = row_of(c);
        row.target = entries[i].target;
        dialect_add_row(c->options, c->table, &row);
    }
    if (status == HR_OK && entries[i].kind == DIALECT_TRANSPOSE &&
        c->sides[HAND].data != NULL && c->sides[HAND].copies) {
        status = measure_copy(c);
    }
    finish_sides(c);
    dialect_problem_free(&c->problem);
    return status;
}

/* The end of a contest: whether it went well, or what it failed by. */
static bool told(contest *c, hr_status status)
{
    if (status != HR_OK) {
        cli_fail("%s: %s", c->section, hr_last_error());
    }
    contest_close(c);
    return status == HR_OK;
}

bool dialect_contest(const dialect_options *o, const char *section,
                     cli_table *table)
{
    contest c;
    hr_status status = HR_OK;
    if (!contest_open(&c, o, section, table)) {
        return true;
    }
    if (c.reason != NULL) {
        dialect_print_missing(o, section, c.reason);
    }
    for (size_t i = 0;
         i < sizeof entries / sizeof entries[0] && status == HR_OK; i++) {
        if (strcmp(entries[i].section, section) == 0) {
            status = run_entry(&c, i);
        }
    }
    return told(&c, status);
}

/* ---- launches */

static hr_status launch_many(contest *c)
{
    if (!dialect_problem_create(&c->problem, DIALECT_NOTHING, 1, 256, 0)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    hr_status status = measure(c, (int)c->options->launches);
    if (status == HR_OK) {
        dialect_row row = row_of(c);
        const bool hand = c->sides[HAND].data != NULL;
        const bool cuda = strcmp(c->section, "cuda") == 0;
        row.what = hand ? "launch" : "seconds";
        row.hand_first = row.dialect_first = 0.0;
        row.ratio = hand ? row.dialect_best / row.hand_best : row.dialect_best;
        row.target = !hand ? 5e-6 : cuda ? 1.5 : 0.0;
        row.at_most = true;
        dialect_add_row(c->options, c->table, &row);
    }
    finish_sides(c);
    dialect_problem_free(&c->problem);
    return status;
}

bool dialect_launches(const dialect_options *o, cli_table *table)
{
    bool ok = true;
    for (int i = 0; i + 1 < DIALECT_SECTIONS; i++) {
        contest c;
        if (!contest_open(&c, o, dialect_sections[i], table)) {
            continue;
        }
        dialect_side *hand = &c.sides[HAND];
        if (i == 0 && hand->data != NULL) {
            hand->close(hand->data); /* it launches nothing */
            hand->data = NULL;
        }
        ok = told(&c, launch_many(&c)) && ok;
    }
    return ok;
}
