# SPDX-License-Identifier: MIT
# The benchmarks, which the command starts. They link the static library, since
# they use the backends' tables of symbols.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c bench/workloads/*.c
  bench/dialect/*.c bench/peers/*.c)
list(REMOVE_ITEM bench_sources ${PROJECT_SOURCE_DIR}/bench/peers/openmp.c
  ${PROJECT_SOURCE_DIR}/bench/peers/openmp_run.c)
set(by_hand_cl ${PROJECT_BINARY_DIR}/bench_by_hand_cl.c)
set(by_hand_cu ${PROJECT_BINARY_DIR}/bench_by_hand_cu.c)
headrace_embed_text(bench/dialect/by_hand.cl bench_opencl_text ${by_hand_cl})
headrace_embed_text(bench/dialect/by_hand.cu bench_cuda_text ${by_hand_cu})
set(run_numpy ${PROJECT_BINARY_DIR}/bench_run_numpy.c)
headrace_embed_text(bench/peers/run_numpy.py bench_numpy_text ${run_numpy})
set(plot ${PROJECT_BINARY_DIR}/bench_plot.c)
headrace_embed_text(bench/plot.py bench_plot_text ${plot})
add_executable(headrace-bench ${bench_sources} ${by_hand_cl} ${by_hand_cu}
  ${run_numpy} ${plot})
target_include_directories(headrace-bench PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(headrace-bench PRIVATE headrace_console headrace_internal)
# Kernels and the loops beside them, as gcc would without -std=c11.
set_source_files_properties(bench/kernels/run.c bench/peers/openmp_run.c
  PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
headrace_kernels(headrace-bench bench/kernels/matmul.c bench/kernels/plain.c
  bench/kernels/run.c bench/kernels/stencil.c bench/kernels/transpose.c)
headrace_kernels(headrace-bench REPRODUCIBLE bench/kernels/lbm.c)
set_source_files_properties(bench/workloads/grid_lbm.c PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off)
set_source_files_properties(bench/measure.c PROPERTIES
  COMPILE_DEFINITIONS HEADRACE_COMMIT="${commit}")
find_package(OpenMP COMPONENTS C QUIET)
if(OpenMP_C_FOUND) # kernels written by hand for the host
  target_link_libraries(headrace-bench PRIVATE OpenMP::OpenMP_C)
endif()
# Loops to compare with, for each kind of processor.
set(loops plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND loops avx2 avx512)
endif()
set(loop_options_avx2 -mavx2 -mfma)
set(loop_options_avx512 -mavx2 -mfma -mavx512f -mavx512dq -mavx512vl
  -mavx512bw)
foreach(form ${loops})
  add_library(headrace_bench_loops_${form} OBJECT bench/peers/openmp.c
    bench/peers/openmp_run.c)
  target_include_directories(headrace_bench_loops_${form} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(headrace_bench_loops_${form} PRIVATE FORM=${form})
  target_link_libraries(headrace_bench_loops_${form} PRIVATE headrace_flags)
  # Sanitizers of fuzzers keep clang from making vectors, of which it warns.
  target_compile_options(headrace_bench_loops_${form} PRIVATE -O3
    ${loop_options_${form}} $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
  if(OpenMP_C_FOUND)
    target_link_libraries(headrace_bench_loops_${form} PRIVATE OpenMP::OpenMP_C)
  else() # loops of one thread
    target_compile_options(headrace_bench_loops_${form} PRIVATE
      -Wno-unknown-pragmas)
  endif()
  target_link_libraries(headrace-bench PRIVATE headrace_bench_loops_${form})
endforeach()
add_dependencies(headrace-cli headrace-bench)
