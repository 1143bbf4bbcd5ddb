# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# selftest.sh: for the self tests of this folder, which source it. They show
# that a checker, $0 without _selftest, accepts what may be and finds what may
# not: each plants one file in a tree of its own.
checker=${0%_selftest.sh}.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
folders=                      # of every tree, beside that of the planted file
comment='/* a comment */'     # the planted file begins with it
failures=0

# plant: an empty tree with $folders.
plant() {
    rm -rf "$tree/t"
    mkdir "$tree/t"
    for folder in $folders; do
        mkdir -p "$tree/t/$folder"
    done
}

# want pass|fail WHAT: whether the checker accepts the tree that is there.
want() {
    got=pass
    sh "$checker" "$tree/t" >"$tree/log" || got=fail
    [ "$got" = "$1" ] && return 0
    echo "$2: wanted $1, got $got"
    cat "$tree/log"
    failures=$((failures + 1))
}

# try pass|fail FILE LINE: the same of a tree with this one file.
try() {
    plant
    mkdir -p "$tree/t/$(dirname "$2")"
    printf '%s\n%s\n' "$comment" "$3" >"$tree/t/$2"
    want "$1" "$2 with $3"
}

# finish: the last command of a self test.
finish() {
    echo "$failures failures"
    [ "$failures" -eq 0 ]
}
