# SPDX-License-Identifier: MIT
# The library's own kernels, and texts that it keeps for compilers at run time.

# headrace_embed_text(FILES NAME OUTPUT [ARGUMENT...]): OUTPUT is a C file with the
# text of these files of the source as `const char NAME[]`. embed.cmake has
# ARGUMENTs.
set(embed ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
function(headrace_embed_text files name output)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DINPUT=${files}" -DOUTPUT=${output}
            -DNAME=${name} ${ARGN} -P ${embed}
    DEPENDS ${files} ${embed} VERBATIM)
endfunction()

# headrace_own_text(NAME FILES [ARGUMENT...]): the same as a source of the
# library.
function(headrace_own_text name files)
  set(output ${PROJECT_BINARY_DIR}/${name}.c)
  headrace_embed_text("${files}" ${name} ${output} ${ARGN})
  target_sources(headrace_objects PRIVATE ${output})
endfunction()
headrace_own_text(hri_cl_gemm_source "kernels/opencl/numbers.cl;kernels/opencl/gemm.cl")
headrace_own_text(hri_cl_tuned_source "kernels/opencl/numbers.cl;kernels/opencl/tuned.cl")
headrace_own_text(hri_cl_precise_source "kernels/opencl/precise.cl;src/hal/precise.inc;kernels/precise_steps.inc;kernels/opencl/precise_dots.cl")
headrace_own_text(hri_cuda_precise_source "kernels/cuda/precise.cu;src/hal/precise.inc;kernels/precise_steps.inc;kernels/cuda/precise_dots.cu")
headrace_own_text(hri_cuda_gemm_source kernels/cuda/gemm.cu)
headrace_own_text(hri_reduce_with_text kernels/dialect/reduce_with.c)
# The dialect, in the order in which a compiler gets it.
set(dialect include/headrace/dialect)
headrace_own_text(hri_dialect_text "include/headrace/half.h;${dialect}/opencl.h;${dialect}/cuda.h;${dialect}/random.h;${dialect}.h")
# The same for C compilers, which need no installed headers then.
set(headers status context queue array view half kernel check dialect/host
  dialect/random dialect)
list(TRANSFORM headers REPLACE "(.+)" "include/headrace/\\1.h")
headrace_own_text(hri_host_dialect_text "${headers}" -DWITHOUT=headrace)

# Files of kernels that include others, once for each type.
macro(headrace_for_types file)
  set(texts ${ARGN})
  list(TRANSFORM texts PREPEND ${PROJECT_SOURCE_DIR}/kernels/dialect/)
  set_source_files_properties(kernels/dialect/${file}.c PROPERTIES
    HEADRACE_TEXT "${texts}")
endmacro()
headrace_for_types(reduce reduce.inc)
headrace_for_types(reduce_integers reduce.inc)
headrace_for_types(scan scan_numbers.inc scan.inc)
headrace_for_types(scan_integers scan_numbers.inc scan.inc)
headrace_for_types(scan_products scan_numbers.inc scan.inc)
headrace_for_types(scan_once scan_numbers.inc scan_once.inc)
headrace_for_types(sort sort_keys.inc sort.inc)
headrace_for_types(sort_sweep sort_keys.inc sort_sweep.inc)
headrace_for_types(sort_merge sort_keys.inc sort_merge.inc)
headrace_for_types(histogram histogram.inc)
headrace_for_types(filter filter.inc)

file(GLOB own_kernels CONFIGURE_DEPENDS kernels/dialect/*.c)
list(FILTER own_kernels EXCLUDE REGEX "/reduce_with.c$") # it is text alone
# Sanitizers check what the forms of a kernel share. AddressSanitizer sees where
# pointers lead. These four checks of UBSan, of each pointer, double clang's time.
set(own_forms "")
if(HEADRACE_SANITIZE)
  set(own_forms NO_VARIANTS)
  set_property(SOURCE ${own_kernels} APPEND PROPERTY COMPILE_OPTIONS
    -fno-sanitize=null,alignment,object-size,pointer-overflow)
endif()
# The tests' fake GPU finds kernels by their names, so tests export these. The
# shared library's map hides them.
set_property(SOURCE ${own_kernels} APPEND
  PROPERTY COMPILE_OPTIONS -fvisibility=default)
# Loops of 16 that gcc writes in full take it minutes, and are no faster.
set(looped ${own_kernels})
list(FILTER looped INCLUDE REGEX "/(scan|reduce)[^/]*$")
set_property(SOURCE ${looped} APPEND PROPERTY COMPILE_OPTIONS
  $<$<C_COMPILER_ID:GNU>:--param=max-completely-peel-times=8>)
# The host never runs some: they plan, or only GPUs of CUDA take this way. It has
# filters of its own, which are the only ones that cannot be reproducible.
set(folder ${PROJECT_SOURCE_DIR}/kernels/dialect)
set(fused_kernels ${folder}/filter.c)
set(foreign_kernels ${folder}/scan_once.c ${folder}/sort_plan.c
  ${folder}/sort_sweep.c)
list(REMOVE_ITEM own_kernels ${fused_kernels} ${foreign_kernels})
headrace_kernels(headrace_objects REPRODUCIBLE ${own_forms} ${own_kernels})
headrace_kernels(headrace_objects REPRODUCIBLE NO_VARIANTS ${foreign_kernels})
headrace_kernels(headrace_objects NO_VARIANTS ${fused_kernels})

# Kernels of the host alone. Halos only copy.
target_sources(headrace_objects PRIVATE kernels/host/filter.c
  kernels/host/halo.c)
set_source_files_properties(kernels/host/halo.c PROPERTIES
  COMPILE_DEFINITIONS HR_REPRODUCIBLE=1)
