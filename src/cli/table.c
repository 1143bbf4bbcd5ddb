/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

enum { CELL_BYTES = 256, GAP = 2 };

static bool grow(cli_table *table)
{
    if (table->count < table->capacity) {
        return true;
    }
    size_t capacity = table->capacity > 0 ? 2 * table->capacity : 32;
    char **cells = realloc(table->cells, capacity * sizeof *cells);
    if (cells == NULL) {
        return false;
    }
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

void cli_table_add(cli_table *table, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?'; /* names come from drivers and files */
        }
    }
    char *cell = grow(table) ? strdup(text) : NULL;
    if (cell == NULL) {
        table->failed = true;
        return;
    }
    table->cells[table->count++] = cell;
}

/* Characters, not bytes: those of UTF-8 that do not continue another. */
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
    if (table->align[column] == 'r') {
        printf("%*s%s", pad, "", text);
    } else {
        printf("%s%*s", text, last ? 0 : pad, "");
    }
    printf("%*s", last ? 0 : GAP, "");
    if (last) {
        putchar('\n');
    }
}

int cli_table_print(cli_table *table)
{
    size_t columns = strlen(table->align);
    for (size_t i = 0; !table->failed && i < table->count; i++) {
        print_cell(table, i, columns);
    }
    for (size_t i = 0; i < table->count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    bool failed = table->failed;
    *table = (cli_table){.align = table->align};
    return failed ? cli_fail("out of memory") : CLI_OK;
}
