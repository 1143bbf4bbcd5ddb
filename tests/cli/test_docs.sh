#!/bin/sh
# SPDX-License-Identifier: MIT
# The help, the manual pages and the completion name the same options, and the
# examples of the help work as they stand.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?}"
manual=$SOURCE/docs/man
completion=$SOURCE/tools/headrace.bash
commands="devices generate matmul filter report bench"

# The options that a subcommand's help lists.
options() {
    "$HEADRACE" help "$1" |
        sed -n '/^options:/,/^examples:/s/^  \(-[-a-z]*\).*/\1/p'
}

# The manual page of a subcommand, without its markup.
page() {
    sed 's/\\-/-/g; s/", "/ /g' "$manual/headrace-$1.1"
}

for command in $commands; do
    page "$command" >"$base/page"
    check [ -s "$base/page" ]
    check grep -q "BR headrace\\\\-$command (1)" "$manual/headrace.1"
    for option in $(options "$command"); do
        [ "$option" != --help ] || continue
        check grep -q "^.*$option\\b" "$base/page"
    done
done

# Output that is easily taken for an error.
expect 0 "one dimension is a row in A and a column in B" matmul --help
expect 0 "plain host" matmul --help
expect 0 "(that of A and B, but i32 for i8)" matmul --help
check grep -q '^One dimension is a row in A and a column in B' \
    "$manual/headrace.1" "$manual/headrace-matmul.1"

# bash completes "headrace COMMAND -" to the options that the help lists.
if command -v bash >/dev/null; then
    for command in $commands; do
        options "$command" | sort >"$base/want"
        bash -c '. "$1"; COMP_WORDS=(headrace "$2" -); COMP_CWORD=2; _headrace
            printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$command" |
            sort >"$base/got"
        check diff "$base/want" "$base/got"
    done
    bash -c '. "$1"; COMP_WORDS=(headrace matmul A --type b); COMP_CWORD=4
        _headrace; echo "${COMPREPLY[@]}"' bash "$completion" >"$out"
    equal "types" bf16 "$(cat "$out")"
    # What is offered is what the commands take.
    words() {
        bash -c '. "$1"; shift; COMP_WORDS=(headrace "$@" "")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _headrace
            printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@"
    }
    bash -c '. "$1"; COMP_WORDS=(headrace bench dialect -); COMP_CWORD=3
        _headrace; printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" |
        sort >"$base/got"
    "$HEADRACE" bench dialect --help |
        sed -n '/^options:/,/^examples:/s/^  \(-[-a-z]*\).*/\1/p' |
        sort >"$base/want"
    check diff "$base/want" "$base/got"
    equal "types of filters" "f32 f64" "$(words filter A --type | xargs)"
    for name in $(words bench grid --workload); do
        expect 0 "$name" bench grid --workload "$name" --size 16 --steps 1 \
            --repeat 1 --json
    done
    for name in $(words bench matmul --types); do
        expect 0 "" bench matmul --types "$name" --size 8 --repeat 1 \
            --peers none --accelerators host
    done
    for name in $(words bench matmul --peers); do
        what=matmul
        [ "$name" != cublas ] || what=sizes
        expect 0 "" bench $what --peers "$name" --size 8 --repeat 1 \
            --accelerators host
    done
else
    echo "no bash here: its completion was not tried"
fi

# Every long option in the manual pages is one of some subcommand.
for command in $commands; do options "$command"; done | sort -u >"$base/all"
printf '%s\n' --version >>"$base/all"
sed 's/\\-/-/g' "$manual"/*.1 | grep -o -e '--[a-z][-a-z]*' | sort -u |
    while read -r option; do
        grep -qx -e "$option" "$base/all" || echo "$option"
    done >"$out"
equal "options that only the manual page knows" "" "$(cat "$out")"

if command -v groff >/dev/null; then
    groff -man -ww -Tutf8 "$manual"/*.1 >/dev/null 2>"$err"
    check [ ! -s "$err" ]
fi

# The examples, with smaller matrices.
examples() {
    "$HEADRACE" help "$1" | sed -n '/^examples:/,$p' | sed 1d |
        sed -e ':a' -e '/\\$/N' -e 's/\\\n//' -e 'ta' |
        sed 's/8192/82/g; s/4096/41/g; s/2048/21/g'
}
ln -s "$HEADRACE" "$base/headrace"
generate A.npy 40x40 c32
generate B.npy 40x40 c32
generate A.raw 300x200 f32
generate B.raw 200x250 f32
for command in matmul report generate; do
    examples "$command" >"$base/examples"
    check [ -s "$base/examples" ]
    while read -r line; do
        check env "PATH=$base:$PATH" sh -c "$line" >"$out" 2>&1
    done <"$base/examples"
done

finish
