# SPDX-License-Identifier: MIT
# cmake -DINPUT=files -DOUTPUT=file.c -DNAME=name [-DDEFINITIONS=file]
#       [-DFILE=name] [-DWITHOUT=folder] [-DCHECKED=file] -P embed.cmake
# Writes a C file that defines the text of INPUT, one file after the other,
# as `const char name[]`. Before it come the definitions NAME or NAME=VALUE of
# the lines of DEFINITIONS, and a directive by which FILE begins behind them.
# Lines that include <WITHOUT/...> are left out. The C file goes on with what
# CHECKED has for the checker (headrace/dialect/host.h).
set(text "")
if(INPUT)
  if(DEFINITIONS)
    file(READ ${DEFINITIONS} lines)
    string(REPLACE "\n" "\n\n" lines "\n${lines}")
    string(REGEX REPLACE "\n([A-Za-z0-9_]+)=" "\n#define \\1 " lines "${lines}")
    string(REGEX REPLACE "\n([A-Za-z0-9_]+)\n" "\n#define \\1 1\n" lines
           "${lines}")
    file(WRITE ${OUTPUT}.txt "${lines}#line 1 \"${FILE}\"\n")
    list(INSERT INPUT 0 ${OUTPUT}.txt)
  endif()
  set(bytes "")
  foreach(file ${INPUT})
    file(READ ${file} hex HEX)
    if(WITHOUT)
      file(READ ${file} text)
      string(REGEX REPLACE "#include <${WITHOUT}/[^>]*>" "" text "${text}")
      string(HEX "${text}" hex)
    endif()
    string(APPEND bytes ${hex})
  endforeach()
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes
         "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  set(text "extern const char ${NAME}[];
const char ${NAME}[] = {
    ${bytes}0
};
")
endif()
if(CHECKED)
  string(APPEND text "#define HR_CHECKED 1\n#include \"${CHECKED}\"\n")
endif()
file(WRITE ${OUTPUT} "${text}")
