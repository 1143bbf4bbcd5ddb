/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/whole.h"

/* A picture of the rows. plot.py draws it, in a process that starts before
 * anything is measured. A zeroed struct has none. */
typedef struct bench_plot {
    bench_peer process;
    cli_whole file;
} bench_plot;

extern const cli_kind bench_plot_file; /* const char *: "rates.svg" */

/* Start the process, create the file under a temporary name, and have the rows
 * written to the process from now on. Returns an exit status. */
int bench_plot_start(bench_plot *plot, const char *path, bench_rows *rows);

/* Have the rows drawn, and give the file its name. Returns an exit status. */
int bench_plot_finish(bench_plot *plot, const bench_rows *rows);

/* End the process. Removes the file unless it is finished. Accepts a zeroed
 * struct. */
void bench_plot_close(bench_plot *plot);

#endif
