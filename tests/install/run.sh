#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh CMAKE BUILD CC FLAGS: install the build under DESTDIR, move the result
# to another place, and build and run the example outside the tree both
# ways: through pkg-config and as a CMake package. FLAGS go to the compiler.
set -eu
cmake=$1
build=$2
cc=$3
flags=$4
example=$(cd "$(dirname "$0")/example" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "failed: $*"
    exit 1
}

DESTDIR=$folder/staged "$cmake" --install "$build" --prefix /opt/headrace \
    >"$folder/log" || { cat "$folder/log"; fail "cmake --install"; }
prefix="$folder/moved here"
mv "$folder/staged/opt/headrace" "$prefix"
lib=$(dirname "$(find "$prefix" -name libheadrace.so)")

[ -n "$(find "$folder/staged" -type f)" ] && fail "files outside the prefix"
[ -L "$lib/libheadrace.so.0.1" ] || fail "libheadrace.so.0.1 is no link"
readelf -d "$lib/libheadrace.so" | grep -q 'SONAME.*\[libheadrace\.so\.0\.1\]' ||
    fail "the SONAME is not libheadrace.so.0.1"
for file in bin/headrace bin/headrace-bench share/man/man1/headrace.1 \
    share/bash-completion/completions/headrace; do
    [ -f "$prefix/$file" ] || fail "$file is not installed"
done
"$prefix/bin/headrace" --version || fail "the command does not start"
"$prefix/bin/headrace" bench matmul --size 16 --types f32 --repeat 1 \
    --accelerators host --peers none >"$folder/log" ||
    fail "the command does not start its benchmarks"

run() {
    LD_LIBRARY_PATH="$lib" "$1" || fail "$2: the example ends with $?"
    echo "$2: the product is right"
}

mkdir "$folder/cmake"
with_cmake() {
    "$cmake" -S "$example" -B "$folder/cmake" -G Ninja \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_C_FLAGS="$flags" && "$cmake" --build "$folder/cmake"
}
with_cmake >"$folder/log" 2>&1 || { cat "$folder/log"; fail "find_package"; }
run "$folder/cmake/example" "CMake package"

command -v pkg-config >/dev/null || {
    echo "skip: no pkg-config here, so that half was not tested"
    exit 77
}
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
# eval: pkg-config escapes the space in the prefix for a shell.
eval "\"$cc\" $flags -o \"$folder/example\" \"$example/main.c\"" \
    "$(pkg-config --cflags --libs headrace)" || fail "pkg-config"
run "$folder/example" "pkg-config"
