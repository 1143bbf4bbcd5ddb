#!/bin/sh
# SPDX-License-Identifier: MIT
# numpy.sh LIBRARY PYTHON [all]: NumPy's own tests of linear algebra with
# LIBRARY preloaded; a part of them, or all.
set -u
library=$1 python=$2
case ${3:-} in
all) pick= ;;
*) pick="matrix_power or Multi or TestSolve or TestQR" ;;
esac
tests=$("$python" -c '
import numpy, os, pytest
print(os.path.join(os.path.dirname(numpy.__file__), "linalg", "tests"))' \
    2>/dev/null) || {
    echo "skip: no NumPy and pytest for $python"
    exit 77
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
HEADRACE_LOG="summary,file=$log" LD_PRELOAD=$library "$python" -m pytest -q \
    --noconftest -p no:cacheprovider ${pick:+-k "$pick"} "$tests" || exit 1
grep 'accelerators *[0-9]* calls' "$log"
