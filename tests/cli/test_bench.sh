#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace bench: rows, ratios and verified results; its figures are not judged
# here.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
unset HEADRACE_ACCELERATORS HEADRACE_MEMORY_LIMIT
TMPDIR=$base
export TMPDIR

field() { # PATH: of every line
    "$TOOLS/json_check" -l "$1" <"$out"
}

expect 0 '"bench": "matmul"' bench matmul --shape 90x100x110 --types f32 \
    --repeat 2 --accelerators '2xhost@1MiB' --from-files --json
check field commit >/dev/null
check field min_seconds >/dev/null
check field accelerators'[1].bytes.peer' >/dev/null
equal "name" '2xhost@1MiB, cold files' "$(field name | grep cold)"
equal "verified" true "$(field verified)"
equal "n" 110 "$(field n | head -n 1)"
equal "nothing left" "err out work" "$(cd "$base" && echo *)"

expect 0 "of cblas" bench matmul --size 64 --types f64,i8 --repeat 1
check grep -q '^host ' "$out"
check grep -q '^4xhost@128MiB ' "$out"
check grep -q '^i8, 64x64 times 64x64' "$out"

# Ctrl-C removes the folder and what is in it.
TMPDIR=$PWD "$TOOLS/send_signal" INT headrace-bench- "$HEADRACE" bench matmul \
    --size 1000 --types f32 --from-files >"$out" 2>"$err"
check grep -q "^status 1 after" "$out"
check is_sentence "headrace: cancelled"
equal "nothing left after Ctrl-C" "" "$(ls -A)"

expect 2 "--accelerators: " bench matmul --accelerators 'host;,' --size 8
expect 1 "nowhere" bench matmul --accelerators 'host;nowhere' --size 8
finish
