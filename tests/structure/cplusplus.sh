#!/bin/sh
# SPDX-License-Identifier: MIT
# cplusplus.sh INCLUDE: g++ and clang++, as far as they are here, must accept
# the headers in folder INCLUDE, each of their *_INIT, and a call of hr_run as
# C++11 without a warning. So must the C compilers as C, which would warn of
# missing values. C11 has macros for the call.
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
cat >>"$folder/all.c" <<'end'
typedef struct pair { int first; float second; } pair;
hr_status used(const hr_kernel *k, const float *x, float y[], pair p);
hr_status used(const hr_kernel *k, const float *x, float y[], pair p)
{
#if !defined(__cplusplus) && __STDC_VERSION__ >= 201112L
    return hr_run(NULL, k, hr_extent1(9),
                  HR_ARGUMENTS(hr_value(2.5f), hr_value(p),
                               hr_value(&p, sizeof p),
                               hr_near(hr_in(x, 9), 1, 1), hr_in(x, 3, 3),
                               hr_out(y, 1, 3, 3), hr_inout(hr_view_of(NULL))),
                  NULL);
#else
    const hr_argument list[] = {
        hr_value_typed(x, "float", sizeof *x), hr_value(&p, sizeof p),
        hr_in_data(x, "float", sizeof *x, hr_extent1(9), 0),
        hr_out_data(y, "float", sizeof *y, hr_extent2(3, 3), 12),
        hr_inout(hr_view_of(NULL))};
    return hr_run(NULL, k, hr_extent1(9), list, 5, NULL);
#endif
}
end
cp "$folder/all.c" "$folder/all.cc"
count=$(grep -c INIT "$folder/all.c")
[ "$count" -gt 5 ] || { echo "only $count of *_INIT are found"; exit 1; }

tried=0
for with in "g++ -std=c++11" "clang++ -std=c++11" "gcc -std=c11" \
    "clang -std=c11" "gcc -std=c99"; do
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
