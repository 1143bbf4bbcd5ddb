#!/bin/sh
# SPDX-License-Identifier: MIT
# abi_selftest.sh: abi.sh accepts structs that may be so and finds others.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="include/headrace tests/structure"

# list pass|fail WHAT LIST: two structs of 8 and 16 bytes beside this list.
list() {
    plant
    cat >"$tree/t/include/headrace/headrace.h" <<'H'
#include <stdint.h>
typedef struct hr_pair {
    int32_t a, b;
} hr_pair;
typedef struct hr_told {
    uint32_t size;
    int32_t a, b, c;
} hr_told;
H
    printf "%b" "$3" >"$tree/t/tests/structure/abi.txt"
    want "$1" "$2"
}

list pass "the same" 'hr_pair 8 stays\nhr_told 16 grows\n'
list pass "a new one" 'hr_pair 8 stays\n'
list pass "a larger one that may grow" 'hr_told 12 grows\n'
list fail "a larger one that may not" 'hr_pair 4 stays\n'
list fail "a smaller one" 'hr_told 20 grows\n'
list fail "one that has lost its size" 'hr_pair 8 grows\n'
list fail "one that is gone" 'hr_pair 8 stays\nhr_old 4 stays\n'
list fail "no list" '# nothing\n'
finish
