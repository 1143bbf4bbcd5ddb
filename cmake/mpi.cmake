# SPDX-License-Identifier: MIT
# libheadrace_mpi, once for each MPI that is found: libheadrace_mpi_openmpi.so and
# libheadrace_mpi_mpich.so, of the compilers that Debian calls mpicc.openmpi and
# mpicc.mpich, else libheadrace_mpi.so of mpicc. Those of another machine are not
# looked for, but may be named. HEADRACE_MPIS lists them. Beside each is the library
# that takes the place of ScaLAPACK's products, with pblas for mpi in its name.
option(HEADRACE_MPI "Build libheadrace_mpi where MPI is found" ON)
set(HEADRACE_MPIS "")
file(GLOB mpi_sources CONFIGURE_DEPENDS src/mpi/*.c)
file(GLOB pblas_sources CONFIGURE_DEPENDS src/pblas/*.c)

# headrace_mpi_library(NAME COMPILER): the library headrace_NAME.
function(headrace_mpi_library name compiler)
  execute_process(COMMAND ${compiler} -show OUTPUT_VARIABLE shown
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  separate_arguments(shown)
  set(folders "")
  set(options "")
  foreach(word ${shown})
    if(word MATCHES "^-I(.*)")
      list(APPEND folders ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-[lL]" AND NOT word MATCHES "lto")
      list(APPEND options ${word})
    endif()
  endforeach()
  add_library(${name}_flags INTERFACE)
  target_include_directories(${name}_flags SYSTEM INTERFACE ${folders})
  target_link_libraries(${name}_flags INTERFACE ${options})
  add_library(${name} SHARED ${mpi_sources} src/base/printable.c
    src/base/format.c src/base/structs.c src/base/pages.c src/base/progress.c
    src/base/threads.c src/base/cpus.c src/base/clock.c src/base/linger.c)
  add_library(headrace::${name} ALIAS ${name})
  target_include_directories(${name} PRIVATE src PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/mpi>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set(map ${PROJECT_SOURCE_DIR}/cmake/headrace_mpi.map)
  target_link_options(${name} PRIVATE -Wl,--version-script=${map})
  target_link_libraries(${name} PRIVATE headrace_flags
    PUBLIC headrace $<BUILD_INTERFACE:${name}_flags>)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN"
    LINK_DEPENDS ${map} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set(HEADRACE_MPIS ${HEADRACE_MPIS} ${name} PARENT_SCOPE)

  string(REPLACE headrace_mpi headrace_pblas pblas ${name})
  add_library(${pblas} SHARED ${pblas_sources} src/blas/log.c
    src/blas/threshold.c src/blas/loaded.c
    src/base/printable.c src/base/format.c src/base/clock.c)
  target_include_directories(${pblas} PRIVATE src)
  target_link_libraries(${pblas} PRIVATE ${name} headrace_flags)
  set_target_properties(${pblas} PROPERTIES C_VISIBILITY_PRESET hidden
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  target_link_options(${pblas} PRIVATE -Wl,-z,nodelete) # MPI calls it at its end
endfunction()

# headrace_find_compiler(VARIABLE NAME): the compiler of an MPI of this machine.
macro(headrace_find_compiler variable name)
  if(NOT CMAKE_CROSSCOMPILING)
    find_program(${variable} ${name})
  endif()
endmacro()

if(HEADRACE_MPI)
  foreach(kind openmpi mpich)
    headrace_find_compiler(HEADRACE_MPICC_${kind} mpicc.${kind})
    if(HEADRACE_MPICC_${kind})
      headrace_mpi_library(headrace_mpi_${kind} ${HEADRACE_MPICC_${kind}})
    endif()
  endforeach()
  headrace_find_compiler(HEADRACE_MPICC mpicc)
  if(NOT HEADRACE_MPIS AND HEADRACE_MPICC)
    headrace_mpi_library(headrace_mpi ${HEADRACE_MPICC})
  endif()
endif()
