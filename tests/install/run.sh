#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh CMAKE BUILD CC [FLAGS]: install the build under DESTDIR, move the result
# to another place, and build and run the example outside the tree both
# ways: through pkg-config and as a CMake package. FLAGS go to the compiler.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cmake=$1
build=$2
cc=$3
flags=${4:-}
example=$(cd "$(dirname "$0")/example" && pwd)

quietly "cmake --install" env DESTDIR="$folder/staged" "$cmake" \
    --install "$build" --prefix /opt/headrace
prefix="$folder/moved here"
mv "$folder/staged/opt/headrace" "$prefix"
lib=$(dirname "$(find "$prefix" -name libheadrace.so)")

[ -n "$(find "$folder/staged" -type f)" ] && fail "files outside the prefix"
[ -L "$lib/libheadrace.so.0.1" ] || fail "libheadrace.so.0.1 is no link"
readelf -d "$lib/libheadrace.so" | grep -q 'SONAME.*\[libheadrace\.so\.0\.1\]' ||
    fail "the SONAME is not libheadrace.so.0.1"
for file in bin/headrace bin/headrace-bench share/man/man1/headrace.1 \
    share/man/man1/headrace-matmul.1 share/bash-completion/completions/headrace; do
    [ -f "$prefix/$file" ] || fail "$file is not installed"
done
"$prefix/bin/headrace" --version || fail "the command does not start"
quietly "the command's benchmarks" "$prefix/bin/headrace" bench matmul \
    --size 16 --types f32 --repeat 1 --accelerators host --peers none

run() {
    LD_LIBRARY_PATH="$lib" "$1" || fail "$2: the example ends with $?"
    echo "$2: the product is right"
}

# configure PROJECT BUILD, and build PROJECT BUILD, which does that first.
configure() {
    "$cmake" -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$flags"
}
build() {
    configure "$1" "$2" && "$cmake" --build "$2"
}
quietly find_package build "$example" "$folder/cmake"
run "$folder/cmake/example" "CMake package"

# The project to start from, and its tests.
template=$example/../../../examples/template
quietly "build the template" build "$template" "$folder/template"
quietly "test the template" env LD_LIBRARY_PATH="$lib" "${cmake%cmake}ctest" \
    --test-dir "$folder/template" --output-on-failure
grep -q '100% tests passed, 0 tests failed out of 4' "$log" ||
    fail "the tests of examples/template"
[ "$(LD_LIBRARY_PATH=$lib "$folder/template/program")" = "12 24 36 48 60" ] ||
    fail "the program of examples/template"
echo "examples/template: built with the installed package, and its tests pass"

# What pages tell to type must work where Ninja is, and no make.
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir "$folder/bin"
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/make"
chmod +x "$folder/bin/make"
block() { # PAGE LANGUAGE N: the Nth block of that language in a page
    awk -v fence="^\`\`\`$2\$" -v n="$3" '
        $0 ~ fence { count++; inside = count == n; next }
        /^```$/ { inside = 0 }
        inside' "$source/docs/$1"
}
typed() { # FOLDER PAGE N: type the Nth block of shell there
    block "$2" sh "$3" >"$folder/typed"
    grep -q 'cmake --build' "$folder/typed" ||
        fail "docs/$2 does not tell how to build"
    (cd "$1" && quietly "what docs/$2 tells to type" env PATH="$folder/bin:$PATH" \
        CC="$cc" CFLAGS="$flags" CMAKE_PREFIX_PATH="$prefix" \
        sh -e "$folder/typed") || exit 1
    echo "docs/$2: it works as written"
}

# The program of docs/grids.md.
mkdir "$folder/grids"
block grids.md c 1 >"$folder/grids/step.c"
block grids.md c 2 >"$folder/grids/plate.c"
block grids.md cmake 1 >"$folder/grids/CMakeLists.txt"
typed "$folder/grids" grids.md 1
# shellcheck disable=SC2016 # a pair of ` in Markdown
[ "$(grep -cF "$(sed -n 's/^Both print `\(.*\)`\.$/\1/p' \
    "$source/docs/grids.md")" "$log")" -eq 2 ] ||
    fail "the program of docs/grids.md"

# That of docs/kernels.md, for a kernel that calls a function of libm.
mkdir "$folder/kernels"
block kernels.md cmake 1 >"$folder/kernels/CMakeLists.txt"
grep -q headrace_kernels "$folder/kernels/CMakeLists.txt" ||
    fail "docs/kernels.md has no lines of CMake"
cp "$source/examples/first_kernel.c" "$folder/kernels/program.c"
sed 's/HR_AT1(a, i)/sqrt(HR_AT1(a, i) * HR_AT1(a, i))/' \
    "$source/examples/kernels/first_kernel.c" >"$folder/kernels/kernels.c"
grep -q sqrt "$folder/kernels/kernels.c" || fail "no kernel calls sqrt"
sed 's/(add/(exact/' "$folder/kernels/kernels.c" >"$folder/kernels/exact.c"
typed "$folder/kernels" kernels.md 1
sed 's/kernels\.c/more.c/' "$folder/kernels/CMakeLists.txt" |
    grep more >>"$folder/kernels/CMakeLists.txt"
sed 's/(add/(more/' "$folder/kernels/kernels.c" >"$folder/kernels/more.c"
quietly "headrace_kernels, called twice" configure "$folder/kernels" \
    "$folder/twice"
refused() { # WHAT SENTENCE: the project cannot be configured, for that reason
    configure "$folder/kernels" "$folder/refused" >"$log" 2>&1 &&
        fail "$1 is not refused"
    tr -s ' \n' ' ' <"$log" | grep -q "$2" || fail "no sentence about $1"
}
cp "$folder/kernels/CMakeLists.txt" "$folder/list"
grep more "$folder/list" >>"$folder/kernels/CMakeLists.txt"
refused "a file of kernels given twice" 'more.c is given twice for the target'
sed 's/more\.c/more.txt/' "$folder/list" >"$folder/kernels/CMakeLists.txt"
refused "a file of another language" 'more.txt is no file of C'
sed 's/project(program C)/project(program NONE)/' "$folder/list" \
    >"$folder/kernels/CMakeLists.txt"
refused "a project without C" 'add C to the languages of project'

# What other pages add to CMakeLists.txt, and what docs/kernels.md says of
# mistakes in its kernel.
mkdir "$folder/pages"
{
    block kernels.md cmake 1 | sed '/^target\|^headrace_kernels/d'
    block administration.md cmake 2
    block dialect.md cmake 1
} >"$folder/pages/CMakeLists.txt"
grep -q REPRODUCIBLE "$folder/pages/CMakeLists.txt" || fail "dialect.md cmake 1"
cp "$folder/kernels/program.c" "$folder/kernels/exact.c" "$folder/pages"
mistake() { # N EDIT VARIABLE: what text N of kernels.md says of that kernel
    block kernels.md c 4 | sed "$2" >"$folder/pages/kernels.c"
    grep '^kernels\.c:7: ' "$source/docs/kernels.md" | sed -n "$1p" >"$folder/said"
    quietly pages build "$folder/pages" "$folder/pages/build"
    env LD_LIBRARY_PATH="$lib" HEADRACE_ACCELERATORS=host "$3" \
        "$folder/pages/build/program" >"$log" 2>&1 || true
    grep -qxFf "$folder/said" "$log" || fail "kernels.md text $1"
}
mistake 1 's/HR_AT1(c, i) =.*/return;/' HEADRACE_CHECK=
mistake 2 's/(c, i)/(c, i + 1)/' HEADRACE_CHECK=1

# The paths of the module file.
block administration.md tcl 1 | sed -n 's/.*[$]root\///p' >"$folder/paths"
grep -q . "$folder/paths" || fail "administration.md tcl 1"
while read -r path; do
    case $path in
    lib*) path=$lib${path#lib} ;;
    *) path=$prefix/$path ;;
    esac
    [ -e "$path" ] || fail "docs/administration.md: there is no $path"
done <"$folder/paths"

# demo builds all that is installed.
if [ -f "$build/build.ninja" ]; then
    target=$(sed -n 's/^build \([^ ]*\)$/\1/p' "$source/demo")
    ninja -C "$build" -t commands "$target" >"$folder/commands" ||
        fail "demo builds no target of ninja"
    for file in libheadrace.so libheadrace_blas.so libheadrace_blas64.so \
        headrace headrace-bench; do
        grep -q -- "-o $file" "$folder/commands" ||
            fail "demo does not build $file"
    done
fi

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

# Over processes, with each MPI that is here: through pkg-config, and as a CMake
# package.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for kind in openmpi mpich; do
    [ -f "$lib/libheadrace_mpi_$kind.so" ] || continue
    name=headrace_mpi_$kind
    mkdir "$folder/$name"
    cat >"$folder/$name/program.c" <<'P'
#include <headrace/mpi.h>
#include <stdio.h>
int main(void)
{
    double a[4] = {1, 2, 3, 4}, c[4] = {0};
    const hr_mpi_cyclic of_a = {.row_block = 2, .col_block = 2,
        .process_rows = 1, .process_cols = 1, .data = a,
        .leading_dimension = 2};
    hr_mpi_cyclic of_c = of_a;
    of_c.data = c;
    const hr_mpi_matrix A = hr_mpi_matrix_cyclic(HR_F64, 2, 2, &of_a);
    const hr_mpi_matrix C = hr_mpi_matrix_cyclic(HR_F64, 2, 2, &of_c);
    hr_mpi_context *context = NULL;
    MPI_Init(NULL, NULL);
    if (hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context) != HR_OK ||
        hr_mpi_gemm(context, hr_real(1), A, A, hr_real(0), C, NULL) != HR_OK ||
        c[0] != 7 || c[3] != 22) {
        puts(hr_last_error());
        return 1;
    }
    hr_mpi_context_destroy(context);
    MPI_Finalize();
    return 0;
}
P
    cat >"$folder/$name/CMakeLists.txt" <<P
cmake_minimum_required(VERSION 3.20)
project(program C)
find_package(headrace REQUIRED)
add_executable(program program.c)
target_link_libraries(program headrace::$name)
P
    words=$(pkg-config --cflags --libs $name) || fail "pkg-config $name"
    (cd "$folder/$name" && cc=mpicc.$kind &&
        quietly "$name, pkg-config" sh -c \
            "$cc $flags program.c -o by_pkgconfig $words" &&
        quietly "$name, CMake" build . built) || exit 1
    for program in by_pkgconfig built/program; do
        # OpenMPI frees less than it has taken, of which sanitizers tell.
        ASAN_OPTIONS=detect_leaks=0 HEADRACE_ACCELERATORS=host \
            run "$folder/$name/$program" "$name"
    done
done
