#!/bin/sh
# SPDX-License-Identifier: MIT
# reference.sh LIBRARY FOLDER [all]: the test programs of the reference BLAS, level
# 3 in Fortran and C, with LIBRARY preloaded, and some with LIBRARY instead of
# libblas.so.3. libheadrace.so is in FOLDER. Each type is tested in one language,
# or in both.
set -u
library=$1 libheadrace=$2
programs=$(dirname "$(ls /usr/lib/*/blas/xblat3s 2>/dev/null)") || programs=.
if [ ! -x "$programs/xblat3s" ] || [ ! -e "$programs/libblas.so.3" ]; then
    echo "skip: libblas-test and libblas3 are not installed"
    exit 77
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
ln -s "$library" libblas.so.3
failed=0

# judge NAME STATUS FILE WANTED: WANTED lines of FILE must say that a test
# passed, and none that it failed.
judge() {
    passed=$(grep -c 'PASSED' "$3")
    if [ "$2" -ne 0 ] || [ "$passed" -ne "$4" ] ||
        grep -Eiq 'fail|suspect|\*\*\*' "$3"; then
        echo "$1: status $2, $passed of $4 passed"
        grep -Ei 'fail|suspect|\*\*\*' "$3" | head -n 5
        failed=1
    fi
}

# calls NAME: many of its calls must have gone to accelerators.
calls() {
    grep -q 'accelerators *[0-9][0-9][0-9][0-9][0-9] calls' log ||
        { echo "$1: $(cat log)"; failed=1; }
    rm -f log
}

export HEADRACE_LOG="summary,file=$folder/log"
# fortran|c TYPE WANTED
fortran() {
    LD_PRELOAD=$library "$programs/xblat3$1" <"$programs/${1}blat3.in" \
        >out 2>&1
    judge "xblat3$1" $? "${1}blat3.out" "$2"
    calls "xblat3$1"
}
c() { # The reference itself: the CBLAS of others says less about errors.
    LD_LIBRARY_PATH=$programs LD_PRELOAD=$library \
        "$programs/x${1}cblat3" <"$programs/${1}in3" >out 2>&1
    judge "x${1}cblat3" $? out "$2"
    calls "x${1}cblat3"
}
c s 18
fortran d 12
c c 27
fortran z 18
if [ "${3:-}" = all ]; then
    fortran s 12
    c d 18
    fortran c 18
    c z 27
fi

# Instead of libblas.so.3: everything but gemm is passed on to the reference.
export LD_LIBRARY_PATH="$folder:$libheadrace"
export HEADRACE_BLAS_LIBRARY="$programs/libblas.so.3"
"$programs/xzcblat2" <"$programs/zin2" >out 2>&1
judge "xzcblat2 in the place of libblas" $? out 51
"$programs/xblat3d" <"$programs/dblat3.in" >out 2>&1
judge "xblat3d in the place of libblas" $? dblat3.out 12
calls "xblat3d in the place of libblas"
exit $failed
