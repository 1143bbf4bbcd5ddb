# SPDX-License-Identifier: MIT
# The functions that public headers declare, one a line: "documented NAME" when
# a comment stands directly before the declaration and says which threads may
# call it (itself or by "Otherwise as"), else "undocumented NAME FILE:LINE".
FNR == 1 {
    comment = ""
    in_comment = 0
    declaration = ""
}
/^\/\*\*/ {
    comment = ""
    in_comment = 1
}
in_comment {
    comment = comment $0 "\n"
    if ($0 ~ /\*\//) {
        in_comment = 0
    }
    next
}
declaration == "" && /^HR_API/ {
    start = FNR
    says = comment ~ /@threads|Otherwise as/
}
declaration != "" || /^HR_API/ {
    declaration = declaration " " $0
    if (declaration ~ /;/) {
        report(declaration)
        declaration = ""
        comment = ""
    }
    next
}
{
    comment = ""
}
function report(text) {
    if (!match(text, /hr_[a-z0-9_]+\(/)) {
        printf "undocumented %s %s:%d\n", "(no name found)", FILENAME, start
        return
    }
    name = substr(text, RSTART, RLENGTH - 1)
    if (says) {
        print "documented " name
    } else {
        printf "undocumented %s %s:%d\n", name, FILENAME, start
    }
}
