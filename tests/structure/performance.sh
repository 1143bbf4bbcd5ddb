#!/bin/sh
# SPDX-License-Identifier: MIT
# performance.sh ROOT: bench/table makes the tables of docs/performance.md from
# bench/results, and bench/pictures makes docs/speed*.svg from them. Tables and
# the data of pictures are right for sample results, with their commits.
set -eu
root=$1
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
python3 "$root/bench/table" --check
"$root/bench/pictures" --check

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bench" "$folder/bench/results" "$folder/docs"
cp "$root/bench/table" "$folder/bench"
page=$folder/docs/performance.md
{
    echo before
    for name in machines products limits sizes batches opencl grids filters \
        calls streams; do
        printf '<!-- bench/table %s begins -->\n<!-- bench/table %s ends -->\n' \
            "$name" "$name"
    done
    echo after
} >"$page"
python3 "$folder/bench/table"
[ "$(grep -c '^No results are kept' "$page")" = 10 ]

results=$folder/bench/results
case='"part": "a", "m": 10, "n": 30, "k": 20, "type": "f32", "memory": "pinned",
    "commit": "abc", "cpu": "C", "compiler": "cc", "list": "cuda:0",
    "accelerator_count": 1, "device": "GPU", "list_memory_limit": 0'
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
    case='"part": "sizes", "bench": "sizes", "commit": "abd", "cpu": "C",
        "compiler": "cc", "type": "f64", "memory": "pinned"'
    for m in 8 512; do
        echo "{$case, \"name\": \"auto\", \"kind\": \"auto\", \"m\": $m,
            \"n\": $m, \"k\": $m, \"first_seconds\": 0.0125,
            \"min_seconds\": 2.5e-7, \"over_best_list\": 1.25,
            \"over_best\": null}"
        echo "{$case, \"name\": \"host\", \"kind\": \"list\", \"m\": $m,
            \"n\": $m, \"k\": $m, \"first_seconds\": 0.5,
            \"min_seconds\": 2e-7}"
        echo "{$case, \"name\": \"cuBLAS 99.1\", \"kind\": \"cublas\",
            \"m\": $m, \"n\": $m, \"k\": $m, \"note\": \"not offered\"}"
    done | tr -d '\n' | sed 's/}{/}\n{/g'
    echo
} >"$results/h200-1.jsonl"
grid() { # COMMIT GPUS SECONDS
    echo "{\"part\": \"grid\", \"bench\": \"grid\", \"commit\": \"$1\",
        \"cpu\": \"C\", \"compiler\": \"cc\", \"workload\": \"heat\",
        \"extent\": [8, 7, 6], \"steps\": 9, \"list\": \"cuda\",
        \"accelerator_count\": $2, \"device\": \"GPU\", \"min_seconds\": $3,
        \"cells_per_second\": 2e12, \"effective_bytes_per_second\": 1.6e12,
        \"of_copy\": 0.8, \"hidden\": null, \"speed_up\": 1.9,
        \"efficiency\": 0.95}" | tr -d '\n'
    echo
}
{
    grid abe 1 0.875
    grid abe 2 0.5
} >"$results/h200-2.jsonl"
echo '{"runs": [{"commit": "abf", "cpu": "D"}, {"commit": "abg", "cpu": "D"}],
    "rows": {"batch f32 ordinary 16": {"median": 2, "values": [1, null, 3]}}}' \
    >"$results/guard-h200-1.json"
if python3 "$folder/bench/table" --check; then
    echo "a page without its tables passes"
    exit 1
fi
python3 "$folder/bench/table"
python3 "$folder/bench/table" --check
# shows LINE...: the file `in` has them.
shows() {
    for line; do
        grep -qxF -e "$line" "$in" || {
            echo "missing: $line"
            cat "$in"
            exit 1
        }
    done
}
in=$page
# shellcheck disable=SC2016 # quotes of Markdown
shows before after '| file | GPUs | CPUs | commits |' \
    '| `h200-1.jsonl` | 1 x GPU | C | abc, abd |' \
    '| `guard-h200-1.json` | 1 x H200 | D | abf, abg |' \
    '| 10 x 30 x 20 | f32 | pinned | 1 | 1 s | 50 | 90 % | 25 | 2.00 |' \
    'Commit abc.' '| 1 | f32 | pinned | 60 | 50 | 40 | 70 |' \
    '| f64 | 512 | - | - | - | 0.25 | - |' 'Commit abd.' \
    '| `guard-h200-1` | f32 | 16 | 2.00 | 1.00 | 3.00 |' \
    '| heat | 2 | 500 ms | 2000 | 80 % | 1.90 |' 'Commit abe.'
if grep -qE '875 ms|[|] 8 [|]' "$page"; then
    echo "rows that nobody chose are in the page"
    exit 1
fi
# rows of several commits
{
    grid abh 4 0.25
    grid abi 4 0.125
} >"$results/h200-4.jsonl"
python3 "$folder/bench/table"
shows '| heat | 2 | 500 ms | 2000 | 80 % | 1.90 | abe |' \
    '| heat | 4 | 125 ms | 2000 | 80 % | 1.90 | abi |'
grid abh 4 0.25 >"$results/h200-4.jsonl"
python3 "$folder/bench/table"
shows 'Commits, by GPUs: abe (2), abh (4).'

# All rows of a file.
in=$folder/all
python3 "$folder/bench/table" --plain "$results/h200-1.jsonl" |
    sed 's/   */ | /g' >"$in"
shows '### h200-1' '1 | f32 | pinned | 60 | 50 | 40 | 70' \
    'size | auto | host | cuBLAS 99.1 | over lists | over all | auto, first' \
    '8 | 0.25 | 0.2 | - | 1.25 | - | 12500' \
    '10 x 30 x 20 | f32 | 1 | 1 s | 50 | 1.25 s | 500 ms | 30 us | link | 1.50 | 90 % | 25 (4096) | 2.00 | -'
python3 "$folder/bench/table" --plain "$results/h200-2.jsonl" |
    sed 's/   */ | /g' >"$in"
shows 'heat | 8 x 7 x 6 | 9 | 2 | 500 ms | 2e+03 | 1.6 | 80 % | - | 1.90 | 95 %'

# Pictures: the ideal, the limit, and no peer of another commit.
case='"bench": "matmul", "m": 16384, "n": 16384, "k": 16384, "type": "f32",
    "memory": "ordinary", "cpu": "C & D", "device": "GPU", "compiler": "cc",
    "flops": 8796093022208'
points() { # LIST COUNT SECONDS COMMIT PEER'S SECONDS
    echo "{$case, \"kind\": \"headrace\", \"name\": \"$1\", \"list\": \"$1\",
        \"commit\": \"abc\", \"accelerator_count\": $2, \"min_seconds\": $3,
        \"limits\": {\"seconds\": 0.5, \"flops_per_second\": 6e13,
        \"links\": {\"both\": 7e10}}, \"bytes\": {\"host_to_device\": 2097152,
        \"device_to_host\": 2097152}}" | tr -d '\n'
    echo
    echo "{$case, \"kind\": \"cublasxt\", \"name\": \"cuBLASXt on $1\",
        \"list\": \"$1\", \"commit\": \"$4\", \"compiler\": \"cc\",
        \"accelerator_count\": $2, \"min_seconds\": $5}" | tr -d '\n'
    echo
}
{
    points cuda:0 1 4 abc 8
    points cuda:0,cuda:1 2 2.5 abd 5
    points cuda 4 1 abc 4
    points host 1 32 abc 32 | sed 's/"GPU"/"CPU"/'
} >"$folder/rows"
python3 "$root/bench/plot.py" "$folder/rows" --data >"$folder/data"
python3 - "$folder/data" <<'EOF'
import json
import sys

data = json.load(open(sys.argv[1]))
scaling, roofline = data["panels"]
flops = 2 * 16384**3
seconds = {one["name"]: dict(zip(one["x"], [flops / y for y in one["y"]]))
           for one in scaling["series"]}
assert scaling["x"] == "GPUs", scaling
assert seconds == {"Headrace": {1: 4, 2: 2.5, 4: 1},
                   "cuBLASXt": {1: 8, 4: 4}, "ideal": {1: 4, 2: 2, 4: 1},
                   "limit of the machine": {1: 0.5, 2: 0.5, 4: 0.5}}, seconds
assert [(one["name"], one["x"], one["link"], one["peak"])
        for one in roofline["series"]] == [
    ("Headrace, " + name, [2**21], 7e10, 6e13)
    for name in ("cuda:0", "cuda:0,cuda:1", "cuda", "host")], roofline
assert data["from"][0] == "4 x GPU; C & D", data["from"]
EOF
check() {
    python3 "$root/bench/plot.py" "$folder/rows" --check "$folder/picture.svg"
}
echo '<svg><desc></desc></svg>' >"$folder/picture.svg"
if check 2>/dev/null; then
    echo "a picture without data passes"
    exit 1
fi
{
    echo '<svg><desc>'
    sed 's/&/\&amp;/g' "$folder/data"
    echo '</desc></svg>'
} | tr -d '\n' >"$folder/picture.svg"
check
