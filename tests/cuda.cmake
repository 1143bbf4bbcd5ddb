# SPDX-License-Identifier: MIT
# Programs that are tests already, again on the CUDA backend alone: on a GPU
# (label gpu) with cuBLAS and without, and on a GPU that is none.
# test_again(NAME SUBJECT VARIABLES COMMAND...)
function(test_again name subject variables)
  program_test(${name} ${subject} "CONFORMANCE_BACKEND=cuda;${variables}" ${ARGN})
endfunction()

# A library that looks like those of NVIDIA, with which all of the CUDA backend
# but its kernel runs anywhere.
file(GLOB fake CONFIGURE_DEPENDS support/fake_cuda/*.c)
add_library(fake_cuda MODULE ${fake})
target_include_directories(fake_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src
  ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fake_cuda PRIVATE headrace_flags m)
if(HEADRACE_SANITIZE MATCHES thread) # the arithmetic of its one thread
  set_source_files_properties(support/fake_cuda/gemm.c PROPERTIES
    COMPILE_OPTIONS -fno-sanitize=thread)
endif()
foreach(name test_cuda_library test_cuda_device test_cuda_fault test_cuda_launch
    test_cuda_graphs test_cuda_gemm_calls)
  target_compile_definitions(${name} PRIVATE
    FAKE_CUDA="$<TARGET_FILE:fake_cuda>")
  add_dependencies(${name} fake_cuda)
endforeach()
set(faked "")
foreach(variable HEADRACE_CUDA HEADRACE_CUBLAS HEADRACE_NVRTC)
  list(APPEND faked ${variable}=$<TARGET_FILE:fake_cuda>)
endforeach()

# as many copy threads as machines with GPUs have
set(crowd "${faked}" HEADRACE_THREADS=8)

# On a GPU, where time is no matter, random cases are those of the tests :long.
foreach(set cuda 2xcuda:0 cuda,host)
  test_again(gpu/test_gemm_random:${set} gpu "" test_gemm_random ${set}
    ${test_gemm_random_long})
  test_again(conformance/test_gemm_random:fake_${set} conformance "${crowd}"
    test_gemm_random ${set})
  test_again(gpu/test_gemm_batch:${set} gpu "" test_gemm_batch ${set})
  test_again(conformance/test_gemm_batch:fake_${set} conformance "${faked}"
    test_gemm_batch ${set})
  test_again(gpu/test_gemm_sum:${set} gpu "" test_gemm_sum ${set})
  test_again(conformance/test_gemm_sum:fake_${set} conformance "${faked}"
    test_gemm_sum ${set})
  test_again(gpu/test_arrays:${set} gpu "" test_arrays ${set})
  test_again(gpu/test_scale_rows:${set} gpu "" test_scale_rows ${set})
  test_again(conformance/test_scale_rows:fake_${set} conformance "${crowd}"
    test_scale_rows ${set})
  test_again(gpu/test_kernels:${set} gpu "" test_kernels ${set})
  test_again(gpu/test_transform:${set} gpu "" test_transform ${set})
  test_again(gpu/test_reduce_with:${set} gpu "" test_reduce_with ${set})
  foreach(name test_trace test_launch test_launch_refused test_launch_split test_run
      test_queue_default test_split_refused test_profile test_nvtx test_launch_lists
      test_grid_components
      test_arrays_strided test_map_on
      test_dialect test_parameters test_text test_filter test_random_fill
      test_fill test_combined test_histogram
      test_reproducible test_reproducible_kernels
      test_grid test_grid_cells test_grid_reduce test_grid_run test_progress
      test_reduce test_scan test_scan_shared test_sort test_enough)
    set(count "")
    if(NOT DEFINED ${name}_count)
      set(count ${${name}_long})
    endif()
    test_again(gpu/${name}:${set} gpu "" ${name} ${set} ${count})
    test_again(conformance/${name}:fake_${set} conformance "${crowd}"
      ${name} ${set})
  endforeach()
  set(nine $<TARGET_FILE:headrace-bench> run --elements 5000 --repeat 1 --accelerators ${set})
  # Where no GPU is there, the command says so and the test is left out.
  test_again(gpu/bench_run:${set} gpu "" sh -c "\"$0\" devices --accelerators \
${set} && exec \"$@\" || exit 77" $<TARGET_FILE:headrace-cli> ${nine})
  test_again(conformance/bench_run:fake_${set} conformance
    "${crowd}" ${nine})
  test_again(conformance/test_arrays:fake_${set} conformance "${faked}"
    test_arrays ${set})
endforeach()
# `cuda` is two fake GPUs. What only one GPU does needs one.
foreach(name test_scan test_scan_shared test_sort)
  test_again(conformance/${name}:fake_cuda:0 conformance "${crowd}" ${name}
    cuda:0)
endforeach()
foreach(set host,2xcuda:0 2xcuda:0,host)
  test_again(gpu/test_gemm_stuck:${set} gpu "" test_gemm_stuck ${set})
  test_again(conformance/test_gemm_stuck:fake_${set} conformance "${faked}"
    test_gemm_stuck ${set})
endforeach()
file(GLOB files CONFIGURE_DEPENDS conformance/test_*.c)
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  test_again(gpu/${name} gpu "" ${name})
  test_again(conformance/${name}:fake conformance "${faked}" ${name})
endforeach()
test_again(gpu/test_module_files:cuda gpu "" test_module_files cuda)
test_again(conformance/test_module_files:fake conformance "${faked}"
  test_module_files cuda)
foreach(name test_cuda_peers test_cuda_full test_cuda_grid)
  test_again(conformance/${name}:fake conformance "${faked}" ${name})
endforeach()
test_again(conformance/test_cuda_lost:fake conformance
  "${faked};FAKE_CUDA_FAULT=write_far" test_cuda_lost)
foreach(set cuda 2xcuda:0)
  test_again(gpu/test_stencil:${set} gpu "" test_stencil ${set})
  test_again(gpu/test_lbm:${set} gpu "" test_lbm ${set})
  test_again(gpu/test_split_stream:${set} gpu "" test_split_stream ${set})
  test_again(conformance/test_split_stream:fake_${set} conformance "${crowd}"
    test_split_stream ${set})
endforeach()
set(kernel HEADRACE_CUBLAS=off)
test_again(gpu/test_gemm:kernel gpu ${kernel} test_gemm)
test_again(gpu/test_cuda_gemm:kernel gpu ${kernel} test_cuda_gemm)
test_again(gpu/test_gemm_random:cuda:kernel gpu ${kernel}
  test_gemm_random cuda)
