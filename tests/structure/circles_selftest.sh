#!/bin/sh
# SPDX-License-Identifier: MIT
# circles_selftest.sh CC: circles.sh finds planted faults.
set -eu
cc=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/f" "$work/src/g/inner" "$work/src/hal"
bad=0

# object NAME CODE [FOLDER]: compile it into the folder, src/f or another.
object() {
    printf '%s\n' "$2" >"$work/$1"
    "$cc" -c -o "$work/src/${3:-f}/$1.o" "$work/$1"
}

# try pass|fail WHAT: the objects that are there now.
try() {
    find "$work/src" -name '*.o' >"$work/objects"
    got=pass
    sh "$here/circles.sh" "$work/objects" g/inner >"$work/log" 2>&1 || got=fail
    [ $got = "$1" ] || { echo "$2: $got, not $1"; cat "$work/log"; bad=1; }
}

for tool in nm tsort; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done
try fail "no objects"
object a.c 'int hri_b(void); int hri_a(void) { return hri_b(); }'
object b.c 'int hri_c(void); int hri_b(void) { return hri_c(); }'
try pass "one direction"
object c.c 'int hri_c(void) { return 1; } int hr_call(void) { return 2; }'
try pass "a public function that nobody uses"
object d.c 'int hr_call(void); int hri_d(void) { return hr_call(); }'
try fail "a public function in use"
object d.c 'int hri_d(void) { return 3; }'
object c.c 'int hri_a(void); int hri_c(void) { return hri_a(); }'
try fail "a circle"
object c.c 'int hri_c(void) { return 1; }'
object e.c 'int hri_a(void); int hri_e(void) { return hri_a(); }' g/inner
try pass "folders in one direction"
object p.c 'int hri_q(void); int hr_p(void) { return hri_q(); }' g/inner
object q.c 'int hr_p(void); int hri_q(void) { return 4; }' g/inner
object r.c 'int hr_p(void); int hri_r(void) { return hr_p(); }' g/inner
try pass "a public function in use in a folder that is named"
object q.c 'int hri_r(void); int hri_q(void) { return hri_r(); }' g/inner
try fail "a circle in a folder that is named"
rm "$work"/src/g/inner/[pqr].c.o
object c.c 'int hri_e(void); int hri_c(void) { return hri_e(); }'
try fail "a circle of folders"
object c.c 'int hri_h(void); int hri_c(void) { return hri_h(); }'
object registry.c 'int hri_e(void); int hri_h(void) { return hri_e(); }' hal
try pass "the list of backends"
object other.c 'int hri_e(void); int hri_o(void) { return hri_e(); }' hal
try fail "a circle beside the list of backends"
exit $bad
