#!/bin/sh
# SPDX-License-Identifier: MIT
# scalapack.sh SOURCES BUILD [SEEDS]: the tests of level 3 of the PBLAS, from
# ScaLAPACK's sources in the folder SOURCES, through the libraries in the folder
# BUILD: with the problems that come with them, and SEEDS times (10) with random
# ones, on 4, 6 and 13 processes, under each MPI that is found. Takes minutes, a
# Fortran compiler and ScaLAPACK's libraries, so it is run by hand.
set -u
sources=$(cd "$1" && pwd) build=$(cd "$2" && pwd) seeds=${3:-10}
tests=$sources/PBLAS/TESTING
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

compile() {
    for file in PB_Cwarn PB_Cabort; do
        mpicc."$1" -w -DTestingPblas -DAdd_ -I"$sources/PBLAS/SRC" \
            -c "$sources/PBLAS/SRC/PTOOLS/$file.c" || return 1
    done
    for letter in s d c z; do
        case $letter in s | c) machine=slamch ;; *) machine=dlamch ;; esac
        mpif90."$1" -w -O1 -std=legacy -fallow-argument-mismatch \
            -o "x$letter" "$tests/p${letter}blas3tst.f" \
            "$tests/p${letter}blastst.f" "$tests/pblastst.f" \
            "$tests/$machine.f" PB_Cwarn.o PB_Cabort.o "-lscalapack-$1" \
            -llapack -lblas || return 1
    done
}

# problems SEED PROCESSES <FILE: FILE with 20 random problems, on random grids.
problems() {
    awk -v seed="$1" -v processes="$2" '
    function any(low, high) { return low + int((high - low + 1) * rand()) }
    function pick(letters) { return substr(letters, any(1, length(letters)), 1) }
    function row(name,    i, line) {
        for (i = 1; i <= 20; i++) { line = line " " value[name, i] }
        print line, "\tvalues of", name
    }
    function first(count) { # -1: every process has all
        return any(1, 30) == 1 ? -1 : any(0, 1) == 0 ? 0 : any(0, count - 1)
    }
    BEGIN {
        srand(seed)
        for (i = 1; i <= 20; i++) {
            value["P", i] = any(1, processes)
            value["Q", i] = any(1, int(processes / value["P", i]))
            value["DIAG", i] = "\047" pick("NU") "\047"
            value["SIDE", i] = "\047" pick("LR") "\047"
            value["TRANSA", i] = "\047" pick("NTC") "\047"
            value["TRANSB", i] = "\047" pick("NTC") "\047"
            value["UPLO", i] = "\047" pick("UL") "\047"
            split("M N K", size)
            for (s = 1; s <= 3; s++) { value[size[s], i] = any(0, 60) }
            split("A B C", matrix)
            for (x = 1; x <= 3; x++) {
                name = "_" matrix[x]
                value["I" matrix[x], i] = any(1, 20)
                value["J" matrix[x], i] = any(1, 20)
                value["M" name, i] = 85
                value["N" name, i] = 85
                value["IMB" name, i] = any(1, 20)
                value["INB" name, i] = any(1, 20)
                value["MB" name, i] = any(1, 20)
                value["NB" name, i] = any(1, 20)
                value["RSRC" name, i] = first(value["P", i])
                value["CSRC" name, i] = first(value["Q", i])
            }
        }
    }
    /number of process grids/ { print "20\tnumber of grids"; next }
    /number of tests/ { print "20\tnumber of problems"; next }
    /logical flag, T to test error/ { print "F\t\tno error exits"; next }
    /values of [A-Z]+(_[ABC])?$/ && !/values? of (ALPHA|BETA)/ {
        row($NF)
        next
    }
    /^P.(SYMM|SYRK|SYR2K|TRMM|TRSM|GEADD|TRADD|HEMM|HERK|HER2K) / {
        sub(/ T/, " F")
    }
    { print }'
}

# run MPI PROCESSES LETTER WHAT
run() {
    upper=$(echo "$3" | tr sdcz SDCZ)
    : >log
    HEADRACE_BLAS_MIN_FLOPS=0 \
        LD_PRELOAD=$build/libheadrace_pblas_$1.so HEADRACE_LOG=1,file=log \
        timeout 600 mpirun."$1" -n "$2" "./x$3" >out 2>&1 </dev/null
    status=$?
    line=$(grep "P${upper}GEMM  *[0-9]" out)
    echo "$1, $2 processes, p${3}gemm, $4: ${line#*|}," \
        "$(grep -c ': accelerators,' log) computed here," \
        "$(grep -c ': falls back,' log) passed on"
    if [ $status -ne 0 ] || [ -z "$line" ] ||
        grep -Eq 'FAILED *\*\*\*|error.*FAILED|: FAIL' out ||
        [ "$(echo "$line" | awk '{ print $3 - $4 - $6 }')" -ne 0 ]; then
        tail -n 20 out
        failed=1
    fi
}

cd "$folder" || exit 1
for mpi in openmpi mpich; do
    command -v mpif90.$mpi >"$folder/path" || continue
    compile $mpi || exit 1
    for letter in s d c z; do
        name=P$(echo $letter | tr sdcz SDCZ)BLAS3TST.dat
        cp "$tests/$name" .
        run $mpi 4 $letter "its own problems"
        for processes in 4 6 13; do
            for seed in $(seq "$seeds"); do
                problems "$seed" "$processes" <"$tests/$name" >"$name"
                run $mpi $processes $letter "seed $seed"
            done
        done
    done
done
exit $failed
