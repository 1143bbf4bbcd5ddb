#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace devices: tables, JSON, lists, limits, measurements.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

expect 0 "arithmetic" devices
check grep -q '^host ' "$out"

# The C compiler for kernels of text.
HEADRACE_CC=/bin/sh expect 0 '"machine"' devices --accelerators host --json
equal "compiler" /bin/sh "$(json 'accelerators[0].compiler')"
check "$TOOLS/json_check" 'machine[0].compiler' <"$out" >/dev/null
HEADRACE_CC=/bin/sh expect 0 " /bin/sh " devices
HEADRACE_CC=off expect 0 "none: HEADRACE_CC is off" devices

expect 0 '"version": "0.1.0"' devices --accelerators host --json
equal "path" host "$(json 'accelerators[0].path')"
equal "in place" true "$(json 'accelerators[0].in_place')"
equal "rates unasked" "" "$(json 'accelerators[0].rates.f32_flops_per_second')"
check "$TOOLS/json_check" 'machine[0].reason' <"$out" >/dev/null

expect 0 '"machine"' devices --accelerators 3xhost --memory-limit 64MiB --json
equal "third" 'host#2' "$(json 'accelerators[2].path')"
equal "limit" 67108864 "$(json 'accelerators[2].memory_limit')"
equal "fourth" "" "$(json 'accelerators[3].path')"
HEADRACE_ACCELERATORS=2xhost HEADRACE_MEMORY_LIMIT=1MiB \
    expect 0 '"machine"' devices --json
equal "second, by environment" 'host#1' "$(json 'accelerators[1].path')"
equal "its limit" 1048576 "$(json 'accelerators[1].memory_limit')"

expect 0 '"rates"' devices --measure --accelerators 2xhost \
    --memory-limit 64MiB --json
for rate in up_bytes down_bytes f32_flops f64_flops; do
    value=$(json "accelerators[1].rates.${rate}_per_second")
    check [ "${value%%[.e]*}" -gt 0 ]
done

# Predictions and results are kept for later processes.
cache=${HEADRACE_CACHE:-}
export HEADRACE_CACHE="$base/cache"
expect 0 "within 1.3" devices --measure --accelerators host
check grep -q '^products  *0 ' "$out"
check grep -q 'FLOP/s' "$out"
generate a.npy 40x40 f32
ends 0 "$HEADRACE" matmul a.npy a.npy -o c.npy --accelerators host
expect 0 '"predictions"' devices --measure --accelerators host --json
equal "engine" products "$(json 'predictions[0].engine')"
equal "runs" 1 "$(json 'predictions[0].runs')"
equal "of others" 0 "$(json 'predictions[3].runs')"
check [ "$(json 'predictions[0].seconds')" != 0 ]
expect 0 '"machine"' devices --accelerators host --json
equal "unasked" "" "$(json 'predictions[0].runs')"
HEADRACE_CACHE=$cache

# A device is measured once, whatever the number of its virtual accelerators.
expect 0 '"rates"' devices --measure --accelerators host,64xhost \
    --memory-limit 1MiB --json
for rate in up_bytes down_bytes f32_flops f64_flops; do
    for index in 2 64; do
        equal "$rate of $index" \
            "$(json "accelerators[1].rates.${rate}_per_second")" \
            "$(json "accelerators[$index].rates.${rate}_per_second")"
    done
done
equal "in place" 0 "$(json 'accelerators[0].rates.up_bytes_per_second')"

# Only what the list names is looked for: some OpenCL drivers end the process.
loads() {
    LD_DEBUG=files "$HEADRACE" devices "$@" 2>&1 | grep -c 'file=libOpenCL'
}
if [ "$(loads)" -gt 0 ]; then
    equal "OpenCL loaded for host" 0 "$(loads --accelerators host)"
    equal "the same from outside" 0 \
        "$(HEADRACE_ACCELERATORS=2xhost loads --json)"
    expect 0 "not in the list" devices --accelerators host
fi

# A CBLAS that cannot be used: the host says so, others go on.
export HEADRACE_CBLAS=libnot-there.so.1
expect 1 'HEADRACE_CBLAS is "libnot-there.so.1"' devices --accelerators host
export HEADRACE_CUDA=off
expect 0 'no: HEADRACE_CBLAS is "libnot-there.so.1"' devices
check grep -q '^cuda ' "$out"
expect 0 'HEADRACE_CBLAS is \"libnot-there.so.1\"' devices --measure --json
unset HEADRACE_CUDA
if "$HEADRACE" devices --accelerators opencl >/dev/null 2>&1; then
    expect 0 'HEADRACE_CBLAS is "libnot-there.so.1"' devices \
        --accelerators all,opencl
    check grep -q '^opencl.* yes$' "$out"
    # The same for a CLBlast.
    export HEADRACE_CLBLAST=libnot-there.so.1
    expect 1 'HEADRACE_CLBLAST is "libnot-there.so.1", not a usable CLBlast: ' \
        devices --accelerators opencl
    expect 0 'HEADRACE_CLBLAST names no usable CLBlast' devices
    HEADRACE_CLBLAST=off expect 0 opencl devices --accelerators opencl
    unset HEADRACE_CLBLAST
fi
unset HEADRACE_CBLAS

# Singular and plural: PoCL can be told to have no devices.
POCL_DEVICES=none "$HEADRACE" devices >"$out" 2>"$err"
equal "1 drivers" 0 "$(grep -c 'has 1 drivers' "$out")"

# A missing driver is no error, unless it was asked for.
export HEADRACE_CUDA=/nowhere/libcuda.so.1
expect 0 "no: /nowhere/libcuda.so.1: cannot open" devices
expect 1 "/nowhere/libcuda.so.1" devices --accelerators cuda
expect 1 "/nowhere/libcuda.so.1" devices --accelerators cuda:0
unset HEADRACE_CUDA

# Malformed lists, and devices that do not exist.
expect 2 "--accelerators, character 1: " devices --accelerators ,
expect 2 "--accelerators, character 1: " devices --accelerators 0xhost
expect 1 "nowhere" devices --accelerators nowhere:0
expect 1 "host" devices --accelerators host:7
HEADRACE_ACCELERATORS=, expect 1 "HEADRACE_ACCELERATORS" devices
HEADRACE_MEMORY_LIMIT=12x expect 1 "HEADRACE_MEMORY_LIMIT" devices
HEADRACE_THREADS=none expect 1 "HEADRACE_THREADS" devices
HEADRACE_THREADS=3 expect 0 '"compute_units": 3' devices --accelerators host \
    --json
HEADRACE_THREADS=3 expect 0 '"compute_units": 2' devices --accelerators host \
    --json --threads 2
expect 2 "--threads: '0' is not a whole number from 1 to 1024" devices --threads 0
expect 2 "--threads: '1025' is not" devices --threads 1025

# The picture: whole or not at all, and with the numbers of the same run.
expect 0 '"path": "host#1"' devices --accelerators host,2xhost --memory-limit 1GiB \
    --svg "$base/m.svg" --json
if command -v python3 >/dev/null; then
    equal "the picture" "" "$(python3 "$(dirname "$0")/picture_check.py" \
        "$out" "$base/m.svg" 2>&1)"
    sed 's/>up [0-9]/>up 999/' "$base/m.svg" >"$base/wrong.svg"
    check [ -n "$(python3 "$(dirname "$0")/picture_check.py" "$out" \
        "$base/wrong.svg")" ]
else
    echo "not tested here: no python3, so the picture's numbers were not read"
fi
expect 1 "nowhere" devices --accelerators host --svg "$base/nowhere/m.svg"
expect 2 "--svg needs a value" devices --svg

finish
