#!/bin/sh
# SPDX-License-Identifier: MIT
# layers_selftest.sh: layers.sh accepts right includes and finds planted faults.
set -eu
checker=$(dirname "$0")/layers.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# try WANT FILE LINE: whether a tree with this one file passes.
try() {
    rm -rf "$tree/t"
    mkdir -p "$tree/t/$(dirname "$2")"
    printf '/* a comment */\n%s\n' "$3" >"$tree/t/$2"
    got=pass
    sh "$checker" "$tree/t" >/dev/null || got=fail
    if [ "$got" != "$1" ]; then
        echo "$2 with $3: wanted $1, got $got"
        failures=$((failures + 1))
    fi
}

try pass src/base/a.c '#include "base/b.h"'
try pass src/base/a.c '#include "b.h"'
try pass src/base/a.c '#include <headrace/status.h>'
try pass src/hal/a.c '#include "base/b.h"'
try pass src/backends/host/a.c '#include "hal/hal.h"'
try pass src/backends/host/a.c '#include "backends/host/b.h"'
try pass src/runtime/a.c '#include "hal/hal.h"'
try pass src/gemm/a.h '#include "runtime/runtime.h"'
try pass src/npy/a.c '#include "base/size.h"'
try pass src/cli/a.c '#include "cli/args.h"'
try pass src/cli/a.c '#include <stdio.h>'
try pass src/cli/a.c '#include "console/args.h"'
try pass bench/main.c '#include "console/args.h"'
try pass bench/workloads/a.c '#include "bench/bench.h"'
try pass src/console/a.c '#include "base/size.h"'
try fail src/console/a.c '#include "base/status.h"'
try fail src/console/a.c '#include "cli/commands.h"'
try fail src/cli/a.c '#include "bench/bench.h"'
try pass tests/cli/a.c '#include "support/reference.h"'
try pass examples/a.c '#include <headrace/headrace.h>'
try fail src/base/a.c '#include "hal/hal.h"'
try fail src/base/a.c '#include "runtime/runtime.h"'
try fail src/hal/a.c '#include "runtime/runtime.h"'
try fail src/hal/a.c '#include "backends/host/arithmetic.h"'
try fail src/backends/host/a.c '#include "backends/opencl/driver.h"'
try fail src/backends/host/a.c '#include "gemm/plan.h"'
try fail src/backends/host/a.c '#include "runtime/runtime.h"'
try fail src/runtime/a.c '#include "gemm/plan.h"'
try fail src/runtime/a.c '#include "backends/host/arithmetic.h"'
try fail src/gemm/a.c '#include "grid/grid.h"'
try fail src/grid/a.c '#include "gemm/plan.h"'
try fail src/gemm/a.c '#include "backends/host/arithmetic.h"'
try fail src/npy/a.c '#include "hal/hal.h"'
try fail src/cli/a.c '#include "base/size.h"'
try fail src/blas/a.c '#include "gemm/plan.h"'
try pass src/blas/a.c '#include "model/learn.h"'
try fail src/blas/a.c '#include "model/model.h"'
try fail src/runtime/a.c '#include "model/model.h"'
try fail src/mpi/a.c '#include "base/size.h"'
try fail examples/a.c '#include "base/size.h"'
try fail bench/a.c '#include "runtime/runtime.h"'
try pass bench/dialect/a.c '#include "backends/cuda/api.h"'
try fail bench/dialect/a.c '#include "runtime/runtime.h"'
try fail bench/peers/a.c '#include "backends/cuda/api.h"'
try fail tests/cli/a.c '#include "base/size.h"'
try fail include/headrace/a.h '#include "status.h"'
try fail src/base/a.c '#  include "hal/hal.h"'
try fail src/base/a.c '#include <hal/hal.h>'
try fail src/base/a.c '#include "../hal/hal.h"'
try fail src/base/a.c '#include HEADER'
try fail src/elsewhere/a.c 'int x;'
try fail none/a.c '#include "b.h"'

echo "$failures failures"
[ "$failures" -eq 0 ]
