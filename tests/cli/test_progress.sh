#!/bin/sh
# SPDX-License-Identifier: MIT
# The progress bar: it is shown on a terminal, with a rate and the time left,
# and removed when the work is done. With --quiet there is none.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# bar WHAT ARGUMENTS...: a bar is drawn as it must be. A second passes whenever
# the command looks at its clock.
bar() {
    what=$1
    shift
    CLOCK=1 "$TOOLS/in_terminal" "$TOOLS/moments" "$@" >"$err"
    got=$?
    [ "$got" -eq 77 ] && echo "skip: no terminal can be made here" && exit 77
    equal "status" 0 "$got"
    tr '\r' '\n' <"$err" >"$base/lines"
    check grep -Eq "^$what \[#* *\] +[0-9]+%  .*/s  .* left" "$base/lines"
    equal "the bar is cleared in the end" "$(printf '\r\033[K')" \
        "$(tail -c 4 "$err")"
}

# quiet ARGUMENTS...: none is drawn.
quiet() {
    CLOCK=1 "$TOOLS/in_terminal" "$TOOLS/moments" "$@" >"$err"
    equal "words on the terminal" "" "$(cat "$err")"
}

# Such a small file is written by the thread that draws.
bar generating generate --shape 300x300 --type i8 -o A.npy
bar multiplying matmul A.npy A.npy -o C.npy
bar verifying matmul A.npy A.npy -o C.npy --verify
quiet matmul A.npy A.npy -o C.npy --verify --quiet
CLOCK=1 "$TOOLS/moments" matmul A.npy A.npy -o C.npy >"$out" 2>"$err"
equal "no terminal" "" "$(cat "$err")"

generate A.npy 300x300 f32
bar filtering filter A.npy -o C.npy --window 30 --method direct
check grep -q 'element/s' "$base/lines"
quiet filter A.npy -o C.npy --window 3 --quiet

finish
