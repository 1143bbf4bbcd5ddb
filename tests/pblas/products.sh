#!/bin/sh
# SPDX-License-Identifier: MIT
# products.sh MPIRUN PROCESSES LIBRARY PROGRAM COUNT: test_pblas with LIBRARY
# preloaded. Its calls must be computed by Headrace, but for matrices of which
# every process has all.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
HEADRACE_BLAS_MIN_FLOPS=0 HEADRACE_LOG=1,file=$folder/log \
    "$1" -n "$2" env LD_PRELOAD="$3" "$4" "$5" || exit 1
computed=$(grep -c ': accelerators, ' "$folder/log")
passed_on=$(grep -c ': falls back, ' "$folder/log")
replicated=$(grep ': falls back, ' "$folder/log" |
    grep -c 'process (.*-1.*) has the first block')
echo "$computed computed, $passed_on passed on, of which $replicated replicated"
[ $((computed + passed_on)) -ge $(($5 * 9 / 10)) ] &&
    [ "$passed_on" -eq "$replicated" ] && [ "$computed" -gt "$passed_on" ]
