#!/bin/sh
# SPDX-License-Identifier: MIT
# words_selftest.sh: words.sh accepts right names and finds planted faults.
set -eu
checker=$(dirname "$0")/words.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# try WANT FILE LINE: whether a tree with this one file passes.
try() {
    rm -rf "$tree/t"
    for folder in include src kernels bench examples tests; do
        mkdir -p "$tree/t/$folder"
    done
    mkdir -p "$tree/t/$(dirname "$2")"
    printf '/* a crew,\n * in turn */\n%s\n' "$3" >"$tree/t/$2"
    got=pass
    sh "$checker" "$tree/t" >/dev/null || got=fail
    if [ "$got" != "$1" ]; then
        echo "$2 with $3: wanted $1, got $got"
        failures=$((failures + 1))
    fi
}

try pass src/gemm/a.c 'hri_copy_pool *pool = NULL; /* no crew */ int a;'
try pass src/gemm/a.c 'const char *text = "a crew \" in turn";'
try pass src/gemm/a.c 'int turning, staged, staging, slabbed; // crew'
try pass src/gemm/a.c 'int64_t most = least;'
try pass kernels/dialect/a.c 'const int lane = HR_SUBGROUP_LANE;'
try pass src/gemm/verify_lanes.c 'hri_lanes *lanes;'
try fail src/gemm/a.c 'hri_crew *pool;'
try fail src/gemm/a.c 'int a; /* x */ int up_crew;'
try fail src/gemm/a.c 'hri_lane *lane;'
try fail src/runtime/a.h 'enum { HRI_MOST_QUEUES = 8 };'
try fail include/headrace/a.h '#define HR_LEAST 1'
try fail tests/unit/a.c 'static double pace;'
try fail bench/a.c 'double foreseen_seconds;'
rm -rf "$tree/t"
mkdir "$tree/t"
for folder in include src kernels bench examples tests; do
    mkdir "$tree/t/$folder"
done
sh "$checker" "$tree/t" >/dev/null && {
    echo "a tree without sources passes"
    failures=$((failures + 1))
}
echo "$failures failures"
[ "$failures" -eq 0 ]
