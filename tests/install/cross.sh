#!/bin/sh
# SPDX-License-Identifier: MIT
# cross.sh CMAKE SOURCE CC: a build for another machine takes no MPI and no SimGrid
# of this one, unless it is named.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cmake=$1
source=$2
cc=$3

# libraries OPTION...: those over processes, and the simulation, of such a build.
libraries() {
    quietly "configure $*" "$cmake" -S "$source" -B "$folder/build" -G Ninja \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_C_COMPILER="$cc" "$@" >&2
    ninja -C "$folder/build" -t targets all |
        grep -o -e '^libheadrace_mpi[a-z_]*\.so:' -e '^simulate:' || true
}

found=$(libraries)
[ -z "$found" ] || fail "those of this machine were found: $found"
# Any program that answers -show will do.
printf '#!/bin/sh\necho "cc -I/nowhere -lmpi"\n' >"$folder/mpicc"
chmod +x "$folder/mpicc"
found=$(libraries -DHEADRACE_MPICC="$folder/mpicc")
[ "$found" = libheadrace_mpi.so: ] ||
    fail "the MPI that was named gives: $found"
echo "a build for another machine: all is well"
