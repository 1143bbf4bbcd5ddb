#!/bin/sh
# SPDX-License-Identifier: MIT
# The command ends when it is done, also where a library would not let it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
unset HEADRACE_ACCELERATORS HEADRACE_MEMORY_LIMIT

if [ -z "${HANGS_AT_EXIT:-}" ]; then
    echo "skip: programs with sanitizers run exit handlers"
    exit 77
fi

# hanging STATUS ARGUMENTS...
hanging() {
    want=$1
    shift
    LD_PRELOAD="$HANGS_AT_EXIT" "$HEADRACE" "$@" >"$out" 2>"$err" </dev/null
    equal "status of $*" "$want" $?
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
"$HEADRACE" generate --shape 500x500 --type f32 -o A.npy || exit 1
# limited KIB VARIABLE=VALUE ARGUMENTS...
limited() (
    # shellcheck disable=SC3045 # ulimit -v is in every shell that we know
    ulimit -v "$1" || exit
    shift
    HEADRACE_THREADS=2 exec env "$@" >"$out" 2>"$err"
)
limited 400000 A=a "$HEADRACE" matmul A.npy A.npy -o C.npy --accelerators host
equal "status under a limit" 0 $?
limited 400000 A=a "$HEADRACE" devices --accelerators host
check grep -q 'built-in' "$out"
limited 400000 HEADRACE_CBLAS=libopenblas.so.0 "$HEADRACE" devices \
    --accelerators host
equal "status with the name of a CBLAS" 1 $?
check is_sentence "(ulimit -v)"

# And a driver of OpenCL would end the command, or leave no room for its threads.
for kib in 200000 250000 300000 350000 400000 450000 500000 600000; do
    limited $kib HEADRACE_CUDA=off "$HEADRACE" matmul A.npy A.npy -o C.npy
    equal "status under a limit of $kib KiB" 0 $?
done
limited 400000 A=a "$HEADRACE" devices --accelerators opencl
equal "status with OpenCL under a limit" 1 $?
check is_sentence "(ulimit -v)"
for kib in 40000 60000 100000 200000; do
    limited $kib A=a "$HEADRACE" matmul A.npy A.npy -o C.npy \
        --accelerators host
    check [ $? -lt 2 ]
done

finish
