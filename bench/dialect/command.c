/* SPDX-License-Identifier: MIT */
/* headrace bench dialect: the command and its rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "bench/dialect/dialect.h"

const char *const dialect_sections[DIALECT_SECTIONS] = {"host", "opencl",
                                                        "cuda", "launch"};

/* ---- rows */

static const char *verdict(const dialect_row *row)
{
    if (row->ratio <= 0.0 || row->target <= 0.0) {
        return "";
    }
    return (row->at_most ? row->ratio <= row->target
                         : row->ratio >= row->target)
               ? " met"
               : " MISSED";
}

static hri_quantity target_text(const dialect_row *row, bool seconds)
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

void dialect_add_row(bench_rows *rows, const dialect_row *row)
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

void dialect_print_missing(bench_rows *rows, const char *section,
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
    {"--sections", "LIST", &sections, offsetof(dialect_options, sections),
     "which to run: of host, opencl, cuda, launch (all)"},
    {"--size", "N", &size, offsetof(dialect_options, size),
     "size of the product in registers (8192)"},
    {"--repeat", "N", &times, offsetof(dialect_options, repeat),
     "runs of each side after the first run (9)"},
    {"--launches", "N", &times, offsetof(dialect_options, launches),
     "launches of the kernel that does nothing (20000)"},
    {"--quick", NULL, &cli_flag, offsetof(dialect_options, quick),
     "small problems, to try the program"},
    {"--json", NULL, &cli_flag, offsetof(dialect_options, json),
     "print one JSON object a line, for each row"},
    {NULL, NULL, NULL, 0, NULL},
};

static int run(int argc, char **argv)
{
    dialect_options o = {
        .sections = 15, .size = 8192, .repeat = 9, .launches = 20000};
    int status = cli_parse(&bench_dialect, argc, argv, &o, NULL);
    status = status == CLI_OK ? bench_timeline_begin() : status;
    if (status != CLI_OK) {
        return status;
    }
    bench_rows rows = {.json = o.json};
    if (o.quick) {
        o.size = hri_min(o.size, 256);
        o.repeat = hri_min(o.repeat, 2);
        o.launches = hri_min(o.launches, 500);
    }
    bool ok = true;
    for (int i = 0; i < DIALECT_SECTIONS; i++) {
        if ((o.sections >> i & 1) != 0) {
            ok = (i + 1 < DIALECT_SECTIONS
                      ? dialect_contest(&o, dialect_sections[i], &rows)
                      : dialect_launches(&o, &rows)) &&
                 ok;
        }
    }
    status = bench_rows_print(&rows);
    return ok ? status : CLI_FAILED;
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
    .operands = 0,
    .operand_names = "no words",
    .run = run,
};
