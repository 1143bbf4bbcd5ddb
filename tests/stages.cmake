# SPDX-License-Identifier: MIT
# Where tests run (cmake/tests.cmake): the first row that fits a name decides.

# Not under ThreadSanitizer. It delays signals that test_check_signals expects at
# once, and starts no threads in a child of fork(). It sees a race where a device
# of test_gemm_stuck hangs between a copy and its event, and the copy arrives
# after all. It does not know MPI, nor the threads of OpenMP, nor how threads of
# the system's BLAS wait. The rest is arithmetic, text or packaging, in one
# thread.
stage(tsan none "^unit/test_(check_signals|fork|host_compiler)$"
  "^unit/test_host_threads:fork$" "test_gemm_stuck:" "^mpi/" "bench_run:"
  "^blas/(test_blas|test_batch|log|test_process:forced)$" "^example/"
  "^install/" "^unit/(replay_|numpy|bench_dialect)" "^python/"
  "^unit/test_(verify|coherence)(:long)?$"
  "^unit/test_(verify_values|verify_large|tolerance|boxes|plan)$"
  "^unit/test_(links|filter_rules|grid_bytes|cuda_compile)$"
  "^unit/test_opencl_(clblast|gemm)$" "^conformance/test_pack"
  "^cli/test_(files|devices|filter|generate|arguments|report|bench|guard|plot)$"
  "^cli/numpy_files$" "^unit/test_check(_random)?:host$"
  # The checker makes them slow, and has no threads of its own.
  "^unit/test_(launch|grid):(host|opencl):checked$"
  "^unit/test_[b-z].*:checked$")
# Under ThreadSanitizer in ./check: what threads share, once each.
stage(tsan check "^unit/test_(pool|threads|host_queue|fence|copy_pool)$"
  "^unit/test_host_threads:threads$" "^unit/test_(arrays|grid)_threads$"
  "^unit/test_(gemm_random|launch_split|grid|filter|run|trace|progress):3xhost$"
  "^unit/test_(gemm_batch:4xhost|gemm_sum:3xhost|split_stream:3xhost)$"
  "^unit/test_(gemm_direct|profile:3xhost)$"
  "^conformance/test_(queues|events|copy)$"
  "^conformance/test_gemm_random:fake_2xcuda:0$" "^blas/test_batch:alone$"
  "^unit/test_simulated$")

# Reached by other tests, too: OpenCL runs beside the host, and five bands are cut
# as seven are.
stage(release quick "^unit/test_(gemm_(random|batch|sum)|kernels|dialect|reduce_with):opencl$"
  "^unit/test_(reproducible|module_files|check|check_rows|stencil):opencl$"
  "^unit/test_scan_shared:opencl$")
stage("release;asan" long "^unit/.*:([57]xhost|[23]xopencl:0:0|host,opencl)$"
  "^conformance/.*:fake_cuda,host$" "^unit/test_cuda_compile$"
  "^unit/test_reduce_with:(3xhost|2xhost,opencl)" "^cli/test_(bench|guard|plot)$"
  "^blas/reference:all$"
  # What differs between MPIs runs with each, and what is random with one.
  "^mpi/.*(faults:.*:2:|files:.*:[15]:|gemm:.*:[26]:host|grid:.*:[126]:host)"
  "^mpi/.*gemm:(openmpi:(4:host|3:5xhost)|mpich:(1|3|13):host)"
  "^mpi/.*grid:(openmpi:4:|mpich:(3:host|8:|2:4xhost))")
stage(release long "^(unit|python)/.*:opencl$" "^unit/numpy_calls:3xhost$"
  "^conformance/numpy_calls:fake_2xcuda:0$")
# The library once more, and a build that is configured.
stage(release long "^install/(parent|cross)$")
# A minute of PoCL's compiler, for a library that few have.
stage("release;asan" long "^unit/test_opencl_clblast$")
# Minutes, many gigabytes, or bare systems.
stage("release;asan;tsan" long "^slow/" ":long$")
# Faults run where leaks are found, under AddressSanitizer.
stage(release long "^unit/test_faults:" "^unit/test_verify_(large|values)$")
stage(asan long "^unit/test_faults:.*:each$")

# Under AddressSanitizer one set of each test is enough, the fuzzers do what the
# replays do, and the rules of the tree have no memory. Examples look for leaks at
# exit, when threads of PoCL would end.
stage("asan;tsan" none "^structure/")
stage(asan none "^example/.*opencl$")
stage(asan check "^unit/test_(gemm_batch|gemm_stuck|kernels|dialect|check|check_random|lbm):host$"
  "^unit/test_module_files:opencl$" "^unit/test_(launch|grid):3xhost:checked$"
  "^unit/test_arrays_threads:checked$" "^unit/bench_run:3xhost$"
  "^unit/test_simulated$")
stage(asan long "^unit/.*:(host|[1-9]xhost,?.*|opencl|host,.*):checked$"
  "^unit/.*:(host|[124-9]xhost|opencl|[0-9]*x?host,.*)$" "^unit/test_coherence:checked$"
  "^conformance/.*:fake_cuda$" "^conformance/test_progress:" "^unit/test_verify"
  "^unit/replay_" "^conformance/numpy_calls:" "^cli/numpy_files$"
  "^example/.*:(host|[25-9]+xhost|checked|refuses.*)$"
  "^mpi/(test_mpi_plan|command|python|mpi4py|test_pblas|test_mpi_.*:mpich:)"
  "^mpi/test_mpi_.*:openmpi:([124-9]|1.):" "^mpi/test_mpi_.*:([0-9]xhost|cuda)$")

# 3 seconds and more on two quiet cores.
stage(release check "^blas/(reference|numpy)$" "^site$" "^install/pages$"
  "^cli/(test_(interrupt|matmul|progress|report)|numpy_files)$"
  "^conformance/test_(filter|gemm_random|launch_split|run):fake_cuda$"
  "^unit/test_(filter_rules|gemm_engine)$"
  "^unit/test_filter:(2xhost,opencl|host:checked)$" "test_gemm_stuck:"
  "^unit/test_grid:(2xhost|2xhost,opencl|3xhost|3xhost:checked|host)$"
  "^unit/test_(grid_bytes|kernels:2xhost:checked|links|opencl_gemm|verify)$"
  "^unit/test_simulated$")
