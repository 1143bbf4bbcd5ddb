# SPDX-License-Identifier: MIT
# Tests, and where each of them runs. The last label of a test is its stage:
#   quick  in ./check quick and in ./check
#   check  in ./check
#   long   in ./check long
#   gpu    on a machine with an NVIDIA GPU (tools/gpu-check)
# The first row of tests/stages.cmake that fits a test's name decides. The build's
# own default comes last: under AddressSanitizer all tests are in ./check, and
# under ThreadSanitizer all are in ./check long.
set(HEADRACE_BUILD release)
if(HEADRACE_SANITIZE MATCHES thread)
  set(HEADRACE_BUILD tsan)
elseif(HEADRACE_SANITIZE)
  set(HEADRACE_BUILD asan)
endif()
set(stage_of_release quick)
set(stage_of_asan check)
set(stage_of_tsan long)

# stage(BUILDS STAGE REGEX...): tests of these names, in these builds (a list).
# STAGE none: the build does not have them.
set(stages "")
function(stage builds stage)
  if(HEADRACE_BUILD IN_LIST builds)
    foreach(regex ${ARGN})
      list(APPEND stages "${stage} ${regex}")
    endforeach()
    set(stages ${stages} PARENT_SCOPE)
  endif()
endfunction()

set(HEADRACE_TIMEOUT 600)
if(HEADRACE_SANITIZE)
  set(HEADRACE_TIMEOUT 1800)
endif()

# headrace_test(NAME SUBJECT [ENVIRONMENT VARIABLE=VALUE...] [TIMEOUT SECONDS]
#   [PROCESSORS N] [FOLDER WORKING-DIRECTORY] [PASSES REGEX] [SKIPS REGEX]
#   [NEEDS TARGET...] COMMAND...): a test with the label SUBJECT and that of its stage. An exit
# status of 77 is a skip, and so is output that fits SKIPS. Programs that the
# command or the environment names, and NEEDS, are built for the stage: by the
# target check-programs for quick and check, by long-programs for long.
function(headrace_test name subject)
  cmake_parse_arguments(PARSE_ARGV 2 of "" "TIMEOUT;PROCESSORS;FOLDER;PASSES;SKIPS"
    "ENVIRONMENT;NEEDS;COMMAND")
  set(stage ${stage_of_${HEADRACE_BUILD}})
  if(subject STREQUAL "gpu")
    set(stage "")
  else()
    foreach(row ${stages})
      string(REGEX MATCH "^([^ ]+) (.*)$" row "${row}")
      set(regex "${CMAKE_MATCH_2}")
      set(found ${CMAKE_MATCH_1})
      if(name MATCHES "${regex}")
        set(stage ${found})
        break()
      endif()
    endforeach()
  endif()
  if(stage STREQUAL "none")
    return()
  endif()
  # PoCL compiles twice as fast if it does not optimise. It does for tests whose
  # names end in :opencl, for tests :long, and for the command, since PoCL never
  # frees these flags, which LeakSanitizer says there.
  if(NOT name MATCHES "^cli/|:(opencl|long)$")
    list(APPEND of_ENVIRONMENT POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable)
  endif()
  if(NOT of_TIMEOUT)
    set(of_TIMEOUT ${HEADRACE_TIMEOUT})
  endif()
  add_test(NAME ${name} COMMAND ${of_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${subject};${stage}"
    SKIP_RETURN_CODE 77 TIMEOUT ${of_TIMEOUT} ENVIRONMENT "${of_ENVIRONMENT}")
  foreach(property PROCESSORS FOLDER PASSES SKIPS)
    if(DEFINED of_${property})
      string(REPLACE FOLDER WORKING_DIRECTORY real ${property})
      string(REPLACE PASSES PASS_REGULAR_EXPRESSION real ${real})
      string(REPLACE SKIPS SKIP_REGULAR_EXPRESSION real ${real})
      set_tests_properties(${name} PROPERTIES ${real} "${of_${property}}")
    endif()
  endforeach()
  string(REPLACE quick check stage "${stage}")
  if(TARGET ${stage}-programs)
    set(needed ${of_NEEDS})
    foreach(word ${of_COMMAND} ${of_ENVIRONMENT})
      string(REGEX MATCHALL "TARGET_FILE(_DIR)?:[^>]+" files "${word}")
      list(TRANSFORM files REPLACE ".*:" "")
      list(APPEND needed ${files})
      if(TARGET "${word}")
        list(APPEND needed ${word})
      endif()
    endforeach()
    if(needed)
      add_dependencies(${stage}-programs ${needed})
    endif()
  endif()
endfunction()
add_custom_target(check-programs)
add_custom_target(long-programs)
