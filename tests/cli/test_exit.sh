#!/bin/sh
# SPDX-License-Identifier: MIT
# The command ends when it is done, also where a library would not let it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
unset HEADRACE_ACCELERATORS HEADRACE_MEMORY_LIMIT

if [ -z "${HANGS_AT_EXIT:-}" ]; then
    echo "sanitizers run exit handlers"
    exit 77
fi

# hanging STATUS ARGUMENTS...
hanging() {
    want=$1
    shift
    timeout -s KILL 60 env LD_PRELOAD="$HANGS_AT_EXIT" "$HEADRACE" "$@" \
        >"$out" 2>"$err" </dev/null
    equal "status of $*" "$want" $?
}
hanging 0 --version
check grep -q '^headrace ' "$out"
hanging 0 devices --accelerators host
check grep -q '^host ' "$out"
hanging 2 matmul
check grep -q 'try headrace matmul --help' "$err"
hanging 1 devices --accelerators nowhere:0
hanging 0 bench matmul --size 16 --types f32 --repeat 1 --accelerators host \
    --peers none
timeout -s KILL 60 env LD_PRELOAD="$HANGS_AT_EXIT" "$HEADRACE" --version \
    >/dev/full 2>"$err"
equal "status with a full disk" 1 $?
check is_sentence "cannot write to standard output"

finish
