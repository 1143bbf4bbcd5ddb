#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace generate: types, orders, seeds, ranges; nothing is left on failure.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

make() {
    expect 0 "" generate "$@"
}

# Every type, and that its numbers stay inside the range that the help tells.
for type in f32 f64 c32 c64 f16 bf16; do
    make --shape 61x67 --type $type -o $type.npy
    equal "description" "$type 61x67 row" \
        "$("$TOOLS/npy_check" describe $type.npy)"
    check "$TOOLS/npy_check" within $type.npy -1 0.99999999999999989 >"$out"
done
make --shape 200x200 --type i8 -o i8.npy
check "$TOOLS/npy_check" within i8.npy -128 127 >"$out"
equal "the whole of i8" "from -128 to 127" "$(cat "$out")"
make --shape 200x200 --type i32 -o i32.npy
check "$TOOLS/npy_check" within i32.npy -1024 1023 >"$out"

# A seed gives the same numbers in both orders and every time. Other seeds give
# others.
make --shape 700x403 --type c32 --seed 7 -o row.npy
make --shape 700x403 --type c32 --seed 7 --order column -o column.npy
equal "order" "c32 700x403 column" \
    "$("$TOOLS/npy_check" describe column.npy)"
check "$TOOLS/npy_check" same row.npy column.npy
make --shape 700x403 --type c32 --seed=7 -o again.npy
check cmp row.npy again.npy
make --shape 700x403 --type c32 --seed 8 -o other.npy
check "$TOOLS/npy_check" differ row.npy other.npy
make --shape 1x1 --type f64 --order column -o one.npy
make --shape 1x5 --type f64 --order column -o line.npy
make --shape 5x1 --type f64 -o line.npy
equal "replaced" "f64 5x1 row" "$("$TOOLS/npy_check" describe line.npy)"

# Matrices without elements, which products accept.
for shape in 0x5 5x0 0x0; do
    make --shape $shape --type f32 -o empty.npy
    equal "empty" "f32 $shape row" \
        "$("$TOOLS/npy_check" describe empty.npy)"
done

# An earlier file is replaced only when the new one is complete.
expect 2 "--shape is missing" generate --type f32 -o line.npy
expect 2 "--type is missing" generate --shape 2x2 -o line.npy
expect 2 "-o is missing" generate --shape 2x2 --type f32
expect 2 "headrace generate takes no files but -o's" generate \
    --shape 2x2 --type f32 A.npy
expect 2 "is not a regular file" generate --shape 2x2 --type f32 -o /dev/null
expect 2 "is not a regular file" generate --shape 2x2 --type f32 -o .
expect 1 "no-such-folder" generate --shape 2x2 --type f32 \
    -o no-such-folder/A.npy
# More than any disk: at most 2^59 elements can be asked for.
expect 1 "line.npy" generate --shape 500000000x500000000 --type f64 -o line.npy
# shellcheck disable=SC3045 # ulimit -f is in every shell that we know
(
    ulimit -f 100 || exit 77
    expect 1 "line.npy" generate --shape 1000x1000 --type f64 -o line.npy
    [ "$failures" -eq 0 ]
)
check [ $? -eq 0 ]
equal "still" "f64 5x1 row" "$("$TOOLS/npy_check" describe line.npy)"

finish
