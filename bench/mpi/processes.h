/* SPDX-License-Identifier: MIT */
/* What the programs of this folder share: their processes, and times. */
#ifndef BENCH_MPI_PROCESSES_H
#define BENCH_MPI_PROCESSES_H

#include <math.h>
#include <mpi.h>
#include <stdio.h>

#include <headrace/headrace.h>

static int rank, process_count;

static inline void fail(const char *why)
{
    fprintf(stderr, "process %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void require_ok(hr_status status)
{
    if (status != HR_OK) {
        fail(hr_last_error());
    }
}

/* The rows of the grid of processes that is nearest to a square. */
static inline int process_rows(void)
{
    int rows = (int)sqrt((double)process_count);
    while (process_count % rows != 0) {
        rows--;
    }
    return rows;
}

/* Seconds of the slowest process. */
typedef struct times {
    double first, best;
} times;

static inline void note_time(times *t, double begin)
{
    const double own = MPI_Wtime() - begin;
    double seconds = own;
    MPI_Allreduce(&own, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    t->first = t->first > 0 ? t->first : seconds;
    t->best = t->best > 0 && t->best < seconds ? t->best : seconds;
}

#endif
