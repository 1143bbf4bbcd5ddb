#!/bin/sh
# SPDX-License-Identifier: MIT
# A set-user-ID program takes no library and no folder from the environment of
# its caller, and no driver that would.
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
as_nobody ./more_rights host
if [ "$got" -eq 77 ]; then
    echo "set-user-ID programs have no more rights here"
    exit 77
fi
equal "status" 0 "$got"
as_nobody env HEADRACE_CBLAS=/no/such/library HEADRACE_CACHE="$PWD/cache" \
    HOME="$PWD/home" HEADRACE_THREADS=none ./more_rights host
equal "product" 6 "$(cat "$out")"
equal "files in the folders named" "" "$(find cache home -type f)"

# Drivers read variables of their own, so none is loaded. PoCL makes a folder.
echo "$LEAVES_FILE" >theirs.icd
as_nobody env OCL_ICD_VENDORS="$PWD/theirs.icd" \
    OPENCL_VENDOR_PATH="$PWD" CUDA_INJECTION64_PATH="$LEAVES_FILE" ./more_rights
equal "product" 6 "$(cat "$out")"
check test ! -e loaded
as_nobody env HOME="$PWD/home" XDG_CACHE_HOME="$PWD/cache" \
    POCL_CACHE_DIR="$PWD/cache" CUDA_CACHE_PATH="$PWD/cache" ./more_rights
equal "product" 6 "$(cat "$out")"
equal "files in the folders named" "" "$(find cache home ! -name cache ! -name home)"
for list in opencl cuda; do
    as_nobody ./more_rights "$list"
    equal "status" 1 "$got"
    check grep -qi "$list.*more rights than its caller" "$out"
done

finish
