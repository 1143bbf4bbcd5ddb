#!/bin/sh
# SPDX-License-Identifier: MIT
# Ctrl-C: soon status 1, "cancelled", no output and no temporary file.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
unset HEADRACE_ACCELERATORS HEADRACE_MEMORY_LIMIT

# interrupt SIGNAL|TWICE ARGUMENTS...: send the signal soon after the work has
# begun. False when the command was quicker.
interrupt() {
    signal=$1
    shift
    result=$("$TOOLS/send_signal" "$signal" .C.npy. "$HEADRACE" "$@" 2>"$err")
    case $result in # too late, also after the work was done
    *"finished before" | *"status 0 after"*) return 1 ;;
    esac
    echo "$signal to headrace $1: $result"
    seconds=${result#status 1 after }
    check [ "$seconds" != "$result" ]      # status 1
    check [ "${seconds%%.*}" -lt 10 ]      # promised is 1; machines are busy
    check is_sentence "headrace: cancelled"
    equal "C.npy" earlier "$(cat C.npy)"
    equal "temporaries" "" "$(find . -name '.*' ! -name .)"
}

# long SIGNAL OPTIONS...: a product that takes long enough on this machine.
long() {
    how=$1
    shift
    for size in 2000 4000 8000 16000; do
        echo earlier >C.npy
        "$HEADRACE" generate --shape ${size}x$size --type i8 -o A.npy || exit 1
        interrupt "$how" matmul A.npy A.npy -o C.npy "$@" && return
    done
    failed "no product took long enough"
}

long INT --accelerators host
long TWICE --accelerators host
long TERM --accelerators 3xhost --memory-limit 64MiB

# long_filter METHOD OPTIONS...: likewise, a filter.
long_filter() {
    for size in 2000 4000 8000 16000; do
        echo earlier >C.npy
        "$HEADRACE" generate --shape ${size}x$size --type f32 -o A.npy || exit 1
        interrupt INT filter A.npy -o C.npy --window 40 --method "$@" && return
    done
    failed "no filter took long enough"
}

long_filter direct --accelerators host
long_filter separable --accelerators 3xhost --memory-limit 64MiB \
    --edges clamped --tolerance 1e-14
echo earlier >C.npy
met=no
for rows in 10000 20000 40000; do
    interrupt INT generate --shape ${rows}x10000 --type f64 -o C.npy &&
        met=yes && break
    echo earlier >C.npy
done
equal "a file took long enough to write" yes $met

# A command that is killed cannot remove its file. The next one does.
met=no
for rows in 10000 20000 40000; do
    result=$("$TOOLS/send_signal" KILL .C.npy. "$HEADRACE" generate \
        --shape ${rows}x10000 --type f64 -o C.npy)
    if [ -n "$(find . -name '.C.npy.*')" ]; then
        met=yes && break
    fi
done
equal "killed while it wrote" yes $met
"$HEADRACE" generate --shape 2x2 --type f32 -o B.npy || exit 1
equal "temporaries" "" "$(find . -name '.*' ! -name .)"

finish
