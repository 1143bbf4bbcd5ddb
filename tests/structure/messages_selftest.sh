#!/bin/sh
# SPDX-License-Identifier: MIT
# messages_selftest.sh: messages.sh accepts what may be and finds what may not.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="src bench"
comment='/* hri_fail("a comment,
 * of two lines") */'
ten='1 2 3 4 5 6 7 8 9 10'
try pass src/a.c "hri_fail(X, \"$ten $ten 1 2 3 4 5\");"
try fail src/a.c "hri_fail(X, \"$ten $ten 1 2 3 4 5 6\");"
try fail bench/b.c "return cli_wrong(NULL, \"$ten $ten $ten\", a);"
try fail src/a.inc "hri_fail(X, \"$ten \"
    \"$ten \" /* \" */
    \"$ten\", a);"
try fail src/a.h "cli_fail(\"$ten $ten 1 2 3 4\" PRId64 \" 5 6\", a);"
try fail src/a.c "hri_fail(X, f(a) ? \"a\" : \"$ten\\n$ten\\n$ten\");"
try fail src/a.c "a = ')'; hri_fail
(X, \"\\\") $ten $ten $ten\");"
try fail src/a.c "hri_fail(X, g(')'), \"$ten $ten $ten\");"
try pass src/a.c "hri_fail(X, a ? \"$ten $ten\" : \"$ten $ten\");"
try pass src/a.c "hri_fail(X, \"a\", g(\"$ten $ten\"), \"$ten\");"
try pass src/a.c "hri_fail(X, \"a\"); puts(\"$ten $ten $ten\");"
try pass src/a.c "hri_fail(X, \"a\"); // hri_fail(X, \"$ten $ten $ten\")"
try pass src/a.c "hri_fail(X, \"a\"); /* hri_fail(X, \"$ten $ten $ten\") */"
try fail src/a.c "hri_fail(X, a);"
try fail src/a.c "puts(\"hri_fail(\");"
try fail include/a.h "hri_fail(X, \"a\");"
finish
