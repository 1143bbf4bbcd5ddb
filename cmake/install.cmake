# SPDX-License-Identifier: MIT
# cmake --install: the library, its headers, the command, and the files by which
# other builds find them. No installed file contains the prefix, so the tree may
# be moved as a whole.
include(CMakePackageConfigHelpers)

set(libraries headrace_blas headrace_blas64)
set(programs headrace-cli headrace-bench)
install(TARGETS headrace EXPORT headraceTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(mpi ${HEADRACE_MPIS})
  string(REPLACE headrace_mpi headrace_pblas pblas ${mpi})
  list(APPEND libraries ${pblas})
  list(APPEND mpi_libraries ${mpi})
endforeach()
install(TARGETS ${libraries} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What must be built for it.
add_custom_target(headrace-installed DEPENDS headrace ${libraries} ${mpi_libraries}
  ${programs})
install(DIRECTORY include/headrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
if(HEADRACE_MPIS)
  install(DIRECTORY include/mpi/headrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
endif()

file(RELATIVE_PATH bin_to_lib
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(headrace-cli PROPERTIES
  INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES tools/headrace.bash RENAME headrace
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# The Python package, as it comes with a system: pip does without this.
set(HEADRACE_PYTHON_DIR "" CACHE STRING
  "Folder for the Python package, below the prefix; empty: it is not installed")
if(HEADRACE_PYTHON_DIR)
  find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
  include(python/native.cmake)
  headrace_native(${Python_EXECUTABLE} "${Python_INCLUDE_DIRS}")
  add_dependencies(headrace-installed _native)
  install(DIRECTORY python/headrace DESTINATION ${HEADRACE_PYTHON_DIR}
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
  install(TARGETS _native LIBRARY DESTINATION ${HEADRACE_PYTHON_DIR}/headrace)
endif()

# The CMake package.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
configure_package_config_file(cmake/headraceConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/headraceConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/headraceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headraceConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/headraceConfigVersion.cmake
  cmake/HeadraceKernels.cmake cmake/embed.cmake
  DESTINATION ${package_dir})
install(EXPORT headraceTargets NAMESPACE headrace:: DESTINATION ${package_dir})

# The pkg-config file: relative to itself where the folders allow it.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR}
    OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
else()
  file(RELATIVE_PATH pc_to_prefix
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
  set(pc_prefix "\${pcfiledir}/${pc_to_prefix}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
configure_file(cmake/headrace.pc.in headrace.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headrace.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The same for each MPI: headrace_mpi_openmpi.pc, headrace::headrace_mpi_openmpi.
# MPI itself is the program's to name, or mpicc's.
foreach(mpi ${HEADRACE_MPIS})
  install(TARGETS ${mpi} EXPORT ${mpi}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${mpi} NAMESPACE headrace:: DESTINATION ${package_dir}
    FILE ${mpi}Targets.cmake)
  configure_file(cmake/headrace_mpi.pc.in ${mpi}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${mpi}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
