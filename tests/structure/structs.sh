#!/bin/sh
# SPDX-License-Identifier: MIT
# structs.sh SOURCE: each public struct that starts with `uint32_t size` has a
# row in tests/unit/test_structs.c, which makes it smaller and larger, and a line
# there with its last field, behind which the test wants no padding. Prints each
# that has none. Fails if there is one, or if no struct is found.
set -eu
cd "$1"
test=tests/unit/test_structs.c
# "NAME LAST" of each; comments are left out first.
structs=$(awk '{
        text = ""
        for (rest = $0; rest != ""; rest = at > 0 ? substr(rest, at + 2) : "") {
            at = index(rest, inside ? "*/" : "/*")
            text = text (inside ? "" : at > 0 ? substr(rest, 1, at - 1) : rest)
            inside = at > 0 ? !inside : inside
        }
    }
    text ~ /^typedef struct / { name = $3; sized = 0 }
    text ~ /^ *uint32_t size;/ { sized = 1 }
    text ~ /^}/ { if (name != "" && sized) { print name, last } name = "" }
    text ~ /;/ {
        sub(/(\[[^;]*)?;.*/, "", text)
        sub(/.*[ *]/, "", text)
        last = text
    }' include/headrace/*.h)
# Any form of the field, so that no struct is missed.
fields=$(grep -cwh 'uint32_t size' include/headrace/*.h |
    awk '{ n += $1 } END { print n }')
count=$(echo "$structs" | grep -c . || true)
lasts=$(tr -d ' \n' <$test)
bad=$(echo "$structs" | while read -r name last; do
    grep -q "^ *ROW($name," $test || echo "$name has no row in $test"
    case $lasts in
    *"LAST($name,$last),"*) ;;
    *) echo "$name ends with $last: write LAST($name, $last), in $test" ;;
    esac
done)
if [ "$count" -eq 0 ] || [ "$count" -ne "$fields" ]; then
    bad="$count structs with a size, but $fields fields
$bad"
fi
echo "$count structs${bad:+
$bad}"
[ "$bad" = "" ]
