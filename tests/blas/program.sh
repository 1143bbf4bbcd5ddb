#!/bin/sh
# SPDX-License-Identifier: MIT
# program.sh LIBRARY WANTED COMMAND...: run a program that multiplies and checks
# its products, with LIBRARY preloaded. It must succeed, and at least WANTED of
# its calls must go to accelerators.
set -u
library=$1 wanted=$2
shift 2
command -v "$1" >/dev/null || { echo "skip: $1 is not installed"; exit 77; }
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
HEADRACE_LOG="summary,file=$log" LD_PRELOAD=$library "$@" </dev/null || exit 1
calls=$(sed -n 's/.*accelerators *\([0-9]*\) calls.*/\1/p' "$log")
echo "$calls calls went to accelerators"
[ "${calls:-0}" -ge "$wanted" ]
