# SPDX-License-Identifier: MIT
# libheadrace_blas.so replaces a BLAS. libheadrace_blas64.so replaces one with
# integers of 64 bits.
enable_language(ASM)
file(GLOB blas_sources CONFIGURE_DEPENDS src/blas/*.c src/blas/*.S)
foreach(name headrace_blas headrace_blas64)
  add_library(${name} SHARED ${blas_sources} src/base/printable.c
    src/base/format.c src/base/clock.c)
  target_include_directories(${name} PRIVATE src)
  target_link_libraries(${name} PRIVATE headrace headrace_flags)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  # Never unload: a library closed and opened again would have lost its threads.
  target_link_options(${name} PRIVATE -Wl,-z,nodelete)
endforeach()
target_compile_definitions(headrace_blas64 PRIVATE BLAS_PLAIN_64)
