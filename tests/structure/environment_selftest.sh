#!/bin/sh
# SPDX-License-Identifier: MIT
# environment_selftest.sh: environment.sh accepts what may be and finds what may
# not.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
folders="src/base"
try pass src/base/environment.h 'return getenv(name);'
try pass src/blas/a.c 'a = hri_environment("HOME"); /* as getenv */'
try pass src/blas/a.c 'my_getenv(x);'
try fail src/blas/a.c 'a = getenv("HOME");'
try fail src/blas/a.h 'a = secure_getenv ("HOME");'
try fail src/base/a.inc '!getenv(A)'
try fail include/a.h 'int a;'
finish
