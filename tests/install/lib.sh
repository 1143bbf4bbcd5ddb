# SPDX-License-Identifier: MIT
# Read by the other scripts here: a folder that is gone at the end, and commands
# of which one hears only when they fail.
# shellcheck shell=sh
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/log
: >"$log"

# fail WORDS...: what was printed last, and the end.
fail() {
    cat "$log"
    echo "failed: $*"
    exit 1
}

# quietly WHAT COMMAND...: what it prints goes into the log.
quietly() {
    what=$1
    shift
    "$@" >"$log" 2>&1 || fail "$what"
}
