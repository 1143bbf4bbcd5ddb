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

# test_on_both(NAME SET VARIABLES): a program on a set of GPUs, and with these
# variables on one of GPUs that are none. On a GPU, where time is no matter, random
# cases are those of the tests :long.
function(test_on_both name set variables)
  set(count "")
  if(NOT DEFINED ${name}_count)
    set(count ${${name}_long})
  endif()
  test_again(gpu/${name}:${set} gpu "" ${name} ${set} ${count})
  test_again(conformance/${name}:fake_${set} conformance "${variables}" ${name}
    ${set})
endfunction()
foreach(set cuda 2xcuda:0 cuda,host)
  foreach(name kernels reduce_with transform)
    test_again(gpu/test_${name}:${set} gpu "" test_${name} ${set})
  endforeach()
  foreach(name arrays gemm_batch gemm_sum)
    test_on_both(test_${name} ${set} "${faked}")
  endforeach()
  foreach(name arrays_strided combined dialect enough fill filter gemm_random grid
      grid_cells grid_components grid_reduce grid_run histogram launch
      launch_lists launch_refused launch_split map_on nvtx parameters profile
      progress random_fill reduce reproducible
      reproducible_kernels run scale_rows scan scan_shared sort split_refused
      text trace)
    test_on_both(test_${name} ${set} "${crowd}")
  endforeach()
  set(nine $<TARGET_FILE:headrace-bench> run --elements 5000 --repeat 1 --accelerators ${set})
  # Where no GPU is there, the command says so and the test is left out.
  test_again(gpu/bench_run:${set} gpu "" sh -c "\"$0\" devices --accelerators \
${set} && exec \"$@\" || exit 77" $<TARGET_FILE:headrace-cli> ${nine})
  test_again(conformance/bench_run:fake_${set} conformance
    "${crowd}" ${nine})
endforeach()
# `cuda` is two fake GPUs. What only one GPU does needs one.
foreach(name test_scan test_scan_shared test_sort)
  test_again(conformance/${name}:fake_cuda:0 conformance "${crowd}" ${name}
    cuda:0)
endforeach()
foreach(set host,2xcuda:0 2xcuda:0,host)
  test_on_both(test_gemm_stuck ${set} "${faked}")
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
  foreach(name lbm stencil)
    test_again(gpu/test_${name}:${set} gpu "" test_${name} ${set})
  endforeach()
  test_on_both(test_split_stream ${set} "${crowd}")
endforeach()
set(kernel HEADRACE_CUBLAS=off)
test_again(gpu/test_gemm:kernel gpu ${kernel} test_gemm)
test_again(gpu/test_cuda_gemm:kernel gpu ${kernel} test_cuda_gemm)
test_again(gpu/test_gemm_random:cuda:kernel gpu ${kernel}
  test_gemm_random cuda)
