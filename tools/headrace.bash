# SPDX-License-Identifier: MIT
# Completion of headrace's command line for bash. Installed as
# bash-completion/completions/headrace, or read by: . tools/headrace.bash
# shellcheck shell=bash

# The words that may follow an option of a subcommand. False when there is no
# list of them.
_headrace_values() {
    case $1:$2 in
    filter:--type) echo "f32 f64" ;;
    bench:--types) echo "f32 f64 c32 c64 f16 bf16 i8 tf32" ;;
    *:--type | *:--input-type) echo "f32 f64 c32 c64 f16 bf16 i8 i32" ;;
    *:--memory) echo "ordinary pinned ordinary,pinned" ;;
    *:--peers) echo "cblas openblas cublas cublasxt none" ;;
    *:--order) echo "row column" ;;
    *:--compute) echo "native tf32 reproducible precise" ;;
    *:--accelerators) echo "all host 2xhost 4xhost opencl host,opencl cuda cuda:0 cuda,host" ;;
    *:--edges) echo "left clamped mirrored periodic constant" ;;
    *:--method) echo "auto direct separable fft" ;;
    *:--weights) echo "radial box gaussian" ;;
    *:--memory-limit) echo "128MiB 512MiB 1GiB 4GiB 16GiB" ;;
    *:--workload) echo "jacobi jacobi2 jacobi4 jacobi8 heat heat-clamp heat-mirror heat-periodic fdtd lbm" ;;
    *:--sections) echo "host opencl cuda launch" ;;
    *:--steps | *:--residual | *:--launches) echo "" ;;
    *:--alpha | *:--beta | *:--seed | *:--shape | *:--size | *:--repeat | *:--batch | *:--elements | \
        *:--window | *:--sigma | *:--scale | *:--constant | *:--tolerance | *:--threads | *:--machines) echo "" ;;
    *) return 1 ;;
    esac
}

# The options of a subcommand, or of a measurement that has its own.
_headrace_options() {
    case "$1 $2" in
    "bench dialect") echo "--sections --size --repeat --launches --quick --json" && return ;;
    "bench copies") return ;;
    esac
    case $1 in
    devices) echo "--accelerators --memory-limit --threads --measure --svg --json" ;;
    generate) echo "--shape --type --seed --order --threads -o --quiet" ;;
    matmul)
        echo "-o --shape --input-type --alpha --add --beta --transpose-a --transpose-b" \
            "--conjugate-a --conjugate-b --type --accelerators" \
            "--memory-limit --threads --trace --compute --dry-run" \
            "--machines --like --verify --json --quiet"
        ;;
    filter)
        echo "-o --shape --type --window --weights --sigma --scale --edges --constant" \
            "--method --tolerance --accelerators --memory-limit --threads" \
            "--trace --verify --json --quiet"
        ;;
    report) echo "-o" ;;
    bench)
        echo "--size --shape --types --memory --accelerators" \
            "--memory-limit --threads --peers --batch --elements --window --repeat" \
            "--from-files --json --plot" \
            "--workload --steps --residual --weak"
        ;;
    esac
}

_headrace() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="devices generate matmul filter report bench help --help --version"
    elif [ "$command" = help ]; then
        words="devices generate matmul filter report bench"
    elif ! words=$(_headrace_values "$command" "$before"); then
        words=
        case $word in
        -*) words="$(_headrace_options "$command" "${COMP_WORDS[2]}") --help" ;;
        *) [ "$command" != bench ] || words="matmul sizes batch kernels filter grid calls stream run dialect copies" ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
# Otherwise complete names of files: the operands, -o and --add.
complete -o default -F _headrace headrace
