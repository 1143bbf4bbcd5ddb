#!/bin/sh
# SPDX-License-Identifier: MIT
# --trace: a file that is JSON, with the bytes that the command tells.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
generate a.npy 700x600 f32
generate b.npy 600x500 f32
ends 0 "$TOOLS/moments" matmul a.npy b.npy -o c.npy --accelerators 2xhost \
    --memory-limit 4MiB --trace t.json --json
cp "$out" told.json
ends 0 "$HEADRACE" filter a.npy -o d.npy --window 2 --accelerators 2xhost \
    --trace f.json --quiet
cat >checks.py <<'PYTHON'
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
ends 0 python3 checks.py
expect 1 "no/t.json cannot be written: No such file or directory" matmul a.npy \
    b.npy -o e.npy --trace no/t.json

# A machine on which nothing can be used.
HEADRACE_CBLAS=/nowhere HEADRACE_CUDA=off POCL_DEVICES=none \
    HEADRACE_TRACE=empty.json ends 0 "$HEADRACE" devices
check grep -q "^no accelerator can be used" "$out"
ends 0 python3 -c 'import json; json.load(open("empty.json"))'

# A timeline that cannot be written at its end. C is there all the same.
full="writing /dev/full failed: No space left on device"
rm -f e.npy
refuses 1 "$full" "$HEADRACE" matmul a.npy b.npy -o e.npy --trace /dev/full
check [ -e e.npy ]
export HEADRACE_TRACE=/dev/full
rm e.npy
refuses 1 "$full" "$HEADRACE" matmul a.npy b.npy -o e.npy
check [ -e e.npy ]
for what in "copies host 1" "dialect --quick --sections host" \
    "matmul --size 64 --types f32 --peers none --repeat 1 --accelerators host"; do
    # shellcheck disable=SC2086 # words
    refuses 1 "$full" "$HEADRACE" bench $what
done

# Contexts of a benchmark write to one file.
HEADRACE_TRACE=bench.json
ends 0 "$HEADRACE" bench matmul --size 64 --types f32 --peers none --repeat 1 \
    --accelerators 'host;2xhost'
unset HEADRACE_TRACE
ends 0 python3 -c 'import json
bars = json.load(open("bench.json"))["traceEvents"]
assert sum(e["name"] == "hr_gemm" for e in bars) == 4, bars'

# A timeline takes the place of none of the command's files, and no file is
# touched before the end.
cp a.npy kept.npy
for file in kept.npy ./kept.npy b.npy g.npy "$PWD/g.npy"; do
    expect 2 "--trace: '$file' is the same file as '" matmul kept.npy b.npy \
        -o g.npy --trace "$file"
    HEADRACE_TRACE=$file expect 2 "HEADRACE_TRACE: '$file' is the same file as '" \
        matmul kept.npy b.npy -o g.npy
done
expect 2 "is the same file as 'kept.npy'" filter kept.npy -o g.npy --window 2 \
    --trace kept.npy
check cmp a.npy kept.npy
check [ ! -e g.npy ]
finish
