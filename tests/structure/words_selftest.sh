#!/bin/sh
# SPDX-License-Identifier: MIT
# words_selftest.sh: words.sh accepts right names and finds planted faults.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="include src kernels bench examples tests"
comment='/* a crew,
 * in turn */'

try pass src/gemm/a.c 'hri_copy_pool *pool = NULL; /* no crew */ int a;'
try pass src/gemm/a.c 'const char *text = "a crew \" in turn";'
try pass src/gemm/a.c 'int turning, staged, staging, slabbed; // crew'
try pass src/gemm/a.c 'int64_t most = least;'
try pass kernels/dialect/a.c 'const int lane = HR_SUBGROUP_LANE;'
try pass src/verify/residual.c 'hri_lanes *lanes;'
try pass src/backends/host/builtin.c 'int64_t lanes;'
try fail src/gemm/a.c 'hri_crew *pool;'
try fail src/gemm/a.c 'int a; /* x */ int up_crew;'
try fail src/gemm/a.c 'hri_lane *lane;'
try fail src/runtime/a.h 'enum { HRI_MOST_QUEUES = 8 };'
try fail include/headrace/a.h '#define HR_LEAST 1'
try fail tests/unit/a.c 'static double pace;'
try fail bench/a.c 'double foreseen_seconds;'
plant
want fail "a tree without sources"
finish
