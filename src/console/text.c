/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

enum {
    CELL_BYTES = 256,
    GAP = 2,
    CHUNK = 64,       /* cells allocated at a time */
    COLUMNS = 16,     /* of a table, at most */
    USUAL_WIDTH = 80, /* of a terminal that does not say it */
    WORD = 12         /* columns of text are no narrower */
};

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

/* The columns of the terminal on standard output. INT_MAX: it is none. */
static int terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO)) {
        return INT_MAX;
    }
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : USUAL_WIDTH;
}

/* The widths of all columns. While they are too many for the terminal, the
 * widest column of text becomes narrower, but not below a word. */
static void find_widths(const cli_table *table, size_t columns, int *widths)
{
    const int most = terminal_width();
    int all = GAP * ((int)columns - 1);
    for (size_t c = 0; c < columns; c++) {
        widths[c] = column_width(table, c, columns);
        all += widths[c];
    }
    while (all > most) {
        size_t widest = columns;
        for (size_t c = 0; c < columns; c++) {
            if (table->align[c] == 'l' && widths[c] > WORD &&
                (widest == columns || widths[c] > widths[widest])) {
                widest = c;
            }
        }
        if (widest == columns) {
            return;
        }
        widths[widest]--;
        all--;
    }
}

/* The bytes of a text that fit into a width: up to its last space, where there
 * is one. */
static int bytes_that_fit(const char *text, int width)
{
    int at = 0, space = 0, characters = 0;
    for (; text[at] != '\0' && characters <= width; characters++) {
        space = text[at] == ' ' ? at : space;
        do {
            at++;
        } while (((unsigned char)text[at] & 0xc0) == 0x80);
    }
    if (characters <= width) {
        return at;
    }
    if (space > 0) {
        return space;
    }
    do {
        at--;
    } while (((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

/* Print as much of a cell as fits. Returns what is left. */
static const char *print_cell(const char *text, int width, bool right,
                              bool last)
{
    const int bytes = bytes_that_fit(text, width);
    char piece[CELL_BYTES];
    snprintf(piece, sizeof piece, "%.*s", bytes, text);
    const int pad = width - hri_printable_width(piece);
    printf("%*s%s", right ? pad : 0, "", piece);
    if (!last) {
        printf("%*s", GAP + (right ? 0 : pad), "");
    }
    return text + bytes + strspn(text + bytes, " ");
}

/* Print a row, on several lines where a cell is wider than its column. */
static void print_row(const cli_table *table, size_t row, size_t columns,
                      const int *widths)
{
    const char *left[COLUMNS];
    bool any = true;
    for (size_t c = 0; c < columns; c++) {
        left[c] = table->cells[row + c];
    }
    while (any) {
        any = false;
        for (size_t c = 0; c < columns; c++) {
            left[c] = print_cell(left[c], widths[c], table->align[c] == 'r',
                                 c + 1 == columns);
            any = any || left[c][0] != '\0';
        }
        putchar('\n');
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
    const size_t columns = strlen(table->align);
    int widths[COLUMNS];
    find_widths(table, columns, widths);
    for (size_t i = 0; !failed && i < table->count; i += columns) {
        print_row(table, i, columns, widths);
    }
    cli_table_free(table);
    return failed ? cli_fail("out of memory") : CLI_OK;
}
