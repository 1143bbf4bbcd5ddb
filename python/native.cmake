# SPDX-License-Identifier: MIT
# headrace_native(PYTHON INCLUDE): the target _native, the extension by which
# the Python package calls the library. PYTHON needs cffi; INCLUDE has Python.h.
set(headrace_python ${CMAKE_CURRENT_LIST_DIR})

function(headrace_native python python_include)
  set(include ${headrace_python}/../include)
  set(native ${CMAKE_CURRENT_BINARY_DIR}/_native.c)
  file(GLOB headers CONFIGURE_DEPENDS ${include}/headrace/*.h
    ${include}/mpi/headrace/processes.h)
  add_custom_command(OUTPUT ${native}
    COMMAND ${python} ${headrace_python}/native.py ${CMAKE_C_COMPILER}
      ${include} ${native}
    DEPENDS ${headrace_python}/native.py ${headers} VERBATIM)
  # No file has the build's path: the same sources make the same bytes.
  set_source_files_properties(${native} PROPERTIES
    COMPILE_OPTIONS -ffile-prefix-map=${CMAKE_CURRENT_BINARY_DIR}=.)
  add_library(_native MODULE ${native})
  target_include_directories(_native SYSTEM PRIVATE ${python_include})
  # one for all versions of Python from 3.10 on
  target_compile_definitions(_native PRIVATE Py_LIMITED_API=0x030A0000)
  target_include_directories(_native PRIVATE ${include}/mpi)
  target_link_libraries(_native PRIVATE headrace)
  set_target_properties(_native PROPERTIES PREFIX "" SUFFIX .abi3.so)
endfunction()
