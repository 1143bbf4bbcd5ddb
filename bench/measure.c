/* SPDX-License-Identifier: MIT */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"

void bench_cpu_name(char *name, size_t size)
{
    char model[128];
    hri_machine_name(model, sizeof model);
    snprintf(name, size, "%ld x %.80s", sysconf(_SC_NPROCESSORS_ONLN), model);
}

static int compare_doubles(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

void bench_sum_up(double *seconds, int64_t count, double *best, double *median)
{
    int64_t half = count / 2;
    qsort(seconds, (size_t)count, sizeof *seconds, compare_doubles);
    *best = seconds[0];
    *median = count % 2 == 1 ? seconds[half]
                             : 0.5 * (seconds[half - 1] + seconds[half]);
}

void bench_rest(double seconds)
{
    struct timespec pause = {0, (long)(seconds * 1e9)};
    nanosleep(&pause, NULL);
}

void bench_note(int64_t run, double seconds, double *first, double *best)
{
    *first = run == 0 ? seconds : *first;
    *best = run <= 1 || seconds < *best ? seconds : *best;
}

bool bench_time_calls(bool (*call)(void *data), void *data, double *seconds)
{
    const double least = 1e-3, alone = 0.05;
    for (int64_t calls = 1;; calls *= 2) {
        const double begin = cli_clock();
        for (int64_t i = 0; i < calls; i++) {
            if (!call(data)) {
                return false;
            }
        }
        const double all = cli_clock() - begin;
        if (all >= (calls > 1 ? least : alone)) {
            *seconds = all / (double)calls;
            return true;
        }
    }
}

/* ---- rows */

/* Write a number into a cell. JSON has plain units, except that rates are in
 * 10^9. */
static void add_cell(cli_table *table, bench_unit unit, double value)
{
    static const struct {
        const char *format;
        double scale;
    } forms[] = {
        [BENCH_COUNT] = {"%.0f", 1.0},
        [BENCH_MICROSECONDS] = {"%.0f", 1e6},
        [BENCH_CELLS] = {"%.3g G", 1e-9},
        [BENCH_RATIO] = {"%.2f", 1.0},
        [BENCH_RATIO_3] = {"%.3f", 1.0},
        [BENCH_ERROR] = {"%.1e", 1.0},
        [BENCH_PER_CENT] = {"%.0f %%", 100.0},
        [BENCH_PER_CENT_1] = {"%.1f %%", 100.0},
    };
    if (isnan(value)) {
        cli_table_add(table, "-");
    } else if (unit == BENCH_SECONDS) {
        cli_table_add(table, "%s", hri_seconds_text(value).text);
    } else if (unit == BENCH_MICROSECONDS && value < 1e-3) {
        cli_table_number(table, value < 1e-5 ? "%.2f" : "%.1f", 1e6 * value);
    } else if (unit == BENCH_GFLOPS) {
        cli_table_add(table, "%s", hri_rate_text(value).text);
    } else if (unit == BENCH_LINK) {
        cli_table_add(table, "%s", hri_link_text(value).text);
    } else if (unit == BENCH_BYTES) {
        cli_table_add(table, "%s", hri_bytes_text((uint64_t)value).text);
    } else {
        cli_table_number(table, forms[unit].format, forms[unit].scale * value);
    }
}

/* In the first row, put the heading before it, after the other headings. */
static void add_heading(bench_rows *rows, const char *heading, char align)
{
    cli_table *t = &rows->table;
    const size_t at = strlen(rows->align);
    if (!rows->first || at + 1 >= sizeof rows->align) {
        return;
    }
    cli_table_add(t, "%s", heading);
    rows->align[at] = align;
    if (!t->failed) {
        char *cell = t->cells[2 * at];
        memmove(&t->cells[at + 1], &t->cells[at], at * sizeof *t->cells);
        t->cells[at] = cell;
    }
}

void bench_cell(bench_rows *rows, const char *heading, char align,
                const char *text)
{
    if (!rows->json) {
        add_heading(rows, heading, align);
        cli_table_add(&rows->table, "%s", rows->absent ? "-" : text);
    }
}

void bench_text(bench_rows *rows, const char *key, const char *heading,
                const char *text)
{
    if (heading != NULL) {
        bench_cell(rows, heading, 'l', text);
    }
    if (rows->writing && !rows->absent) {
        cli_json_text(&rows->line, key, text);
    }
}

void bench_flag(bench_rows *rows, const char *key, bool known, bool value)
{
    if (rows->writing && !rows->absent && known) {
        cli_json_bool(&rows->line, key, value);
    } else if (rows->writing && !rows->absent) {
        cli_json_null(&rows->line, key);
    }
}

void bench_value(bench_rows *rows, const char *key, const char *heading,
                 bench_unit unit, double value)
{
    if (!rows->json && heading != NULL) {
        add_heading(rows, heading, 'r');
        add_cell(&rows->table, unit, rows->absent ? NAN : value);
    }
    if (!rows->writing || key == NULL || rows->absent) {
        return;
    }
    if (unit == BENCH_COUNT) {
        cli_json_count(&rows->line, key, (uint64_t)value);
    } else {
        cli_json_number(&rows->line, key,
                        unit == BENCH_GFLOPS ? value * 1e-9 : value);
    }
}

/* Where the row's JSON goes: to memory if the picture needs it, too. */
static FILE *open_line(bench_rows *rows)
{
    rows->text = NULL;
    FILE *line =
        rows->plot != NULL ? open_memstream(&rows->text, &rows->bytes) : NULL;
    if (line == NULL) {
        rows->failed = rows->failed || rows->plot != NULL;
        rows->writing = rows->json;
        rows->plot = NULL;
        line = stdout;
    }
    return line;
}

/* Copy the line from memory to where it goes. */
static void send_line(bench_rows *rows)
{
    if (rows->line.out == stdout) {
        return;
    }
    if (fclose(rows->line.out) != 0) {
        rows->failed = true;
    } else {
        fputs(rows->text, rows->plot);
        fputs(rows->json ? rows->text : "", stdout);
    }
    free(rows->text);
}

void bench_row_begin(bench_rows *rows, const char *bench)
{
#ifdef __clang__
    const char *compiler = __VERSION__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    char cpu[128];
    rows->absent = false;
    rows->first = rows->table.count == 0;
    rows->writing = (rows->json || rows->plot != NULL) && bench != NULL;
    if (!rows->writing) {
        return;
    }
    bench_cpu_name(cpu, sizeof cpu);
    rows->line = (cli_json){.out = open_line(rows)};
    if (!rows->writing) { /* there is no memory for the picture's line */
        return;
    }
    cli_json_begin(&rows->line, NULL, '{');
    bench_text(rows, "bench", NULL, bench);
    bench_text(rows, "commit", NULL, HEADRACE_COMMIT);
    bench_text(rows, "compiler", NULL, compiler);
    bench_text(rows, "cpu", NULL, cpu);
}

void bench_list(bench_rows *rows, const bench_setting *setting)
{
    bench_text(rows, "list", NULL, setting->list);
    bench_value(rows, "accelerator_count", NULL, BENCH_COUNT, setting->count);
    bench_text(rows, "device", NULL, setting->device);
    bench_value(rows, "list_memory_limit", NULL, BENCH_COUNT,
                (double)setting->memory_limit);
}

void bench_row_end(bench_rows *rows)
{
    if (rows->writing) {
        cli_json_line(&rows->line);
        send_line(rows);
    }
}

int bench_rows_print(bench_rows *rows)
{
    rows->table.align = rows->align;
    const int status = cli_table_print(&rows->table);
    memset(rows->align, 0, sizeof rows->align);
    return status;
}
