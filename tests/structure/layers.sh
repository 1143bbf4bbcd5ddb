#!/bin/sh
# SPDX-License-Identifier: MIT
# layers.sh ROOT: every file includes only what its layer may see. Prints each
# line that includes more. Fails if there is one, or if nothing was looked at.
set -eu
cd "$1"

# A layer is a folder; "X" in backends/X is each of its folders. Files name
# ours as "layer/file.h", a neighbour in their own folder as "file.h", and the
# public headers as <headrace/file.h>, which every file may include.
files=$(find include src examples bench tests/cli tests/install \
    -name '*.[ch]' 2>/dev/null | sort)
[ -n "$files" ] || { echo "layers: no sources in $1"; exit 1; }

# shellcheck disable=SC2086 # one word for each file
awk '
BEGIN {
    may["src/base"] = ""
    may["src/hal"] = "base"
    may["src/backends"] = "hal base"
    may["src/trace"] = "hal base"
    may["src/runtime"] = "trace hal base"
    may["src/kernels"] = "runtime trace hal base"
    may["src/model"] = "runtime trace hal base"
    may["src/distribute"] = "model/pays.h base"
    may["src/arrays"] = "kernels runtime trace hal base"
    may["src/checker"] = "arrays kernels runtime trace hal base"
    # May use everything, and nothing may use it.
    may["src/flow"] = "arrays kernels runtime trace hal base"
    may["src/context"] = "flow checker arrays kernels model runtime trace hal base"
    may["src/gemm"] = "flow distribute model runtime trace hal base"
    may["src/verify"] = "gemm/check.h runtime trace hal base"
    may["src/filter"] = "arrays distribute model runtime trace hal base"
    may["src/split"] = "arrays kernels distribute model runtime trace hal base"
    may["src/calls"] = "split arrays kernels distribute model runtime trace" \
        " hal base"
    may["src/grid"] = "calls/reduction.h arrays distribute model runtime trace" \
        " hal base"
    may["src/files"] = "base"
    # Programs of the shared library may use headers that need no object.
    pure = "base/arithmetic.h base/environment.h base/kind.h base/matrix.h" \
        " base/size.h"
    # Small objects that are linked into each of them.
    pure = pure " base/printable.h base/format.h base/member.h base/clock.h"
    may["src/blas"] = "model/learn.h model/pays.h " pure
    # With their .c files, but for that of status.h, in whose place is its own.
    may["src/mpi"] = "base/hash.h base/pages.h base/status.h base/structs.h " \
        "base/progress.h base/threads.h " pure
    may["src/pblas"] = "blas/loaded.h blas/log.h blas/threshold.h " pure # likewise
    may["src/console"] = "base/draft.h base/quantity.h base/status.h " pure # with their .c files
    may["src/cli"] = "console base/json.h base/status.h" # likewise
    may["include"] = ""
    may["bench"] = "bench console base trace/trace.h"
    # folders in examples
    may["examples"] = "support fdtd cartoonizer mandelbrot black_scholes " \
        "conjugate_gradient steady gray_scott cylinder"
    may["bench/peers"] = "bench console base backends/host/cblas.h" \
        " backends/cuda/cuda.h" # tables of symbols
    may["bench/dialect"] = "bench console backends base" # tables of symbols
    may["tests/cli"] = "support" # tests/support
    may["tests/install"] = ""
}
FNR == 1 {
    count = split(FILENAME, part, "/")
    layer = part[1]
    if (layer == "src" || layer == "tests") {
        layer = layer "/" part[2]
    }
    if (layer "/" part[2] in may) {
        layer = layer "/" part[2]
    }
    own = layer == "src/backends" ? "backends/" part[3] : part[2]
    if (!(layer in may)) {
        complain("is in no layer")
    }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    local = substr(name, 1, 1) == "\""
    name = substr(name, 2)
    sub(/[">].*/, "", name)
    if (!allowed(name, local)) {
        complain("includes " name)
    }
}
/^[ \t]*#[ \t]*include[ \t]*[^"< \t]/ {
    complain("includes through a macro")
}
function allowed(name, local,    list, i, n) {
    if (name ~ /\.\./ || name ~ /^\//) {
        return 0
    }
    if (!local) {
        # The system and the public headers, and no internal ones.
        return name !~ /^(base|hal|backends|trace|runtime|kernels|model|distribute|arrays|checker|flow|context|gemm|verify|filter|split|grid|files|console|cli|bench|blas|mpi|pblas)\//
    }
    if (layer == "include") {
        return 0
    }
    if (name !~ /\// || index(name, own "/") == 1) {
        return 1
    }
    n = split(may[layer], list, " ")
    for (i = 1; i <= n; i++) {
        if (index(name, list[i] "/") == 1 || name == list[i]) {
            return 1
        }
    }
    return 0
}
function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad++
}
END {
    exit bad > 0
}' $files
