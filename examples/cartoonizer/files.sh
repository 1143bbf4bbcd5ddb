#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh PROGRAM FOLDER: a picture in bands and the same dealt out, twice, are
# files of the same bytes; a file that is no picture is refused.
set -eu
program=$1
cd "$2"
"$program" -p 1 -w 4 cartoon.png
"$program" -p 2 -w 4 cartoon.png bands.png
"$program" -p 2 -w 4 cartoon.png dealt1.png cartoon.png dealt2.png
cmp bands.png dealt1.png
cmp bands.png dealt2.png
! "$program" "$0" bands.png
