#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh PROGRAM FOLDER: a picture made in bands, and the same one twice,
# distributed whole, give files of the same bytes. A file that is no picture is
# refused, with the reason. When the output cannot be written, an earlier picture
# stays, and no other file.
set -eu
program=$1
mkdir -p "$2/cartoonizer_files"
cd "$2/cartoonizer_files"
rm -rf ./*
"$program" -p 1 -w 4 cartoon.png
"$program" -p 2 -w 4 cartoon.png bands.png
"$program" -p 2 -w 4 cartoon.png each1.png cartoon.png each2.png
cmp bands.png each1.png
cmp bands.png each2.png

# fails WORDS ARGUMENTS...: it ends with 1, and with one line with WORDS.
fails() {
    words=$1
    shift
    status=0
    "$program" -p 0 "$@" >/dev/null 2>error || status=$?
    cat error
    [ "$status" -eq 1 ] && [ "$(wc -l <error)" -eq 1 ] &&
        grep -qF -e "$words" error
}
: >empty
head -c 1000 cartoon.png >part
fails ": not a PNG picture" "$0" bands.png
fails ": not a PNG picture: it is empty" empty bands.png
fails ": it ends before the picture does" part bands.png
fails ": Is a directory" . bands.png
fails ": No such file" nothing bands.png
fails ": Is a directory" cartoon.png .
fails ": No such file" cartoon.png nothing/bands.png
# shellcheck disable=SC3045 # in dash, bash and ksh
(
    trap '' XFSZ
    ulimit -f 1
    fails ": File too large" cartoon.png bands.png
    fails ": File too large" cartoon.png new.png
)
cmp bands.png each1.png
[ "$(echo ./*)" = "./bands.png ./cartoon.png ./each1.png ./each2.png \
./empty ./error ./part" ]

# A link stays one; what is no ordinary file is written to as it is.
ln -s each1.png link.png
"$program" -p 0 link.png
[ -L link.png ]
mkfifo pipe
"$program" -p 0 pipe &
cat pipe >through.png
wait $!
[ -p pipe ]
cmp each1.png through.png
if [ -c /dev/full ] && [ "$(id -u)" -ne 0 ]; then
    fails ": No space left" /dev/full
    [ -c /dev/full ]
fi
