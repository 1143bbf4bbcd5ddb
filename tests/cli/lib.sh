# SPDX-License-Identifier: MIT
# Read by the other scripts here: an empty folder to work in, and checks that
# are counted. CTest sets HEADRACE, the command, and TOOLS, the helpers' folder.
# shellcheck shell=sh
set -u
LC_ALL=C
export LC_ALL
: "${HEADRACE:?}" "${TOOLS:?}"
base=$(mktemp -d "${TMPDIR:-/tmp}/headrace-cli-XXXXXX") || exit 1
trap 'rm -rf "$base"' EXIT
trap 'exit 1' INT TERM
mkdir "$base/work" && cd "$base/work" || exit 1
unset HEADRACE_ACCELERATORS HEADRACE_MEMORY_LIMIT
real=$HEADRACE # also where HEADRACE becomes something that starts it
out=$base/out
err=$base/err
checks=0
failures=0

failed() {
    failures=$((failures + 1))
    {
        echo "failed: $*"
        sed 's/^/    stdout: /' "$out" 2>/dev/null | head -n 20
        sed 's/^/    stderr: /' "$err" 2>/dev/null | head -n 40
    } >&2
}

# check COMMAND...: it must succeed.
check() {
    checks=$((checks + 1))
    "$@" || failed "$*"
}

# expect STATUS WORDS ARGUMENTS...: run the command. It must end with STATUS. If
# that is 0, nothing is on standard error and WORDS are in standard output;
# else nothing is on standard output, one sentence with WORDS is on standard
# error, and no file has appeared, gone or changed.
expect() {
    want=$1
    words=$2
    shift 2
    checks=$((checks + 1))
    before=$(ls -Ali)
    "$HEADRACE" "$@" >"$out" 2>"$err" </dev/null
    got=$?
    if [ "$got" -ne "$want" ]; then
        failed "headrace $*: status $got instead of $want"
    elif [ "$want" -eq 0 ]; then
        [ ! -s "$err" ] || failed "headrace $*: words on standard error"
        [ -z "$words" ] || grep -qF -e "$words" "$out" ||
            failed "headrace $*: no '$words'"
    else
        [ ! -s "$out" ] || failed "headrace $*: words on standard output"
        is_sentence "$words" || failed "headrace $*: no sentence with '$words'"
        [ "$before" = "$(ls -Ali)" ] || failed "headrace $*: it left something"
    fi
}

# ends STATUS COMMAND...: it must end so. What it prints is in $out and $err.
ends() {
    want=$1
    shift
    "$@" >"$out" 2>"$err"
    equal "status of $*" "$want" $?
}

# refuses STATUS WORDS COMMAND...: it must end so, with one sentence with WORDS.
refuses() {
    status=$1
    sentence=$2
    shift 2
    ends "$status" "$@"
    check is_sentence "$sentence"
}

# is_sentence WORDS: standard error is one message of ours with these words.
is_sentence() {
    [ "$(wc -l <"$err")" -eq 1 ] && grep -q '^headrace: ' "$err" &&
        grep -qF -e "$1" "$err"
}

# generate NAME SHAPE TYPE [ORDER]: a file of numbers that depend on its name.
generate() {
    "$real" generate --shape "$2" --type "$3" --order "${4:-row}" --quiet \
        --seed "$(echo "$1" | cksum | cut -d' ' -f1)" -o "$1" || exit 1
}

# temporaries: files that are not complete, or were not removed.
temporaries() {
    find . -name '.*' ! -name .
}

# json PATH: the value at PATH in the last output.
json() {
    "$TOOLS/json_check" "$1" <"$out"
}

# equal WHAT WANT GOT
equal() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || failed "$1: '$3' instead of '$2'"
}

finish() {
    echo "$checks checks, $failures failures"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit
}
