#!/bin/sh
# SPDX-License-Identifier: MIT
# The command ends when it is done, also where a library would not let it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

if [ -z "${HANGS_AT_EXIT:-}" ]; then
    echo "skip: programs with sanitizers run exit handlers"
    exit 77
fi

# hanging STATUS ARGUMENTS...
hanging() {
    status=$1
    shift
    ends "$status" env LD_PRELOAD="$HANGS_AT_EXIT" "$HEADRACE" "$@" </dev/null
}
hanging 0 --version
check grep -q '^headrace ' "$out"
hanging 0 devices --accelerators host
check grep -q '^host ' "$out"
hanging 2 matmul
check grep -q 'try headrace matmul --help' "$err"
hanging 1 devices --accelerators nowhere:0
hanging 0 bench matmul --size 16 --types f32 --repeat 1 --accelerators host \
    --peers none
LD_PRELOAD="$HANGS_AT_EXIT" "$HEADRACE" --version >/dev/full 2>"$err"
equal "status with a full disk" 1 $?
check is_sentence "cannot write to standard output"

# Under a limit of the address space OpenBLAS would wait for room for ever.
generate A.npy 500x500 f32
# limited KIB ARGUMENTS...
limited() (
    # shellcheck disable=SC3045 # ulimit -v is in every shell that we know
    ulimit -v "$1" || exit
    shift
    HEADRACE_THREADS=2 exec "$HEADRACE" "$@"
)
ends 0 limited 400000 matmul A.npy A.npy -o C.npy --accelerators host
ends 0 limited 400000 devices --accelerators host
check grep -q 'built-in' "$out"
export HEADRACE_CBLAS=libopenblas.so.0
refuses 1 "(ulimit -v)" limited 400000 devices --accelerators host
unset HEADRACE_CBLAS

# And a driver of OpenCL would end the command, or leave no room for its threads.
export HEADRACE_CUDA=off
for kib in 200000 250000 300000 350000 400000 450000 500000 600000; do
    ends 0 limited $kib matmul A.npy A.npy -o C.npy
done
unset HEADRACE_CUDA
refuses 1 "(ulimit -v)" limited 400000 devices --accelerators opencl
for kib in 40000 60000 100000 200000; do
    limited $kib matmul A.npy A.npy -o C.npy --accelerators host >"$out" \
        2>"$err"
    check [ $? -lt 2 ]
done

finish
