#!/bin/sh
# SPDX-License-Identifier: MIT
# performance.sh ROOT: bench/table makes the tables of docs/performance.md from
# bench/results, and bench/picture.py makes docs/speed.svg from them. Both make
# the right rows and bars from sample results.
set -eu
root=$1
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
python3 "$root/bench/table" --check
python3 "$root/bench/picture.py" --check

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bench" "$folder/bench/results" "$folder/docs"
cp "$root/bench/table" "$root/bench/picture.py" "$folder/bench"
printf 'before\n<!-- bench/table begins -->\n<!-- bench/table ends -->\nafter\n' \
    >"$folder/docs/performance.md"
case='"part": "a", "m": 10, "n": 30, "k": 20, "type": "f32", "memory": "pinned",
    "commit": "abc", "cpu": "C", "compiler": "cc", "list": "cuda:0",
    "accelerator_count": 1, "device": "GPU"'
{
    echo "{$case, \"kind\": \"cublasxt\", \"block\": 4096, \"tflops\": 25,
        \"min_seconds\": 2}" | tr -d '\n'
    echo
    echo "{$case, \"kind\": \"headrace\", \"tflops\": 50, \"min_seconds\": 1,
        \"median_seconds\": 1.25, \"first_seconds\": 0.5,
        \"predicted_seconds\": 3e-5, \"bound\": \"link\",
        \"bytes\": {\"ratio\": 1.5}, \"of_limit\": 0.905, \"limits\": {
        \"flops_per_second\": 6e13,
        \"links\": {\"up\": 5e10, \"down\": 4e10, \"both\": 7e10}}}" | tr -d '\n'
    echo
    echo '{"part": "grid", "bench": "grid", "commit": "abd", "cpu": "C",
        "compiler": "cc", "workload": "heat", "extent": [8, 7, 6], "steps": 9,
        "list": "cuda", "accelerator_count": 2, "device": "GPU",
        "min_seconds": 0.5, "cells_per_second": 2e11,
        "effective_bytes_per_second": 1.6e12, "of_copy": 0.8, "hidden": null,
        "speed_up": 1.9, "efficiency": 0.95}' | tr -d '\n'
    echo
    case='"part": "sizes", "bench": "sizes", "commit": "abd", "cpu": "C",
        "compiler": "cc", "type": "f64", "memory": "pinned", "m": 8, "n": 8,
        "k": 8'
    {
        echo "{$case, \"name\": \"auto\", \"kind\": \"auto\",
            \"first_seconds\": 0.0125, \"min_seconds\": 2.5e-7,
            \"over_best_list\": 1.25, \"over_best\": null}"
        echo "{$case, \"name\": \"host\", \"kind\": \"list\",
            \"first_seconds\": 0.5, \"min_seconds\": 2e-7}"
        echo "{$case, \"name\": \"cuBLAS 99.1\", \"kind\": \"cublas\",
            \"note\": \"not offered\"}"
    } | tr -d '\n' | sed 's/}{/}\n{/g'
    echo
} >"$folder/bench/results/gpu-1.jsonl"
if python3 "$folder/bench/table" --check; then
    echo "a page without its tables passes"
    exit 1
fi
python3 "$folder/bench/table"
python3 "$folder/bench/table" --check
page=$folder/docs/performance.md
for line in before after '### gpu-1' '| 1 | f32 | pinned | 60 | 50 | 40 | 70 |' \
    '| size | auto | host | cuBLAS 99.1 | over lists | over all | auto, first |' \
    '| 8 | 0.25 | 0.2 | - | 1.25 | - | 12500 |' \
    '| heat | 8 x 7 x 6 | 9 | 2 | 500 ms | 200 | 1.6 | 80 % | - | 1.90 | 95 % |' \
    '| 10 x 30 x 20 | f32 | 1 | 1 s | 50 | 1.25 s | 500 ms | 30 us | link | 1.50 | 90 % | 25 (4096) | 2.00 | - |'; do
    grep -qxF -e "$line" "$page" || {
        echo "missing: $line"
        cat "$page"
        exit 1
    }
done

# The picture has bars of the machine with more GPUs, and no peer of another
# commit.
case='"part": "c", "m": 16384, "n": 16384, "k": 16384, "type": "f32",
    "memory": "ordinary", "cpu": "C & D", "device": "GPU", "runs": 3,
    "library": "cuBLASXt 1.2"'
bars() {
    echo "{$case, \"kind\": \"headrace\", \"list\": \"$1\", \"commit\": \"abc\",
        \"accelerator_count\": $2, \"tflops\": $3, \"flops\": 6e13,
        \"limits\": {\"seconds\": 0.5}}" | tr -d '\n'
    echo
    echo "{$case, \"kind\": \"cublasxt\", \"list\": \"$1\", \"commit\": \"$4\",
        \"accelerator_count\": $2, \"tflops\": $5}" | tr -d '\n'
    echo
}
picture=$folder/docs/speed.svg
says() {
    grep -qF -e "$1" "$picture" || {
        echo "missing: $1"
        cat "$picture"
        exit 1
    }
}
if python3 "$folder/bench/picture.py" --check; then
    echo "a picture that is not there passes"
    exit 1
fi
python3 "$folder/bench/picture.py"
says 'No results are kept'
bars cuda:0 1 11.5 abc 2.25 >"$folder/bench/results/gpu-1.jsonl"
{
    bars cuda:0 1 12.5 abc 3.25
    bars cuda:0,cuda:1 2 24.5 abd 6.25
} >"$folder/bench/results/gpu-2.jsonl"
if python3 "$folder/bench/picture.py" --check; then
    echo "a picture of other results passes"
    exit 1
fi
python3 "$folder/bench/picture.py"
python3 "$folder/bench/picture.py" --check
for words in '>12.5 of 120<' '>3.25<' '>2 GPUs<' '>24.5 of 120<' \
    '2 x GPU, C &amp; D.' 'Commits abc. cuBLASXt 1.2'; do
    says "$words"
done
if grep -e '6\.25' -e '11\.5' "$picture"; then
    echo "the picture compares what was not measured together"
    exit 1
fi
