#!/bin/sh
# SPDX-License-Identifier: MIT
# api.sh HEADERS LIBRARY [SYMBOLS]: every function of the headers in folder
# HEADERS is documented, exported by LIBRARY, which exports nothing else, and
# listed in SYMBOLS, the symbols file of Debian's package. Prints each function
# for which this is wrong.
set -eu
headers=$1
library=$2
symbols=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

LC_ALL=C
export LC_ALL
awk -f "$(dirname "$0")/declared.awk" "$headers"/*.h >"$folder/all"
awk '{ print $2 }' "$folder/all" | sort >"$folder/declared"
# "0000000000001234 T hr_version@@HEADRACE_0"; the node itself is of type A.
nm -D --defined-only "$library" | awk '$2 != "A" {
    sub(/@.*/, "", $3)
    print $3
}' | sort >"$folder/exported"

complain() {
    sed "s/^/$1: /" >>"$folder/bad"
}
: >"$folder/bad"
[ -s "$folder/declared" ] || echo "$headers" | complain "declares nothing"
sed -n 's/^undocumented //p' "$folder/all" | complain "not documented"
uniq -d "$folder/declared" | complain "declared twice"
comm -23 "$folder/declared" "$folder/exported" | complain "not exported"
comm -13 "$folder/declared" "$folder/exported" | complain "not declared"
if [ -n "$symbols" ]; then
    sed -n 's/^ \(hr_[^@]*\)@.*/\1/p' "$symbols" | sort >"$folder/listed"
    comm -23 "$folder/declared" "$folder/listed" |
        complain "not in ${symbols##*/}"
    comm -13 "$folder/declared" "$folder/listed" |
        complain "only in ${symbols##*/}"
fi
cat "$folder/bad"
echo "$(wc -l <"$folder/declared") functions, $(wc -l <"$folder/bad") faults"
[ ! -s "$folder/bad" ]
