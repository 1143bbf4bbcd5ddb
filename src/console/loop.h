/* SPDX-License-Identifier: MIT */
/* Long work: loops over independent pieces on several threads. A signal can end
 * them between two pieces. On a terminal, a line on standard error shows the
 * progress. */
#ifndef CONSOLE_LOOP_H
#define CONSOLE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

typedef struct cli_progress {
    bool shown;
    const char *what;             /* "multiplying" */
    hri_quantity (*rate)(double); /* the text for work done per second */
    double start, last;           /* of the clock */
    int width;                    /* columns of the terminal */
} cli_progress;

/* Start, update and end the line. It is not shown if quiet, or when standard
 * error is no terminal. The other two accept NULL. */
void cli_progress_start(cli_progress *progress, bool quiet, const char *what,
                        hri_quantity (*rate)(double));

/* `done` of `total` is done. The line is drawn again at most ten times a
 * second. */
void cli_progress_update(cli_progress *progress, double done, double total);

/* The same as an hr_progress_function. False after a signal. */
bool cli_progress_told(void *progress, double done, double total);

/* Clear the line. */
void cli_progress_end(cli_progress *progress);

/* Say how many threads loops use from now on. Without this they use as many as
 * contexts do by default. */
void cli_loop_threads(int64_t threads);

typedef void (*cli_loop_function)(void *data, int64_t index);

/* Call function(data, 0 .. count - 1) once each, in any order. progress may be
 * NULL. Each piece counts `unit` there. False when cancelled. */
bool cli_loop(int64_t count, cli_loop_function function, void *data,
              cli_progress *progress, double unit);

#endif
