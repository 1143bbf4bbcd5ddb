/* SPDX-License-Identifier: MIT */
/* What a measurement was made on, and with, and what times come to. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/json.h"

/* Whether /proc/cpuinfo lists this flag. */
bool bench_cpu_has(const char *flag);

/* The CPU's name and the number of processors in use. */
void bench_cpu_name(char *name, size_t size);

/* A row of `headrace bench BENCH`, begun with what it was measured with. */
cli_json bench_json_begin(const char *bench);

/* Of one time or more; puts them into order. */
void bench_sum_up(double *seconds, int64_t count, double *best, double *median);

/* Note a time: that of the first run (0), or the best of those after it. */
void bench_note(int64_t run, double seconds, double *first, double *best);

#endif
