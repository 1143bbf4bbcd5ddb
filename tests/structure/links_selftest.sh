#!/bin/sh
# SPDX-License-Identifier: MIT
# links_selftest.sh: links.sh accepts what may be and finds what may not.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="src docs/contracts"
comment='# One `hr_two` (three)
## One
## One
```
# Code
[code](nowhere.md)
```'

try pass README.md '[a](docs) and [b](https://nowhere.example/x.md)'
try pass README.md '[a](#one) [b](README.md#one-hr_two-three)'
try pass docs/contracts/a.md '[up](../../src) [itself](../contracts/a.md#one)'
try pass docs/a.md '[the second of a name](#one-1)'
try pass docs/a.md '`[code](nowhere.md)`'
try fail README.md '[a](docs/b.md)'
try fail README.md '[a](docs) [b](docs/b.md)'
try fail docs/a.md '[a](src)'
try fail docs/a.md '[a](#code)'
try fail docs/a.md '[a](#one-2)'
try fail docs/contracts/a.md '[itself](../contracts/a.md#two)'
for name in one two; do
    plant
    echo 'int one;' >"$tree/t/src/a.c"
    printf '[a](../src/a.c) `%s`, `one`\n' "$name" >"$tree/t/docs/a.md"
    [ $name = one ] && verdict=pass || verdict=fail
    want $verdict "a file and $name"
done
plant
want fail "a tree without pages"
finish
