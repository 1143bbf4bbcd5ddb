#!/bin/sh
# SPDX-License-Identifier: MIT
# amp.sh SOURCE: the names in docs/amp.md exist: each hr_ and HR_ name in the
# public headers. Every row that has an equal here has its line in amp.txt, in the
# same order, with tests that exist among the tests and examples. Prints each name
# and row for which this is wrong.
set -eu
cd "$1"
page=docs/amp.md
list=tests/structure/amp.txt
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
# | theirs | ours |
awk -F ' *[|] *' '/^\|/ && $2 !~ /^(C\+\+ AMP|-+)$/ && $3 !~ /^none:/ {
    gsub(/`/, "", $2)
    print $2
}' $page >"$rows"
[ -s "$rows" ] || { echo "amp: no rows in $page"; exit 1; }
bad=$(
    for name in $(grep -oE '`(hr|HR)_[A-Za-z0-9_]+`' $page | tr -d '`' | sort -u); do
        grep -qrw "$name" include/headrace || echo "$name is in no header"
    done
    for name in $(grep -v '^#' $list | sed 's/.* = //' | tr ' ' '\n' | sort -u); do
        case $name in
        example/*) [ -f "examples/${name#example/}.c" ] || echo "there is no $name" ;;
        *) ls tests/*/"$name.c" >/dev/null 2>&1 || echo "there is no $name" ;;
        esac
    done
    grep -v '^#' $list | sed 's/ = .*//' | diff "$rows" - |
        sed -n "s|^<|no line in $list:|p; s|^>|no row in $page:|p"
)
[ -z "$bad" ] || echo "$bad"
echo "$(grep -c . "$rows") rows, $(printf %s "$bad" | grep -c . || true) faults"
[ -z "$bad" ]
