#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace bench --plot: what it refuses, the rows that the picture is made of,
# and where Matplotlib is, the picture.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?}"
TMPDIR=$base
export TMPDIR
small="--types f32 --repeat 1"
# shellcheck disable=SC2086 # $small is several words
bench() { # STATUS WORDS ARGUMENTS...: of one small product
    status=$1
    words=$2
    shift 2
    expect "$status" "$words" bench matmul --size 8 $small --peers none \
        --accelerators host "$@"
}

# ---- the command line, and no Matplotlib

bench 2 "--plot: 'x.png' is not a file name that ends in .svg" --plot x.png
bench 2 "'.svg' is not a file name that ends in .svg" --plot .svg
bench 2 "'-' is not a file name that ends in .svg" --plot -
mkdir folder.svg
bench 2 "--plot: 'folder.svg' is not a regular file but a folder" \
    --plot folder.svg
bench 1 "no/x.svg: it cannot be made: No such file" --plot no/x.svg
expect 2 "there is no benchmark 'x'" bench x --plot x.svg

# with_python NAME: from now on headrace finds the python3 in that folder first,
# and no Matplotlib in another one.
mkdir -p "$base/lib/matplotlib"
echo 'raise ImportError' >"$base/lib/matplotlib/__init__.py"
with_python() {
    mkdir -p "$base/$1"
    cat >"$base/headrace" <<EOF
#!/bin/sh
PATH=$base/$1 PYTHONPATH=$base/lib exec "$real" "\$@"
EOF
    chmod +x "$base/headrace"
    HEADRACE=$base/headrace
}
with_python none
bench 1 "no python3 with Matplotlib is in PATH or in /usr/bin" --plot x.svg

# ---- a python3 of ours, which keeps the rows

# A picture that is there stays until the new one is whole.
echo before >there.svg
# answers NAME COMMAND: a python3 that answers rows so.
answers() {
    with_python "$1"
    cat >"$base/$1/python3" <<EOF
#!/bin/sh
PATH=$PATH
case "\$3" in --serve) ;; *) exit 1 ;; esac # as one without NumPy
echo Matplotlib 0
cat >$base/rows
$2
EOF
    chmod +x "$base/$1/python3"
}
fail() {
    refuses 1 "$1" "$HEADRACE" bench matmul --size 8 --types f32 --repeat 1 \
        --peers none --accelerators host --plot there.svg
    equal "the file" before "$(cat there.svg)"
    equal "files" "folder.svg there.svg" "$(echo *)"
}
answers wrong 'echo error it has no ink'
fail "--plot: it has no ink"
answers gone ''
fail "--plot: the process that draws has ended"
answers half 'echo "<svg>"; echo half of'
fail "--plot: the process that draws ended in the middle"
answers good 'echo "<svg>"; echo "</svg>"'

# rows ARGUMENTS...: the rows in the picture are those of --json, and a table has
# as many and gives the picture the same.
rows() {
    expect 0 "" bench "$@" --json --plot x.svg
    equal "$1, the picture" "<svg> </svg>" "$(tr "\n" " " <x.svg | sed "s/ $//")"
    check cmp -s "$out" "$base/rows"
    "$TOOLS/json_check" -l bench <"$out" | sort -u >"$base/names"
    equal "$1, rows" "$1" "$(cat "$base/names")"
    wc -l <"$out" >"$base/count"
    expect 0 "" bench "$@" --plot x.svg
    equal "$1, rows beside a table" "$(cat "$base/count")" \
        "$(wc -l <"$base/rows")"
    [ -z "$python" ] || draws
}
# The script has something to draw in the last rows.
draws() {
    check sh -c "'$python' '$SOURCE/bench/plot.py' --data \"\$1\" >'$base/data'" \
        draws "$base/rows"
    check grep -q '"series": \[{"name": "' "$base/data"
}
python=$(command -v python3) || {
    python=
    echo "not tested here: what is drawn of rows, without python3"
}

lists='host;2xhost@16MiB'
# shellcheck disable=SC2086
{
    rows matmul --size 8,64 $small --accelerators "$lists"
    rows sizes --size 2,64 $small --accelerators "$lists"
    rows batch --size 4 --batch 5 $small --accelerators "$lists"
    rows kernels --size 33 $small --accelerators host
    rows filter --size 70 --window 3 $small --accelerators "$lists"
    rows grid --size 64 --steps 4 --workload jacobi,heat --repeat 1 \
        --accelerators "$lists"
    rows calls --elements 500 $small --accelerators host
    rows stream --elements 200001 --repeat 1 --accelerators '2xhost@2MiB'
    rows run --elements 5000 --repeat 1 --accelerators host
}

# ---- the script by itself

script() { # STATUS WORDS ARGUMENTS...
    checks=$((checks + 1))
    want=$1
    words=$2
    shift 2
    "$python" "$SOURCE/bench/plot.py" "$@" >"$out" 2>"$err" <bad
    equal "plot.py $*" "$want" $?
    [ -z "$words" ] || grep -qF -e "$words" "$out" "$err" || failed "plot.py $*: no '$words'"
}
echo '{"bench": "matmul", "note": "not offered"}' >none
printf '{}\n[1]\n' >bad
if [ -n "$python" ]; then
    script 1 "no row has a rate, so there is nothing to draw" none --data
    script 1 "bad, line 2: this is no JSON object" bad --data
    script 1 "standard input, line 2: this is no JSON" --data
    script 1 "lacks: it cannot be read: No such file" lacks --data
    script 1 "--where: 'kind' is not KEY=VALUE" --where kind none --data
    script 1 "nothing to draw" --where bench=grid "$base/rows" --data
    script 2 "ends in .svg" "$base/rows" -o x.png
    script 2 "one of -o, --data and --check" "$base/rows"
    script 1 "x.svg: it shows other data" "$base/rows" --check x.svg
fi

# ---- Matplotlib

HEADRACE=$real
for python in python3 /usr/bin/python3 ""; do
    [ -n "$python" ] || break
    ! "$python" -c 'import matplotlib' 2>/dev/null || break
done
if [ -z "$python" ]; then
    echo "not tested here: pictures, without Matplotlib"
    finish
fi
rm -f x.svg
# shellcheck disable=SC2086
expect 0 "" bench matmul --size 64,128,256 $small \
    --accelerators 'host;2xhost' --json --plot x.svg
cp "$out" rows.jsonl
equal "the picture" "" "$("$python" "$SOURCE/tests/cli/plot_check.py" \
    rows.jsonl x.svg 2>&1)"
script 0 "" rows.jsonl --check x.svg
script 0 "" rows.jsonl -o y.svg
check cmp -s x.svg y.svg
script 1 "no/y.svg: it cannot be written: No such file" rows.jsonl -o no/y.svg
sed 's/"min_seconds": /&1/' rows.jsonl >other.jsonl
script 1 "x.svg: it shows other data than these rows" other.jsonl --check x.svg
refuses 1 "--plot: no row has a rate, so there is nothing to draw" \
    "$HEADRACE" bench stream --elements 50 --repeat 1 --accelerators host \
    --plot none.svg
check [ ! -e none.svg ]
finish
