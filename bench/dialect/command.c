/* SPDX-License-Identifier: MIT */
/* headrace bench dialect: the command, and its rows. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/dialect/dialect.h"
#include "console/json.h"

const char *const dialect_sections[DIALECT_SECTIONS] = {"host", "opencl",
                                                        "cuda", "launch"};

/* ---- rows */

static cli_text seconds_text(double seconds)
{
    return seconds > 0.0 ? cli_seconds_text(seconds) : (cli_text){"-"};
}

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

static void add_cells(cli_table *t, const dialect_row *row)
{
    const bool seconds = strcmp(row->what, "seconds") == 0;
    if (t->count == 0) {
        cli_table_head(t, "section|kernel|shape|hand 1st|hand best|dial. 1st|"
                          "dial. best|ratio|target");
    }
    cli_table_add(t, "%s", row->section);
    cli_table_add(t, "%s", row->kernel);
    cli_table_add(t, "%s", row->shape);
    cli_table_add(t, "%s", seconds_text(row->hand_first).text);
    cli_table_add(t, "%s", seconds_text(row->hand_best).text);
    cli_table_add(t, "%s", seconds_text(row->dialect_first).text);
    cli_table_add(t, "%s", seconds_text(row->dialect_best).text);
    cli_table_maybe(t, row->ratio > 0.0 && !seconds, "%.3f", row->ratio);
    if (seconds) {
        cli_table_add(t, "<= %s%s", seconds_text(row->target).text,
                      verdict(row));
    } else if (row->ratio > 0.0 && row->target > 0.0) {
        cli_table_add(t, "%s %.2f%s", row->at_most ? "<=" : ">=", row->target,
                      verdict(row));
    } else {
        cli_table_add(t, "-");
    }
}

static void write_number(cli_json *json, const char *key, double value)
{
    cli_json_maybe(json, key, value > 0.0, value);
}

static void write_row(const dialect_row *row)
{
    cli_json json = bench_json_begin("dialect");
    cli_json_text(&json, "section", row->section);
    cli_json_text(&json, "device", row->device);
    cli_json_text(&json, "kernel", row->kernel);
    cli_json_text(&json, "shape", row->shape);
    cli_json_text(&json, "what", row->what);
    write_number(&json, "hand_first_seconds", row->hand_first);
    write_number(&json, "hand_best_seconds", row->hand_best);
    write_number(&json, "dialect_first_seconds", row->dialect_first);
    write_number(&json, "dialect_best_seconds", row->dialect_best);
    write_number(&json, "ratio", row->ratio);
    write_number(&json, "target", row->target);
    cli_json_bool(&json, "at_most", row->at_most);
    cli_json_bool(&json, "verified", true);
    cli_json_line(&json);
}

void dialect_add_row(const dialect_options *o, cli_table *table,
                     const dialect_row *row)
{
    if (o->json) {
        write_row(row);
    } else {
        add_cells(table, row);
    }
}

void dialect_print_missing(const dialect_options *o, const char *section,
                           const char *reason)
{
    if (!o->json) {
        printf("%-7s not compared: %s\n", section, reason);
        return;
    }
    cli_json json = bench_json_begin("dialect");
    cli_json_text(&json, "section", section);
    cli_json_text(&json, "missing", reason);
    cli_json_bool(&json, "verified", false);
    cli_json_line(&json);
}

/* ---- the command */

static bool take_section(const char *word, void *field)
{
    const int found = cli_find_name(word, "host opencl cuda launch");
    *(unsigned *)field |= found >= 0 ? 1u << found : 0;
    return found >= 0;
}

static bool take_size(const char *text, void *field)
{
    return cli_count.take(text, field) && *(int64_t *)field <= 32768;
}

static bool take_times(const char *text, void *field)
{
    return cli_count.take(text, field) && *(int64_t *)field <= 1 << 30;
}

static const cli_kind sections = {.take = take_section,
                                  .wants =
                                      "a list of host, opencl, cuda and launch",
                                  .list_bytes = sizeof(unsigned)},
                      size = {.take = take_size,
                              .wants = "a whole number from 1 to 32768"},
                      times = {.take = take_times,
                               .wants = "a whole number from 1 to 2^30"};

static const cli_option table[] = {
    {"--sections", "LIST", &sections, offsetof(dialect_options, sections),
     "of host, opencl, cuda, launch (all)"},
    {"--size", "N", &size, offsetof(dialect_options, size),
     "of the product in registers (8192)"},
    {"--repeat", "N", &times, offsetof(dialect_options, repeat),
     "how often each side runs after its first call (9)"},
    {"--launches", "N", &times, offsetof(dialect_options, launches),
     "of the kernel that does nothing (20000)"},
    {"--quick", NULL, &cli_flag, offsetof(dialect_options, quick),
     "small problems, to try the program"},
    {"--json", NULL, &cli_flag, offsetof(dialect_options, json),
     "print a JSON object for each row, one a line"},
    {NULL, NULL, NULL, 0, NULL},
};

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int run(int argc, char **argv)
{
    dialect_options o = {
        .sections = 15, .size = 8192, .repeat = 9, .launches = 20000};
    cli_table rows = {.align = "lllrrrrrl"};
    int status = cli_parse(&bench_dialect, argc, argv, &o, NULL);
    if (status != CLI_OK) {
        return status;
    }
    if (o.quick) {
        o.size = at_most(o.size, 256);
        o.repeat = at_most(o.repeat, 2);
        o.launches = at_most(o.launches, 500);
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
    status = cli_table_print(&rows);
    return ok ? status : CLI_FAILED;
}

const cli_command bench_dialect = {
    .name = "bench dialect",
    .usage = "[options]",
    .details = "Kernels in the dialect beside the same kernels written by "
               "hand, in turns.\n"
               "Ratios are speeds, dialect over hand; those of launches are "
               "times.",
    .examples = "  headrace bench dialect --quick\n"
                "  headrace bench dialect --sections cuda,launch --json\n",
    .options = table,
    .operands = 0,
    .operand_names = "no words",
    .run = run,
};
