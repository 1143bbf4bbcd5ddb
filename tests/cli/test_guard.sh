#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/guard finds ratios in the rows of every benchmark. They are not checked.
# shellcheck source-path=SCRIPTDIR source=lib.sh
guard=$(cd "$(dirname "$0")/../.." && pwd)/bench/guard
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { echo "skip: no python3 here"; exit 77; }
export SMALL=1 OUT="$base"
check python3 "$guard" host >"$out" 2>"$err"
for row in 'product f32 ordinary 64 on host' \
    'product f32 ordinary 64 on 2xhost@1MiB, first' 'size f32 ordinary 16' \
    'batch f64 ordinary 16' 'grid jacobi on host' \
    'filter auto 50 on host, one' 'call sum f32 5000' \
    'stream ordinary on 2xhost' 'kernel naive on host' \
    'dialect host transpose' 'run saxpy'; do
    check grep -q "^$row .* not kept\$" "$out"
done
check grep -q '^0 of 0 kept ratios are too small or missing, ' "$out"
equal "rows without ratios" '' "$(grep -E 'Error|exit code' "$out")"
finish
