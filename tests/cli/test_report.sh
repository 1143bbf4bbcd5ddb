#!/bin/sh
# SPDX-License-Identifier: MIT
# headrace report: what it refuses, pages that names cannot break, and totals
# that python3 computes, too. Where chromium is, it shows the pages.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?}"
tests=$SOURCE/tests/cli

generate a.npy 700x600 f32
generate b.npy 600x500 f32
"$HEADRACE" matmul a.npy b.npy -o c.npy --accelerators 2xhost \
    --memory-limit 4MiB --trace t.json --quiet || exit 1

# ---- the command line

expect 2 "-o is missing" report t.json
expect 2 "1 file, TRACE.json" report -o r.html
expect 2 "1 file, TRACE.json" report t.json t.json -o r.html
expect 2 "-o: 't.json' is the same file as the input" report t.json -o t.json
expect 2 "-o: '.' is not a regular file but a folder" report t.json -o .
expect 1 "no/r.html: it cannot be made: No such file" report t.json \
    -o no/r.html

# ---- what is no timeline

# refuse WORDS [TEXT]: the file of that text is refused.
refuse() {
    if [ $# -gt 1 ]; then
        printf '%s' "$2" >bad.json
    fi
    expect 1 "$1" report bad.json -o r.html
}

host='{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"host"}}'
bar='{"ph":"X","name":"n","cat":"up","pid":0,"tid":0,"ts":1,"dur":2,"args":{"seconds":2e-6}}'
# of EVENTS: a timeline
of() {
    printf '{"displayTimeUnit":"ms","traceEvents":[%s]}' "$1"
}
# without WHAT: a timeline whose only bar lacks a member
without() {
    of "$(echo "$bar" | sed "s/$1//")"
}

expect 1 "missing.json: it cannot be opened: No such file" report \
    missing.json -o r.html
expect 1 ".: it is a folder, not an ordinary file" report . -o r.html
mkfifo pipe
expect 1 "pipe: it is a pipe, not an ordinary file" report pipe -o r.html
refuse "bad.json: it is empty: the program that writes it has not ended" ""
refuse "it ends in the middle, behind byte 1" "{"
refuse "at byte 0 an object is missing" "hello"
refuse "at byte 0 an object is missing" "[$bar]"
refuse "at byte 1 a string is missing" "{1:2}"
refuse "it has no list traceEvents" "{}"
refuse "it has no list traceEvents" '{"other":[1,-2.5e3,true,null,"\u00e9"]}'
refuse "at byte 15 an array is missing" '{"traceEvents":1}'
refuse "at byte 16 an object is missing" '{"traceEvents":[1]}'
refuse "a value is missing" '{"a":tru,"traceEvents":[]}'
refuse "the end is missing" "$(of "$bar") x"
refuse "a digit is missing" '{"a":1.}'
refuse "a number that a double holds is missing" '{"a":1e999}'
refuse "an escape of JSON is missing" '{"a":"\x"}'
refuse "a comma or a closing bracket is missing" '{"a":[1 2]}'
refuse "nested less deeply" \
    "{\"a\":$(printf '%0100d' 0 | sed 's/0/[/g')"
refuse "it has no bars: nothing ran while it was written" "$(of "")"
refuse "it has no bars" "$(of "$host")"
refuse "event 1 has a category that is none of ours: cc" \
    "$(of "$bar" | sed 's/"up"/"cc"/')"
refuse "event 2 has another phase than M and X: B" \
    "$(of "$host,$(echo "$bar" | sed 's/"X"/"B"/')")"
refuse "event 1 has another phase" "$(of '{}')"
refuse "event 1 names no process and no thread: process_labels" \
    "$(of "$host" | sed 's/process_name/process_labels/')"
refuse "event 1 has no times" "$(without '"dur":2,')"
refuse "event 1 has no times" "$(without '"ts":1,')"
refuse "event 1 has no times" "$(without '"seconds":2e-6')"
refuse "event 1 has no times" "$(of "$bar" | sed 's/"dur":2/"dur":-2/')"
refuse "event 1 has no number of a process" "$(without '"pid":0,')"
refuse "event 1 has no number of a process" \
    "$(of "$bar" | sed 's/"tid":0/"tid":0.5/')"
refuse "event 1 has fewer than 0 bytes" \
    "$(of "$bar" | sed 's/2e-6/2e-6,"bytes":-1/')"
printf '{"a":"\0"}' >bad.json
refuse "the rest of a string is missing"

# A timeline that was cut off anywhere, or is still written.
size=$(wc -c <t.json)
for length in 1 30 $((size / 3)) $((size / 2)) $((size - 200)) $((size - 4)) \
    $((size - 3)); do
    head -c "$length" t.json >bad.json
    refuse "it ends in the middle, behind byte $length: it was cut off, or a program still writes it"
done
mkfifo "$base/go"
HEADRACE_TRACE=bad.json "$HEADRACE" matmul a.npy b.npy -o - \
    --accelerators 2xhost --memory-limit 4MiB --quiet >"$base/go" 2>/dev/null &
other=$!
exec 9<"$base/go"
while [ ! -e bad.json ]; do sleep 0.1; done
head -c 100 bad.json >"$base/begun" # nothing is written before the end
[ -s "$base/begun" ] || refuse "bad.json: it is empty"
cat <&9 >/dev/null
exec 9<&-
wait "$other"
expect 0 "" report bad.json -o later.html

# ---- what it writes

expect 0 "" report t.json -o r.html
equal "lines on standard output" 0 "$(wc -l <"$out")"
check grep -q '^<!doctype html>' r.html
check grep -q '^</html>' r.html
equal "addresses of the network" 0 "$(grep -c 'https\?://' r.html)"
"$HEADRACE" report - -o - <t.json >"$base/piped.html"
sed 's/"file": "t.json"/"file": null/' r.html >"$base/want.html"
check cmp "$base/want.html" "$base/piped.html"
ln -s r.html link.html
chmod 640 r.html
expect 0 "" report bad.json -o link.html
check [ -L link.html ]
equal "the mode" 640 "$(stat -c %a r.html)"
check cmp r.html later.html
expect 1 "standard input: it is empty" report - -o r.html
equal "drafts that stay" "" "$(find . -name '.*headrace*')"

if [ -w /dev/full ]; then
    "$HEADRACE" report t.json -o - >/dev/full 2>"$err"
    equal "status with a full disk" 1 $?
    check is_sentence "cannot write to standard output"
fi

# Names that would end the script, or the page.
command -v python3 >/dev/null || {
    echo "not tested here: totals and hostile names, without python3"
    finish
}
python3 - <<'PYTHON'
import json
names = ["</script><script>document.title='broken'</script>", "<!--", "-->",
         "<!--<script>", "\"'`${1}\\", "</SCRIPT >", "<img src=x onerror=a()>",
         "\u2028\u2029\x7f\u0085", "__proto__", "constructor", "&lt;&amp;",
         "]]>", "/*timeline*/ /*about*/", "x" * 5000, ""]
events = []
for i, name in enumerate(names):
    events.append({"ph": "M", "name": "process_name", "pid": i, "tid": 0,
                   "args": {"name": name}})
    events.append({"ph": "M", "name": "thread_name", "pid": i, "tid": i + 1,
                   "args": {"name": name}})
    for kind in ("call", "compute", "up"):
        events.append({"ph": "X", "name": name, "cat": kind, "pid": i,
                       "tid": i + 1, "ts": 10 * i, "dur": 5,
                       "args": {"seconds": 5e-6, name or "n": name,
                                "bound": name, "type": name, "bytes": 7,
                                "__proto__": {"a": [name]}, "m": name,
                                "predicted": name, "up": {"x": name}}})
for path, ascii in (("h.json", False), ("</script>".replace("/", "_"), True)):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file, ensure_ascii=ascii)
with open("h.json", "ab") as file:  # other text of the file is not ours
    file.write(b"\n")
data = open("t.json", "rb").read()
with open("bytes.json", "wb") as file:  # a name that is no UTF-8
    file.write(data.replace(b'"name":"copy"', b'"name":"\xff<\xc3"', 1))

# Many bars, on a link and in a kernel at once.
events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0,
           "args": {"name": "cuda:0: many bars"}}]
for i in range(20000):
    for tid, kind in ((1, "up"), (2, "compute")):
        events.append({"ph": "X", "name": "step", "cat": kind, "pid": 1,
                       "tid": tid, "ts": 10 * i + tid, "dur": 7.25,
                       "args": {"seconds": 7.25e-6, "bytes": 4096,
                                "flop": 1e6 * (tid == 2)}})
json.dump({"traceEvents": events}, open("many.json", "w"))
PYTHON
for trace in h.json "<_script>" bytes.json many.json; do
    expect 0 "" report "$trace" -o "$trace.html"
    equal "ends of scripts in $trace" 3 "$(grep -ci '</script' "$trace.html")"
    equal "comments in $trace" 1 "$(grep -c '<!--' "$trace.html")"
done

# The page has the same events, and so the same totals.
for trace in t.json h.json many.json; do
    "$HEADRACE" report "$trace" -o "$base/page.html"
    python3 "$tests/report_totals.py" page "$trace" "$base/page.html" >"$out"
    equal "what differs in the page of $trace" 0 $?
done

# The first call of a process measures. The page has the bytes that the command
# tells, for each accelerator, and what was measured apart.
generate m.npy 1100x1024 f32
generate n.npy 1024x1024 f32
lists="2xhost opencl"
"$HEADRACE" devices | grep -q '^opencl:' || {
    echo "not tested here: bytes of opencl, which this machine lacks"
    lists=2xhost
}
for list in $lists; do
    for limit in 8MiB 512MiB; do
        rm -rf "$base/cache"
        HEADRACE_CACHE="$base/cache" "$TOOLS/moments" matmul m.npy n.npy \
            -o c.npy --accelerators "$list" --memory-limit "$limit" \
            --trace m.json --json >told.json
        expect 0 "" report m.json -o m.html
        python3 "$tests/report_totals.py" told told.json m.html >"$out"
        equal "what differs from what was told: $list, $limit" 0 $?
        check grep -q '"cat":"measure"' m.json
        check grep -q '"name":"thread_name".*"name":"compute"' m.json
        equal "names that are numbers" 0 "$(grep -c '"name":"queue ' m.json)"
    done
done
"$HEADRACE" report m.json -o m.html
python3 "$tests/report_totals.py" page m.json m.html >"$out"
equal "what differs in a page with measuring" 0 $?

# ---- what a browser shows

browser=$(command -v chromium || command -v chromium-browser) || {
    echo "not tested here: what a browser shows, without chromium"
    finish
}
export HOME="$base" # where it keeps things

# browse WIDTH PAGE: what becomes of a page, in $base/dom
browse() {
    {
        sed '/^<meta http-equiv/q' "$2"
        echo '<script>'
        cat "$tests/report_check.js"
        echo '</script>'
        sed '1,/^<meta http-equiv/d' "$2"
    } >"$base/shown.html"
    "$browser" --headless --no-sandbox --disable-gpu \
        --user-data-dir="$base/profile" --window-size="$1,900" \
        --virtual-time-budget=5000 --dump-dom "file://$base/shown.html" \
        >"$base/dom" 2>/dev/null
}
browse 1280 r.html
[ -s "$base/dom" ] || {
    echo "not tested here: what a browser shows, since chromium fails"
    finish
}
for trace in t.json h.json many.json bytes.json; do
    "$HEADRACE" report "$trace" -o r.html
    case $trace in
    t.json) widths="1280 390" ;;
    h.json) widths=390 ;;
    *) widths=1280 ;;
    esac
    for width in $widths; do
        browse "$width" r.html
        equal "what is wrong with $trace at $width" "checked" \
            "$(sed -n 's/.*id="checked"[^>]*>//p' "$base/dom" | cut -c 1-7)"
        sed -n '/id="checked"/,$p' "$base/dom" | head -n 20 >"$out"
        equal "titles of $trace" 1 "$(grep -c '<title>.*Headrace report<' \
            "$base/dom")"
    done
    [ "$trace" != bytes.json ] || continue
    python3 "$tests/report_totals.py" shown "$trace" "$base/dom" >"$out"
    equal "what differs in what is shown of $trace" 0 $?
done

finish
