/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/printable.h"

/* Write three significant digits, and no exponent below a million. */
static cli_text with_unit(double number, const char *unit)
{
    cli_text t;
    int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    snprintf(t.text, sizeof t.text, number < 1e6 ? "%.*f %s" : "%.*e %s",
             decimals, number, unit);
    return t;
}

/* Use the first unit with at most three digits before the point. Each unit is
 * `step` times the one before. */
static cli_text scaled(double number, double step, const char *const units[4])
{
    int unit = 0;
    if (!isfinite(number)) {
        number = 0.0;
    }
    while (number >= 999.5 && unit < 3) {
        number /= step;
        unit++;
    }
    return with_unit(number, units[unit]);
}

cli_text cli_bytes_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        cli_text t;
        snprintf(t.text, sizeof t.text, "%u B", (unsigned)bytes);
        return t;
    }
    return scaled((double)bytes / 1024.0, 1024.0, units);
}

cli_extents cli_extents_text(const int64_t *extents, int rank)
{
    cli_extents t = {""};
    hri_format_extents(t.text, sizeof t.text, extents, rank);
    return t;
}

cli_text cli_rate_text(double flops_per_second)
{
    static const char *const units[] = {"MFLOP/s", "GFLOP/s", "TFLOP/s",
                                        "PFLOP/s"};
    return scaled(flops_per_second * 1e-6, 1000.0, units);
}

cli_text cli_link_text(double bytes_per_second)
{
    static const char *const units[] = {"kB/s", "MB/s", "GB/s", "TB/s"};
    return scaled(bytes_per_second * 1e-3, 1000.0, units);
}

cli_text cli_elements_text(double elements_per_second)
{
    static const char *const units[] = {"kelement/s", "Melement/s",
                                        "Gelement/s", "Telement/s"};
    return scaled(elements_per_second * 1e-3, 1000.0, units);
}

cli_text cli_seconds_text(double seconds)
{
    cli_text t;
    if (seconds <= 0.0) {
        return (cli_text){"0 s"};
    }
    if (seconds < 0.0009995) {
        return with_unit(seconds * 1e6, "us");
    }
    if (seconds < 0.0995) {
        return with_unit(seconds * 1e3, "ms");
    }
    if (seconds < 99.5) {
        return with_unit(seconds, "s");
    }
    double minutes = floor(seconds / 60.0 + 0.5);
    if (minutes < 60.0) {
        snprintf(t.text, sizeof t.text, "%.0f min %02.0f s",
                 floor(seconds / 60.0), fmod(floor(seconds), 60.0));
    } else {
        snprintf(t.text, sizeof t.text, "%.0f h %02.0f min",
                 floor(minutes / 60.0), fmod(minutes, 60.0));
    }
    return t;
}

double cli_clock(void)
{
    return hri_seconds_since(0);
}

cli_path cli_path_text(const char *path)
{
    cli_path t = {""};
    hri_printable(path, t.text, sizeof t.text);
    return t;
}

enum { CELL_BYTES = 256, GAP = 2, CHUNK = 64 /* cells allocated at a time */ };

static bool grow(cli_table *table)
{
    if (table->count % CHUNK != 0) {
        return true;
    }
    char **cells =
        realloc(table->cells, (table->count + CHUNK) * sizeof *cells);
    table->cells = cells != NULL ? cells : table->cells;
    return cells != NULL;
}

void cli_table_add(cli_table *table, const char *format, ...)
{
    char text[CELL_BYTES], shown[CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Names come from drivers and files. */
    char *cell =
        grow(table) ? strdup(hri_printable(text, shown, sizeof shown)) : NULL;
    if (cell == NULL) {
        table->failed = true;
        return;
    }
    table->cells[table->count++] = cell;
}

void cli_table_head(cli_table *table, const char *names)
{
    for (;;) {
        size_t length = strcspn(names, "|");
        cli_table_add(table, "%.*s", (int)length, names);
        if (names[length] == '\0') {
            return;
        }
        names += length + 1;
    }
}

void cli_table_number(cli_table *table, const char *format, double number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    cli_table_add(table, "%s", text);
}

/* The number of characters, not of bytes. In UTF-8 some bytes continue a
 * character. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static int column_width(const cli_table *table, size_t column, size_t columns)
{
    int width = 0;
    for (size_t i = column; i < table->count; i += columns) {
        int w = text_width(table->cells[i]);
        width = w > width ? w : width;
    }
    return width;
}

static void print_cell(const cli_table *table, size_t at, size_t columns)
{
    size_t column = at % columns;
    const char *text = table->cells[at];
    int pad = column_width(table, column, columns) - text_width(text);
    bool last = column + 1 == columns;
    bool right = table->align[column] == 'r';
    printf("%*s%s", right ? pad : 0, "", text);
    if (last) {
        putchar('\n');
    } else {
        printf("%*s", GAP + (right ? 0 : pad), "");
    }
}

void cli_table_free(cli_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    *table = (cli_table){.align = table->align};
}

int cli_table_print(cli_table *table)
{
    const bool failed = table->failed;
    size_t columns = strlen(table->align);
    for (size_t i = 0; !table->failed && i < table->count; i++) {
        print_cell(table, i, columns);
    }
    cli_table_free(table);
    return failed ? cli_fail("out of memory") : CLI_OK;
}
