#!/bin/sh
# SPDX-License-Identifier: MIT
# A set-user-ID program takes no library and no folder from the environment of
# its caller.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    echo "needs root and setpriv, to make a set-user-ID program"
    exit 77
fi
cp "$TOOLS/more_rights" . && chmod 4755 more_rights && chmod 755 "$base"
mkdir -m 777 cache home
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$@" >"$out" 2>"$err"
    got=$?
}
as_nobody ./more_rights
if [ "$got" -eq 77 ]; then
    echo "set-user-ID programs have no more rights here"
    exit 77
fi
equal "status" 0 "$got"
as_nobody env HEADRACE_CBLAS=/no/such/library HEADRACE_CACHE="$PWD/cache" \
    HOME="$PWD/home" HEADRACE_THREADS=none ./more_rights
equal "product" 6 "$(cat "$out")"
equal "files in the folders named" "" "$(find cache home -type f)"
as_nobody env HOME="$PWD/home" XDG_CACHE_HOME="$PWD/cache" ./more_rights
equal "product" 6 "$(cat "$out")"
equal "files in the folders named" "" "$(find cache home -type f)"

finish
