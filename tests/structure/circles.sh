#!/bin/sh
# SPDX-License-Identifier: MIT
# circles.sh OBJECTS FOLDER...: of the objects that the file OBJECTS lists,
# those of a folder may use each other only in one direction, and none may use a
# public function of another. Prints what breaks this. Fails if anything does,
# or if nothing was looked at.
set -eu
for tool in nm tsort; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done
objects=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bad=0
for folder; do
    grep "/src/$folder/[^/]*\$" "$objects" >"$work/files" ||
        { echo "circles: no objects of src/$folder"; exit 1; }
    while read -r file; do
        nm -P "$file" | awk -v file="${file##*/}" '{ print file, $1, $2 }'
    done <"$work/files" >"$work/symbols"
    # "user definer" for each function that an object uses of another.
    awk '
        NR == FNR { if ($3 ~ /[TDRB]/) { maker[$2] = $1 } next }
        $3 == "U" && $2 in maker {
            print $1, maker[$2]
            if ($2 ~ /^hr_/) {
                print $1 " uses " $2 " of " maker[$2] >public
            }
        }' public="$work/public" "$work/symbols" "$work/symbols" |
        sort -u >"$work/uses"
    if ! tsort "$work/uses" >/dev/null 2>"$work/loops"; then
        echo "circles: src/$folder goes in a circle:"
        cat "$work/loops"
        bad=1
    fi
    if [ -s "$work/public" ]; then
        cat "$work/public"
        bad=1
    fi
    : >"$work/public"
done
exit $bad
