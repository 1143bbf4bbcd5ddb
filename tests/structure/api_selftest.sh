#!/bin/sh
# SPDX-License-Identifier: MIT
# api_selftest.sh CC: api.sh accepts a good header and finds planted faults.
set -eu
cc=$1
checker=$(dirname "$0")/api.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# try WANT WHAT HEADER SOURCE [LISTED...]: whether this pair passes. The symbols
# file has the names LISTED, or hr_one.
try() {
    mkdir -p "$tree/include"
    printf '%s\n' "$3" >"$tree/include/a.h"
    printf '%s\n' "$4" >"$tree/a.c"
    "$cc" -shared -fPIC -o "$tree/a.so" "$tree/a.c"
    want=$1
    what=$2
    shift 4
    [ $# -gt 0 ] || set -- hr_one
    printf ' %s@HEADRACE_0 0.1.0\n' "$@" >"$tree/symbols"
    got=pass
    sh "$checker" "$tree/include" "$tree/a.so" "$tree/symbols" >"$tree/log" || got=fail
    if [ "$got" != "$want" ]; then
        echo "$what: wanted $want, got $got"
        cat "$tree/log"
        failures=$((failures + 1))
    fi
}

doc='/** Does it.
 * @threads Any thread. */'
one='int hr_one(int x) { return x; }'

try pass 'a documented function' "$doc
HR_API int hr_one(int x);" "$one"
try pass 'a declaration of several lines' "$doc
HR_API HR_NODISCARD hr_status
hr_one(int x,
       int y);" "$one"
try pass 'a reference to another function' '/** Otherwise as hr_two. */
HR_API int hr_one(int x);' "$one"
try pass 'a static function that is not declared' "$doc
HR_API int hr_one(int x);" "$one static int two(void) { return 2; }"
try fail 'a function that the package does not list' "$doc
HR_API int hr_one(int x);" "$one" hr_two
try fail 'a function that only the package lists' "$doc
HR_API int hr_one(int x);" "$one" hr_one hr_two
try fail 'no comment' 'HR_API int hr_one(int x);' "$one"
try fail 'a comment that says nothing of threads' '/** Does it. */
HR_API int hr_one(int x);' "$one"
try fail 'a comment that is not for the manual' '/* Does it. @threads Any. */
HR_API int hr_one(int x);' "$one"
try fail 'a comment further up' "$doc

HR_API int hr_one(int x);" "$one"
try fail 'the comment of the function before' "$doc
HR_API int hr_one(int x);
HR_API int hr_two(void);" "$one int hr_two(void) { return 2; }" hr_one hr_two
try fail 'declared, not exported' "$doc
HR_API int hr_one(int x);
$doc
HR_API int hr_two(void);" "$one" hr_one hr_two
try fail 'exported, not declared' "$doc
HR_API int hr_one(int x);" "$one int hr_two(void) { return 2; }"
try fail 'an internal name exported' "$doc
HR_API int hr_one(int x);" "$one int hri_two(void) { return 2; }"
try fail 'a variable exported' "$doc
HR_API int hr_one(int x);" "$one int hr_state;"
try fail 'an empty header' '' ''

echo "$failures failures"
[ "$failures" -eq 0 ]
