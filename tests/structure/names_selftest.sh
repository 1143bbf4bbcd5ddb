#!/bin/sh
# SPDX-License-Identifier: MIT
# names_selftest.sh: names.sh accepts what may be and finds what may not.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="include src kernels bench examples tests cmake"

# page pass|fail LINE: a page with this line, beside a source.
page() {
    plant
    printf '%s\n' 'typedef struct hr_band { int count; } hr_band;' \
        '/* the number that hr_none has */' \
        'PASTE(hr_c32, type##_mul)' >"$tree/t/src/a.c"
    printf '%s\n' 'No name.' >"$tree/t/b.md"
    printf '%s\n' "$2" >"$tree/t/$3"
    want "$1" "$3 with $2"
}

page pass 'All of hr_band.' a.md
page pass 'Its hr_band.count, and the end of hr_band. Or (hr_band).' a.md
page pass 'The prefix hr_, and hr_ba_.' a.md
page pass 'Pasted: hr_c32_mul.' a.md
page pass 'A part of another word: their_bands.' a.md
page pass 'What hr_old was.' CHANGELOG.md
page fail 'What hr_old was.' a.md
page fail 'Its hr_band.number.' a.md
page fail 'Of a comment: hr_none.' a.md
page fail 'Inside: hri_band.' a.md
page fail 'Two: hr_band, hr_bands.' a.md
plant
want fail "an empty tree"
finish
