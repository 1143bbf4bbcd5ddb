#!/bin/sh
# SPDX-License-Identifier: MIT
# log.sh PROGRAM: what HEADRACE_LOG tells about calls that stay, are forced, or
# fall back. Without the variable nothing is printed.
set -u
program=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

# expect NAME PATTERN [VARIABLE=VALUE...]: the log has a line like this.
expect() {
    name=$1 pattern=$2
    shift 2
    rm -f "$folder/log"
    env HEADRACE_LOG="calls,summary,file=$folder/log" "$@" "$program" \
        >"$folder/out" 2>&1 || { cat "$folder/out"; failed=1; }
    if ! grep -Eq "$pattern" "$folder/log"; then
        echo "$name: no line like \"$pattern\" in"
        tail -n 5 "$folder/log"
        failed=1
    fi
}

three="HEADRACE_ACCELERATORS=3xhost"
expect forced 'NN 160 x 160 x 160: accelerators, .* s \(predicted -, .*[0-9]\)$' \
    HEADRACE_BLAS_FORCE=1 $three HEADRACE_MEMORY_LIMIT=1MiB
expect summary '^headrace: accelerators +[0-9]+ calls, .* GFLOP/s' \
    HEADRACE_BLAS_FORCE=1 $three HEADRACE_MEMORY_LIMIT=1MiB
expect opened 'accelerators opened in .* s' HEADRACE_BLAS_FORCE=1 $three
expect stays 'dgemm_ NN 160 x 160 x 160: stays, .* s .*\): [a-z]' \
    HEADRACE_BLAS_FORCE=0 HEADRACE_BLAS_MIN_FLOPS=1e6
expect 'no memory' 'dgemm_ NN 160 .*: falls back, .*: gemm: .* bytes' \
    HEADRACE_BLAS_FORCE=1 $three HEADRACE_MEMORY_LIMIT=16KiB
expect forked 'stays, .* s \(predicted -, .*\): the process was forked after ' \
    HEADRACE_BLAS_FORCE=1 $three
expect 'no accelerator' 'no accelerators: .*nonsense' \
    HEADRACE_BLAS_FORCE=1 HEADRACE_ACCELERATORS=nonsense

# Any log tells of settings that do not count.
for log in 1 calls summary; do
    expect 'not a number' 'HEADRACE_BLAS_MIN_FLOPS is "1e9x", not a number' \
        HEADRACE_BLAS_FORCE=0 HEADRACE_BLAS_MIN_FLOPS=1e9x \
        HEADRACE_LOG="$log,file=$folder/log"
    expect 'no force' 'HEADRACE_BLAS_FORCE is "yes", not 1' \
        HEADRACE_BLAS_FORCE=yes HEADRACE_LOG="$log,file=$folder/log"
done

# Words of HEADRACE_LOG that are not understood are reported on standard error.
env HEADRACE_BLAS_FORCE=1 $three HEADRACE_LOG="nonsense,file=$folder/none/log" \
    "$program" >"$folder/out" 2>&1 || failed=1
for word in 'HEADRACE_LOG has "nonsense"' 'none/log: No such file'; do
    grep -q "$word" "$folder/out" || { echo "not told: $word"; failed=1; }
done

# Small calls are not looked at.
rm -f "$folder/log"
HEADRACE_BLAS_FORCE='' HEADRACE_LOG="calls,file=$folder/log" "$program" \
    >"$folder/out" 2>&1 || failed=1
if [ -s "$folder/log" ] || grep -q headrace: "$folder/out"; then
    echo "small calls are told of"
    failed=1
fi
exit $failed
