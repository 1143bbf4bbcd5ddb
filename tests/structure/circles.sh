#!/bin/sh
# SPDX-License-Identifier: MIT
# circles.sh OBJECTS FOLDER...: of the objects that the file OBJECTS lists,
# those of a folder of src may use each other only in one direction. None may
# use a public function of another, but in the folders named. The folders may
# use each other only in one direction, too, but for the list of backends
# (hal/registry.c). Prints what breaks this. Fails if anything does, or if
# nothing was looked at.
set -eu
for tool in nm tsort; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done
objects=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# symbols: "object symbol type" for each symbol of the objects in $work/files.
symbols() {
    xargs nm -A -P <"$work/files" | sed 's/: / /' |
        awk '{ print $1, $2, $3 }' >"$work/symbols"
}

# circle WHAT: whether the pairs "user definer" in $work/uses go in a circle.
circle() {
    if ! tsort "$work/uses" >/dev/null 2>"$work/loops"; then
        echo "circles: $1:"
        cat "$work/loops"
        bad=1
    fi
}

named=" $* "
found=$(sed -n 's|.*/src/\(.*\)/[^/]*$|\1|p' "$objects" | grep -v '^/' | sort -u)
for folder in $found; do
    grep "/src/$folder/[^/]*\$" "$objects" >"$work/files"
    symbols
    # "user definer" for each function that an object uses of another.
    : >"$work/public"
    awk '
        { sub(/.*\//, "", $1) }
        NR == FNR { if ($3 ~ /[TDRB]/) { maker[$2] = $1 } next }
        $3 == "U" && $2 in maker {
            print $1, maker[$2]
            if ($2 ~ /^hr_/) {
                print $1 " uses " $2 " of " maker[$2] >public
            }
        }' public="$work/public" "$work/symbols" "$work/symbols" |
        sort -u >"$work/uses"
    circle "src/$folder goes in a circle"
    if [ -s "$work/public" ] && [ "${named#* $folder }" = "$named" ]; then
        cat "$work/public"
        bad=1
    fi
done

grep '/src/.*/' "$objects" >"$work/files" ||
    { echo "circles: no objects of src"; exit 1; }
symbols
# "folder folder", and for people the symbols by which one uses the other.
awk '
    { object = $1; sub(/.*\/src\//, "", $1); sub(/\/[^\/]*$/, "", $1) }
    NR == FNR { if ($3 ~ /[TDRB]/) { maker[$2] = $1 } next }
    $3 == "U" && $2 in maker && maker[$2] != $1 && object !~ /\/hal\/registry\./ {
        print $1, maker[$2], $2
    }' "$work/symbols" "$work/symbols" | sort -u >"$work/by"
cut -d ' ' -f 1,2 "$work/by" | sort -u >"$work/uses"
circle "folders of src go in a circle"
if [ -s "$work/loops" ]; then
    # which symbols: of pairs whose two folders are in a circle
    awk 'NR == FNR { if (NF == 2) { loop[$2] = 1 } next }
        $1 in loop && $2 in loop { print $1 " uses " $3 " of " $2 }' \
        "$work/loops" "$work/by"
fi
exit $bad
