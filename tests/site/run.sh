#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh ROOT: docs/build-site makes the site without a warning and leaves the
# tree as it is, no link of it is dead, and a browser shows it well.
set -eu
root=$1
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=/usr/bin/python3
[ -x "$python" ] || python=python3

fail() {
    echo "failed: $*"
    exit 1
}

# A folder with other files is refused, and stays.
mkdir "$folder/full"
echo mine >"$folder/full/file"
status=0
"$root/docs/build-site" "$folder/full" >"$folder/log" 2>&1 || status=$?
if [ "$status" -eq 77 ]; then
    echo "skip: $(sed 's/^[^:]*: //' "$folder/log")"
    exit 77
fi
[ "$status" -eq 2 ] || fail "status $status for a folder with other files"
grep -q "has other files" "$folder/log" || fail "no sentence for such a folder"
[ "$(cat "$folder/full/file")" = mine ] || fail "the file is gone"

touch "$folder/before"
"$root/docs/build-site" "$folder/site" >"$folder/log" 2>&1 || {
    cat "$folder/log"
    fail "docs/build-site"
}
new=$(find "$root/docs" "$root/python" "$root/include" -newer "$folder/before" \
    -type f ! -name '*.pyc')
[ -z "$new" ] || fail "the tree has new files: $new"
"$python" -B "$here/links.py" "$folder/site/html" || fail "links"

# A dead link, a page that is too wide, and an error are seen.
cp -R "$folder/site/html" "$folder/broken"
cat >>"$folder/broken/index.html" <<'END'
<a href="docs/none.html">none</a><a href="docs/gallery.html#none">none</a>
<div style="width: 2000px; height: 1px"></div><img src="none.png">
<script>console.error("an error")</script>
END
"$python" -B "$here/links.py" "$folder/broken" >"$folder/log" &&
    fail "dead links are not seen"
for words in "no file for docs/none.html" "no place for docs/gallery.html#none"
do
    grep -q "$words" "$folder/log" || fail "no line $words"
done

look() {
    status=0
    "$python" -B "$here/look.py" "$browser" "$@" || status=$?
}
browser=$(command -v chromium) || {
    echo "skip: no chromium here, so the pages were not looked at"
    exit 77
}
look "$folder/site/html"
[ "$status" -ne 77 ] || exit 77
[ "$status" -eq 0 ] || fail "look"
look "$folder/broken" >"$folder/log"
[ "$status" -eq 1 ] || fail "what is wrong with a page is not seen"
for words in "index.html at 390: 2[0-9]* pixels wide in a window of 390" \
    "index.html at 1280: 1 of [0-9]* pictures are missing" \
    "index.html at 1280: the console says: .*an error"; do
    grep -q "$words" "$folder/log" || {
        cat "$folder/log"
        fail "no line $words"
    }
done
