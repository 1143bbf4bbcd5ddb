#!/bin/sh
# SPDX-License-Identifier: MIT
# amp.sh SOURCE: the names in docs/amp.md exist: each hr_ and HR_ name in the
# public headers, and each test among the tests and examples. Every row that has
# an equal here has a test. Prints each name and row for which this is wrong.
set -eu
cd "$1"
page=docs/amp.md
bad=$(
    for name in $(grep -oE '`(hr|HR)_[A-Za-z0-9_]+`' $page | tr -d '`' | sort -u); do
        grep -qrw "$name" include/headrace || echo "$name is in no header"
    done
    for name in $(grep -oE '`(test_[a-z_]+|example/[a-z_]+)`' $page | tr -d '`' | sort -u); do
        case $name in
        example/*) [ -f "examples/${name#example/}.c" ] || echo "there is no $name" ;;
        *) ls tests/*/"$name.c" >/dev/null 2>&1 || echo "there is no $name" ;;
        esac
    done
    # | theirs | ours | tests | ...
    awk -F '|' '/^\|/ && $2 !~ /C\+\+ AMP|---/ && $3 !~ /^ - $/ &&
        $4 !~ /test_|example/ { print "no test:" $2 }' $page
)
[ -z "$bad" ] || echo "$bad"
echo "$(grep -c '^|' $page) rows, $(printf %s "$bad" | grep -c . || true) faults"
[ -z "$bad" ]
