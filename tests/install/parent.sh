#!/bin/sh
# SPDX-License-Identifier: MIT
# parent.sh CMAKE SOURCE CC: build and run a project that has Headrace as a part of
# it, by add_subdirectory, by FetchContent, and with its install rules.
set -eu
cmake=$1
source=$2
cc=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# quietly WHAT COMMAND...: its output only when it fails.
quietly() {
    what=$1
    shift
    "$@" >"$folder/log" 2>&1 || {
        cat "$folder/log"
        echo "failed: $what"
        exit 1
    }
}

# Not optimised, which takes a fifth of the time. Both ways build the library in
# one place, so the second need not.
for fetch in OFF ON; do
    quietly "configure, FETCH=$fetch" "$cmake" -S "$(dirname "$0")/parent" \
        -B "$folder/build" -G Ninja -DHEADRACE="$source" -DFETCH=$fetch \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug
    quietly "build, FETCH=$fetch" "$cmake" --build "$folder/build"
    HEADRACE_ACCELERATORS=host quietly "run, FETCH=$fetch" \
        "$folder/build/program"
done
for other in bin/headrace libheadrace_blas.so; do
    [ -z "$(find "$folder/build" -path "*/$other")" ] || {
        echo "failed: nobody uses $other, which is built"
        exit 1
    }
done
DESTDIR=$folder/staged quietly "install" "$cmake" --install "$folder/build"
[ ! -e "$folder/staged" ] || {
    find "$folder/staged" -type f
    echo "failed: these files are installed unasked"
    exit 1
}
quietly "configure, HEADRACE_INSTALL" "$cmake" -DHEADRACE_INSTALL=ON \
    "$folder/build"
ninja -C "$folder/build" -t commands headrace-installed >"$folder/commands"
grep -q -- '-o _deps/headrace-build/headrace ' "$folder/commands" || {
    echo "failed: HEADRACE_INSTALL builds no command"
    exit 1
}
echo "a part of another project: all is well"
