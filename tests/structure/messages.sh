#!/bin/sh
# SPDX-License-Identifier: MIT
# messages.sh ROOT: no message of a call that reports an error has more than 25
# words. Literals that stand next to each other are one message; each branch of
# a condition is one of its own. Prints each that is longer; fails when there is
# one, or when no message was looked at.
set -eu
cd "$1"
files=$(find src bench \( -name '*.[ch]' -o -name '*.inc' \) | sort)
[ -n "$files" ] || { echo "messages: no sources in $1"; exit 1; }

# shellcheck disable=SC2086 # one word for each file
awk '
BEGIN {
    most = 25
    n = split("hri_fail hri_file_fail hri_log cli_fail cli_wrong blas_log " \
              "blas_log_setting unexpected wrong", list, " ")
    for (i = 1; i <= n; i++) {
        reports[list[i]] = 1
    }
    names = "hri_fail|hri_file_fail|hri_log|cli_fail|cli_wrong|blas_log|" \
            "blas_log_setting|unexpected|wrong"
    token = "\"([^\"\\\\]|\\\\.)*\"|\047([^\047\\\\]|\\\\.)*\047|/\\*|//|" \
            "[A-Za-z_][A-Za-z0-9_]*|[(),?:;]"
}

# What was gathered is one message.
function count_words(   part, words) {
    gsub(/\\n/, " ", text)
    words = split(text, part, " ")
    if (words > most) {
        printf "%s:%d: %d words: %s\n", FILENAME, FNR, words, text
        bad++
    }
    seen += words > 0
    text = ""
}

function take(found) {
    if (found ~ /^"/) {
        text = text substr(found, 2, length(found) - 2)
    } else if (found ~ /^PRI/) {
        text = text "d" # a part of the format
    } else {
        count_words()
        depth += (found == "(") - (found == ")")
    }
}

FNR == 1 {
    comment = depth = called = 0
    text = ""
}
!comment && !depth && !called && !index($0, "/*") && $0 !~ names {
    next
}
{
    line = $0
    while (line != "") {
        if (comment) {
            end = index(line, "*/")
            line = end ? substr(line, end + 2) : ""
            comment = !end
            continue
        }
        if (!match(line, token)) {
            break
        }
        found = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (found == "//") {
            break
        } else if (found == "/*") {
            comment = 1
        } else if (depth) {
            take(found)
        } else {
            depth = called && found == "("
            called = found in reports
        }
    }
}
END {
    if (!seen) {
        print "messages: none found"
    }
    exit bad > 0 || !seen
}' $files
