#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu.sh HEADRACE COMMAND...: run COMMAND if there is a GPU.
headrace=$1
shift
"$headrace" devices --accelerators cuda >/dev/null 2>&1 ||
    { echo "skip: there is no GPU"; exit 77; }
exec "$@"
