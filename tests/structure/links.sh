#!/bin/sh
# SPDX-License-Identifier: MIT
# links.sh ROOT: every relative link of the pages leads to a file, and to a
# heading of it where it names one (as GitHub spells anchors). Prints each that
# does not; fails when there is one, or when nothing was looked at.
set -eu
cd "$1"
pages=$(find . -name '*.md' ! -path '*/build*' | sed 's|^\./||' | sort)
[ -n "$pages" ] || { echo "links: no pages in $1"; exit 1; }

# Headings as "PAGE#ANCHOR", links as "PAGE TARGET", code left out.
# shellcheck disable=SC2086 # one word for each page
awk '
FNR == 1 {
    code = 0
}
/^ *```/ {
    code = !code
}
code {
    next
}
/^#+ / {
    text = tolower($0)
    sub(/^#+ +/, "", text)
    gsub(/\]\([^)]*\)/, "", text)
    gsub(/[^a-z0-9_ -]/, "", text)
    gsub(/ /, "-", text)
    name = FILENAME "#" text
    print "heading", name (seen[name]++ ? "-" seen[name] - 1 : "")
}
{
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^) ]+/)) {
        target = substr(line, RSTART + 2, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (target !~ /^[a-z]+:/) {
            folder = FILENAME
            sub(/[^\/]*$/, "", folder)
            file = target
            sub(/#.*/, "", file)
            file = file == "" ? FILENAME : folder file
            while (sub(/[^\/]+\/\.\.\//, "", file)) {
            }
            gsub(/\/\.\//, "/", file)
            sub(/^\.\//, "", file)
            anchor = target ~ /#/ && file ~ /\.md$/ ? target : ""
            sub(/^[^#]*/, "", anchor)
            print "link", FILENAME, file, file anchor
        }
    }
}' $pages | {
    bad=0
    headings=$(mktemp)
    links=$(mktemp)
    trap 'rm -f "$headings" "$links"' EXIT
    while read -r kind rest; do
        case $kind in
        heading) echo "$rest" >>"$headings" ;;
        link) echo "$rest" >>"$links" ;;
        esac
    done
    while read -r page file place; do
        if [ ! -e "$file" ]; then
            echo "$page: no file $file"
            bad=1
        elif [ "$place" != "$file" ] && ! grep -qxF -e "$place" "$headings"; then
            echo "$page: no heading $place"
            bad=1
        fi
    done <"$links"
    exit $bad
}
