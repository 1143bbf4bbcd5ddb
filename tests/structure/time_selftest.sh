#!/bin/sh
# SPDX-License-Identifier: MIT
# time_selftest.sh: time.sh accepts what may be and finds what may not.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="src/base"
try pass src/base/clock.c 'clock_gettime(CLOCK_MONOTONIC, &t);'
try pass src/gemm/a.c 'uint64_t now_ns = hri_clock_ns();'
try pass src/gemm/a.c 'hri_sleep_ns(5);'
try pass src/gemm/a.c ' * the time (of a task)'
try pass src/gemm/a.c 'side->time(data);'
try pass src/gemm/a.c 'write_time(seconds);'
try pass src/mpi/a.c 'begin = MPI_Wtime();'
try pass src/console/signals.c 'timer_settime(timer, 0, &grace, NULL);'
try fail src/console/signals.c 'nanosleep(&moment, NULL);'
try fail src/base/clock.h 'clock_gettime(CLOCK_MONOTONIC, &t);'
try fail src/gemm/a.c 'begin = MPI_Wtime();'
try fail src/gemm/a.c '(void)nanosleep(&moment, NULL);'
try fail src/gemm/a.h 'usleep (10);'
try fail src/gemm/a.inc 'pthread_cond_timedwait(&c, &l, &t);'
try fail src/gemm/a.c 'pthread_mutex_clocklock(&l, c, &t);'
try fail src/blas/a.c 'x = time(NULL);'
try fail src/cli/a.c 'alarm(3);'
try fail src/runtime/a.c 'timer_create(CLOCK_MONOTONIC, NULL, &t);'
try fail include/a.h 'int a;'
finish
