#!/bin/sh
# SPDX-License-Identifier: MIT
# refuses.sh STATUS WORDS PROGRAM ARGUMENTS: it ends with STATUS and says why in
# one line with WORDS; with KILOBYTES of memory, where that is set.
set -u
status=$1
words=$2
shift 2
# shellcheck disable=SC3045 # in dash, bash and ksh
[ -z "${KILOBYTES:-}" ] || ulimit -v "$KILOBYTES" || exit 1
error=$("$@" 2>&1 >/dev/null)
got=$?
printf '%s\n' "$error"
[ "$got" -eq "$status" ] && [ "$(printf '%s\n' "$error" | wc -l)" -eq 1 ] &&
    printf '%s' "$error" | grep -qF -e "$words"
