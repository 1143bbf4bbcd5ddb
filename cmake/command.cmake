# SPDX-License-Identifier: MIT
# Code that the command and the benchmarks share.
file(GLOB console_sources CONFIGURE_DEPENDS src/console/*.c)
add_library(headrace_console STATIC ${console_sources} src/base/printable.c
  src/base/size.c src/base/format.c src/base/draft.c src/base/json.c
  src/base/quantity.c src/base/member.c src/base/clock.c)
target_include_directories(headrace_console PUBLIC src include/mpi)
target_link_libraries(headrace_console PUBLIC headrace_flags ${CMAKE_DL_LIBS})
if(HEADRACE_SANITIZE MATCHES address)
  target_compile_definitions(headrace_console PRIVATE CONSOLE_FINDS_LEAKS)
endif()

# The command: a client of the shared library like any other program.
file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.c)
execute_process(COMMAND git describe --always --dirty
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ERROR_QUIET
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND git rev-parse --git-path logs/HEAD
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ERROR_QUIET
  OUTPUT_VARIABLE commits OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit unknown)
elseif(EXISTS ${PROJECT_SOURCE_DIR}/${commits} OR IS_ABSOLUTE ${commits})
  # Configure again after each commit, so that the name is right.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${commits})
endif()
set(report_page ${PROJECT_BINARY_DIR}/report_page.c)
headrace_embed_text(src/cli/report.html cli_report_page ${report_page})
add_executable(headrace-cli ${cli_sources} ${report_page})
target_link_libraries(headrace-cli PRIVATE headrace_console headrace)
set_target_properties(headrace-cli PROPERTIES OUTPUT_NAME headrace)
