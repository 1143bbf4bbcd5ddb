#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that cannot be read or written, or that change under a running command:
# one sentence, status 1, an earlier output as it was, no temporary left.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

generate A.npy 300x200 f32
generate B.npy 200x250 f32
echo earlier >C.npy

refuse() { # WORDS FILE
    expect 1 "$1" matmul "$2" B.npy -o C.npy
}

# Short, empty, foreign, nonsense.
head -c 200000 A.npy >short.npy
refuse "short.npy" short.npy
head -c 100 A.npy >header.npy
refuse "header.npy" header.npy
: >empty.npy
refuse "empty.npy" empty.npy
echo "no matrix at all, only words" >words.npy
refuse "words.npy" words.npy
mkdir folder.npy
refuse "folder.npy" folder.npy
if [ "$(id -u)" -ne 0 ]; then
    cp A.npy locked.npy
    chmod 000 locked.npy
    refuse "locked.npy" locked.npy
fi

# A limit on the size of files, and a disk that is full.
(
    # shellcheck disable=SC3045 # ulimit -f is in every shell that we know
    ulimit -f 100 || exit 77
    expect 1 "C.npy" matmul A.npy B.npy -o C.npy
    [ "$failures" -eq 0 ]
)
check [ $? -eq 0 ]
if [ "$(id -u)" -eq 0 ] && mkdir "$base/disk" &&
    mount -t tmpfs -o size=128k tmpfs "$base/disk" 2>/dev/null; then
    trap 'umount "$base/disk"; rm -rf "$base"' EXIT
    echo earlier >"$base/disk/C.npy"
    refuses 1 "C.npy" "$HEADRACE" matmul A.npy B.npy -o "$base/disk/C.npy"
    equal "on the full disk" C.npy "$(ls -A "$base/disk")"
    equal "its content" earlier "$(cat "$base/disk/C.npy")"
else
    echo "no small file system can be mounted here: not tried on a full disk"
fi

# Inputs that change before they are read, or while they are multiplied.
# meddle WORDS MOMENT COMMAND...: run the command at that moment.
meddle() {
    words=$1
    DO="[ \$0 != $2 ] || $3"
    generate A.npy 300x300 f32
    refuses 1 "$words" "$TOOLS/moments" matmul A.npy A.npy -o C.npy \
        --accelerators host
    equal "C.npy after $3" earlier "$(cat C.npy)"
    equal "temporaries after $3" "" "$(temporaries)"
}
export DO
meddle "A.npy cannot be read: it was made shorter" planning \
    "truncate -s 1000 A.npy"
for command in "truncate -s 1000 A.npy" "touch A.npy" "rm -f A.npy"; do
    meddle A.npy multiplying "$command"
done

finish
