#!/bin/sh
# SPDX-License-Identifier: MIT
# The progress bar: it is shown on a terminal, with a rate and the time left,
# and removed when the work is done. With --quiet there is none.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
unset HEADRACE_ACCELERATORS HEADRACE_MEMORY_LIMIT

# Whether a bar was drawn as it must be.
has_bar() {
    tr '\r' '\n' <"$err" >"$base/lines"
    grep -Eq "^$1 \[#* *\] +[0-9]+%  .*/s  .* left" "$base/lines"
}

for size in 2000 4000 8000 16000; do
    "$HEADRACE" generate --shape ${size}x$size --type i8 -o A.npy || exit 1
    "$TOOLS/in_terminal" "$HEADRACE" matmul A.npy A.npy -o C.npy >"$err"
    got=$?
    [ "$got" -eq 77 ] && echo "skip: no terminal can be made here" && exit 77
    equal "status" 0 $got
    if has_bar multiplying; then
        break
    fi
done
check has_bar multiplying
equal "the bar is cleared in the end" "$(printf '\r\033[K')" \
    "$(tail -c 4 "$err")"

"$TOOLS/in_terminal" "$HEADRACE" matmul A.npy A.npy -o C.npy --verify --quiet \
    >"$err"
equal "quiet" "" "$(cat "$err")"
"$HEADRACE" matmul A.npy A.npy -o C.npy >"$out" 2>"$err"
equal "no terminal" "" "$(cat "$err")"

for size in 1000 2000 4000 8000 16000; do
    "$HEADRACE" generate --shape ${size}x$size --type f32 -o A.npy || exit 1
    "$TOOLS/in_terminal" "$HEADRACE" filter A.npy -o C.npy --window 30 \
        --method direct >"$err"
    equal "status" 0 $?
    if has_bar filtering; then
        break
    fi
done
check has_bar filtering
check grep -q 'element/s' "$base/lines"
"$TOOLS/in_terminal" "$HEADRACE" filter A.npy -o C.npy --window 3 --quiet \
    >"$err"
equal "a quiet filter" "" "$(cat "$err")"

for size in 2000 4000 8000; do
    "$HEADRACE" generate --shape ${size}x$size --type i8 -o A.npy || exit 1
    "$TOOLS/in_terminal" "$HEADRACE" matmul A.npy A.npy -o C.npy --verify \
        >"$err"
    equal "status" 0 $?
    if has_bar verifying; then
        break
    fi
done
check has_bar verifying

finish
