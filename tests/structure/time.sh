#!/bin/sh
# SPDX-License-Identifier: MIT
# time.sh ROOT: time enters src through base/clock.c alone, in whose place a test
# can put a clock of its own. Prints each line that asks a clock, sleeps or waits
# until a time otherwise. Fails if there is one, or if nothing was looked at.
set -eu
cd "$1"
files=$(find src -name '*.[ch]' -o -name '*.inc' | sort)
[ -n "$files" ] || { echo "time: no sources in $1"; exit 1; }

# Exceptions, which have a reason: the command's timer ends it when nothing else
# in it runs any more, and processes compare times by the clock of MPI.
# shellcheck disable=SC2086 # one word for each file
! grep -nE '(^|[^a-zA-Z0-9_>.])(clock_[a-z]+|clock|time|times|gettimeofday|ftime|timespec_get|getrusage|_*rdtscp?|nanosleep|u?sleep|thrd_sleep|pthread_[a-z]+_(timed|clock)[a-z]*|(sem|mtx|cnd)_(timed|clock)[a-z]*|sigtimedwait|u?alarm|setitimer|timer_[a-z]+|timerfd_[a-z]+|p?select|omp_get_wtime|MPI_Wtime) *\(' \
    $files /dev/null |
    grep -vE '^src/(base/clock\.c|console/signals\.c:[0-9]+:.*timer_|mpi/.*MPI_Wtime)' |
    grep -vE '^[^:]*:[0-9]+: *(/?\*|//)'
