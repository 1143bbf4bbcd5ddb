/* SPDX-License-Identifier: MIT */
/* One line on standard error that tells how far long work is. Only on a
 * terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include "text.h"

typedef struct cli_progress {
    bool shown;
    const char *what;         /* "multiplying" */
    cli_text (*rate)(double); /* how done per second reads */
    double start, last;       /* clock */
    int width;                /* columns of the terminal */
} cli_progress;

/* Nothing is ever shown when quiet, or when standard error is no terminal. */
void cli_progress_start(cli_progress *progress, bool quiet, const char *what,
                        cli_text (*rate)(double));

/* done of total; redraws at most ten times a second. */
void cli_progress_update(cli_progress *progress, double done, double total);

/* Clear the line. */
void cli_progress_end(cli_progress *progress);

#endif
