#!/bin/sh
# SPDX-License-Identifier: MIT
# --trace: a file that is JSON, with the bytes that the command tells.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
"$HEADRACE" generate --shape 700x600 --type f32 -o a.npy --quiet
"$HEADRACE" generate --shape 600x500 --type f32 -o b.npy --quiet
"$TOOLS/moments" matmul a.npy b.npy -o c.npy --accelerators 2xhost \
    --memory-limit 4MiB --trace t.json --json >told.json
"$HEADRACE" filter a.npy -o d.npy --window 2 --accelerators 2xhost \
    --trace f.json --quiet
python3 - <<'PYTHON'
import json
told = json.load(open("told.json"))
bars = [e for e in json.load(open("t.json"))["traceEvents"] if e["ph"] == "X"]
call = [e for e in bars if e["cat"] == "call"][-1]
assert call["name"] == "hr_gemm", call
assert (call["args"]["m"], call["args"]["k"], call["args"]["n"]) == (700, 600, 500)
during = [e for e in bars if e["ts"] >= call["ts"]]
for category, name in (("up", "host_to_device"), ("down", "device_to_host")):
    moved = sum(e["args"]["bytes"] for e in during if e["cat"] == category)
    counted = told["bytes"][name]
    assert counted == call["args"][category], (category, told, call)
    assert moved == counted, (category, moved, told, call)
assert call["args"]["predicted"] > 0 and call["args"]["bound"], call
bars = [e for e in json.load(open("f.json"))["traceEvents"] if e["ph"] == "X"]
call = [e for e in bars if e["name"] == "hr_filter"][-1]["args"]
assert call["method"] in ("direct", "separable", "fft"), call
assert call["predicted"] > 0 and call["bound"], call
least = 4 * (700 * 600 + 696 * 596)
assert least <= call["compulsory"] <= call["up"] + call["down"], call
assert call["up"] + call["down"] < 1.1 * least, call
PYTHON
if "$HEADRACE" matmul a.npy b.npy -o e.npy --trace no/t.json 2>err; then
    echo "a trace in no folder was accepted"; exit 1
fi
# A machine on which nothing can be used.
HEADRACE_CBLAS=/nowhere HEADRACE_CUDA=off POCL_DEVICES=none \
    HEADRACE_TRACE=empty.json "$HEADRACE" devices >devices.txt
grep -q "^no accelerator can be used" devices.txt
python3 -c 'import json; json.load(open("empty.json"))'
grep -q "no/t.json cannot be written: No such file or directory" err
[ ! -e e.npy ]
# A timeline that cannot be written at its end. C is there all the same.
for wish in --trace HEADRACE_TRACE; do
    rm -f e.npy
    case $wish in
    --trace) set -- "$HEADRACE" matmul a.npy b.npy -o e.npy --trace /dev/full ;;
    *) set -- env HEADRACE_TRACE=/dev/full "$HEADRACE" matmul a.npy b.npy -o e.npy ;;
    esac
    if "$@" >/dev/null 2>err; then
        echo "a full disk was not noticed: $wish"; exit 1
    fi
    grep -q "writing /dev/full failed: No space left on device" err
    [ -e e.npy ]
done
for what in "copies host 1" "dialect --quick --sections host" \
    "matmul --size 64 --types f32 --peers none --repeat 1 --accelerators host"; do
    status=0
    # shellcheck disable=SC2086 # words
    HEADRACE_TRACE=/dev/full "$HEADRACE" bench $what >/dev/null 2>err || status=$?
    [ "$status" = 1 ] && [ "$(wc -l <err)" = 1 ]
    grep -q "writing /dev/full failed: No space left on device" err
done
# Contexts of a benchmark write to one file.
HEADRACE_TRACE=bench.json "$HEADRACE" bench matmul --size 64 --types f32 \
    --peers none --repeat 1 --accelerators 'host;2xhost' >/dev/null
python3 -c 'import json
bars = json.load(open("bench.json"))["traceEvents"]
assert sum(e["name"] == "hr_gemm" for e in bars) == 4, bars'
# A timeline takes the place of none of the command's files, and no file is
# touched before the end.
cp a.npy kept.npy
for file in kept.npy ./kept.npy b.npy g.npy "$folder/g.npy"; do
    for wish in --trace HEADRACE_TRACE; do
        set -- "$HEADRACE" matmul kept.npy b.npy -o g.npy
        case $wish in
        --trace) set -- "$@" --trace "$file" ;;
        *) set -- env HEADRACE_TRACE="$file" "$@" ;;
        esac
        status=0
        "$@" 2>err || status=$?
        [ "$status" = 2 ]
        grep -q -e "$wish: '$file' is the same file as '" err
    done
done
if "$HEADRACE" filter kept.npy -o g.npy --window 2 --trace kept.npy 2>err; then
    echo "a timeline over an input was accepted"; exit 1
fi
grep -q "is the same file as 'kept.npy'" err
cmp a.npy kept.npy
[ ! -e g.npy ]
