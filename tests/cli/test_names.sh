#!/bin/sh
# SPDX-License-Identifier: MIT
# Names of files with control characters, and bytes that are no text, never
# reach a terminal as they are.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
HEADRACE_ACCELERATORS=host
export HEADRACE_ACCELERATORS
unset HEADRACE_MEMORY_LIMIT

# An escape sequence, a new line, a byte that is no UTF-8, CSI as one character
# of UTF-8, and letters, which stay.
raw=$(printf 'a\033[31mb\nc\377d\302\233e\303\251.npy')
shown=$(printf '%s\303\251.npy' 'a\x1b[31mb\nc\xffd\xc2\x9be')

# is_clean FILE: only printable characters and new lines, and the name is there.
is_clean() {
    ! LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177]')" "$1" &&
        ! LC_ALL=C grep -q "$(printf '\377')" "$1" &&
        ! LC_ALL=C grep -q "$(printf '\302\233')" "$1" &&
        grep -qF -e "$2" "$1"
}

for arguments in "matmul" "filter --window 1"; do
    # shellcheck disable=SC2086 # words
    "$HEADRACE" $arguments "$raw" "$raw" -o C.npy >"$out" 2>"$err"
    check [ $? -ne 0 ]
    equal "sentences of $arguments" 1 "$(wc -l <"$err")"
done
expect 1 "$shown: it cannot be opened" matmul "$raw" "$raw" -o C.npy
expect 2 "no command '$shown'" "$raw"
expect 2 "no option --$shown" matmul "--$raw"
expect 2 "$shown" devices --accelerators "$raw:0"
HEADRACE_CBLAS=$raw expect 1 "HEADRACE_CBLAS is \"$shown\"" devices \
    --accelerators host

# Results under such a name.
generate "$raw" 4x4 f32
ends 0 "$HEADRACE" matmul "$raw" "$raw" --add "$raw" -o "$raw.C"
check is_clean "$out" "$shown.C = $shown x $shown + $shown"
ends 0 "$HEADRACE" filter "$raw" --window 1 --weights box -o "$raw.F"
check is_clean "$out" "$shown.F = box of $shown"

# JSON has escapes of its own.
HEADRACE_ACCELERATORS='' HEADRACE_CUDA=$raw "$HEADRACE" devices --json >"$out" 2>"$err"
check "$TOOLS/json_check" 'machine[0].reason' <"$out"
check is_clean "$out" 'a\\x1b[31mb\\nc\\xffd\\xc2\\x9be'

finish
