#!/bin/sh
# SPDX-License-Identifier: MIT
# guard.sh ROOT: bench/run-host and bench/run-gpu guard measure with a command
# that only prints, find ratios that are too small or missing, measure them
# again, and keep runs; what is kept of the host has ratios of each kind.
set -eu
root=$1
command -v python3 >/dev/null || { echo "skip: no python3 here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p bench/results out
cp "$root/bench/guard" "$root/bench/build" "$root/bench/run-host" \
    "$root/bench/run-gpu" bench
# HEADRACE shows one GPU, and the streams of its n-th call have the ratios in
# line n of ratios, or in the last line.
cat >headrace <<'END'
#!/bin/sh
row() {
    echo '{"commit": "c", "cpu": "C", "compiler": "gcc", "list": "one",' \
        "\"memory\": \"$1\", \"of_limit\": $2}"
}
case "$1 $2" in
devices*)
    echo '{"machine": [{"path": "host", "name": "C"},
        {"path": "cuda:0", "name": "NVIDIA Z9"}, {"path": "opencl:0:0",
        "name": "'"$OPENCL"'"}]}'
    ;;
*stream)
    read -r pinned ordinary <ratios
    [ "$(wc -l <ratios)" = 1 ] || { sed 1d ratios >rest && mv rest ratios; }
    [ "$pinned" = - ] || row pinned "$pinned"
    row ordinary "$ordinary"
    ;;
*grid)
    case "$*" in
    *opencl*)
        echo '{"commit": "c", "cpu": "C", "compiler": "gcc", "workload": "w",
            "name": "opencl:0:0", "of_copy": 0.5, "accelerator_count": 1,
            "copy_bytes_per_second": 1}' | tr -d '\n'
        ;;
    esac
    ;;
esac
END
chmod +x headrace
export HEADRACE="$folder/headrace" OUT="$folder/out" HEADRACE_CUBLAS=x
export HEADRACE_NVRTC=x OCL_ICD_VENDORS="$folder" OPENCL

# try pass|fail RATIOS COMMAND...: run it, and see whether it passes. RATIOS:
# lines for HEADRACE.
try() {
    want=$1
    printf '%b\n' "$2" >ratios
    shift 2
    got=pass
    "$@" >log 2>&1 || got=fail
    [ "$got" = "$want" ] || complain "wanted $want, got $got"
}

# shows LINE: the last command has printed it.
shows() {
    grep -qxF -e "$1" log || complain "wanted: $1"
}

complain() {
    echo "$1"
    cat log ratios
    exit 1
}

# kept MACHINE RATIO...: keep a run of each ratio of pinned memory.
kept() {
    machine=$1
    shift
    for ratio in "$@"; do
        echo "{\"machine\": \"$machine\", \"date\": \"1-$ratio\",
            \"opencl\": true, \"cpu\": \"C\", \"ratios\": {
            \"stream pinned on one\": $ratio, \"grid w on opencl\": 0.5,
            \"stream ordinary on one\": 0.5}}" >"run-$ratio"
    done
    python3 bench/guard --merge run-*
    rm run-*
}

# entry MACHINE OPENCL OTHER COMMAND...: a script for a kind of machine, whose
# device is OPENCL, not OTHER.
entry() {
    echo "-- $*"
    machine=$1
    OPENCL=$2
    other=$3
    shift 3
    # nothing is kept
    try pass '0.8 0.5' "$@"
    shows 'stream pinned on one      0.8  not kept'
    # two runs have no limit
    kept "$machine" 0.80 0.81
    try pass '0.1 0.1' "$@"
    shows 'stream pinned on one      0.1  0.805     0.12      0'
    # 0.8 +- 2.5 per cent: 10 per cent less pass, and no more
    kept "$machine" 0.78 0.79 0.82
    try pass '0.721 0.5' "$@"
    shows 'stream pinned on one    0.721    0.8     0.90   0.72'
    try fail '0.719 0.5' "$@"
    shows 'stream pinned on one    0.719    0.8     0.90   0.72  SLOWER'
    shows 'stream ordinary on one    0.5    0.5     1.00   0.48'
    shows '1 of 3 kept ratios are too small or missing, 0 are not kept'
    # at least 4 per cent
    try fail '0.8 0.479' "$@"
    # twice more
    try pass '0.7 0.5\n0.6 0.1\n0.8 0.1' "$@"
    shows 'stream pinned on one      0.8    0.8     1.00   0.72'
    shows 'stream ordinary on one    0.5    0.5     1.00   0.48'
    try fail '0.7 0.5\n0.7 0.5\n0.7 0.5\n0.8 0.5' "$@"
    # missing
    try fail '- 0.5' "$@"
    shows 'stream pinned on one        -    0.8  MISSING'
    OPENCL=$other
    try pass '0.8 0.5' "$@"
    shows 'grid w on opencl            -    0.5  no such device here'
    # the five newest runs are kept, and a run can be compared again
    rm out/*
    try pass '0.9 0.5' "$@" --keep
    try pass '' python3 bench/guard --ratios out/guard-"$machine"-*
    shows 'stream pinned on one      0.9   0.81     1.11   0.59'
    rm out/*
}
entry host-c C 'NVIDIA Z9' bench/run-host
entry z9-1 'NVIDIA Z9' C bench/run-gpu guard

for kind in product size batch grid filter call stream kernel dialect run; do
    grep -q "^  \"$kind " "$root"/bench/results/guard-host-*.json || {
        echo "no ratio of a $kind is kept"
        exit 1
    }
done
