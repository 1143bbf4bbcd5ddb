#!/bin/sh
# SPDX-License-Identifier: MIT
# readme.sh ROOT: the program in README.md is examples/multiply.c, which is
# built and run. The output in README.md is multiply.txt.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2016 # fences of Markdown
sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$work/program"
sed '/SPDX-License-Identifier/d' examples/multiply.c |
    diff "$work/program" - || {
    echo "README.md: the program is not examples/multiply.c"
    exit 1
}
sed -n '/^\$ cc multiply\.c /,/^```$/p' README.md | sed '1d;$d' >"$work/output"
diff "$work/output" examples/multiply.txt || {
    echo "README.md: the output is not examples/multiply.txt"
    exit 1
}
grep -qF '](docs/speed.svg)' README.md || {
    echo "README.md: docs/speed.svg is not shown"
    exit 1
}
