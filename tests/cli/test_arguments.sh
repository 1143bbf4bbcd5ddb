#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules of every subcommand: help, versions, wrong command lines, and output
# that cannot be written.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

expect 0 "headrace 0.1.0, library 0.1.0" --version
expect 0 "usage: headrace COMMAND" --help
expect 0 "usage: headrace COMMAND" help
expect 0 "usage: headrace COMMAND" help --help
expect 0 "usage: headrace COMMAND" help -h
expect 0 "usage: headrace matmul" --help matmul
for command in devices generate matmul bench; do
    expect 0 "usage: headrace $command" help "$command"
    cp "$out" "$base/help"
    expect 0 "examples:" "$command" --help
    check cmp "$out" "$base/help"
    expect 2 "has no option --frobnicate" "$command" --frobnicate
    expect 2 "try headrace $command --help" "$command" --frobnicate
    expect 2 "has no option -x" "$command" -x
done

expect 2 "a command is missing; try headrace --help"
expect 2 "there is no command 'multiply'" multiply
expect 2 "there is no option '--jsn'" --jsn
expect 2 "there is no command 'x'" help x
expect 2 "help explains 1 command, but 2 were given" help matmul devices
expect 2 "--version takes nothing, but 'x' was given" --version x
expect 2 "headrace devices takes no files, but 1 was given" devices A.npy
expect 2 "takes 2 files, A.npy and B.npy, but 1 was given" matmul A.npy
expect 2 "takes 2 files, A.npy and B.npy, but 3 were given" matmul A B C
expect 2 "takes 1 word, what to measure (matmul, sizes, batch, kernels, filter, grid, calls, stream, run, dialect or copies), but 0 were given" bench
expect 2 "--json takes no value" devices --json=yes
expect 2 "--memory-limit needs a value, SIZE" devices --memory-limit
expect 2 "--memory-limit needs a value, SIZE" devices --memory-limit --json

# "--" ends the options; a lone "-" is a name like any other.
expect 2 "but 3 were given" matmul -o C.npy -- A.npy --json -
expect 2 "takes 2 files" matmul -- --help

# Wrong values: the message has the text as it was given.
wanted="a size from 1 to below 2^63 bytes, such as 512MiB (B, KiB to TiB, \
kB to TB)"
for size in '' 0 12x -1 +1 1e99 nan inf 0x10 '1 MiB' ' 1' 1K 1KB 16EiB 0.5 \
    8388608TiB; do
    expect 2 "--memory-limit: '$size' is not $wanted" \
        devices --memory-limit "$size"
done
for shape in '' 4 4x x4 4x4x4 -4x4 4x-4 4x4y 4.5x4 '4 x4' \
    4294967296x4294967296 99999999999999999999x1 9223372036854775807x1; do
    expect 2 "--shape: '$shape' is not a shape" generate --shape "$shape" \
        --type f32 -o A.npy
done
for seed in '' -1 +1 1x 18446744073709551616; do
    expect 2 "--seed: '$seed' is not" generate --shape 1x1 --type f32 \
        --seed "$seed" -o A.npy
done
for factor in '' nan -nan inf -infinity 1e999 12x 1+2 1+2j 2i+1 1++2i 0x1p3 \
    i2 1.5i+ . '1 +2i'; do
    expect 2 "--alpha: '$factor' is not a number such as" matmul A B -o C \
        --alpha "$factor"
done
for factor in 1e999 -1e999 1e-400 -1e-400 1e-400i 1+1e-400i; do
    expect 2 "each part 0 or from 5e-324 to 1.8e308 in size" matmul A B -o C \
        --alpha "$factor"
done
for type in '' f8 F32 f32x float; do
    expect 2 "--type: '$type' is not one of f32" matmul A B -o C --type "$type"
done
expect 2 "--compute: 'tf31' is not native, tf32, reproducible or precise" matmul A B -o C \
    --compute tf31
expect 2 "--order: 'rows' is not row or column" generate --order rows
expect 2 "--accelerators: '' is not a list" devices --accelerators ''
expect 2 "-o: '' is not a file name" matmul A B -o ''
expect 2 "there is no benchmark 'grids'" bench grids
expect 2 "--repeat: '0' is not" bench matmul --repeat 0
expect 2 "--size: '99999999' is not" bench matmul --size 99999999
expect 2 "--shape: '4x0x4' is not" bench matmul --shape 4x0x4
expect 2 "--types: 'f32,' is not" bench matmul --types f32,
expect 2 "exclude each other" bench matmul --size 8 --shape 8x8x8
expect 2 "'12x' is not a size" bench matmul --accelerators host@12x
expect 2 "has an empty list" bench matmul --accelerators 'host;'

# Values with '=' between.
expect 2 "--alpha: 'x=y' is not" matmul A B -o C --alpha=x=y
expect 2 "has no option --alphabet=1" matmul A B -o C --alphabet=1
expect 2 "has no option --alph" matmul A B -o C --alph=1

# Standard output that cannot be written.
if [ -c /dev/full ]; then
    "$HEADRACE" help matmul >/dev/full 2>"$err"
    equal "status with a full disk" 1 $?
    check is_sentence "cannot write to standard output"
fi
# It may be closed where nothing is printed.
"$HEADRACE" generate --shape 1x1 --type f32 -o "$base/one.npy" >&- 2>"$err"
equal "status with a closed standard output" 0 $?
mkfifo "$base/pipe"
: <"$base/pipe" &
exec 3>"$base/pipe" # opens together with the reader's end
wait $!             # which is closed now
"$HEADRACE" help matmul >&3 2>"$err"
equal "status with a closed pipe" 1 $?
exec 3>&-
check is_sentence "cannot write to standard output"

finish
