#!/bin/sh
# SPDX-License-Identifier: MIT
# "-" is standard input and output. What is printed then goes to standard error.
# Special files are refused by name, and no file behind them is destroyed.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
HEADRACE_ACCELERATORS=host
TMPDIR=$base/temporary
export HEADRACE_ACCELERATORS TMPDIR
mkdir "$TMPDIR"

"$HEADRACE" generate --shape 30x20 --type f32 -o A.npy || exit 1
generate B.npy 20x25 f32
"$HEADRACE" matmul A.npy B.npy -o C.npy --quiet || exit 1
"$HEADRACE" filter A.npy -o F.npy --window 2 --quiet || exit 1

# stream STATUS ARGUMENTS...: run with A.npy as input and $out as output.
stream() {
    status=$1
    shift
    ends "$status" "$HEADRACE" "$@" <A.npy
    equal "left by $*" "" "$(ls -A "$TMPDIR")"
}

# Results, byte by byte the same as in files.
stream 0 generate --shape 30x20 --type f32 -o -
check cmp "$out" A.npy
stream 0 matmul A.npy B.npy -o -
check cmp "$out" C.npy
check grep -q '^- = A.npy x B.npy' "$err"
stream 0 matmul - B.npy -o - --json
check cmp "$out" C.npy
check "$TOOLS/json_check" m <"$err"
stream 0 matmul - B.npy -o - --quiet --verify
check cmp "$out" C.npy
equal "printed" "" "$(cat "$err")"
stream 0 filter - -o - --window 2 --quiet
check cmp "$out" F.npy
stream 0 matmul - B.npy -o D.npy
check cmp D.npy C.npy
check grep -q '^D.npy = - x B.npy' "$out"
# shellcheck disable=SC2002 # a pipe is what is tested
cat A.npy | "$HEADRACE" matmul - B.npy -o - 2>"$err" | cat >E.npy
check cmp E.npy C.npy
equal "no file is named -" "" "$(ls -- ./- 2>/dev/null)"
"$HEADRACE" matmul A.npy B.npy -o ./- --quiet </dev/null || exit 1
check cmp ./- C.npy
rm ./-

# One array of several.
json='{"w":{"dtype":"F32","shape":[30,20],"data_offsets":[0,2400]},'
json=$json'"\0303\0244":{"dtype":"F32","shape":[1],"data_offsets":[2400,2404]}}'
printf '%b' "$json" >text
{
    # shellcheck disable=SC2059 # an octal number
    printf "\\$(printf %o "$(wc -c <text)")\0\0\0\0\0\0\0"
    cat text
    tail -c 2400 A.npy
    printf 'four'
} >two.safetensors
"$HEADRACE" matmul -:w B.npy -o E.npy --quiet <two.safetensors || exit 1
check cmp E.npy C.npy
refuses 1 "$(printf '\303\244')" "$HEADRACE" matmul - B.npy -o E.npy \
    <two.safetensors
refuses 1 "standard input" "$HEADRACE" matmul -:v B.npy -o E.npy \
    <two.safetensors
rm text two.safetensors

# Input and output on which calls do not wait. The one is sent, and the other
# read, when the command has to wait for it; that is more than a pipe holds.
generate L.npy 300x300 f32
mkfifo "$base/reading" "$base/writing"
# shellcheck disable=SC2016,SC2089 # of that shell
DO='[ ! -p "$BASE/$0" ] || { : >"$BASE/$0" && rm -f "$BASE/$0"; }'
{ : <"$base/reading" && cat L.npy; } | {
    BASE=$base DO=$DO "$TOOLS/nonblocking" "$TOOLS/moments" matmul - L.npy \
        -o - --quiet
    echo $? >status
} 2>"$err" | { : <"$base/writing" && cat >E.npy; }
"$HEADRACE" matmul L.npy L.npy -o M.npy --quiet || exit 1
equal "status where calls do not wait" 0 "$(cat status)"
check cmp E.npy M.npy

# A result on its way there is for nobody else. Here the pipe is full.
"$HEADRACE" matmul L.npy L.npy -o - --quiet | {
    head -c 1 >E.npy
    find "$TMPDIR" -type f -perm 600 -name '.headrace-*' | wc -l >private
    cat >>E.npy
}
equal "files that are private" 1 "$(tr -d ' ' <private)"
check cmp E.npy M.npy
rm [EM].npy L.npy status private

# Why accelerators were left out is asked behind the work, and for a report
# alone. By then the reader has all, and a signal changes nothing.
planned() {
    rm -f calls
    HEADRACE_ACCELERATORS=host,1xhost HEADRACE=$TOOLS/moments stream "$@"
    plans=$(cat calls)
}
# shellcheck disable=SC2090
export DO CLOCK=0
# shellcheck disable=SC2016
DO='[ $0 != planning ] || printf p >>calls'
planned 0 matmul A.npy B.npy -o -
equal "plans for a report" pp "$plans"
planned 0 matmul A.npy B.npy -o - --quiet
equal "plans without one" p "$plans"
planned 0 matmul A.npy B.npy -o - --quiet --json
equal "plans for JSON" pp "$plans"
DO="$DO; [ \$(cat calls) != pp ] || kill -INT \$PPID"
planned 0 matmul A.npy B.npy -o -
check cmp "$out" C.npy
planned 0 matmul A.npy B.npy -o D.npy
check cmp D.npy C.npy
unset DO CLOCK

# One sentence when it cannot be.
printf words | "$HEADRACE" matmul - B.npy -o D.npy >"$out" 2>"$err"
equal "status with words" 1 $?
check is_sentence "standard input: "
stream 1 matmul - - -o D.npy
check is_sentence "only one file can be standard input"
"$HEADRACE" matmul A.npy B.npy -o - >/dev/full 2>"$err"
equal "status with a full disk" 1 $?
check is_sentence "standard output: No space left"
refuses 1 "standard input: it cannot be read: Is a directory" \
    "$HEADRACE" matmul - B.npy -o D.npy </
TMPDIR=/no/such refuses 1 "standard input: no copy can be made in /no/such" \
    "$HEADRACE" matmul - B.npy -o - <A.npy

# Special files, and names of files that are open.
echo earlier >kept
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
    "$HEADRACE" matmul A.npy B.npy -o "$name" >>kept 2>"$err"
    equal "status of -o $name" 2 $?
    check is_sentence "'$name' is standard output; say -o -"
done
refuses 1 "it stands for an open file, so it is not replaced" \
    "$HEADRACE" matmul A.npy B.npy -o /dev/fd/5 5>>kept
equal "the file behind" earlier "$(cat kept)"
mkfifo fifo
mkdir folder
expect 2 "'fifo' is not a regular file but a pipe" matmul A.npy B.npy -o fifo
expect 2 "'/dev/null' is not a regular file but a device" matmul A.npy B.npy -o /dev/null
expect 2 "'folder' is not a regular file but a folder" matmul A.npy B.npy -o folder
expect 1 "fifo: it is a pipe, not an ordinary file" matmul fifo B.npy -o D.npy
expect 1 "/dev/null: it is a device" matmul /dev/null B.npy -o D.npy

finish
