# SPDX-License-Identifier: MIT
# headrace_kernels(TARGET [REPRODUCIBLE] [NO_VARIANTS] FILE...): compile files of
# kernels (headrace/dialect.h) into a target for the host, once more for
# HEADRACE_CHECK=1 (headrace/check.h), and keep their text in it for OpenCL and
# NVRTC, behind the compile definitions of the target and of the file. The file
# has its own before this is called. REPRODUCIBLE: with HR_REPRODUCIBLE, and no
# multiplication fused with an addition. NO_VARIANTS: for the compiler's own
# target alone; on x86-64 kernels otherwise have forms for AVX2 and AVX-512, too
# (headrace/dialect/host.h).
#
# A file with the property HEADRACE_TEXT includes these files, once for each type
# of elements. Their text is kept in its place, one file after the other.
function(headrace_kernels target)
  set(embed ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed.cmake)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  list(FIND languages C has_c)
  if(has_c LESS 0) # CMake would skip the files
    message(FATAL_ERROR "headrace_kernels: kernels are files of C, which this "
      "project does not enable: add C to the languages of project()")
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 kernels "REPRODUCIBLE;NO_VARIANTS" "" "")
  # Fused where the C standard allows it: a vector and what is left of a row get
  # the same bits. gcc's "fast" does not promise that.
  set(contract on)
  set(own_definitions "")
  if(kernels_REPRODUCIBLE)
    set(contract off)
    list(APPEND own_definitions HR_REPRODUCIBLE=1)
  endif()
  if(kernels_NO_VARIANTS)
    list(APPEND own_definitions HR_VARIANTS=0)
  endif()
  foreach(file ${kernels_UNPARSED_ARGUMENTS})
    get_filename_component(path ${file} ABSOLUTE)
    get_filename_component(name ${file} NAME)
    if(NOT name MATCHES "\\.c$") # CMake would compile it otherwise, or not
      message(FATAL_ERROR "headrace_kernels: ${name} is no file of C, whose "
        "name ends with .c")
    endif()
    get_property(known TARGET ${target} PROPERTY HEADRACE_KERNELS)
    list(FIND known ${path} place)
    if(place GREATER_EQUAL 0)
      message(FATAL_ERROR "headrace_kernels: ${name} is given twice for the "
        "target ${target}")
    endif()
    set_property(TARGET ${target} APPEND PROPERTY HEADRACE_KERNELS ${path})
    get_source_file_property(texts ${path} HEADRACE_TEXT)
    if(NOT texts)
      set(texts ${path})
    endif()
    list(GET texts -1 text)
    get_filename_component(text_name ${text} NAME)
    # Files may have the same name in several folders. The bytes of the library
    # do not depend on where its sources are.
    file(RELATIVE_PATH hash ${CMAKE_SOURCE_DIR} ${text})
    string(MD5 hash ${hash})
    string(SUBSTRING ${hash} 0 8 hash)
    string(MAKE_C_IDENTIFIER "headrace_text_of_${text_name}_${hash}" symbol)
    # Definitions of the target and of the file, one in a line. CMake writes
    # them for each language. Another target may have set ours in the file.
    get_source_file_property(own ${path} COMPILE_DEFINITIONS)
    if(NOT own)
      set(own "")
    endif()
    list(FILTER own EXCLUDE REGEX ^HR_KERNEL_)
    string(REPLACE ";" "\n" lines "${own}")
    string(MAKE_C_IDENTIFIER ${name} start)
    set(start ${CMAKE_CURRENT_BINARY_DIR}/${target}_${start}_${hash})
    set(definitions ${start}_$<CONFIG>_C.txt)
    file(GENERATE OUTPUT ${start}_$<CONFIG>_$<COMPILE_LANGUAGE>.txt CONTENT
      "$<JOIN:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>,\n>\n${lines}\n")
    # The file's companion has its form for the checker, and the text, unless
    # another companion has that.
    set(companion ${start}.c)
    get_property(kept TARGET ${target} PROPERTY HEADRACE_TEXTS)
    list(FIND kept ${symbol} place)
    if(place LESS 0)
      set_property(TARGET ${target} APPEND PROPERTY HEADRACE_TEXTS ${symbol})
    else()
      set(texts "")
    endif()
    add_custom_command(OUTPUT ${companion}
      COMMAND ${CMAKE_COMMAND} "-DINPUT=${texts}" -DOUTPUT=${companion}
              -DNAME=${symbol} -DDEFINITIONS=${definitions}
              -DFILE=${text_name} -DCHECKED=${path} -P ${embed}
      DEPENDS ${texts} ${embed} ${definitions} VERBATIM)
    set(ours HR_KERNEL_TEXT=${symbol} HR_KERNEL_CHECKED=1
      "HR_KERNEL_FILE=\"${text_name}\"" ${own_definitions})
    set_source_files_properties(${path} ${companion} PROPERTIES
      COMPILE_DEFINITIONS "${own};${ours}")
    get_source_file_property(options ${path} COMPILE_OPTIONS)
    if(kernels_REPRODUCIBLE OR NOT options MATCHES -ffp-contract)
      set_property(SOURCE ${path} ${companion} APPEND
        PROPERTY COMPILE_OPTIONS -ffp-contract=${contract})
    endif()
    # As on GPUs and x86, wherever else char has no sign.
    set_property(SOURCE ${path} ${companion} APPEND
      PROPERTY COMPILE_OPTIONS -fsigned-char)
    # Compiling the file itself has given all warnings already, and has the checks
    # of UBSan. What looks for errors need not be fast, but it should not take long
    # to compile.
    set_property(SOURCE ${companion} APPEND PROPERTY COMPILE_OPTIONS
      -w -fno-sanitize=undefined $<$<NOT:$<CONFIG:Debug>>:-O1>)
    target_sources(${target} PRIVATE ${path} ${companion})
  endforeach()
endfunction()
