/* SPDX-License-Identifier: MIT */
/* Texts for people, and tables with columns as wide as their cells. */
#ifndef CONSOLE_TEXT_H
#define CONSOLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantity.h"

/* The name of a file as a terminal may show it. */
typedef struct cli_path {
    char text[1024];
} cli_path;

cli_path cli_path_text(const char *path);

/* "2x3x4"; of no extents "()". */
typedef struct cli_extents {
    char text[160];
} cli_extents;

cli_extents cli_extents_text(const int64_t *extents, int rank);

/* Seconds of a clock that never runs backwards. */
double cli_clock(void);

typedef struct cli_table {
    const char *align; /* 'l' or 'r' for each column, 16 at most */
    char **cells;      /* row by row, the heading first */
    size_t count;
    bool failed; /* out of memory: nothing will be printed */
} cli_table;

/* Add the next cell. */
void cli_table_add(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Add the cells of a heading, "path|name|memory". */
void cli_table_head(cli_table *table, const char *names);

/* Add a number in this format. */
void cli_table_number(cli_table *table, const char *format, double number);

/* Print it to standard output and free it. Returns an exit status. */
int cli_table_print(cli_table *table);

/* Free what was added, so that the table is empty. */
void cli_table_free(cli_table *table);

#endif
