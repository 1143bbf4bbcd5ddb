/* SPDX-License-Identifier: MIT */
/* Long work: loops over independent pieces on several threads, which a signal
 * can end between two pieces, and a line on standard error that tells how far
 * they are, only on a terminal. */
#ifndef CONSOLE_LOOP_H
#define CONSOLE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

typedef struct cli_progress {
    bool shown;
    const char *what;         /* "multiplying" */
    cli_text (*rate)(double); /* how done per second reads */
    double start, last;       /* clock */
    int width;                /* columns of the terminal */
} cli_progress;

/* Nothing is ever shown when quiet, or when standard error is no terminal. The
 * other two accept NULL. */
void cli_progress_start(cli_progress *progress, bool quiet, const char *what,
                        cli_text (*rate)(double));

/* done of total; redraws at most ten times a second. */
void cli_progress_update(cli_progress *progress, double done, double total);

/* Clear the line. */
void cli_progress_end(cli_progress *progress);

typedef void (*cli_loop_function)(void *data, int64_t index);

/* Call function(data, 0 .. count - 1), each once, in no order. progress may be
 * NULL; it counts in units of `unit` for each piece. False when cancelled. */
bool cli_loop(int64_t count, cli_loop_function function, void *data,
              cli_progress *progress, double unit);

#endif
