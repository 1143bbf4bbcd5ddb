#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace filter: its methods and edges, its report, and every bad input with
# its sentence and nothing written.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

generate A.npy 97x130 f32
generate D.npy 60x45 f64 column
generate I.npy 30x30 i32
generate W.npy 5x5 f64
generate V.npy 5x7 f64
generate E.npy 0x9 f32

# Every method, kind of edges and maker of windows, of both types.
for edges in left clamped mirrored periodic constant; do
    expect 0 "verified    yes" filter A.npy -o B.npy --window 9 \
        --edges $edges --verify --accelerators host
    expect 0 "verified    yes" filter D.npy -o B.npy --weights W.npy \
        --edges $edges --verify --accelerators 2xhost
done
equal "type of OUT" "f64 60x45 row" "$("$TOOLS/npy_check" describe B.npy)"
for weights in radial box gaussian; do
    expect 0 "= $weights of" filter A.npy -o B.npy --window 3 \
        --weights $weights --verify --accelerators host
done

# A wrong variable is told where it would count.
export HEADRACE_FFTW=frob
for method in auto fft; do
    expect 1 'HEADRACE_FFTW is "frob", not off' filter A.npy -o C.npy \
        --window 1 --method $method --accelerators host
done
expect 0 "" filter A.npy -o B.npy --window 1 --method direct --accelerators host
export HEADRACE_FFTW=
expect 0 "" filter A.npy -o B.npy --window 1 --accelerators host
unset HEADRACE_FFTW

# Few elements are compared once each.
generate U.npy 1x1 f32
expect 0 "verified    yes, on 1 element: " filter U.npy -o B.npy --window 1 \
    --edges clamped --verify --accelerators host
equal "one accelerator" 1 "$(grep -c '; 1 accelerator$' "$out")"

# put FILE ELEMENT OCTAL: overwrite an element of f32 by four bytes.
put() {
    printf '%b' "$3" |
        dd of="$1" bs=1 seek=$((128 + 4 * $2)) conv=notrunc 2>/dev/null
}

# Values that are not finite, and large ones: both spread over blocks of
# transforms, where FFTW is found.
generate Q.npy 8x5000 f32
"$HEADRACE" filter Q.npy -o L.npy --window 0 --weights box --scale 1e-6 \
    --accelerators host >"$out"
put Q.npy 0 '\0000\0000\0300\0177' # NaN
put L.npy 0 '\0000\0044\0164\0111' # 1e6
methods="direct separable"
"$HEADRACE" filter A.npy -o B.npy --window 1 --method fft --quiet \
    --accelerators host 2>"$err" && methods="$methods fft"
for method in $methods; do
    for edges in left clamped mirrored periodic constant; do
        expect 0 "verified    yes" filter A.npy -o B.npy --window 9 \
            --edges $edges --method "$method" --verify --accelerators host
        expect 0 "verified    yes, on 2000 elements" filter L.npy -o B.npy \
            --window 2 --edges $edges --method "$method" --verify \
            --accelerators host
    done
    words="on 2000 elements"
    [ "$method" != fft ] || words="of 2000 elements, others are not finite"
    expect 0 "$words" filter Q.npy -o B.npy --window 1 --method "$method" \
        --verify --edges clamped --accelerators host
done

# Results that underflow or overflow are right.
for method in direct separable fft; do
    expect 0 "verified    yes, on 2000 elements" filter L.npy -o B.npy \
        --window 2 --edges clamped --method "$method" --verify --scale 1e-42 \
        --accelerators host
    expect 0 "verified" filter L.npy -o B.npy --window 2 --edges clamped \
        --method "$method" --verify --scale 1e38 --accelerators host
done

# Any number of accelerators gives the same bits.
expect 0 "" filter A.npy -o B.npy --window 4 --edges periodic --quiet \
    --method direct --accelerators host
equal "quiet" "" "$(cat "$out")"
for where in 1xhost 2xhost 5xhost; do
    expect 0 "" filter A.npy -o C.npy --window 4 --edges periodic --quiet \
        --method direct --accelerators $where --memory-limit 150KiB
    check "$TOOLS/npy_check" same B.npy C.npy
done

# A window that does nothing, a factor, and a border that stays.
expect 0 "" filter A.npy -o B.npy --window 0 --weights box --accelerators host
check "$TOOLS/npy_check" same A.npy B.npy
expect 0 "" filter A.npy -o B.npy --window 2 --scale 0 --edges clamped \
    --accelerators host
check "$TOOLS/npy_check" within B.npy 0 0
expect 0 "" filter E.npy -o B.npy --window 2 --accelerators host

# The report.
expect 0 "" filter A.npy -o B.npy --window 20 --json --verify --scale 1 \
    --method separable --accelerators 2xhost --memory-limit 1MiB
equal "rows" 97 "$(json rows)"
equal "reach" 20 "$(json reach)"
equal "method" separable "$(json method)"
equal "rank" 8 "$(json rank)"
equal "bytes home" $((57 * 90 * 4)) "$(json bytes.device_to_host)"
equal "verified" true "$(json verified)"
equal "compared" 2000 "$(json compared)"

# Wrong command lines.
expect 2 "97x130 is too small for a window of 401x401" filter A.npy -o N.npy \
    --window 200 --accelerators host
expect 0 "" filter A.npy -o B.npy --window 200 --edges mirrored \
    --accelerators host
expect 2 "-o is missing" filter A.npy --window 3
expect 2 "--window is missing" filter A.npy -o X.npy
expect 2 "'A.npy' is the same file" filter A.npy -o A.npy --window 3
ln -s W.npy link.npy
expect 2 "'link.npy' is the same file as the input 'W.npy'" filter A.npy \
    -o link.npy --weights W.npy
expect 2 "--window" filter A.npy -o X.npy --window 1025
expect 2 "--edges" filter A.npy -o X.npy --window 3 --edges round
expect 2 "--method" filter A.npy -o X.npy --window 3 --method slow
expect 2 "needs --edges constant" filter A.npy -o X.npy --window 3 --constant 1
expect 2 "for gaussian windows" filter A.npy -o X.npy --window 3 --sigma 2
expect 2 "must be above 0" filter A.npy -o X.npy --window 3 --sigma 0 \
    --weights gaussian
for tolerance in 0 1 2; do
    expect 2 "must be above 0 and below 1" filter A.npy -o X.npy --window 3 \
        --tolerance $tolerance
done
for method in direct fft; do
    expect 2 "--tolerance needs --method separable or auto" filter A.npy \
        -o X.npy --window 3 --tolerance 1e-3 --method $method
done

# Work that cannot be done.
expect 1 "both must be f32" filter I.npy -o X.npy --window 3 --accelerators host
expect 1 "5x7" filter A.npy -o X.npy --weights V.npy --accelerators host
expect 1 "of that reach" filter A.npy -o X.npy --weights W.npy --window 3
expect 1 "No such file" filter A.npy -o X.npy --weights N.npy
expect 1 "No such file" filter N.npy -o X.npy --window 3 --accelerators host
expect 1 "bytes" filter A.npy -o X.npy --window 3 --accelerators 1xhost \
    --memory-limit 10KiB
finish
