/* SPDX-License-Identifier: MIT */
/* headrace bench dialect: the two sides by turns, on the problems of each
 * section. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "base/status.h"
#include "bench/dialect/dialect.h"
#include "console/args.h"

typedef struct options {
    unsigned sections; /* bits, in the order of section_names */
    int64_t size;      /* of the product in registers */
    int64_t repeat, launches;
    bool quick, json;
} options;

enum { SECTIONS = 4 };
static const char *const section_names[SECTIONS] = {"host", "opencl", "cuda",
                                                    "launch"};

/* ---- rows */

typedef struct contest_row {
    const char *section, *kernel, *device, *what;
    char shape[48];
    double hand_first, hand_best, dialect_first, dialect_best; /* 0: none */
    double ratio; /* seconds when `what` says so */
    double target;
    bool at_most; /* the target; false: the least */
} contest_row;

static const char *verdict(const contest_row *row)
{
    if (row->ratio <= 0.0 || row->target <= 0.0) {
        return "";
    }
    return (row->at_most ? row->ratio <= row->target
                         : row->ratio >= row->target)
               ? " met"
               : " MISSED";
}

static hri_quantity target_text(const contest_row *row, bool seconds)
{
    hri_quantity text = {"-"};
    if (seconds) {
        snprintf(text.text, sizeof text.text, "<= %.24s%s",
                 hri_seconds_text(row->target).text, verdict(row));
    } else if (row->ratio > 0.0 && row->target > 0.0) {
        snprintf(text.text, sizeof text.text, "%s %.2f%s",
                 row->at_most ? "<=" : ">=", row->target, verdict(row));
    }
    return text;
}

/* Add seconds. 0 means not measured. */
static void add_seconds(bench_rows *rows, const char *key, const char *heading,
                        double seconds)
{
    bench_value(rows, key, heading, BENCH_SECONDS,
                seconds > 0.0 ? seconds : NAN);
}

static void add_row(bench_rows *rows, const contest_row *row)
{
    const bool seconds = strcmp(row->what, "seconds") == 0;
    const double ratio = row->ratio > 0.0 ? row->ratio : NAN;
    bench_row_begin(rows, "dialect");
    bench_text(rows, "section", "section", row->section);
    bench_text(rows, "device", NULL, row->device);
    bench_text(rows, "kernel", "kernel", row->kernel);
    bench_text(rows, "shape", "shape", row->shape);
    bench_text(rows, "what", NULL, row->what);
    add_seconds(rows, "hand_first_seconds", "hand 1st", row->hand_first);
    add_seconds(rows, "hand_best_seconds", "hand best", row->hand_best);
    add_seconds(rows, "dialect_first_seconds", "dial. 1st", row->dialect_first);
    add_seconds(rows, "dialect_best_seconds", "dial. best", row->dialect_best);
    bench_value(rows, NULL, "ratio", BENCH_RATIO_3, seconds ? NAN : ratio);
    bench_value(rows, "ratio", NULL, BENCH_RATIO_3, ratio);
    add_seconds(rows, "target", NULL, row->target);
    bench_cell(rows, "target", 'l', target_text(row, seconds).text);
    bench_flag(rows, "at_most", true, row->at_most);
    bench_flag(rows, "verified", true, true);
    bench_row_end(rows);
}

static void print_missing(bench_rows *rows, const char *section,
                          const char *reason)
{
    if (!rows->json) {
        printf("%-7s not compared: %s\n", section, reason);
        return;
    }
    bench_row_begin(rows, "dialect");
    bench_text(rows, "section", NULL, section);
    bench_text(rows, "missing", NULL, reason);
    bench_flag(rows, "verified", true, false);
    bench_row_end(rows);
}

/* ---- the contest */

enum { DIALECT, HAND, SIDES };

typedef struct contest {
    const options *o;
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
static bool open_sides(contest *c, const options *o, const char *section,
                       bench_rows *rows)
{
    *c = (contest){.o = o, .section = section, .rows = rows, .count = 1};
    const char *list = strcmp(section, "cuda") == 0 ? "cuda:0" : section;
    c->host = strcmp(section, "host") == 0;
    if (!dialect_open(list, &c->sides[DIALECT], &c->info)) {
        print_missing(rows, section, hr_last_error());
        return false;
    }
    c->count += open_hand(c) == HR_OK;
    return true;
}

/* ---- running */

/* Let threads of either side that still look for work go to sleep. */
static void let_threads_sleep(const contest *c)
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

static hr_status call_slot(hr_status (*function)(void *data), void *data)
{
    return function != NULL ? function(data) : HR_OK;
}

/* Seconds for each of `times` launches in a row, by the clock, until all have
 * run. With `first`, making the kernel counts. */
static hr_status time_by_clock(const dialect_side *side, bool first, int times,
                               double *seconds)
{
    const double start = cli_clock();
    if (first) {
        HRI_TRY(call_slot(side->make, side->data));
    }
    HRI_TRY(side->launch(side->data, times));
    HRI_TRY(call_slot(side->wait, side->data));
    *seconds = (cli_clock() - start) / times;
    return HR_OK;
}

/* The same by the device's clock. */
static hr_status time_by_events(const dialect_side *side, int times,
                                double *seconds)
{
    HRI_TRY(side->time(side->data, times, seconds));
    *seconds /= times;
    return HR_OK;
}

/* Time the first call of a side, and check its result. */
static hr_status run_first(contest *c, int i)
{
    const dialect_side *side = &c->sides[i];
    HRI_TRY(side->prepare(side->data, &c->problem));
    dialect_spoil(&c->problem);
    let_threads_sleep(c);
    HRI_TRY(time_by_clock(side, true, 1, &c->first[i]));
    HRI_TRY(call_slot(side->fetch, side->data));
    if (!dialect_is_right(&c->problem)) {
        return hri_fail(HR_ERROR_BACKEND, "%s, %s: %s is wrong", c->section,
                        c->problem.work->name,
                        i == HAND ? "what was written by hand"
                                  : "the dialect's result");
    }
    return HR_OK;
}

/* Measure a problem from its first calls on, with `times` launches at once, or
 * as many as needed. */
static hr_status measure_problem(contest *c, int times)
{
    const bool by_clock = c->host || times > 0;
    double seconds = 0.0;
    for (int i = 0; i < c->count; i++) {
        HRI_TRY(run_first(c, i));
    }
    if (times == 0) {
        const dialect_side *side = &c->sides[DIALECT];
        HRI_TRY(by_clock ? time_by_clock(side, false, 1, &seconds)
                         : time_by_events(side, 1, &seconds));
        times = times_for(c, seconds);
    }
    for (int64_t n = 0; n < c->o->repeat * c->count; n++) {
        const int i = (int)(n % c->count);
        const dialect_side *side = &c->sides[i];
        let_threads_sleep(c);
        HRI_TRY(by_clock ? time_by_clock(side, false, times, &seconds)
                         : time_by_events(side, times, &seconds));
        if (n < c->count || seconds < c->best[i]) {
            c->best[i] = seconds;
        }
    }
    return HR_OK;
}

static contest_row row_of(const contest *c)
{
    const dialect_problem *p = &c->problem;
    contest_row row = {.section = c->section,
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

/* ---- entries */

/* Measure the dialect's transposition beside a copy of as many bytes. */
static hr_status measure_copy(contest *c)
{
    const dialect_side *hand = &c->sides[HAND];
    const int times = times_for(c, c->best[DIALECT]);
    double best = 0.0, seconds = 0.0;
    for (int64_t i = 0; i < c->o->repeat; i++) {
        HRI_TRY(hand->time_copies(hand->data, times, &seconds));
        best = i == 0 || seconds < best ? seconds : best;
    }
    best /= times;
    contest_row row = row_of(c);
    row.kernel = "transpose beside a copy";
    row.hand_first = row.dialect_first = 0.0;
    row.hand_best = best;
    row.ratio = best / row.dialect_best;
    row.target = 0.8;
    add_row(c->rows, &row);
    return HR_OK;
}

static hr_status measure_entry(contest *c, const entry *e)
{
    HRI_TRY(measure_problem(c, 0));
    contest_row row = row_of(c);
    row.target = e->target;
    add_row(c->rows, &row);
    return e->kind == DIALECT_TRANSPOSE && c->sides[HAND].time_copies != NULL
               ? measure_copy(c)
               : HR_OK;
}

static hr_status measure_launches(contest *c, const entry *e)
{
    (void)e;
    HRI_TRY(measure_problem(c, (int)c->o->launches));
    contest_row row = row_of(c);
    const bool hand = c->count > 1;
    row.what = hand ? "launch" : "seconds";
    row.hand_first = row.dialect_first = 0.0;
    row.ratio = hand ? row.dialect_best / row.hand_best : row.dialect_best;
    row.target = !hand ? 5e-6 : strcmp(c->section, "cuda") == 0 ? 1.5 : 0.0;
    row.at_most = true;
    add_row(c->rows, &row);
    return HR_OK;
}

/* Measure what an entry asks for, on a problem of its own. */
static hr_status with_problem(contest *c, const entry *e,
                              hr_status (*function)(contest *c, const entry *e))
{
    const int64_t cut = c->o->quick && e->kind != DIALECT_NOTHING ? 16 : 1;
    const int64_t size = c->o->size;
    const bool any = e->rows == 0; /* --size */
    const int64_t rows = e->rows == 1 ? 1 : e->rows / cut;
    if (!dialect_problem_create(&c->problem, e->kind, any ? size : rows,
                                any ? size : e->cols / cut,
                                any ? size : e->depth / cut)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    memset(c->first, 0, sizeof c->first);
    memset(c->best, 0, sizeof c->best);
    const hr_status status = function(c, e);
    for (int i = 0; i < c->count; i++) {
        if (c->sides[i].finish != NULL) {
            c->sides[i].finish(c->sides[i].data);
        }
    }
    dialect_problem_free(&c->problem);
    return status;
}

/* End a contest. Tells why it failed, if it has. Returns an exit status. */
static int close_sides(contest *c, hr_status status)
{
    if (status != HR_OK) {
        cli_fail("%s: %s", c->section, hr_last_error());
    }
    for (int i = 0; i < c->count; i++) {
        c->sides[i].close(c->sides[i].data);
    }
    return status == HR_OK ? CLI_OK : CLI_FAILED;
}

static hr_status measure_entries(contest *c)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(entries[i].section, c->section) == 0) {
            HRI_TRY(with_problem(c, &entries[i], measure_entry));
        }
    }
    return HR_OK;
}

static int run_section(const options *o, const char *section, bench_rows *rows)
{
    contest c;
    if (!open_sides(&c, o, section, rows)) {
        return CLI_OK;
    }
    if (c.count == 1) {
        print_missing(rows, section, hr_last_error());
    }
    return close_sides(&c, measure_entries(&c));
}

/* The section of launches: a kernel that does nothing, on each accelerator of
 * the others. */
static int run_launches(const options *o, bench_rows *rows)
{
    static const entry nothing = {"launch", DIALECT_NOTHING, 1, 256, 0, 0.0};
    int status = CLI_OK;
    for (int i = 0; i + 1 < SECTIONS; i++) {
        contest c;
        if (!open_sides(&c, o, section_names[i], rows)) {
            continue;
        }
        if (c.host && c.count > 1) { /* the side by hand launches nothing */
            c.count = 1;
            c.sides[HAND].close(c.sides[HAND].data);
        }
        if (close_sides(&c, with_problem(&c, &nothing, measure_launches)) !=
            CLI_OK) {
            status = CLI_FAILED;
        }
    }
    return status;
}

/* ---- the command */

static bool take_section(const char *word, void *field)
{
    const int found = cli_find_name(word, "host opencl cuda launch");
    *(unsigned *)field |= found >= 0 ? 1u << found : 0;
    return found >= 0;
}

static const cli_kind sections = {.take = take_section,
                                  .wants =
                                      "a list of host, opencl, cuda and launch",
                                  .list_bytes = sizeof(unsigned)},
                      size = {.wants = "a whole number from 1 to 32768",
                              .least = 1,
                              .most = 32768},
                      times = {.wants = "a whole number from 1 to 2^30",
                               .least = 1,
                               .most = 1 << 30};

static const cli_option table[] = {
    {"--sections", "LIST", &sections, offsetof(options, sections),
     "which to run: of host, opencl, cuda, launch (all)"},
    {"--size", "N", &size, offsetof(options, size),
     "size of the product in registers (8192)"},
    {"--repeat", "N", &times, offsetof(options, repeat),
     "runs of each side after the first run (9)"},
    {"--launches", "N", &times, offsetof(options, launches),
     "launches of the kernel that does nothing (20000)"},
    {"--quick", NULL, &cli_flag, offsetof(options, quick),
     "small problems, to try the program"},
    {"--json", NULL, &cli_flag, offsetof(options, json),
     "print one JSON object a line, for each row"},
    {NULL, NULL, NULL, 0, NULL},
};

static int run_dialect(int argc, char **argv)
{
    options o = {.sections = 15, .size = 8192, .repeat = 9, .launches = 20000};
    HRI_TRY(cli_parse(&bench_dialect, argc, argv, &o, NULL));
    HRI_TRY(bench_timeline_begin());
    bench_rows rows = {.json = o.json};
    if (o.quick) {
        o.size = hri_min(o.size, 256);
        o.repeat = hri_min(o.repeat, 2);
        o.launches = hri_min(o.launches, 500);
    }
    int failed = CLI_OK;
    for (int i = 0; i < SECTIONS; i++) {
        if ((o.sections >> i & 1) == 0) {
            continue;
        }
        const int status = i + 1 < SECTIONS
                               ? run_section(&o, section_names[i], &rows)
                               : run_launches(&o, &rows);
        failed = failed != CLI_OK ? failed : status;
    }
    const int status = bench_rows_print(&rows);
    return failed != CLI_OK ? failed : status;
}

const cli_command bench_dialect = {
    .name = "bench dialect",
    .usage = "[options]",
    .details = "Runs kernels in the dialect beside the same kernels written "
               "by hand, in turns.\n"
               "Ratios are speeds, dialect over hand. Ratios of launches are "
               "times.",
    .examples = "  headrace bench dialect --quick\n"
                "  headrace bench dialect --sections cuda,launch --json\n",
    .options = table,
    .operand_names = "no words",
    .run = run_dialect,
};
