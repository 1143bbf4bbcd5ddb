#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace matmul: products of every type and option, its report, and every bad
# input with its sentence and nothing written.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
HEADRACE=$TOOLS/moments # where no accelerator is late

# product NAME=VALUE...: C.npy is A.npy B.npy with these options of npy_check.
product() {
    check "$TOOLS/npy_check" product A.npy B.npy C.npy "$@"
}

# Every type pair, on the host and on several capped accelerators.
for pair in f32: f64: c32: c64: f16: f16:f32 bf16: bf16:f32 i8: i8:i32; do
    type=${pair%:*}
    generate A.npy 97x130 "$type"
    generate B.npy 130x61 "$type" column
    for where in host 3xhost; do
        set -- --accelerators $where --memory-limit 2MiB --verify
        [ "${pair#*:}" = "" ] || set -- "$@" --type "${pair#*:}"
        expect 0 "verified    yes" matmul A.npy B.npy -o C.npy "$@"
        product
    done
    want=$type
    [ "$type" = i8 ] && want=i32
    [ "${pair#*:}" = "" ] || want=${pair#*:}
    equal "type of C" "$want 97x61 row" "$("$TOOLS/npy_check" describe C.npy)"
done

# Factors, added matrices, transposes, conjugates.
generate A.npy 70x41 c32
generate B.npy 33x70 c32
generate C0.npy 41x33 c32 column
expect 0 "" matmul A.npy B.npy -o C.npy --transpose-a --transpose-b \
    --conjugate-b --alpha 1.5-2i --add C0.npy --beta=-i --verify --quiet
equal "quiet" "" "$(cat "$out")"
product alpha=1.5,-2 beta=0,-1 c0=C0.npy ta=1 tb=1 cb=1
expect 0 "C.npy = A.npy x B.npy + C0.npy" matmul A.npy B.npy -o C.npy \
    --transpose-a --transpose-b --conjugate-a --alpha 2i --add C0.npy
product alpha=0,2 beta=1,0 c0=C0.npy ta=1 tb=1 ca=1
expect 0 "" matmul A.npy B.npy -o C.npy --transpose-a --transpose-b \
    --add C0.npy --beta 0 --alpha -.5e0
product alpha=-.5 ta=1 tb=1

# Only 64 of 100 rows that overflow can be recomputed: the answer is not yes.
generate A.npy 100x65536 f16
generate B.npy 65536x3 f16
rm -f C.npy
expect 1 "but 108 were not checked" matmul A.npy B.npy -o C.npy --alpha 1e6 \
    --verify
equal "no file" "no" "$([ -e C.npy ] && echo yes || echo no)"

# The same bits, whatever multiplies.
generate A.npy 70x1500 f32
generate B.npy 1500x90 f32
expect 0 "verified    yes" matmul A.npy B.npy -o C.npy --accelerators host \
    --compute reproducible --verify
expect 0 "" matmul A.npy B.npy -o D.npy --accelerators 3xhost \
    --memory-limit 400KiB --compute reproducible
check cmp C.npy D.npy
if "$HEADRACE" devices --accelerators opencl > /dev/null 2>&1; then
    expect 0 "" matmul A.npy B.npy -o D.npy --accelerators opencl --compute reproducible
    check cmp C.npy D.npy
fi

# Precise products, too, and unchanged commands make them.
expect 0 "verified    yes" matmul A.npy B.npy -o C.npy --accelerators host \
    --compute precise --verify
check [ "$(cmp C.npy D.npy | wc -l)" -gt 0 ]
expect 0 "" matmul A.npy B.npy -o D.npy --accelerators 3xhost \
    --memory-limit 8MiB --compute precise
check cmp C.npy D.npy
HEADRACE_COMPUTE=precise expect 0 "" matmul A.npy B.npy -o D.npy \
    --accelerators host
check cmp C.npy D.npy
HEADRACE_COMPUTE=exact expect 1 'HEADRACE_COMPUTE is "exact", not native or precise' \
    matmul A.npy B.npy -o D.npy --accelerators host
expect 1 "the least working set" matmul A.npy B.npy -o D.npy --accelerators 3xhost \
    --memory-limit 400KiB --compute precise

# The report.
generate A.npy 300x200 f32
generate B.npy 200x250 f32
expect 0 "" matmul A.npy B.npy -o C.npy --json --verify \
    --accelerators 2xhost --memory-limit 4MiB
product
equal "m" 300 "$(json m)"
equal "n" 250 "$(json n)"
equal "k" 200 "$(json k)"
equal "flops" 30000000 "$(json flops)"
equal "verified" true "$(json verified)"
equal "dry_run" false "$(json dry_run)"
equal "compulsory" $(((300 * 200 + 200 * 250 + 300 * 250) * 4)) \
    "$(json bytes.compulsory)"
equal "ratio" 1 "$(json bytes.ratio)"
equal "path" 'host#1' "$(json 'accelerators[1].path')"
check [ "$(json 'accelerators[0].memory_bytes')" -le 4194304 ]
for member in seconds seconds_with_files tflops bound bytes.peer \
    bytes.host_to_device bytes.device_to_host 'accelerators[0].seconds_busy' \
    'accelerators[0].tiles' 'accelerators[0].bytes.peer' 'tile[2]'; do
    check "$TOOLS/json_check" "$member" <"$out" >/dev/null
done
expect 0 "" matmul A.npy B.npy -o C.npy --json --quiet --accelerators host
equal "not verified" null "$(json verified)"
equal "nothing moved" 0 "$(json bytes.host_to_device)"

# Accelerators that get no part, with the reason, whatever time that takes.
export CLOCK=0
set -- --dry-run --accelerators 3xhost,host --memory-limit 40KiB
why="host#2: the least working set is 49152 bytes, but the accelerator may"
expect 0 "            $why use only 40960 bytes" matmul A.npy B.npy "$@"
expect 0 "" matmul A.npy B.npy --json "$@"
equal "used" host "$(json 'accelerators[0].path')"
equal "left out" 'host#0' "$(json 'left_out[0].path')"
equal "reason" "${why#*: } use only 40960 bytes" "$(json 'left_out[2].reason')"
equal "no other" "" "$(json 'left_out[3]')"
generate H.npy 4x4 f32
expect 0 "left out    host#0: not predicted to be clearly faster" \
    matmul H.npy H.npy -o E.npy --accelerators 2xhost,host
unset CLOCK

# A dry run gives the same plan and writes nothing.
rm C.npy
expect 0 "predicted; nothing was done" matmul A.npy B.npy --dry-run -o C.npy
check [ ! -e C.npy ]
expect 0 "" matmul A.npy B.npy --dry-run --json --accelerators 2xhost \
    --memory-limit 4MiB
equal "dry_run" true "$(json dry_run)"
equal "planned ratio" 1 "$(json bytes.ratio)"
check "$TOOLS/json_check" seconds <"$out" >/dev/null
equal "seconds with files" "" "$(json seconds_with_files)"

# A product without elements takes no time and has no bound. A small one has
# both.
empty() { # NAME ROWS COLUMNS
    printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '<f4', \
'fortran_order': False, 'shape': ($2, $3), }" >"$1"
}
empty void.npy 0 300
empty flat.npy 4 0
empty thin.npy 0 3
for pair in "void.npy A.npy" "flat.npy thin.npy"; do
    # shellcheck disable=SC2086 # two names
    expect 0 "nothing to multiply" matmul $pair -o E.npy
    # shellcheck disable=SC2086
    expect 0 "" matmul $pair -o E.npy --json
    equal "bound of $pair" null "$(json bound)"
    # shellcheck disable=SC2086
    expect 0 "time        0 s (predicted" matmul $pair --dry-run
done
generate one.npy 1x1 f32
expect 0 "bound by" matmul one.npy one.npy -o E.npy
check [ "$(grep -c ' 0\.00 [mu]*s' "$out")" -eq 0 ]

# A name that JSON must escape.
generate "$(printf 'q"\\\n\377.npy')" 3x4 f32
generate D.npy 4x2 f32
expect 0 "" matmul "$(printf 'q"\\\n\377.npy')" D.npy -o E.npy --json
equal "m" 3 "$(json m)"

# Wrong command lines. C.npy is an earlier result that must stay.
expect 0 "" matmul A.npy B.npy -o C.npy
ln -s A.npy link.npy
ln B.npy hard.npy
expect 2 "--beta needs --add" matmul A.npy B.npy -o C.npy --beta 2
expect 2 "-o is missing" matmul A.npy B.npy
expect 2 "nothing that --verify could check" matmul A.npy B.npy --dry-run \
    --verify
expect 2 "the same file as the input 'A.npy'" matmul A.npy B.npy -o A.npy
expect 2 "the same file as the input 'A.npy'" matmul A.npy B.npy -o link.npy
expect 2 "the same file as the input 'link.npy'" matmul link.npy B.npy -o ./A.npy
expect 2 "the same file as the input 'B.npy'" matmul A.npy B.npy -o hard.npy
expect 2 "the same file as the input 'C.npy'" matmul A.npy B.npy -o C.npy \
    --add C.npy
expect 2 "is not a regular file" matmul A.npy B.npy -o /dev/null
expect 2 "headrace: --accelerators, character 6: an item is empty" \
    matmul A.npy B.npy -o C.npy --accelerators 'host,'

# Work that cannot be done.
generate F.npy 200x250 f64
generate G.npy 300x251 f32
expect 1 "300x200" matmul A.npy A.npy -o C.npy
expect 1 "f64" matmul A.npy F.npy -o C.npy
expect 1 "f64" matmul A.npy B.npy -o C.npy --type f64
expect 1 "G.npy is 300x251 of f32, but the product is 300x250 of f32" \
    matmul A.npy B.npy -o C.npy --add G.npy
expect 1 "F.npy is 200x250 of f64, but the product is 300x250 of f32" \
    matmul A.npy B.npy -o C.npy --add F.npy
expect 1 "alpha is 0+2i but the matrices are real" matmul A.npy B.npy -o C.npy --alpha 2i
expect 1 "nowhere" matmul A.npy B.npy -o C.npy --accelerators nowhere
expect 1 "C.npy: " matmul A.npy B.npy -o no-such-folder/C.npy
expect 1 "none.npy" matmul none.npy B.npy -o C.npy
expect 1 "none.npy" matmul A.npy none.npy -o C.npy
expect 1 "none.npy" matmul A.npy B.npy -o C.npy --add none.npy
expect 1 "the least working set is" matmul A.npy B.npy -o C.npy --accelerators 2xhost \
    --memory-limit 1KiB
expect 1 "the least working set is" matmul A.npy B.npy -o C.npy --accelerators 2xhost \
    --memory-limit 1KiB --dry-run

finish
