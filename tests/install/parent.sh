#!/bin/sh
# SPDX-License-Identifier: MIT
# parent.sh CMAKE SOURCE CC: build and run projects that have Headrace as a part of
# them, by add_subdirectory, by FetchContent (examples/template), and with its
# install rules.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cmake=$1
source=$2
cc=$3

# Not optimised, which takes a fifth of the time.
quietly "configure, FETCH=ON" "$cmake" -S "$(dirname "$0")/parent" \
    -B "$folder/fetch" -G Ninja -DHEADRACE="$source" -DFETCH=ON \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug
quietly "configure" "$cmake" -S "$(dirname "$0")/parent" -B "$folder/build" \
    -G Ninja -DHEADRACE="$source" -DFETCH=OFF \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug
quietly "build" "$cmake" --build "$folder/build"
HEADRACE_ACCELERATORS=host quietly "run" "$folder/build/program"
for other in bin/headrace libheadrace_blas.so; do
    [ -z "$(find "$folder/build" -path "*/$other")" ] ||
        fail "nobody uses $other, which is built"
done
DESTDIR=$folder/staged quietly "install" "$cmake" --install "$folder/build"
[ ! -e "$folder/staged" ] ||
    fail "files are installed unasked: $(find "$folder/staged" -type f)"
quietly "configure, HEADRACE_INSTALL" "$cmake" -DHEADRACE_INSTALL=ON \
    "$folder/build"
ninja -C "$folder/build" -t commands headrace-installed >"$folder/commands"
grep -q -- '-o _deps/headrace-build/headrace ' "$folder/commands" ||
    fail "HEADRACE_INSTALL builds no command"

# The project to start from fetches Headrace where none is installed.
template=$(dirname "$0")/../../examples/template
quietly "configure the template" "$cmake" -S "$template" \
    -B "$folder/template" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_headrace=ON \
    -DFETCHCONTENT_SOURCE_DIR_HEADRACE="$source" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug
quietly "build the template" "$cmake" --build "$folder/template"
quietly "test the template" "${cmake%cmake}ctest" \
    --test-dir "$folder/template" --output-on-failure
grep -q '100% tests passed, 0 tests failed out of 4' "$log" ||
    fail "the template's tests were not run"
echo "a part of another project: all is well"
