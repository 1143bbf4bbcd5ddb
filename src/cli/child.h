/* SPDX-License-Identifier: MIT */
/* A program that answers lines of text with lines of text. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct cli_child {
    pid_t process; /* 0: none */
    FILE *to, *from;
} cli_child;

/* Start it with these arguments and this environment. What it writes to
 * standard error is lost. */
bool cli_child_start(cli_child *child, const char *path, char *const *arguments,
                     char *const *environment);

/* End its input and wait until it has exited. Accepts a zeroed one. */
void cli_child_stop(cli_child *child);

/* One more line of its output, without the line end. False at its end. */
bool cli_child_read(cli_child *child, char *line, size_t size);

#endif
