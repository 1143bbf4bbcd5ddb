#!/bin/sh
# SPDX-License-Identifier: MIT
# pages.sh SOURCE BUILD CC PYTHON [MPICC MPIRUN LIBRARY]: each block of code of each
# page has a row in pages/blocks.txt, which says what runs it. Does what the rows
# say.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
source=$1
build=$2
cc=$3
python=$4
shift 4
rows=$source/tests/install/pages/blocks.txt
blocks=$folder/blocks

# All blocks, as files PAGE/LANGUAGE-AND-NUMBER. A block without a language is
# text, and one without a fence is indented.
mkdir "$blocks" "$folder/bin" "$folder/work"
cd "$source"
for page in README.md CONTRIBUTING.md docs/*.md docs/contracts/*.md; do
    mkdir -p "$blocks/$page"
    awk -v to="$blocks/$page" '
        function start(language) {
            count[language]++
            file = to "/" language count[language]
            print FILENAME, language, count[language]
            printf "" >file
        }
        inside && /^ *```$/ { inside = 0; next }
        inside && /^\.\.\./ && file ~ /c[0-9]+$/ { file = file "+"; next }
        inside { sub("^" indent, ""); print >file; next }
        match($0, /^ *```/) {
            inside = 1
            indent = substr($0, 1, RLENGTH - 3)
            start(substr($0, RLENGTH + 1) ? substr($0, RLENGTH + 1) : "text")
            next
        }
        /^([*-]|[0-9]+\.) / { item = 1 }
        /^[^ ]/ && !/^([*-]|[0-9]+\.) / { item = 0 }
        /^    / && !item && (before == "" || open) {
            if (!open) { start("indented") }
            open = 1
            print substr($0, 5) >file
            next
        }
        { open = 0; before = $0 }' "$page"
done | sort >"$folder/there"
sed '/^#/d' "$rows" | while read -r page language numbers how; do
    for n in $(seq "${numbers%-*}" "${numbers#*-}"); do
        echo "$page $language $n"
        echo "$page $language$n $how" >>"$folder/rows"
    done
done | sort >"$folder/listed"
diff "$folder/there" "$folder/listed" ||
    fail "< are blocks without a row in $rows, > rows without a block"

# The fragments of C.
compile() { # FILE COMPILER ARGUMENT...
    file=$source/tests/install/pages/$1
    program=$folder/$(basename "$1" .c)
    compiler=$2
    shift 2
    "$compiler" -std=gnu11 -O1 -Wall -Werror -I "$blocks" -I "$source" \
        -I "$source/include" "$file" -o "$program" "$@" \
        "$build/libheadrace.so" "-Wl,-rpath,$build" >>"$log" 2>&1 ||
        fail "$file does not compile"
}
export HEADRACE_ACCELERATORS=host HEADRACE_CACHE="$folder/cache"
compile fragments.c "$cc"
compile simulate.c "$cc" -fsyntax-only -Wno-unused-command-line-argument \
    -I "$source/src" -I "$source/tests"
cd "$folder/work"
HEADRACE_CACHE=$folder/other "$folder/fragments" >>"$log" 2>&1 ||
    fail "the fragments of C"

# What blocks of shell find: a tree that is built, and the files that they name.
for name in bench docs examples tests; do ln -s "$source/$name" .; done
ln -s "$build" build
ln -s "$folder/fragments" program
ln -s "$build/headrace" "$folder/bin"
ln -s "$python" "$folder/bin/python3"
export PATH="$folder/bin:$PATH" PYTHONPATH="$build/python"
export PYTHONDONTWRITEBYTECODE=1 HEADRACE_LOG=1
cp docs/pictures/cartoonizer.png photo.png
numpy=yes
python3 -c 'import numpy, headrace' 2>>"$log" || numpy=
[ -n "$numpy" ] || echo "skip Python: no NumPy here, or no package headrace"
echo 'import numpy; a = numpy.ones((700, 700)); a @ a; a @ a' >script.py
[ -z "$numpy" ] || python3 - <<'P'
import json, numpy, struct
numpy.save("x.npy", numpy.ones((20, 40), "f4"))
weights = numpy.ones((40, 30), "f4")
numpy.savez("weights.npz", layer1=weights)
head = json.dumps({"blk.0.w": {"dtype": "F32", "shape": [40, 30],
                               "data_offsets": [0, 4800]}}).encode()
with open("model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(head)) + head + weights.tobytes())
P
generate() {
    headrace generate --shape "$1" --type "$2" -o "$3" >>"$log" 2>&1
}
generate 300x200 f32 a.raw
generate 200x250 f32 b.raw
generate 1024x1024 f64 A.npy
generate 1024x1024 f64 B.npy
cp A.npy IN.npy
headrace matmul A.npy A.npy -o C.npy >>"$log" 2>&1
headrace devices --measure >>"$log" 2>&1

# The same in less time; b.raw has as many bytes in the second form. Where calls of
# a BLAS are traced, there are some, however long they take.
smaller='s/4096/1024/g; s/512x512/300x400,400x250/; s/ 3000 200 / 300 20 /
    s/ 240 100 100 / 72 30 15 /; s/ 96 2000 / 30 60 /; s/ 96 12000 / 48 200 /
    s/ 360 / 60 /; s/64,128,256,512,1024/64 --repeat 1 --peers none/
    s/HEADRACE_TRACE=run.json LD_PRELOAD/HEADRACE_BLAS_FORCE=1 &/
    s/example_cartoonizer/& -p 1/; s/--steps 20/--steps 2 --size 64 --repeat 1/'
plain() { # without what differs: numbers and blanks
    sed -E 's/(scipy_)?cblas_dgemm[0-9_]*/cblas_dgemm/; s/ +/ /g; s/ $//; s/bound by .*/bound/
        s/[0-9]+(\.[0-9]+)?/N/g; s/N ([KMGT]i?B|B|[KMGT]FLOP\/s|[mu]?s)\b/N/g'
}
while read -r page block how what words; do
    file=$blocks/$page/$block
    case $how in
    c) grep -qF "#include <$page/$block>" "$source/tests/install/pages/$what" ||
        fail "pages/$what does not include $page/$block" ;;
    same)
        sed 's/^ *//' "$source/$what" >"$folder/lines"
        sed 's/^ *//' "$file" | grep -vxF -f "$folder/lines" &&
            fail "$page: $block is not in $what"
        ;;
    by) grep -qF -e "$words" "$source/$what" || fail "$what: no $words" ;;
    types | python)
        [ -n "$numpy" ] || ! grep -qE 'python3|numpy|npz' "$file" || continue
        [ -x build/examples/example_cartoonizer ] || # as without libpng
            ! grep -q build/examples "$file" || continue
        # Builds, tests and GPUs are for others.
        sed "/^\(cmake\|ctest\|bench.run-gpu\) /d; s|/usr/local/lib|$build|g
            $smaller" "$file" >typed
        [ "$how" = types ] && program='sh -e' || program=python3
        echo "-- $page $block" >>"$log"
        $program typed >>"$log" 2>&1 </dev/null || [ $? -eq 77 ] ||
            fail "$page: $block"
        ;;
    prints) # the lines that fit WHAT, or all; or all is one line
        [ -n "$numpy" ] || continue
        plain <"$log" >"$folder/plain"
        grep -qxF -e "$(tr '\n' ' ' <"$file" | plain)" "$folder/plain" || {
            grep -E "${what:-^[^.]}" "$file" >"$folder/lines" &&
            plain <"$folder/lines" | while read -r line; do
                grep -qxF -e "$line" "$folder/plain" ||
                    fail "$page: nothing prints $line"
            done
        } || fail "$page: $block"
        ;;
    not) ;;
    *) fail "$page $block $how" ;;
    esac
    # Files of the tree that a block of shell names.
    for name in $(case $block in sh*) sed 's/#.*//' "$file" | tr ' ' '\n' |
        grep -xE '(\./)?(check|demo)|(bench|docs|tests|tools)/[^*]*' ;; esac); do
        [ -e "$source/$name" ] || fail "$page: there is no $name"
    done
done <"$folder/rows"

cp "$blocks/docs/cluster.md/json1" machine.json
sed 1d "$blocks/docs/cluster.md/sh1" >typed
sh -e typed >>"$log" 2>&1 || fail "the machine of docs/cluster.md"
if [ $# -lt 3 ]; then
    echo "skip docs/cluster.md: no MPI here"
    exit
fi
compile cluster.c "$1" -Wno-unused-result -I "$source/include/mpi" "$3"
echo 'class MPI: COMM_WORLD = None' >mpi4py.py # all processes, as without it
"$2" -n 4 "$folder/cluster" >>"$log" 2>&1 || fail "the fragments of docs/cluster.md"
[ -z "$numpy" ] || PYTHONPATH=$PYTHONPATH:. LD_LIBRARY_PATH=$build "$2" -n 4 \
    python3 "$blocks/docs/cluster.md/python1" >>"$log" 2>&1 ||
    fail "Python of docs/cluster.md"
