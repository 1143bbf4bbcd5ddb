#!/bin/sh
# SPDX-License-Identifier: MIT
# words.sh ROOT: no identifier has one of our old private words, for which the
# field has another (docs/glossary.md). A lane is one of SIMD or of a
# sub-group. Prints each identifier with such a word. Fails if there is one, or
# if nothing was looked at.
set -eu
cd "$1"
files=$(find include src kernels bench examples tests \
    \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cl' -o -name '*.cu' \) |
    sort)
[ -n "$files" ] || { echo "words: no sources in $1"; exit 1; }

# shellcheck disable=SC2086 # one word for each file
awk '
BEGIN {
    n = split("crew crews hands worker workers carrier mark marks relay turn " \
              "turned facts fate fates pace paces foresee foreseen brother " \
              "alike deepen slab slabs deal team runner refresh stage stages " \
              "lane lanes", list, " ")
    for (i = 1; i <= n; i++) {
        own[list[i]] = 1
    }
}
FNR == 1 {
    comment = 0
    simd = FILENAME ~ /^(include\/headrace\/dialect|kernels|bench\/kernels)/ ||
           FILENAME ~ /verify|reduce|dialect|host\/builtin/
}
{
    line = $0
    gsub(/"([^"\\]|\\.)*"/, " ", line)
    for (code = ""; line != "";) {
        if (comment) {
            end = index(line, "*/")
            line = end ? substr(line, end + 2) : ""
            comment = !end
        } else {
            start = index(line, "/*")
            code = code " " (start ? substr(line, 1, start - 1) : line)
            line = start ? substr(line, start + 2) : ""
            comment = start > 0
        }
    }
    sub(/\/\/.*/, "", code)
    count = split(code, names, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++) {
        parts = split(names[i], part, "_")
        for (k = 1; k <= parts; k++) {
            word = tolower(part[k])
            if (part[k] == "MOST" || part[k] == "LEAST" ||
                (word in own && !(simd && word ~ /^lanes?$/))) {
                printf "%s:%d: %s\n", FILENAME, FNR, names[i]
                bad++
            }
        }
    }
}
END {
    exit bad > 0
}' $files
