#!/bin/sh
# SPDX-License-Identifier: MIT
# cplusplus.sh INCLUDE: g++ and clang++, as far as they are here, must accept
# the headers in folder INCLUDE, and each of their *_INIT, as C++11 without a
# warning. So must the C compilers as C, which would warn of missing values.
set -eu
include=$1
flags="-Wall -Wextra -pedantic -Werror -fsyntax-only -I $include"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# "#define HR_GRID_STATE_INIT" makes "hr_grid_state a3 = HR_GRID_STATE_INIT;"
{
    echo '#include <headrace/headrace.h>'
    sed -n 's/^#define \(HR_[A-Z_]*_INIT\) .*/\1/p' "$include"/headrace/*.h |
        awk '{
            type = tolower($1)
            sub(/_init$/, "", type)
            print "extern " type " a" NR ";"
            print type " a" NR " = " $1 ";"
        }'
} >"$folder/all.c"
cp "$folder/all.c" "$folder/all.cc"
count=$(grep -c INIT "$folder/all.c")
[ "$count" -gt 5 ] || { echo "only $count of *_INIT are found"; exit 1; }

tried=0
for with in "g++ -std=c++11" "clang++ -std=c++11" "gcc -std=c11" \
    "clang -std=c11"; do
    command -v "${with%% *}" >/dev/null || continue
    case $with in
    *++*) file=$folder/all.cc tried=$((tried + 1)) ;;
    *) file=$folder/all.c ;;
    esac
    # shellcheck disable=SC2086 # they are several words
    $with $flags "$file" || { echo "failed: $with"; exit 1; }
    echo "$with: $count of *_INIT"
done
[ "$tried" -gt 0 ] || { echo "skip: neither g++ nor clang++ is here"; exit 77; }
