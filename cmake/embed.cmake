# SPDX-License-Identifier: MIT
# cmake -DINPUT=files -DOUTPUT=file.c -DNAME=name -P embed.cmake
# Writes a C file that defines the text of INPUT, one file after the other,
# as `const char name[]`.
set(bytes "")
foreach(file ${INPUT})
  file(READ ${file} hex HEX)
  string(APPEND bytes ${hex})
endforeach()
string(REGEX REPLACE "(................................)" "\\1\n    " bytes
       "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];
const char ${NAME}[] = {
    ${bytes}0
};
")
