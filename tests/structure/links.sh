#!/bin/sh
# SPDX-License-Identifier: MIT
# links.sh ROOT: every relative link of the pages leads to a file, and to a
# heading of it where it names one (as GitHub spells anchors). A file of C that
# is linked has the names in `code` right behind the link. Prints each that does
# not; fails when there is one, or when nothing was looked at.
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
    for (line = $0; match(line, /\]\([^) ]+\.[ch]\)( `[A-Za-z_0-9]+`,?)+/);) {
        count = split(substr(line, RSTART + 2, RLENGTH - 2), word, /[) `,]+/)
        for (i = 2; i <= count; i++) {
            if (word[i] != "") {
                print "name", FILENAME, beside(word[1]), word[i]
            }
        }
        line = substr(line, RSTART + RLENGTH)
    }
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^) ]+/)) {
        target = substr(line, RSTART + 2, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (target !~ /^[a-z]+:/) {
            file = target
            sub(/#.*/, "", file)
            file = file == "" ? FILENAME : beside(file)
            anchor = target ~ /#/ && file ~ /\.md$/ ? target : ""
            sub(/^[^#]*/, "", anchor)
            print "link", FILENAME, file, file anchor
        }
    }
}
# A file that is named beside this page.
function beside(file,    folder) {
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
    file = folder file
    while (sub(/[^\/]+\/\.\.\//, "", file)) {
    }
    gsub(/\/\.\//, "/", file)
    sub(/^\.\//, "", file)
    return file
}' $pages | {
    bad=0
    headings=$(mktemp)
    links=$(mktemp)
    names=$(mktemp)
    trap 'rm -f "$headings" "$links" "$names"' EXIT
    while read -r kind rest; do
        case $kind in
        heading) echo "$rest" >>"$headings" ;;
        link) echo "$rest" >>"$links" ;;
        name) echo "$rest" >>"$names" ;;
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
    while read -r page file name; do
        if [ -e "$file" ] && ! grep -qw -e "$name" "$file"; then
            echo "$page: no $name in $file"
            bad=1
        fi
    done <"$names"
    exit $bad
}
