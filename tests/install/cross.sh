#!/bin/sh
# SPDX-License-Identifier: MIT
# cross.sh CMAKE SOURCE CC: a build for another machine takes no MPI and no SimGrid
# of this one, unless it is named.
set -eu
cmake=$1
source=$2
cc=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# libraries OPTION...: those over processes, and the simulation, of such a build.
libraries() {
    "$cmake" -S "$source" -B "$folder/build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER="$cc" "$@" \
        >"$folder/log" 2>&1 || {
        cat "$folder/log"
        exit 1
    }
    ninja -C "$folder/build" -t targets all |
        grep -o -e '^libheadrace_mpi[a-z_]*\.so:' -e '^simulate:' || true
}

found=$(libraries)
[ -z "$found" ] || {
    echo "failed: those of this machine were found: $found"
    exit 1
}
# Any program that answers -show will do.
printf '#!/bin/sh\necho "cc -I/nowhere -lmpi"\n' >"$folder/mpicc"
chmod +x "$folder/mpicc"
found=$(libraries -DHEADRACE_MPICC="$folder/mpicc")
[ "$found" = libheadrace_mpi.so: ] || {
    echo "failed: the MPI that was named gives: $found"
    exit 1
}
echo "a build for another machine: all is well"
