/* SPDX-License-Identifier: MIT */
/* Files of text that are read or written as a whole. "-" is standard input or
 * output. */
#ifndef CONSOLE_WHOLE_H
#define CONSOLE_WHOLE_H

#include <stdio.h>

/* Read a file that nobody writes meanwhile. The caller frees *text, also after
 * a failure; a 0 stands behind it. Returns an exit status. */
int cli_whole_read(const char *path, size_t max_bytes, char **text,
                   size_t *bytes);

/* A file that appears under its name when it is complete, or not at all.
 * cli_output_check has accepted its name. */
typedef struct cli_whole {
    const char *path;
    char *target, *temporary; /* without links; NULL: none */
    FILE *out;                /* NULL: none */
} cli_whole;

/* Create it under a temporary name. A signal removes that. Returns an exit
 * status. */
int cli_whole_create(cli_whole *whole, const char *path);

/* Give it its name, or send it to standard output. Returns an exit status. */
int cli_whole_commit(cli_whole *whole);

/* Remove what was not committed. One that is zeroed is accepted. */
void cli_whole_close(cli_whole *whole);

#endif
