#!/bin/sh
# SPDX-License-Identifier: MIT
# run_host.sh ROOT: bench/run-host finds ratios that are too small, and those
# that are missing; the kept result has a ratio of each part.
set -eu
root=$1
command -v python3 >/dev/null || { echo "skip: no python3 here"; exit 77; }
for part in product kernel filter grid; do
    grep -q "^  \"$part " "$root/bench/results/host.json" || {
        echo "no ratio of a $part is kept"
        exit 1
    }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bench/results"
cp "$root/bench/run-host" "$folder/bench"
ratios() {
    echo "{\"cpu\": \"C\", \"ratios\": {\"product a\": $1,
        \"product a, first\": $2, \"grid b\": $3}}"
}
ratios 2 0.5 0.8 >"$folder/bench/results/host.json"

# try pass|fail WORDS: whether the ratios pass, and what is printed.
try() {
    got=pass
    python3 "$folder/bench/run-host" --ratios "$folder/now" >"$folder/log" ||
        got=fail
    if [ "$got" != "$1" ] || ! grep -qxF -e "$2" "$folder/log"; then
        echo "wanted $1, got $got; wanted: $2"
        cat "$folder/log"
        exit 1
    fi
}
ratios 2 0.5 0.8 >"$folder/now"
try pass '0 of 3 ratios are too small'
ratios 1.71 0.31 9 >"$folder/now"
try pass 'product a, first  0.31  0.50   0.62'
ratios 1.69 0.31 0.8 >"$folder/now"
try fail 'product a         1.69  2.00   0.84  SLOWER'
ratios 2 0.29 0.8 >"$folder/now"
try fail '1 of 3 ratios are too small'
echo '{"ratios": {"grid b": 0.1, "grid c": 1}}' >"$folder/now"
try fail '3 of 3 ratios are too small'
try fail 'product a        missing  SLOWER'
try fail 'grid c            1.00  not kept'
