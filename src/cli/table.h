/* SPDX-License-Identifier: MIT */
/* Tables for people: columns as wide as what stands in them. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_table {
    const char *align; /* 'l' or 'r' for each column; its length counts them */
    char **cells;      /* row by row, the heading first */
    size_t count, capacity;
    bool failed; /* out of memory: nothing will be printed */
} cli_table;

/* Add the next cell. */
void cli_table_add(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print it to standard output and free it. Returns an exit status. */
int cli_table_print(cli_table *table);

#endif
