#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh ROOT [CC [--print]]: the sizes of public structs, in bytes, are those of
# ROOT/tests/structure/abi.txt, which holds them as of the last release. Programs
# were built with these. A struct that starts with `uint32_t size` may be larger
# now, since the library reads as much as the program has. New ones may come.
# Prints each that is otherwise. --print writes a new list, for the next release.
# (debian/*.symbols has the functions.)
set -eu
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
{
    echo '#include <stdio.h>'
    echo '#include <headrace/headrace.h>'
    echo 'int main(void)'
    echo '{'
    sed -n 's/^typedef struct \(hr_[a-z0-9_]*\) {$/\1/p' include/headrace/*.h |
        sort -u | while read -r name; do
        sized=$(sed -n "/^typedef struct $name {/{n;p;}" include/headrace/*.h)
        case $sized in *'uint32_t size;'*) may=grows ;; *) may=stays ;; esac
        printf '    printf("%%s %%zu %%s\\n", "%s", sizeof(%s), "%s");\n' \
            "$name" "$name" "$may"
    done
    echo '    return 0;'
    echo '}'
} >"$scratch/sizes.c"
"${2:-cc}" -Iinclude "$scratch/sizes.c" -o "$scratch/sizes"
"$scratch/sizes" >"$scratch/now"
if [ "${3:-}" = --print ]; then
    cat "$scratch/now"
    exit
fi
awk '
NR == FNR { bytes[$1] = $2; may[$1] = $3; next }
/^#/ { next }
{ n++ }
!($1 in bytes) { print $1 " is gone"; bad++; next }
may[$1] != $3 { print $1 " " may[$1] ", but once it " $3; bad++ }
bytes[$1] < $2 || (bytes[$1] > $2 && $3 == "stays") {
    print $1 " has " bytes[$1] " bytes, and had " $2
    bad++
}
END {
    if (n == 0) {
        print "abi: there is no list"
    }
    exit bad > 0 || n == 0
}' "$scratch/now" tests/structure/abi.txt
