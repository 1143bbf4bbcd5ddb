#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace bench: rows, ratios and verified results. Its times are not checked.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
TMPDIR=$base
export TMPDIR

field() { # PATH [WORD]: of every line, or of those with that word
    grep -e "${2:-}" "$out" | "$TOOLS/json_check" -l "$1"
}

expect 0 '"bench": "matmul"' bench matmul --shape 90x100x110 --types f32 \
    --repeat 2 --accelerators '2xhost@1MiB' --from-files --json
check field commit >/dev/null
check field min_seconds >/dev/null
check field accelerators'[1].bytes.peer' >/dev/null
equal "name" '2xhost@1MiB, cold files' "$(field name | grep cold)"
equal "verified" true "$(field verified)"
equal "n" 110 "$(field n | head -n 1)"
equal "nothing left" "err out work" "$(cd "$base" && echo *)"

expect 0 "of cblas" bench matmul --size 64 --types f64,i8 --repeat 1
check grep -q '^host ' "$out"
check grep -q '^4xhost@128MiB ' "$out"
check grep -q '^i8, 64x64 times 64x64.* 1 run in turns after' "$out"

# The environment's list, when no option gives one.
export HEADRACE_ACCELERATORS=2xhost
expect 0 "f32, 64x64" bench matmul --size 64 --types f32 --repeat 1 --peers none
check grep -q '^2xhost  *[0-9]' "$out"
equal "other lists" 0 "$(grep -c '^host \|^4xhost' "$out")"
expect 0 "f32, 64x64" bench matmul --size 64 --types f32 --repeat 1 \
    --peers none --accelerators host
equal "beside an option" 0 "$(grep -c '^2xhost' "$out")"
HEADRACE_ACCELERATORS='host;2xhost'
expect 1 "HEADRACE_ACCELERATORS, character 1" bench matmul --size 64
HEADRACE_ACCELERATORS=
expect 0 "4xhost@128MiB" bench matmul --size 64 --types f32 --repeat 1 \
    --peers none
unset HEADRACE_ACCELERATORS

# Lists of shapes and of kinds of memory; a plan, and the machine's limits.
expect 0 '"memory": "pinned"' bench matmul --shape 90x100x110,40x50x60 \
    --types f32,bf16 --memory ordinary,pinned --repeat 1 --peers none \
    --accelerators '2xhost@16MiB' --json
equal "rows" 8 "$(wc -l <"$out" | tr -d ' ')"
check field predicted_seconds >/dev/null
check field create_seconds >/dev/null
check field limits.links.both >/dev/null
check field of_limit >/dev/null
equal "devices" 1 "$(field limits.devices | sort -u)"
equal "no peer" null "$(field cblas | sort -u)"
equal "verified" true "$(field verified | sort -u)"

# If a row fails, the others are still measured.
expect 0 "not offered" bench matmul --size 64 --types tf32,f32 --repeat 1 \
    --peers none --accelerators host
check grep -q '^f32, 64x64 times 64x64, ordinary memory' "$out"
refuses 1 "least working set" "$HEADRACE" bench matmul --size 64 --types f32 \
    --repeat 1 --peers none --accelerators 'host;2xhost@1KiB;2xhost'
check grep -q '^2xhost@1KiB  *failed' "$out"
check grep -q '^2xhost  *[0-9]' "$out"

# Sizes: auto beside each list and beside CBLAS, every result verified.
expect 0 '"bench": "sizes"' bench sizes --size 3,65 --types f64 --repeat 2 --json \
    --accelerators 'host;2xhost' --peers none
equal "contestants" "auto host 2xhost auto host 2xhost" \
    "$(field name | xargs)"
equal "sizes" "3 65" "$(field n | uniq | xargs)"
check field first_seconds >/dev/null
equal "ratios" 2 "$(field over_best_list '"auto"' | grep -c '^[0-9]')"
expect 0 "over lists" bench sizes --shape 3x4x5 --types f32,c64 --repeat 1 \
    --memory pinned
check grep -q '^3x4x5  *[0-9]' "$out"
HEADRACE_ACCELERATORS=2xhost expect 0 "over lists" bench sizes \
    --size 2 --types f32 --repeat 1 --peers none
equal "the lists of a list" 2 "$(grep -c '^size  *auto  *2xhost' "$out")"
refuses 1 "least working set" "$HEADRACE" bench sizes --size 64 --types f32 \
    --repeat 1 --accelerators '2xhost@1KiB;host' --peers none --json
equal "the others" 2 "$(field min_seconds | grep -c '^[0-9]')"
expect 2 "in f32, f64, c32 and c64" bench sizes --types bf16
expect 2 "beside cblas and cublas" bench sizes --peers openblas
expect 2 "cublas is for sizes" bench matmul --peers cublas
expect 2 "--from-files is not for sizes" bench sizes --from-files

# Batches: lists beside loops over the CBLAS.
expect 0 '"bench": "batch"' bench batch --shape 3x4x5,1x1x1 --types f32,i8 \
    --batch 7 --repeat 1 --accelerators 'host;2xhost' --peers none --json
equal "contestants" "2xhost host" "$(field name | sort -u | xargs)"
equal "rows" 8 "$(field first_seconds | grep -c '^[0-9]')"
equal "products" 7 "$(field count | sort -u)"
expect 0 "over loops" bench batch --size 5 --types f64 --repeat 1 --batch 1
check grep -q '^ *5  *[0-9]' "$out"
expect 2 "not for batch" bench batch --from-files
expect 2 "beside cblas and cublas" bench batch --peers cublasxt

# Kernels, each with its traffic, on every accelerator of every list.
expect 0 '"bench": "kernels"' bench kernels --shape 30x50x40 --repeat 1 --json \
    --accelerators 'host;2xhost'
equal "rows" 18 "$(wc -l <"$out" | tr -d ' ')"
equal "verified" true "$(field verified | sort -u)"
equal "traffic" "$(((2 * 30 * 40 * 50 + 30 * 40) * 4))" \
    "$(field traffic_bytes | head -n 1)"
expect 0 "of library" bench kernels --size 33 --repeat 1 --accelerators host
check grep -q '^blocked ' "$out"
expect 2 "and --peers are not for kernels" bench kernels --peers none
expect 2 "kernels are measured in f32" bench kernels --types f64

# Calls over views, in both types on each list.
expect 0 '"bench": "calls"' bench calls --elements 5000 --repeat 1 --json \
    --accelerators 'host;2xhost'
equal "calls" 48 "$(wc -l <"$out" | tr -d ' ')"
equal "elements" 5000 "$(field elements | sort -u)"
expect 0 "its over ours" bench calls --elements 70 --types f64 --repeat 1
check grep -q '^argmin ' "$out"
check grep -q '^histogram ' "$out"
expect 2 "and --peers are not for calls" bench calls --peers none
expect 2 "calls are measured in f32 and f64" bench calls --types f16
expect 2 "for calls, stream and run" bench matmul --elements 5

# Views that stream: every byte moves once, also where memory holds all.
expect 0 '"bench": "stream"' bench stream --elements 200001 --repeat 1 --json \
    --accelerators '2xhost@2MiB;host,1xhost@1MiB;3xhost@64MiB' \
    --memory ordinary,pinned
equal "streams" 6 "$(wc -l <"$out" | tr -d ' ')"
equal "bytes over the fewest" 1 "$(field over_compulsory | sort -u)"
equal "bytes moved" "$((3 * 4 * 200001))" "$(field moved_bytes | head -n 1)"
expect 0 "of links" bench stream --elements 50 --repeat 1 --accelerators host
expect 2 "and --peers are not for stream" bench stream --peers none
expect 2 "streams are measured in f32" bench stream --types f64

# Nine kernels by hr_run, whose results are those of OpenMP and of NumPy.
expect 0 '"bench": "run"' bench run --elements 5000 --repeat 1 --json \
    --accelerators 'host;3xhost'
equal "kernels" 18 "$(wc -l <"$out" | tr -d ' ')"
equal "sizes" "5000 5000 70 x 70 70 x 70 17 x 17 70 70 x 70 5000 70 x 70" \
    "$(field size | head -n 9 | xargs)"
equal "beside OpenMP" 18 "$(field over_openmp | grep -c '^[0-9]')"
expect 0 "OpenMP over ours" bench run --elements 1 --repeat 1
check grep -q '^blur 5x5  *1 x 1 ' "$out"
mkdir "$base/python"
numpy() { # SCRIPT: a python3 of our own
    printf '#!/bin/sh\necho NumPy 0\n%s\n' "$1" >"$base/python/python3"
    chmod +x "$base/python/python3"
    PATH=$base/python:$PATH "$HEADRACE" bench run --elements 40 --repeat 1 \
        --json
}
ends 0 numpy 'exit 0'
equal "times of NumPy" null "$(field numpy_seconds | sort -u)"
refuses 1 "but 5 with NumPy" numpy 'while read -r line; do echo 1 5; done'
expect 2 "and --peers are not for run" bench run --peers none
expect 2 "run is measured in f32" bench run --types f64

# Filters.
expect 0 '"method": "separable"' bench filter --size 90 --window 7 --repeat 1 \
    --json --accelerators '2xhost' --types f32,f64
expect 0 "all, a thread each" bench filter --shape 50x1x70 --window 5 \
    --repeat 1 --accelerators 'host;3xhost'
refuses 1 "may hold 1024 bytes" "$HEADRACE" bench filter --size 60 --window 5 \
    --repeat 1 --accelerators '1xhost@1KiB;host'
equal "rows of the other list" 1 "$(grep -c '^direct ' "$out")"
expect 2 "50x60 is too small for a window of 51x51" bench filter --shape 50x1x60 \
    --window 25 --accelerators host
expect 0 "separable" bench filter --size 51 --window 25 --repeat 1 \
    --accelerators host
expect 2 "--window is for filter" bench matmul --window 3
expect 2 "in f32 and f64" bench filter --types c32
expect 2 "no benchmark 'grids'" bench grids

# Grids: every workload, beside plain C and beside the first list.
expect 0 '"bench": "grid"' bench grid --size 37 --steps 17 --residual 3 \
    --workload jacobi,jacobi2,jacobi4,jacobi8,heat,fdtd,lbm --repeat 2 \
    --json --accelerators 'host;3xhost'
equal "rows" 14 "$(wc -l <"$out" | tr -d ' ')"
equal "verified" true "$(field verified | sort -u)"
equal "identical" "null true" \
    "$(field identical | sort -u | xargs)"
equal "steps" "17 17 18 18 20 20 24 24 17 17 17 17 17 17" \
    "$(field steps | xargs)"
equal "residuals" "3 4 4 8 0 0 0" \
    "$(field residual_every | sed -n 'n;p' | xargs)"
equal "hidden of one" null "$(field hidden '"host"' | sort -u)"
check field 'copy_bytes_per_second' >/dev/null
expect 0 '"verified": true' bench grid --size 19 --steps 5 --repeat 1 --json \
    --workload heat-clamp,heat-mirror,heat-periodic \
    --accelerators 'host;3xhost'
equal "rows" 6 "$(wc -l <"$out" | tr -d ' ')"
expect 0 "efficiency" bench grid --size 9 --steps 2 --repeat 1 --residual 0 \
    --workload heat,jacobi --accelerators '2xhost@1MiB;host' --weak
check grep -q '^heat  *18x9x9  2xhost@1MiB .*100 %$' "$out"
check grep -q '^jacobi  *9x9  host ' "$out"
# The extent is that of cells: 19 populations each, of 4 bytes, read and written.
expect 0 '"extent": [8, 8, 8]' bench grid --size 8 --steps 3 --repeat 1 \
    --workload lbm --accelerators host --json
equal "bytes of a cell" 152 "$(awk -v t="$(field effective_bytes_per_second)" \
    -v c="$(field cells_per_second)" 'BEGIN { printf "%.0f", t / c }')"
refuses 1 "into the 512000 bytes" "$HEADRACE" bench grid --size 400 --steps 1 \
    --repeat 1 --workload fdtd --accelerators '1xhost@500KiB;host'
check grep -q '^fdtd .* host .*1.00' "$out"
expect 2 "grids are measured in f32" bench grid --types f64
expect 2 "--shape, --window, --memory, --from-files and" bench grid --shape 8x8x8
expect 2 "are for grid" bench matmul --residual 0
expect 2 "--workload: 'jacobi3' is not" bench grid --workload jacobi3
expect 2 "--steps: '0' is not" bench grid --steps 0
expect 2 "--residual: '-1' is not" bench grid --residual=-1

# Standard output that cannot be written.
if [ -c /dev/full ]; then
    for form in --peers=none --json; do
        "$HEADRACE" bench matmul --size 64 --types f32,f64 --repeat 1 \
            --accelerators host $form >/dev/full 2>"$err"
        equal "status with a full disk" 1 $?
        check is_sentence \
            "cannot write to standard output: No space left on device"
    done
fi

# GPUs, each list in a context of its own, beside cuBLASXt.
gpus() { # ARGUMENTS...: run the command on a machine with two
    HEADRACE_CUDA=$FAKE_CUDA HEADRACE_CUBLAS=$FAKE_CUDA \
        HEADRACE_NVRTC=$FAKE_CUDA "$HEADRACE" "$@"
}
ends 0 gpus bench matmul --shape 30x40x50 --types f32,tf32 --repeat 2 \
    --memory pinned --accelerators 'cuda:1;2xcuda:0' --json
equal "kinds" "cublasxt cublasxt headrace headrace" \
    "$(field kind | head -n 4 | xargs)"
equal "notes" "not offered" "$(field note tf32 | grep offered | sort -u)"
equal "ratios" 2 \
    "$(field cublasxt.ratio_of_best '"f32".*headrace' | grep -c '^[0-9]')"
FAKE_XT_FAIL=3 gpus bench matmul --size 20 --types f64 \
    --accelerators cuda:0 --repeat 1 >"$out" 2>"$err"
check grep -q '^cuBLASXt on cuda:0: cuBLASXt returned 3' "$out"
FAKE_XT_WRONG=1 gpus bench matmul --size 20 --types c32 \
    --accelerators cuda:0 --repeat 1 >"$out" 2>"$err"
check grep -q 'its product is wrong' "$out"
HEADRACE_CUBLASXT=/nowhere gpus bench matmul --size 20 --types f32 \
    --accelerators cuda:0 --repeat 1 >"$out" 2>"$err"
equal "without the peer" 0 "$(grep -c cuBLASXt "$out")"

ends 0 gpus bench sizes --size 9,70 --types f32,f64,c32,c64 --repeat 1 \
    --accelerators cuda:1 --memory ordinary,pinned --json
equal "cuBLAS by hand" 16 "$(field min_seconds '"cublas"' | grep -c '^[0-9]')"
ends 0 gpus bench batch --size 9,12 --types f32,f64,c32,c64 --repeat 1 \
    --accelerators cuda:1 --memory ordinary,pinned --batch 3 --json
equal "cuBLAS by hand" 16 "$(field min_seconds '"cublas"' | grep -c '^[0-9]')"
equal "beside cuBLAS" 16 "$(field over_cublas '"list"' | grep -c '^[0-9]')"
gpus bench sizes --size 9 --types f32 --repeat 1 --peers none \
    --json >"$out" 2>"$err"
equal "lists" "auto cuda:0 cuda:1 host cuda:0,cuda:1 cuda:0,cuda:1,host" \
    "$(field name | xargs)"
FAKE_XT_WRONG=1 gpus bench sizes --size 9 --types f32 \
    --repeat 1 --accelerators cuda:0 --json >"$out" 2>"$err"
equal "a wrong product" "its product is wrong" "$(field note)"
FAKE_XT_WRONG=1 gpus bench batch --size 9 --types f64 \
    --repeat 1 --batch 2 --accelerators cuda:0 --json >"$out" 2>"$err"
equal "a wrong batch" "its product is wrong" "$(field note)"

# A signal removes the folder and its files. (SIGINT is ignored by what shells
# run in the background.)
TMPDIR=$PWD "$HEADRACE" bench matmul --size 1000 --types f32 --from-files \
    --repeat 10000 --accelerators host --peers none >"$out" 2>"$err" &
until [ -n "$(find . -name 'headrace-bench-*')" ] || ! kill -0 $!; do
    sleep 0.1
done
kill -TERM $!
wait $!
equal "status after a signal" 1 $?
check is_sentence "headrace: cancelled"
equal "nothing left after a signal" "" "$(ls -A)"

# The parts with options of their own.
expect 0 "usage: headrace bench dialect" bench dialect --help
expect 2 "headrace bench dialect has no option --window" bench dialect --window
expect 2 "--sections: 'host,vulkan' is not" bench dialect --sections host,vulkan
expect 0 '"verified": true' bench dialect --quick --sections host --json
equal "dialect" dialect "$(field bench | sort -u)"
expect 0 "hr_copy up" bench copies 2xhost 1
equal "copies" 21 "$(wc -l <"$out" | tr -d ' ')"
expect 2 "MiB from 1 to 1048576" bench copies host 0
expect 1 "nowhere" bench copies nowhere

expect 2 "no benchmark 'peer'" bench peer

# The program lies beside the command, whatever the command is called by.
ln -s "$HEADRACE" "$base/called"
ends 0 "$base/called" bench --help
mkdir "$base/alone" && cp "$HEADRACE" "$base/alone/headrace"
LD_LIBRARY_PATH=$(dirname "$HEADRACE") refuses 1 \
    "bench needs the program $base/alone/headrace-bench: No such file" \
    "$base/alone/headrace" bench matmul
equal "nothing on standard output" "" "$(cat "$out")"

expect 2 "--memory: 'paged' is not" bench matmul --memory paged
expect 2 "--peers: 'cblas,mkl' is not" bench matmul --peers cblas,mkl
expect 2 "--size: '8,' is not" bench matmul --size 8,
expect 2 "--shape: '8x8x8,8x8' is not" bench matmul --shape 8x8x8,8x8
expect 2 "--types: 'i32' is not" bench matmul --types i32
expect 2 "--accelerators, character 1: " bench matmul \
    --accelerators 'host;,' --size 8
expect 1 "nowhere" bench matmul --accelerators 'host;nowhere' --size 8
finish
