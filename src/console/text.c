/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/printable.h"

cli_extents cli_extents_text(const int64_t *extents, int rank)
{
    cli_extents t = {""};
    hri_format_extents(t.text, sizeof t.text, extents, rank);
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

static int column_width(const cli_table *table, size_t column, size_t columns)
{
    int width = 0;
    for (size_t i = column; i < table->count; i += columns) {
        int w = hri_printable_width(table->cells[i]);
        width = w > width ? w : width;
    }
    return width;
}

static void print_cell(const cli_table *table, size_t at, size_t columns)
{
    size_t column = at % columns;
    const char *text = table->cells[at];
    int pad = column_width(table, column, columns) - hri_printable_width(text);
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
