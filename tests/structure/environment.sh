#!/bin/sh
# SPDX-License-Identifier: MIT
# environment.sh ROOT: src reads the environment through hri_environment alone,
# which knows of set-user-ID programs. Prints each line that does it otherwise.
# Fails if there is one, or if nothing was looked at.
set -eu
cd "$1"
files=$(find src -name '*.[ch]' -o -name '*.inc' | sort)
[ -n "$files" ] || { echo "environment: no sources in $1"; exit 1; }
# shellcheck disable=SC2086 # one word for each file
! grep -nE '(^|[^a-zA-Z0-9_])(secure_)?getenv *\(' $files /dev/null |
    grep -v '^src/base/environment\.h:'
