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

browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || {
    echo "skip: no chromium here, so the pages were not looked at"
    exit 77
}
"$python" -B "$here/look.py" "$browser" "$folder/site/html" || fail "look"
