/* SPDX-License-Identifier: MIT */
#include "bench/peers/openmp.h"

bench_loop bench_loop_find(const char *name)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? bench_loop_avx512(name)
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? bench_loop_avx2(name)
               : bench_loop_plain(name);
#else
    return bench_loop_plain(name);
#endif
}
