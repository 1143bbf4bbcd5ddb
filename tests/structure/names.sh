#!/bin/sh
# SPDX-License-Identifier: MIT
# names.sh ROOT: each name hr_..., HR_..., hri_... or HRI_... in a page is in the
# code of the sources, and so is the field of a name such as hr_band.count. The
# changelog may have old names. Prints each that is unknown. Fails if there is
# one, or if nothing was looked at.
set -eu
cd "$1"
pages=$(find . -name '*.md' ! -path '*/build*' ! -name CHANGELOG.md | sort)
sources=$(find include src kernels bench examples tests cmake -type f \
    \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cl' -o -name '*.cu' \
    -o -name '*.cmake' \) | sort)
[ -n "$pages$sources" ] || { echo "names: nothing in $1"; exit 1; }

# A name may be pasted from two words: hr_c32_mul from hr_c32 and _mul. One that
# ends with _ stands for many, and HR_AT for HR_AT1 and others.
# shellcheck disable=SC2086 # one word for each file
awk '
function known(name,    i) {
    if (name in word || (name "1") in word || name ~ /_$/) {
        return 1
    }
    for (i = 2; i < length(name); i++) {
        if (substr(name, i, 1) == "_" && (substr(name, 1, i - 1) in word) &&
            (substr(name, i) in word)) {
            return 1
        }
    }
    return 0
}
FNR == 1 {
    comment = 0
}
FILENAME !~ /\.md$/ {
    line = $0
    for (code = ""; line != "";) {
        at = index(line, comment ? "*/" : "/*")
        code = code (comment ? " " : at ? substr(line, 1, at - 1) : line)
        line = at ? substr(line, at + 2) : ""
        comment = at ? !comment : comment
    }
    count = split(code, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++) {
        word[words[i]] = 1
    }
    next
}
{
    for (rest = $0; match(rest, /(hr|HR)[iI]?_[A-Za-z0-9_]+(\.[a-z_0-9]+)?/);) {
        name = substr(rest, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : " "
        rest = substr(rest, RSTART + RLENGTH)
        if (before ~ /[A-Za-z0-9_]/) {
            continue
        }
        split(name, part, ".")
        file = part[2] ~ /^(c|h|md)$/
        if (!known(part[1]) || (part[2] != "" && !file && !known(part[2]))) {
            printf "%s:%d: %s\n", FILENAME, FNR, name
            bad++
        }
    }
}
END {
    exit bad > 0
}' $sources $pages
