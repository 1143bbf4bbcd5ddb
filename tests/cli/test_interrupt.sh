#!/bin/sh
# SPDX-License-Identifier: MIT
# Ctrl-C: status 1, "cancelled", no output and no temporary file.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
export DO

# interrupt MOMENT COMMANDS ARGUMENTS...: the shell's COMMANDS at that moment.
interrupt() {
    DO="[ \$0 = $1 ] || exit 0; : >'$base/met'; $2"
    shift 2
    echo earlier >C.npy
    rm -f "$base/met"
    refuses 1 "headrace: cancelled" "$TOOLS/moments" "$@" -o C.npy </dev/null
    check [ -e "$base/met" ]
    equal "C.npy" earlier "$(cat C.npy)"
    equal "temporaries" "" "$(temporaries)"
}

# shellcheck disable=SC2016 # the command's number, which that shell knows
interrupt='kill -INT $PPID' end='kill -TERM $PPID'
generate A.npy 300x300 f32
interrupt multiplying "$interrupt" matmul A.npy A.npy --accelerators host
interrupt multiplying "$end" matmul A.npy A.npy --accelerators 3xhost \
    --memory-limit 200KiB
interrupt verifying "$interrupt" matmul A.npy A.npy --accelerators host --verify
interrupt filtering "$interrupt" filter A.npy --window 5 --method direct \
    --accelerators host
interrupt filtering "$interrupt" filter A.npy --window 40 --method separable \
    --accelerators 3xhost --memory-limit 1MiB --edges clamped --tolerance 1e-14
interrupt generating "$interrupt" generate --shape 700x700 --type f64

# Work that does not end by itself is left behind: soon, or at a second signal.
# (Two alike may come as one.)
mkfifo "$base/never"
for signals in "$interrupt" "$interrupt; $end"; do
    interrupt multiplying "$signals; : <'$base/never'" matmul A.npy A.npy \
        --accelerators host
    : >"$base/never"
done

# A command that is killed cannot remove its file. The next one does.
# shellcheck disable=SC2016
DO='kill -KILL $PPID' "$TOOLS/moments" generate --shape 700x700 --type f64 \
    -o C.npy
equal "killed while it wrote" 137 $?
check [ -n "$(find . -name '.C.npy.*')" ]
generate B.npy 2x2 f32
equal "temporaries" "" "$(temporaries)"

finish
